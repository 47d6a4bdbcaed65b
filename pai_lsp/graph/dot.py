"""A prerequisite graph in Graphviz' language. Source of the syntax: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.graph.names import node_lines
from pai_lsp.graph.prerequisite_graph import EdgeKind, NodeKind

if TYPE_CHECKING:
    from pai_lsp.graph.prerequisite_graph import GraphEdge, GraphNode, PrerequisiteGraph

_RED = "#cf222e"
_STYLES = {
    NodeKind.ROLE: ' color="#0969da" penwidth=2',
    NodeKind.EXTRAS: ' color="#bf8700"',
    NodeKind.OUTSIDE: ' color="#8250df" peripheries=2',
    NodeKind.MISSING: f' color="{_RED}" fontcolor="{_RED}" style="rounded,dashed"',
    NodeKind.UNKNOWN: ' style="rounded,dashed"',
}


def dot(graph: PrerequisiteGraph) -> str:
    """The graph as text, with a line end at its end."""
    lines = [
        "digraph prerequisites {",
        "  rankdir=LR",
        '  node [shape=box style=rounded fontname="monospace" fontsize=11]',
        '  edge [fontname="monospace" fontsize=9 color="#6e7781"]',
    ]
    lines += (_node(node) for node in graph.nodes)
    lines += (_edge(graph, edge) for edge in graph.edges)
    return "".join(f"{line}\n" for line in [*lines, "}"])


def _node(node: GraphNode) -> str:
    label = "\\n".join(_text(line) for line in node_lines(node))
    cycle = f' color="{_RED}" penwidth=2' if node.is_in_cycle else ""
    return f'  {node.identifier} [label="{label}"{_STYLES.get(node.kind, "")}{cycle}]'


def _edge(graph: PrerequisiteGraph, edge: GraphEdge) -> str:
    attributes = f'label="{_text(edge.field)}" style=dotted' if edge.kind is EdgeKind.NAMES else ""
    attributes += f'color="{_RED}" penwidth=2' if edge.is_in_cycle else ""
    ends = f"  {graph.nodes[edge.source].identifier} -> {graph.nodes[edge.target].identifier}"
    return f"{ends} [{attributes}]" if attributes else ends


def _text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
