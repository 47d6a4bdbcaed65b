"""A prerequisite graph in the languages of Mermaid and Graphviz.

Graphviz copies `class` into the SVG, so a page can give its own colors; the colors here are legible on light and dark
backgrounds. Sources: https://graphviz.org/doc/info/lang.html (syntax), https://graphviz.org/doc/info/attrs.html.
"""

from __future__ import annotations

from pai_lsp.ide.graph.prerequisite_graph import EdgeKind, NodeKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
_MERMAID_CYCLE = f"stroke:{_RED},stroke-width:3px"
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
        lines += [f"  classDef cycle {_MERMAID_CYCLE}", f"  class {','.join(circular)} cycle"]
    if links := [str(number) for number, edge in enumerate(graph.edges) if edge.is_in_cycle]:
        lines.append(f"  linkStyle {','.join(links)} {_MERMAID_CYCLE}")
    return "".join(f"{line}\n" for line in lines)


def _label(node: GraphNode) -> str:
    return "<br/>".join(_text(line) for line in node_lines(node))


def _text(text: str) -> str:
    """Text in which nothing means anything to Mermaid, to Markdown or to HTML: other characters become their codes."""
    return "".join(one if one.isalnum() or one in _PLAIN else f"#{ord(one)};" for one in text)


_LONGEST_LABEL = 200
# Nobody points at one edge of a larger graph: without descriptions, its text is half as long.
MOST_DESCRIBED_EDGES = 2_000


def readable(text: str) -> str:
    """The text on one line, every character that shows nothing as an escape, cut where it is very long."""
    text = fitted(text, _LONGEST_LABEL)
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
    """An edge as a short sentence."""
    source, target = (node_lines(graph.nodes[number])[0] for number in (edge.source, edge.target))
    field = f" as {edge.field}" if edge.kind is EdgeKind.NAMES else ""
    return f"{source} {edge.kind.value} {target}{field}" + (" (in a cycle)" if edge.is_in_cycle else "")


def fitted(text: str, most: int, *, keeps_end: bool = False) -> str:
    """The text, or as much of it as so many characters hold, with an ellipsis for the rest."""
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if keeps_end else f"{text[: most - 1]}…"


_LONGEST = 48
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
_DOT_CYCLE = f'color="{_RED}" penwidth=2'


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
    # The end of a path is its most useful part.
    shown = fitted(name, _LONGEST), *(fitted(line, _LONGEST, keeps_end="/" in line) for line in more)
    attributes = [f"label={_quoted(*shown)}", f"tooltip={_quoted(*lines)}", _classes(node.kind.name, node.is_in_cycle)]
    attributes += filter(None, (_STYLES[node.kind], _DOT_CYCLE if node.is_in_cycle else ""))
    return f"  {node.identifier} [{' '.join(attributes)}]"


def _edge(graph: PrerequisiteGraph, edge: GraphEdge) -> str:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return f"  {source.identifier} -> {target.identifier} [{' '.join(_edge_attributes(graph, edge))}]"


def _edge_attributes(graph: PrerequisiteGraph, edge: GraphEdge) -> Iterator[str]:
    is_described = len(graph.edges) <= MOST_DESCRIBED_EDGES
    sentence = _quoted(edge_sentence(graph, edge)) if is_described else '""'
    if is_described:
        yield f"tooltip={sentence}"
    is_missing = graph.nodes[edge.target].kind is NodeKind.MISSING
    yield _classes(edge.kind.name + (" missing" if is_missing else ""), edge.is_in_cycle)
    if edge.kind is EdgeKind.NAMES:
        yield f"label={_quoted(edge.field)} labeltooltip={sentence} style=dotted"
    if edge.is_in_cycle:
        yield _DOT_CYCLE
    elif is_missing:
        yield f'color="{_RED}"'


def _classes(kind: str, is_in_cycle: bool) -> str:
    return f'class="{kind.lower()}{" cycle" if is_in_cycle else ""}"'


def _quoted(*lines: str) -> str:
    """Lines of text as one quoted string; Graphviz reads escapes and the character references of HTML in it."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
