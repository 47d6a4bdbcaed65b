"""What an editor shows beside the text: hints in a line, and lenses above a definition.

Hints are the value of a template, the order in which prerequisites run, and totals. A lens shows how often a name is
used and how many tasks run it, and shows what a role runs.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.ide.known_values import job_resources, requested_skus, resources_sentence
from pai_lsp.job.require_graph import expansion
from pai_lsp.job.symbols import Symbol, SymbolKind
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, plain_value
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.template_answers import TemplateAnswer
    from pai_lsp.source.nodes import Entry
    from pai_lsp.source.text import Span

_LONGEST_VALUE = 40


class HintKind(Enum):
    """The kind of a hint; the values are the names of the settings that switch it off."""

    TEMPLATE_VALUE = "templateValues"
    RUN_ORDER = "runOrder"
    RESOURCES = "resources"


@dataclass(frozen=True, slots=True)
class InlayHint:
    """A label in front of the character at `offset`; `tooltip` has details, or is empty."""

    offset: int
    label: str
    kind: HintKind
    tooltip: str = ""


def inlay_hints(document: Document, span: Span, kinds: frozenset[HintKind] = frozenset(HintKind)) -> list[InlayHint]:
    """The hints of those kinds within a span, by place."""
    found = [*_template_values(document, span), *_resources(document)]
    for role in document.job.task_roles:
        entry = role.field("prerequisites")
        if entry and entry.span.overlaps(span):
            found += _run_order(document, role)
    shown = (hint for hint in found if hint.kind in kinds and span.touches(hint.offset))
    return sorted(shown, key=lambda hint: (hint.offset, hint.label))


def _template_values(document: Document, span: Span) -> Iterator[InlayHint]:
    """A value that is the same for all who see the template, short and no secret."""
    values: dict[Span, str | None] = {}
    for answer in document.job.template_answers:
        place = answer.use.span
        if place.overlaps(span):
            value = _value(document, answer)
            values[place] = value if values.get(place, value) == value else None
    for place, value in values.items():
        if value:
            yield InlayHint(place.end, f"= {value}", HintKind.TEMPLATE_VALUE)


def _value(document: Document, answer: TemplateAnswer) -> str | None:
    """What is filled in, as text; None for what is not known, not to be shown, or no text in a plugin's parameter."""
    node = answer.node
    if (
        answer.outcome is not PathOutcome.FOUND
        or node is None
        or answer.root == "$secrets"
        or isinstance(node, Mapping)
    ):
        return None
    if answer.in_plugin:
        text = node.runtime_value if isinstance(node, Scalar) else None
    else:
        text = server_text(plain_value(node))
    is_shown = isinstance(text, str) and len(text) <= _LONGEST_VALUE and text.isprintable()
    return text if is_shown and text and document.job.hidden.without(text) == text else None


def _run_order(document: Document, role: TaskRole) -> Iterator[InlayHint]:
    """A number before each name of a role's list, where several run, what they require counted with them."""
    order = expansion(document.job.require_graph, role.prerequisites)
    steps = [step for step in order.steps if step.definition.extended_plugin is not None]
    if order.cycles or len(steps) < 2:
        return
    numbers: dict[Mapping, int] = {}
    for number, step in enumerate(steps, 1):
        numbers.setdefault(step.definition.node, number)
    for reference in role.prerequisites:
        for target in document.job.resolve(reference.name).definitions:
            # Taken away: listed once more, it runs no second time.
            if number := numbers.pop(target.node, 0):
                names = "\n".join(f"{at}. {step.definition.name}" for at, step in enumerate(steps[:number], 1))
                yield InlayHint(reference.scalar.span.start, f"{number}.", HintKind.RUN_ORDER, names)
                break


def _resources(document: Document) -> Iterator[InlayHint]:
    """What each role asks for, after its name; the sum of several after `taskRoles`."""
    job = document.job
    for role in job.task_roles:
        if role.get("resourcePerInstance") is not None:
            yield InlayHint(_after_colon(document, role.entry), resources_sentence(role), HintKind.RESOURCES)
    section = job.section("taskRoles")
    total = job_resources(job)
    if section and len(job.task_roles) > 1 and total.sentence():
        label = f"{total.tasks} tasks, in all {total.sentence()}"
        yield InlayHint(_after_colon(document, section), label, HintKind.RESOURCES)


def _after_colon(document: Document, entry: Entry) -> int:
    """The offset after a key's colon, or after the key if it has no colon."""
    end = entry.key.span.end
    rest = document.text[end : end + 1 + _LONGEST_VALUE]
    return end + len(rest) - len(rest.lstrip()) + 1 if rest.lstrip().startswith(":") else end


class LensKind(Enum):
    """What a lens shows; the values are the names of the settings that switch it off."""

    TASKS = "tasks"
    REFERENCES = "references"
    PREVIEW = "preview"
    SCRIPT = "script"


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above `span`; `references` are the places to show, `role` is the task role whose script it shows."""

    span: Span
    title: str
    kind: LensKind
    references: tuple[Span, ...] = ()
    role: str = ""


def lenses(document: Document, kinds: frozenset[LensKind] = frozenset(LensKind)) -> list[Lens]:
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
            yield Lens(_begin(node), plural(len(places), "reference"), LensKind.REFERENCES, places)


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
        yield Lens(_begin(definition.node), f"{words} {plural(tasks, 'task')}", LensKind.TASKS)


def _previews(job: Job) -> Iterator[Lens]:
    for role in job.task_roles:
        yield Lens(role.name_span, "preview what runs", LensKind.PREVIEW, role=role.name)
        if role.commands:
            yield Lens(role.name_span, "copy script", LensKind.SCRIPT, role=role.name)


def _skus(document: Document) -> Iterator[Lens]:
    """Above the task roles: the SKUs that they request of the cluster that the configuration names."""
    section = document.job.section("taskRoles")
    if section is not None and (title := requested_skus(document.job, document.settings.cluster)):
        yield Lens(section.key.span, title, LensKind.TASKS)


def _begin(node: Mapping) -> Span:
    """The first key of a mapping: its lens is above that, and not in the middle of it."""
    return node.entries[0].key.span if node.entries else node.span
