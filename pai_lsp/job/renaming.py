"""Giving something in a job another name, at every place that means it: for F2, for fixes and for refactorings.

A field of a task role looks among the prerequisites of its own type, so it distinguishes those of one name; a plain
list and `require` mean the last of that name. Sources: rest-server, middlewares/v2/protocol.js; openpai-runtime,
src/init.d/initializer.py. Any other mention of a task role in a command than those of `symbols` is text of the author's
program, which only the author can judge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.job.symbols import Symbol, SymbolKind, mentioning_scalars, occurrences
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import ScalarStyle
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.symbols import Occurrence
    from pai_lsp.source.text import Span


@dataclass(frozen=True, slots=True)
class RoleRenaming:
    """The edits that rename a role; `is_complete` unless a command or parameter has its old name elsewhere as well."""

    edits: tuple[TextEdit, ...]
    is_complete: bool


def renaming_edits(job: Job, places: Iterable[Occurrence], new_name: str) -> tuple[TextEdit, ...]:
    """The edits that write another name at some places, each in the spelling and the quotes that it needs there."""
    plain = {scalar.span for scalar in job.syntax.scalars if scalar.style is ScalarStyle.PLAIN}
    edits: list[TextEdit] = []
    for place in places:
        text = converted_role_name(new_name) if place.is_converted else new_name
        is_whole = place.span in plain and place.symbol.kind is not SymbolKind.ANCHOR
        edits.append(TextEdit(place.span, flow_scalar(text) if is_whole else text))
    return tuple(sorted(edit for edit in edits if job.text[edit.span.start : edit.span.end] != edit.new_text))


def rename_symbol(job: Job, symbol: Symbol, new_name: str) -> tuple[TextEdit, ...]:
    """Rename whatever has that name."""
    return renaming_edits(job, _places(job, symbol), new_name)


def rename_role(job: Job, name: str, new_name: str) -> RoleRenaming:
    """Rename the task role `name`; the names as the rest-server reads them."""
    places = _places(job, Symbol(SymbolKind.TASK_ROLE, name))
    known = {place.span for place in places}
    mention = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])|_{re.escape(name)}(?![A-Za-z0-9])")
    is_complete = True
    for scalar, _ in mentioning_scalars(job):
        if name in scalar.text:
            text = mapped(job.text, scalar)
            spans = [text.span(*match.span()) for match in mention.finditer(scalar.text)]
            is_complete = is_complete and all(any(_holds(span, one) for one in known) for span in spans)
    return RoleRenaming(renaming_edits(job, places, new_name), is_complete)


def rename_prerequisite(job: Job, definition: Definition, new_name: str) -> tuple[TextEdit, ...]:
    """Rename a prerequisite; of several with its name, a reference that may mean another one stays."""
    places = _places(job, Symbol(SymbolKind.PREREQUISITE, definition.name))
    if sum(one.name == definition.name for one in job.definitions) > 1:
        surely = _surely_meant(job, definition)
        places = [one for one in places if one.span in surely]
    return renaming_edits(job, places, new_name)


def meant_prerequisite(job: Job, place: Occurrence) -> Definition | None:
    """The definition that the name of a prerequisite means at one of its places: a typed field wants its own type."""
    name = place.symbol.name
    for definition in job.definitions:
        if definition.name_scalar and definition.name_span == place.span:
            return definition
    for role in job.task_roles:
        for field, reference in role.typed_references.items():
            if reference.span == place.span and (typed := job.find_typed(TYPED_FIELDS[field], name)):
                return typed
    return job.definitions_by_name.get(name)


def _places(job: Job, symbol: Symbol) -> list[Occurrence]:
    return [one for one in occurrences(job, frozenset({symbol.kind})) if one.symbol == symbol]


def _surely_meant(job: Job, definition: Definition) -> set[Span]:
    name, kind = definition.name, definition.type
    spans = {definition.name_span}
    if job.find_typed(kind, name) is definition:
        for role in job.task_roles:
            references = role.typed_references.items()
            spans |= {one.span for field, one in references if one.name == name and TYPED_FIELDS[field] == kind}
    is_only_one_of_type = sum(one.name == name and one.type == kind for one in job.definitions) == 1
    if is_only_one_of_type and job.definitions_by_name.get(name) is definition:
        listed = [reference for role in job.task_roles for reference in role.prerequisites]
        required = [requirement.reference for one in job.definitions for requirement in one.requirements]
        spans |= {reference.span for reference in (*listed, *required) if reference.name == name}
    return spans


def _holds(whole: Span, part: Span) -> bool:
    return whole.start <= part.start and part.end <= whole.end
