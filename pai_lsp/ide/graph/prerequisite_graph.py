"""The prerequisite graph of a job as plain values: what the writers beside this file write.

Everything that the file defines is in it, used or not, and everything that its references lead to. Source of what a
reference finds: docs/protocol.md, "References".
"""

from __future__ import annotations

from enum import Enum

from pai_lsp.job.definition import TYPED_FIELDS, Definition, Origin
from pai_lsp.job.lookup import LookupState, displayed_path
from pai_lsp.job.require_graph import cycles
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.definition import Reference
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
    is_in_cycle: whether it is part of a cycle that `requirements.cycles` reports.
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
    closed = builder.cyclic_edges()
    in_cycle = {source for source, _ in closed}
    hidden = job.hidden
    return PrerequisiteGraph(
        tuple(
            GraphNode(
                f"n{number}",
                kind,
                hidden.without(name),
                hidden.without(detail),
                hidden.without(place),
                is_in_cycle=number in in_cycle,
                span=span,
                path=path,
            )
            for number, (kind, name, detail, place, span, path) in enumerate(builder.nodes)
        ),
        tuple(replace(edge, is_in_cycle=(edge.source, edge.target) in closed) for edge in builder.edges),
    )


class _GraphBuilder:
    """Numbers the nodes as they are met."""

    __slots__ = ("_folder", "_graph", "_job", "_numbers", "edges", "nodes")

    def __init__(self, job: Job, folder: str) -> None:
        self._job = job
        self._folder = folder
        self._graph = job.require_graph
        self._numbers: dict[object, int] = {}
        self.nodes: list[tuple[NodeKind, str, str, str, Span, str | None]] = []
        self.edges: dict[GraphEdge, None] = {}

    def read(self) -> None:
        roles = [self._number(role, NodeKind.ROLE, role.name, span=role.name_span) for role in self._job.task_roles]
        for definition in self._graph.definitions:
            self._definition(definition)
        for number, role in zip(roles, self._job.task_roles, strict=True):
            for field, reference in role.typed_references.items():
                self._edge(number, self._typed(TYPED_FIELDS[field], reference), EdgeKind.NAMES, field)
            for reference in role.prerequisites:
                self._link(number, self._graph.link(reference), EdgeKind.LISTS)
        for definition in self._graph.definitions:
            for link in self._graph.links(definition):
                self._link(self._definition(definition), link, EdgeKind.REQUIRES)

    def cyclic_edges(self) -> set[tuple[int, int]]:
        """The edges that close cycles: the same cycles that the rule about them reports."""
        pairs: set[tuple[int, int]] = set()
        for cycle in cycles(self._graph):
            numbers = [self._definition(definition) for definition in cycle.definitions]
            pairs.update(zip(numbers, [*numbers[1:], numbers[0]], strict=True))
        return pairs

    def _link(self, source: int, link: RequireLink, kind: EdgeKind) -> None:
        for target in self._targets(link):
            self._edge(source, target, kind)

    def _targets(self, link: RequireLink) -> Iterator[int]:
        if link.targets:
            yield from (self._definition(definition) for definition in link.targets)
            return
        name, answer = link.reference.name, link.answer
        is_unknown = answer.state is LookupState.UNKNOWN
        kind = NodeKind.UNKNOWN if is_unknown else NodeKind.MISSING
        note = answer.note if is_unknown else ""
        yield self._number((kind, name), kind, name, place=note, span=link.reference.span, path=link.path)

    def _typed(self, type_name: str, reference: Reference) -> int:
        name = reference.name
        definition = self._job.find_typed(type_name, name)
        if definition is not None:
            return self._definition(definition)
        return self._number((type_name, name), NodeKind.MISSING, name, type_name, span=reference.span)

    def _definition(self, definition: Definition) -> int:
        graph = self._graph
        plugin = definition.extended_plugin or ""
        detail = " · ".join(filter(None, (definition.type, plugin)))
        if graph.is_outside(definition):
            path = graph.path(definition)
            kind, place = NodeKind.OUTSIDE, displayed_path(path or "", self._folder)
        else:
            path, place = None, ""
            kind = NodeKind.EXTRAS if definition.origin is Origin.EXTRAS else NodeKind.OWN
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
            self.nodes.append((kind, name, detail, place, span, path))
        return number

    def _edge(self, source: int, target: int, kind: EdgeKind, field: str = "") -> None:
        self.edges[GraphEdge(source, target, kind, field)] = None
