"""A prerequisite graph as a Mermaid flowchart, which GitHub, GitLab and many wikis draw.

Source of the syntax: https://mermaid.js.org/syntax/flowchart.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.graph.names import node_lines
from pai_lsp.graph.prerequisite_graph import EdgeKind, NodeKind

if TYPE_CHECKING:
    from pai_lsp.graph.prerequisite_graph import GraphNode, PrerequisiteGraph

_SHAPES = {NodeKind.ROLE: ('(["', '"])'), NodeKind.OUTSIDE: ('[["', '"]]')}
_BOX = ('["', '"]')
_RED = "#cf222e"
_CLASSES = {
    NodeKind.ROLE: "stroke:#0969da,stroke-width:2px",
    NodeKind.EXTRAS: "stroke:#bf8700",
    NodeKind.OUTSIDE: "stroke:#8250df",
    NodeKind.MISSING: f"stroke:{_RED},color:{_RED},stroke-dasharray:5 4",
    NodeKind.UNKNOWN: "stroke-dasharray:5 4",
}
_CYCLE = f"stroke:{_RED},stroke-width:3px"
_PLAIN = frozenset(" _-./:·…()")


def mermaid(graph: PrerequisiteGraph) -> str:
    """The graph as text, with a line end at its end."""
    lines = ["flowchart LR"]
    for node in graph.nodes:
        left, right = _SHAPES.get(node.kind, _BOX)
        lines.append(f"  {node.identifier}{left}{_label(node)}{right}")
    for edge in graph.edges:
        arrow = f'-. "{_text(edge.field)}" .->' if edge.kind is EdgeKind.NAMES else "-->"
        lines.append(f"  {graph.nodes[edge.source].identifier} {arrow} {graph.nodes[edge.target].identifier}")
    for kind, style in _CLASSES.items():
        members = [node.identifier for node in graph.nodes if node.kind is kind]
        if members:
            name = kind.name.lower()
            lines += [f"  classDef {name} {style}", f"  class {','.join(members)} {name}"]
    if circular := [node.identifier for node in graph.nodes if node.is_in_cycle]:
        lines += [f"  classDef cycle {_CYCLE}", f"  class {','.join(circular)} cycle"]
    if links := [str(number) for number, edge in enumerate(graph.edges) if edge.is_in_cycle]:
        lines.append(f"  linkStyle {','.join(links)} {_CYCLE}")
    return "".join(f"{line}\n" for line in lines)


def _label(node: GraphNode) -> str:
    return "<br/>".join(_text(line) for line in node_lines(node))


def _text(text: str) -> str:
    """Text in which nothing means anything to Mermaid, to Markdown or to HTML: other characters become their codes."""
    return "".join(one if one.isalnum() or one in _PLAIN else f"#{ord(one)};" for one in text)
