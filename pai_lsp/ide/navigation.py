"""Definition, references and highlights of the name at a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.location import locate
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.symbols import occurrence_at
from pai_lsp.job.this_lookup import is_this, this_answer
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.job.symbols import Occurrence, Symbol
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.source.text import Span


@dataclass(frozen=True, slots=True)
class Target:
    """A place to go to: `span` is what to select, `whole` all that belongs to it; `path` is None for the same file.

    `origin` is the word in this file that leads there.
    """

    span: Span
    whole: Span
    origin: Span
    path: str | None = None


def definitions(document: Document, offset: int) -> list[Target]:
    """Where the name at a cursor is defined."""
    here = name_at(document, offset)
    if here is not None:
        return [
            Target(one.span, _whole(document, one.span), here.span)
            for one in places_of(document, here.symbol)
            if one.is_definition
        ]
    use = next((use for use in document.job.template_uses if use.content_span.touches(offset)), None)
    if use is not None:
        return list(_bound_prerequisite(document.job, use, offset))
    return list(_outside(document, offset))


def references(document: Document, offset: int, *, with_definition: bool = True) -> list[Span]:
    """Every place of the name at a cursor."""
    here = name_at(document, offset)
    if here is None:
        return []
    return [one.span for one in places_of(document, here.symbol) if with_definition or not one.is_definition]


def highlights(document: Document, offset: int) -> list[Occurrence]:
    """The places of the name at a cursor; the definition among them is the one that is written to."""
    here = name_at(document, offset)
    return places_of(document, here.symbol) if here is not None else []


def _whole(document: Document, span: Span) -> Span:
    """The entry or definition that a defining name belongs to."""
    for definition in document.job.definitions:
        if definition.name_scalar and definition.name_span == span:
            return definition.node.span
    location = locate(document, span.start)
    return location.entry.span if location and location.is_key and location.entry else span


def _bound_prerequisite(job: Job, use: TemplateUse, offset: int) -> Iterator[Target]:
    """`$data` leads to the prerequisite that the role's field names, `this.x` to the key that it finds."""
    steps = use.tag.steps
    if not steps:
        return
    member = str(steps[1].name) if len(steps) > 1 and use.step_span(0).end < offset else ""
    if is_this(use.tag) and use.definition is not None:
        answer = this_answer(job.require_graph, use.definition, use.tag)
        if answer.node is not None and answer.holder is not None:
            place = answer.entry.key.span if answer.entry else answer.node.span
            whole = answer.entry.span if answer.entry else answer.node.span
            yield Target(place, whole, use.content_span, job.require_graph.path(answer.holder))
        return
    field = str(steps[0].name).removeprefix("$")
    roles = (use.role,) if use.role else job.roles_listing(use.definition) if use.definition else job.task_roles
    for role in roles:
        reference = role.typed_references.get(field)
        definition = job.find_typed(field, reference.name) if reference else None
        if definition is not None:
            entry = definition.node.entry(member) if member else None
            span = entry.key.span if entry else definition.name_span
            yield Target(span, entry.span if entry else definition.node.span, use.content_span)


def _outside(document: Document, offset: int) -> Iterator[Target]:
    """`marketplace://…` leads into the catalog's file."""
    location = locate(document, offset)
    if location is None or not isinstance(location.node, Scalar) or "://" not in location.node.text:
        return
    answer = document.job.lookup.find(location.node.text)
    if answer.state is LookupState.FOUND and answer.path is not None:
        for definition in answer.definitions:
            yield Target(definition.name_span, definition.node.span, location.node.span, answer.path)


def name_at(document: Document, offset: int) -> Occurrence | None:
    """The name at a cursor."""
    return occurrence_at(document.occurrences, offset)


def places_of(document: Document, symbol: Symbol) -> list[Occurrence]:
    """Every place of a name, in the order of the text."""
    return [one for one in document.occurrences if one.symbol == symbol]
