"""Lines above definitions: how often a name is used, how many tasks run it, and the way to see what a role runs."""

from __future__ import annotations

from enum import Enum

from pai_lsp.job.symbols import Symbol, SymbolKind
from pai_lsp.source.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Mapping
    from pai_lsp.source.text import Span


class LensKind(Enum):
    """What a lens shows; the values are the names of the settings that switch it off."""

    TASKS = "tasks"
    REFERENCES = "references"
    PREVIEW = "preview"
    SCRIPT = "script"


ALL_LENSES = frozenset(LensKind)


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above `span`; `references` are the places to show, `role` is the task role whose script it shows."""

    span: Span
    title: str
    kind: LensKind
    references: tuple[Span, ...] = ()
    role: str = ""


def lenses(document: Document, kinds: frozenset[LensKind] = ALL_LENSES) -> list[Lens]:
    """The lenses of those kinds, by place; several above one line are shown side by side."""
    found = [*_references(document), *_tasks(document.job), *_previews(document.job), *_skus(document)]
    return sorted((lens for lens in found if lens.kind in kinds), key=lambda lens: lens.span.start)


def _references(document: Document) -> Iterator[Lens]:
    """Above a prerequisite or deployment: how often its name is used."""
    uses: dict[Symbol, list[Span]] = {}
    for one in document.occurrences:
        if not one.is_definition:
            uses.setdefault(one.symbol, []).append(one.span)
    named = [
        *((SymbolKind.PREREQUISITE, one.name, one.node) for one in document.job.definitions),
        *((SymbolKind.DEPLOYMENT, one.name, one.node) for one in document.job.deployments),
    ]
    for kind, name, node in named:
        if name:
            places = tuple(uses.get(Symbol(kind, name), ()))
            yield Lens(_begin(node), _count(len(places), "reference"), LensKind.REFERENCES, places)


def _tasks(job: Job) -> Iterator[Lens]:
    """Above a prerequisite: the tasks that run it, or whose image it is."""
    images: dict[str, list[TaskRole]] = {}
    for role in job.task_roles:
        if image := role.typed_references.get("dockerImage"):
            images.setdefault(image.name, []).append(role)
    for definition in job.definitions:
        if definition.type == "dockerimage":
            yield from _for(definition, images.get(definition.name, ()), "image of")
        elif definition.extended_plugin is not None:
            yield from _for(definition, job.roles_running(definition), "runs on")


def _for(definition: Definition, roles: Iterable[TaskRole], words: str) -> Iterator[Lens]:
    tasks = sum(role.instances for role in roles)
    if tasks and definition.name:
        yield Lens(_begin(definition.node), f"{words} {_count(tasks, 'task')}", LensKind.TASKS)


def _previews(job: Job) -> Iterator[Lens]:
    for role in job.task_roles:
        yield Lens(role.name_span, "preview what runs", LensKind.PREVIEW, role=role.name)
        if role.commands:
            yield Lens(role.name_span, "copy script", LensKind.SCRIPT, role=role.name)


def _skus(document: Document) -> Iterator[Lens]:
    """Above the task roles: the SKUs that they request of the cluster that the configuration names."""
    section = document.job.section("taskRoles")
    if document.settings.cluster is None or section is None:
        return
    from pai_lsp.ide.known_values import requested_skus  # noqa: PLC0415 - few projects name a cluster

    title = requested_skus(document.job, document.settings.cluster)
    if title is not None:
        yield Lens(section.key.span, title, LensKind.TASKS)


def _begin(node: Mapping) -> Span:
    """The first key of a mapping: its lens is above that, and not in the middle of it."""
    return node.entries[0].key.span if node.entries else node.span


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
