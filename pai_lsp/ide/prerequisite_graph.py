"""The prerequisite graph of a job as plain values, and in the languages of Mermaid and Graphviz.

Everything that the file defines is in it, used or not, and everything that its references lead to. Source of what a
reference finds: docs/protocol.md, "References".

Graphviz copies `class` into the SVG, so a page can give its own colors; the colors here are legible on light and dark
backgrounds. Sources: https://graphviz.org/doc/info/lang.html (syntax), https://graphviz.org/doc/info/attrs.html.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.job.definition import TYPED_FIELDS, Definition, Origin
from pai_lsp.job.lookup import LookupState, displayed_path
from pai_lsp.job.require_graph import cycles
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import Span, shortened

if TYPE_CHECKING:
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import RequireLink


class NodeKind(Enum):
    """The kind of a node; the values are shown."""

    ROLE = "task role"
    OWN = "defined in this file"
    EXTRAS = "in extras.reference_prerequisites"
    OUTSIDE = "from a marketplace"
    MISSING = "not found"
    UNKNOWN = "could not be looked up"


class EdgeKind(Enum):
    """The kind of an edge; the values are shown."""

    LISTS = "lists"
    REQUIRES = "requires"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A task role, a definition, or a reference that finds none.

    identifier: `n` and its number from 0, in the order of the graph's nodes.
    name: as the file has it but for passwords, so it may hold anything; empty for a definition without one.
    detail: the type and the plugin of a definition, the type that a missing one should have; may be empty.
    place: the file or address of a definition outside the job; why an unknown one could not be looked up.
    span: its name where it is defined; of one without a definition, the first reference to it.
    path: the file of the span, None for the document's own.
    """

    identifier: str
    kind: NodeKind
    name: str
    detail: str = ""
    place: str = ""
    is_in_cycle: bool = False
    span: Span = Span(0, 0)
    path: str | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A reference: `nodes[source]` lists, requires or names `nodes[target]`.

    field: the key of the task role that names it, for `EdgeKind.NAMES`; empty otherwise.
    is_in_cycle: whether it is part of a cycle of references.
    """

    source: int
    target: int
    kind: EdgeKind
    field: str = ""
    is_in_cycle: bool = False


@dataclass(frozen=True, slots=True)
class PrerequisiteGraph:
    """The graph of a file: task roles first, then definitions in the order in which they are met; each edge once."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def prerequisite_graph(job: Job, folder: str = "") -> PrerequisiteGraph:
    """The graph of a job, or of a file of definitions; of broken files what can be read.

    folder: paths below it are shown relative to it.
    """
    builder = _GraphBuilder(job, folder)
    builder.read()
    return PrerequisiteGraph(tuple(builder.nodes), tuple(builder.edges))


