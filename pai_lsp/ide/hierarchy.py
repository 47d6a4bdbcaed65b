"""Who needs whom: task roles and prerequisites, through the roles' lists and `require`, in the catalog as well."""

from __future__ import annotations

from pai_lsp.ide.cursor import Cursor
from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.job.symbols import SymbolKind
from pai_lsp.source.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.text import Span


@dataclass(frozen=True, slots=True)
class Member:
    """A task role or a prerequisite: all of it, its name's place in that, and the file, None for the document's own.

    key: finds it again in a later version of the text.
    """

    name: str
    detail: str
    span: Span
    name_span: Span
    key: str
    path: str | None = None
    is_role: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A member that needs, or is needed by, the one asked about.

    places: the references; path: the file that they are in, None for the document's own.
    """

    member: Member
    places: tuple[Span, ...]
    path: str | None = None


def members_at(document: Document, offset: int) -> list[Member]:
    """The task role or the prerequisites of the name at a cursor."""
    here = Cursor(document, offset).name
    if here is None:
        return []
    job, name = document.job, here.symbol.name
    if here.symbol.kind is SymbolKind.TASK_ROLE:
        return [_role(role) for role in job.task_roles if role.name == name]
    if here.symbol.kind is not SymbolKind.PREREQUISITE:
        return []
    exact = [one for one in job.definitions if one.name_scalar and one.name_span == here.span]
    found = exact or [one for one in (job.definitions_by_name.get(name),) if one]
    return [_definition(job, one) for one in found]


def needs(document: Document, key: str) -> list[Call]:
    """What a member needs: what a role lists and names, what a definition requires."""
    job = document.job
    role, definition = _found(job, key)
    calls: list[tuple[Definition, Span]] = []
    path = job.require_graph.path(definition) if definition is not None else None
    if role is not None:
        for reference in role.prerequisites:
            calls += ((target, reference.span) for target in job.require_graph.link(reference).targets)
        for field, reference in role.typed_references.items():
            typed = job.find_typed(TYPED_FIELDS[field], reference.name)
            calls += [(typed, reference.span)] if typed else []
    elif definition is not None:
        for link in job.require_graph.links(definition):
            calls += ((target, link.reference.span) for target in link.targets)
    return _grouped((_definition(job, target), place, path) for target, place in calls)


def needed_by(document: Document, key: str) -> list[Call]:
    """Who needs a prerequisite: the roles that list or name it, the definitions that require it."""
    job = document.job
    _, wanted = _found(job, key)
    return _grouped(_calls_of(job, wanted)) if wanted is not None else []


def _calls_of(job: Job, wanted: Definition) -> Iterator[tuple[Member, Span, str | None]]:
    for role in job.task_roles:
        for reference in role.prerequisites:
            if any(target.node is wanted.node for target in job.require_graph.link(reference).targets):
                yield _role(role), reference.span, None
        for field, reference in role.typed_references.items():
            typed = job.find_typed(TYPED_FIELDS[field], reference.name)
            if typed is not None and typed.node is wanted.node:
                yield _role(role), reference.span, None
    for definition in job.require_graph.definitions:
        for link in job.require_graph.links(definition):
            if any(target.node is wanted.node for target in link.targets):
                yield _definition(job, definition), link.reference.span, link.path


def _grouped(calls: Iterable[tuple[Member, Span, str | None]]) -> list[Call]:
    places: dict[tuple[Member, str | None], dict[Span, None]] = {}
    for member, place, path in calls:
        places.setdefault((member, path), {})[place] = None
    return [Call(member, tuple(found), path) for (member, path), found in places.items()]


def _role(role: TaskRole) -> Member:
    tasks = f"task role, {role.instances} task{'' if role.instances == 1 else 's'}"
    return Member(role.name, tasks, role.entry.span, role.name_span, f"role {role.name}", is_role=True)


def _definition(job: Job, definition: Definition) -> Member:
    path = job.require_graph.path(definition)
    name = definition.name or "(no name)"
    key = " ".join(("definition", path or "", definition.type, name))
    return Member(name, definition.type or "prerequisite", definition.node.span, definition.name_span, key, path)


def _found(job: Job, key: str) -> tuple[TaskRole | None, Definition | None]:
    for role in job.task_roles:
        if _role(role).key == key:
            return role, None
    for definition in job.require_graph.definitions:
        if _definition(job, definition).key == key:
            return None, definition
    return None, None
