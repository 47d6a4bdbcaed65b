"""Who requires whom in a job, as a picture.

* `prerequisite_graph.prerequisite_graph`: the graph as plain values
* `mermaid.mermaid`, `dot.dot`: as text for other programs to draw
* `svg.svg`: drawn by ourselves, with the places of `layout.layout`
"""
