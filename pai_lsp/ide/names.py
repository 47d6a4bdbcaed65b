"""The name at a cursor: its definition, references and highlights, and renaming it everywhere.

A rename is refused if the new name would break the job.
"""

from __future__ import annotations

import re

from pai_lsp.ide.cursor import Cursor
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.symbols import Symbol, SymbolKind, meant_prerequisite, rename_prerequisite, renaming_edits
from pai_lsp.job.this_lookup import is_this, this_answer
from pai_lsp.platform.tables import PREREQUISITE_NAME, ROLE_NAME, converted_role_name
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.job.symbols import Occurrence, Symbol
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.source.text import Span, TextEdit


@dataclass(frozen=True, slots=True)
class DefinitionPlace:
    """A place to go to: `span` is what to select, `whole` all that belongs to it; `path` is None for the same file.

    `origin` is the word in this file that leads there.
    """

    span: Span
    whole: Span
    origin: Span
    path: str | None = None


def definitions(document: Document, offset: int) -> list[DefinitionPlace]:
    """Where the name at a cursor is defined."""
    cursor = Cursor(document, offset)
    here = cursor.name
    if here is not None:
        return [
            DefinitionPlace(one.span, _whole(document, one.span), here.span)
            for one in places_of(document, here.symbol)
            if one.is_definition
        ]
    if cursor.template is not None:
        return list(_bound_prerequisite(document.job, cursor.template, offset))
    return list(_outside(cursor))


def references(document: Document, offset: int, *, with_definition: bool = True) -> list[Span]:
    """Every place of the name at a cursor."""
    here = Cursor(document, offset).name
    if here is None:
        return []
    return [one.span for one in places_of(document, here.symbol) if with_definition or not one.is_definition]


def highlights(document: Document, offset: int) -> list[Occurrence]:
    """The places of the name at a cursor; the definition among them is the one that is written to."""
    here = Cursor(document, offset).name
    return places_of(document, here.symbol) if here is not None else []


def _whole(document: Document, span: Span) -> Span:
    """The entry or definition that a defining name belongs to."""
    for definition in document.job.definitions:
        if definition.name_scalar and definition.name_span == span:
            return definition.node.span
    location = Cursor(document, span.start).location
    return location.entry.span if location and location.is_key and location.entry else span


def _bound_prerequisite(job: Job, use: TemplateUse, offset: int) -> Iterator[DefinitionPlace]:
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
            yield DefinitionPlace(place, whole, use.content_span, job.require_graph.path(answer.holder))
        return
    field = str(steps[0].name).removeprefix("$")
    roles = (use.role,) if use.role else job.roles_listing(use.definition) if use.definition else job.task_roles
    for role in roles:
        reference = role.typed_references.get(field)
        definition = job.find_typed(field, reference.name) if reference else None
        if definition is not None:
            entry = definition.node.entry(member) if member else None
            span = entry.key.span if entry else definition.name_span
            yield DefinitionPlace(span, entry.span if entry else definition.node.span, use.content_span)


def _outside(cursor: Cursor) -> Iterator[DefinitionPlace]:
    """`marketplace://…` leads into the catalog's file."""
    location = cursor.location
    if location is None or not isinstance(location.node, Scalar) or "://" not in location.node.text:
        return
    answer = cursor.document.job.lookup.find(location.node.text)
    if answer.state is LookupState.FOUND and answer.path is not None:
        for definition in answer.definitions:
            yield DefinitionPlace(definition.name_span, definition.node.span, location.node.span, answer.path)


def places_of(document: Document, symbol: Symbol) -> list[Occurrence]:
    """Every place of a name, in the order of the text."""
    return [one for one in document.occurrences if one.symbol == symbol]


# Sources: rest-server, src/config/v2/protocol.js (names, roles, port labels); openpai-runtime issue 47 (roles in lower
# case, without `_`); mustache 2.3.2 (a dot separates keys); YAML 1.1 (anchors).
_FORMS = {
    SymbolKind.PREREQUISITE: (PREREQUISITE_NAME, "letters, digits, '_' and '-'"),
    SymbolKind.DEPLOYMENT: (PREREQUISITE_NAME, "letters, digits, '_' and '-'"),
    SymbolKind.TASK_ROLE: (
        re.compile(r"[a-z][a-z0-9]{0,62}"),
        "lower-case letters and digits, beginning with a letter; any other role name crashes the runtime",
    ),
    SymbolKind.PORT: (ROLE_NAME, "letters, digits and '_'"),
    SymbolKind.PARAMETER: (
        re.compile(r"[^\s.\[\]<>%{}'\"#:&*!|,]+"),
        "a word without spaces, dots, brackets and quotes",
    ),
    SymbolKind.SECRET: (re.compile(r"[^\s.\[\]<>%{}'\"#:&*!|,]+"), "a word without spaces, dots, brackets and quotes"),
    SymbolKind.TEMPLATE_VARIABLE: (re.compile(r"[A-Za-z_][\w-]*"), "letters, digits, '_' and '-'"),
    SymbolKind.ANCHOR: (re.compile(r"[^\s,\[\]{}]+"), "a word without spaces, commas and brackets"),
}


class RenameRefused(Exception):  # noqa: N818 - the editor shows it as an answer, not as a fault
    """A rename that would break the job; its text is the reason."""


def prepare(document: Document, offset: int) -> Occurrence:
    """The name that a rename at the cursor would change.

    Raises:
        RenameRefused: without a name at the cursor, or if this file does not define it.
    """
    here = Cursor(document, offset).name
    if here is None:
        raise RenameRefused("only names that a job defines can be renamed, such as task roles and parameters")
    if not any(one.is_definition for one in places_of(document, here.symbol)):
        raise RenameRefused(f"this file does not define '{document.job.hidden.without(here.symbol.name)}'")
    return here


def rename(document: Document, offset: int, new_name: str) -> tuple[TextEdit, ...]:
    """The edits that give the thing at the cursor another name.

    Raises:
        RenameRefused: where there is nothing to rename, the name has a wrong form, or something else has it.
    """
    here = prepare(document, offset)
    symbol = here.symbol
    if new_name == symbol.name:
        return ()
    _check(document, symbol, new_name)
    if symbol.kind is SymbolKind.PREREQUISITE and (meant := meant_prerequisite(document.job, here)):
        return rename_prerequisite(document.job, meant, new_name)
    return renaming_edits(document.job, places_of(document, symbol), new_name)


def _check(document: Document, symbol: Symbol, new_name: str) -> None:
    form, words = _FORMS[symbol.kind]
    kind = symbol.kind.value
    if not form.fullmatch(new_name):
        raise RenameRefused(f"'{new_name}' cannot name a {kind}: use {words}")
    if symbol.kind is SymbolKind.PORT and new_name in {"ssh", "http"}:
        raise RenameRefused(f"every task has a port '{new_name}' already")
    if symbol.kind is SymbolKind.ANCHOR:
        return
    same = {
        one.symbol.name
        for one in document.occurrences
        if one.is_definition and one.symbol.kind is symbol.kind and one.symbol.scope == symbol.scope
    } - {symbol.name}
    if symbol.kind is SymbolKind.TASK_ROLE:
        taken = next((name for name in same if converted_role_name(name) == converted_role_name(new_name)), None)
    else:
        taken = new_name if new_name in same else None
    if taken is not None:
        raise RenameRefused(f"there is a {kind} '{taken}' already")
