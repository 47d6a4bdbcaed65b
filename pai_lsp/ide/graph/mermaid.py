"""A prerequisite graph as a Mermaid flowchart, which GitHub, GitLab and many wikis draw.

Source of the syntax: https://mermaid.js.org/syntax/flowchart.html.

How a graph tells names and kinds: nothing that a file holds can break a line, turn it around or hide in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.graph.prerequisite_graph import EdgeKind, NodeKind

if TYPE_CHECKING:
    from pai_lsp.ide.graph.prerequisite_graph import GraphEdge, GraphNode, PrerequisiteGraph


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


_LONGEST = 200


def readable(text: str) -> str:
    """The text on one line, every character that shows nothing as an escape, cut where it is very long."""
    text = fitted(text, _LONGEST)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def node_lines(node: GraphNode) -> tuple[str, ...]:
    """The name of a node, then what it is, where it comes from and whether it is in a cycle: one line each."""
    name = readable(node.name) or "(without a name)"
    if node.kind in {NodeKind.ROLE, NodeKind.MISSING, NodeKind.UNKNOWN}:
        more = (" · ".join(filter(None, (node.kind.value, readable(node.detail)))), readable(node.place))
    elif node.kind is NodeKind.EXTRAS:
        more = (readable(node.detail), node.kind.value)
    else:
        more = (readable(node.detail), readable(node.place))
    return (name, *filter(None, more), *(("in a cycle",) if node.is_in_cycle else ()))


def edge_sentence(graph: PrerequisiteGraph, edge: GraphEdge) -> str:
    """What an edge says, as a short sentence."""
    source, target = (node_lines(graph.nodes[number])[0] for number in (edge.source, edge.target))
    field = f" as {edge.field}" if edge.kind is EdgeKind.NAMES else ""
    return f"{source} {edge.kind.value} {target}{field}" + (" (in a cycle)" if edge.is_in_cycle else "")


def fitted(text: str, most: int, *, keeps_end: bool = False) -> str:
    """The text, or as much of it as so many characters hold, with an ellipsis for the rest."""
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if keeps_end else f"{text[: most - 1]}…"
