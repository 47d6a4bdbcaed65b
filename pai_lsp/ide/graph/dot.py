"""A prerequisite graph in Graphviz' language: the one description of the picture.

Graphviz copies `class` into the SVG, so a page can give its own colors; the colors here are legible on light and dark
backgrounds. Sources: https://graphviz.org/doc/info/lang.html (syntax), https://graphviz.org/doc/info/attrs.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.graph.mermaid import edge_sentence, fitted, node_lines
from pai_lsp.ide.graph.prerequisite_graph import EdgeKind, NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.ide.graph.prerequisite_graph import GraphEdge, GraphNode, PrerequisiteGraph

_LONGEST = 48
_RED = "#cf222e"
# Graphviz knows how wide the characters of Courier are without the font, they are as wide in nearly every other
# fixed-width font, and in SVG it adds `monospace` for machines that lack it.
_FONT = 'fontname="Courier"'
_STYLES = {
    NodeKind.ROLE: 'style="rounded,filled" fillcolor="#ddf4ff" color="#0969da" penwidth=2',
    NodeKind.OWN: "",
    NodeKind.EXTRAS: 'fillcolor="#fff8c5" color="#9a6700"',
    NodeKind.OUTSIDE: 'fillcolor="#fbefff" color="#8250df" peripheries=2',
    NodeKind.MISSING: f'style="filled,dashed" fillcolor="#ffebe9" color="{_RED}" fontcolor="#a40e26"',
    NodeKind.UNKNOWN: 'style="filled,dashed" fillcolor="#ffffff"',
}
_CYCLE = f'color="{_RED}" penwidth=2'


def dot(graph: PrerequisiteGraph) -> str:
    """The graph as text, with a line end at its end; an empty one is a sentence."""
    label = "" if graph.nodes else ' label="no task roles and no prerequisites"'
    lines = [
        "digraph prerequisites {",
        f'  graph [rankdir=LR bgcolor=transparent ranksep=0.4 {_FONT} fontsize=11 fontcolor="#6e7781"{label}]',
        f'  node [shape=box style=filled fillcolor="#f6f8fa" color="#6e7781" fontcolor="#1f2328" {_FONT} fontsize=11]',
        f'  edge [color="#6e7781" fontcolor="#6e7781" arrowsize=0.8 {_FONT} fontsize=10]',
        *(_node(node) for node in graph.nodes),
        *(_edge(graph, edge) for edge in graph.edges),
        "}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _node(node: GraphNode) -> str:
    lines = node_lines(node)
    name, *more = lines
    # Of a path, the end says most.
    shown = fitted(name, _LONGEST), *(fitted(line, _LONGEST, keeps_end="/" in line) for line in more)
    attributes = [f"label={_quoted(*shown)}", f"tooltip={_quoted(*lines)}", _classes(node.kind.name, node.is_in_cycle)]
    attributes += filter(None, (_STYLES[node.kind], _CYCLE if node.is_in_cycle else ""))
    return f"  {node.identifier} [{' '.join(attributes)}]"


def _edge(graph: PrerequisiteGraph, edge: GraphEdge) -> str:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return f"  {source.identifier} -> {target.identifier} [{' '.join(_edge_attributes(graph, edge))}]"


def _edge_attributes(graph: PrerequisiteGraph, edge: GraphEdge) -> Iterator[str]:
    sentence = _quoted(edge_sentence(graph, edge))
    yield f"tooltip={sentence}"
    is_missing = graph.nodes[edge.target].kind is NodeKind.MISSING
    yield _classes(edge.kind.name + (" missing" if is_missing else ""), edge.is_in_cycle)
    if edge.kind is EdgeKind.NAMES:
        yield f"label={_quoted(edge.field)} labeltooltip={sentence} style=dotted"
    if edge.is_in_cycle:
        yield _CYCLE
    elif is_missing:
        yield f'color="{_RED}"'


def _classes(kind: str, is_in_cycle: bool) -> str:
    return f'class="{kind.lower()}{" cycle" if is_in_cycle else ""}"'


def _quoted(*lines: str) -> str:
    """Lines of text as one quoted string; Graphviz reads escapes and the character references of HTML in it."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
