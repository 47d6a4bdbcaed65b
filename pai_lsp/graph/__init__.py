"""Who requires whom in a job, as a graph and as text that other programs draw.

* `prerequisite_graph.prerequisite_graph`: the graph as plain values
* `mermaid.mermaid`, `dot.dot`: the graph in the languages of Mermaid and of Graphviz, which lay it out and draw it
"""