class _GraphBuilder:
    """Numbers the nodes as they are met."""

    def __init__(self, job: Job, folder: str) -> None:
        self._job = job
        self._folder = folder
        self._graph = job.require_graph
        # The cycles that the rule about them reports.
        self._cycles = cycles(self._graph)
        self._in_cycle = {one.node for cycle in self._cycles for one in cycle.definitions}
        self._numbers: dict[object, int] = {}
        self.nodes: list[GraphNode] = []
        self.edges: dict[GraphEdge, None] = {}

    def read(self) -> None:
        roles = [self._number(role, NodeKind.ROLE, role.name, span=role.name_span) for role in self._job.task_roles]
        for definition in self._graph.definitions:
            self._definition(definition)
        closed: set[tuple[int, int]] = set()
        for cycle in self._cycles:
            numbers = [self._definition(definition) for definition in cycle.definitions]
            closed.update(zip(numbers, [*numbers[1:], numbers[0]], strict=True))
        for number, role in zip(roles, self._job.task_roles, strict=True):
            for field, reference in role.typed_references.items():
                kind, name = TYPED_FIELDS[field], reference.name
                if (named := self._job.named_by(role, field)) is not None:
                    target = self._definition(named)
                else:
                    target = self._number((kind, name), NodeKind.MISSING, name, kind, span=reference.span)
                self._edge(number, target, EdgeKind.NAMES, field)
            for reference in role.prerequisites:
                for target in self._targets(self._graph.link(reference)):
                    self._edge(number, target, EdgeKind.LISTS)
        for definition in self._graph.definitions:
            number = self._definition(definition)
            for link in self._graph.links(definition):
                for target in self._targets(link):
                    self._edge(number, target, EdgeKind.REQUIRES, is_in_cycle=(number, target) in closed)

    def _targets(self, link: RequireLink) -> list[int]:
        if link.targets:
            return [self._definition(definition) for definition in link.targets]
        name, is_unknown = link.reference.name, link.answer.state is LookupState.UNKNOWN
        kind, note = (NodeKind.UNKNOWN, link.answer.note) if is_unknown else (NodeKind.MISSING, "")
        return [self._number((kind, name), kind, name, place=note, span=link.reference.span, path=link.path)]

    def _definition(self, definition: Definition) -> int:
        path, place = None, ""
        detail = " · ".join(filter(None, (definition.type, definition.extended_plugin)))
        kind = NodeKind.EXTRAS if definition.origin is Origin.EXTRAS else NodeKind.OWN
        if self._graph.is_outside(definition):
            path = self._graph.path(definition)
            kind, place = NodeKind.OUTSIDE, displayed_path(path or "", self._folder)
        return self._number(definition.node, kind, definition.name, detail, place, span=definition.name_span, path=path)

    def _number(
        self,
        key: object,
        kind: NodeKind,
        name: str,
        detail: str = "",
        place: str = "",
        *,
        span: Span,
        path: str | None = None,
    ) -> int:
        number = self._numbers.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            name, detail, place = map(self._job.hidden.without, (name, detail, place))
            self.nodes.append(GraphNode(f"n{number}", kind, name, detail, place, key in self._in_cycle, span, path))
        return number

    def _edge(self, source: int, target: int, kind: EdgeKind, field: str = "", *, is_in_cycle: bool = False) -> None:
        self.edges[GraphEdge(source, target, kind, field, is_in_cycle)] = None


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
        label = "<br/>".join(map(_text, node_lines(node)))
        lines.append(f"  {node.identifier}{left}{label}{right}")
    for edge in graph.edges:
        arrow = f'-. "{_text(edge.field)}" .->' if edge.kind is EdgeKind.NAMES else "-->"
        lines.append(f"  {graph.nodes[edge.source].identifier} {arrow} {graph.nodes[edge.target].identifier}")
    for kind, style in _CLASSES.items():
        if members := [node.identifier for node in graph.nodes if node.kind is kind]:
            name = kind.name.lower()
            lines += [f"  classDef {name} {style}", f"  class {','.join(members)} {name}"]
    if circular := [node.identifier for node in graph.nodes if node.is_in_cycle]:
        lines += [f"  classDef cycle {_MERMAID_CYCLE}", f"  class {','.join(circular)} cycle"]
    if links := [str(number) for number, edge in enumerate(graph.edges) if edge.is_in_cycle]:
        lines.append(f"  linkStyle {','.join(links)} {_MERMAID_CYCLE}")
    return "".join(f"{line}\n" for line in lines)


def _text(text: str) -> str:
    """Text in which nothing means anything to Mermaid, to Markdown or to HTML: other characters become their codes."""
    return "".join(one if one.isalnum() or one in _PLAIN else f"#{ord(one)};" for one in text)


_LONGEST_LABEL = 200


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
    return f"…{text[1 - most :]}" if keeps_end and len(text) > most else shortened(text, most)


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
    name, *more = lines = node_lines(node)
    # The end of a path is its most useful part.
    shown = fitted(name, _LONGEST), *(fitted(line, _LONGEST, keeps_end="/" in line) for line in more)
    attributes = [f"label={_quoted(*shown)}", f"tooltip={_quoted(*lines)}", _classes(node.kind.name, node.is_in_cycle)]
    attributes += filter(None, (_STYLES[node.kind], _DOT_CYCLE if node.is_in_cycle else ""))
    return f"  {node.identifier} [{' '.join(attributes)}]"


def _edge(graph: PrerequisiteGraph, edge: GraphEdge) -> str:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    is_missing = target.kind is NodeKind.MISSING
    sentence = _quoted(edge_sentence(graph, edge))
    kind = edge.kind.name + (" missing" if is_missing else "")
    attributes = [f"tooltip={sentence}", _classes(kind, edge.is_in_cycle)]
    if edge.kind is EdgeKind.NAMES:
        attributes.append(f"label={_quoted(edge.field)} labeltooltip={sentence} style=dotted")
    if edge.is_in_cycle or is_missing:
        attributes.append(_DOT_CYCLE if edge.is_in_cycle else f'color="{_RED}"')
    return f"  {source.identifier} -> {target.identifier} [{' '.join(attributes)}]"


def _classes(kind: str, is_in_cycle: bool) -> str:
    return f'class="{kind.lower()}{" cycle" if is_in_cycle else ""}"'


def _quoted(*lines: str) -> str:
    """Lines of text as one quoted string; Graphviz reads escapes and the character references of HTML in it."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
