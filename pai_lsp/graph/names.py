"""How a graph tells names and kinds: nothing that a file holds can break a line, turn it around or hide in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.graph.prerequisite_graph import EdgeKind, NodeKind

if TYPE_CHECKING:
    from pai_lsp.graph.prerequisite_graph import GraphEdge, GraphNode, PrerequisiteGraph

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
