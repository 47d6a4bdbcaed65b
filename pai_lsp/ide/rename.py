"""Renaming everything that has a name, in every place and spelling; refused where the new name would break the job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.ide.navigation import name_at, places_of
from pai_lsp.job.symbols import Symbol, SymbolKind, meant_prerequisite, rename_prerequisite, renaming_edits
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.source.text import Span, TextEdit

# Sources: rest-server, src/config/v2/protocol.js (names, roles, port labels); openpai-runtime issue 47 (roles in lower
# case, without `_`); mustache 2.3.2 (a dot separates keys); YAML 1.1 (anchors).
_FORMS = {
    SymbolKind.PREREQUISITE: (re.compile(r"[a-zA-Z0-9_-]{1,255}"), "letters, digits, '_' and '-'"),
    SymbolKind.DEPLOYMENT: (re.compile(r"[a-zA-Z0-9_-]{1,255}"), "letters, digits, '_' and '-'"),
    SymbolKind.TASK_ROLE: (
        re.compile(r"[a-z][a-z0-9]{0,62}"),
        "lower-case letters and digits, beginning with a letter: the runtime dies of any other role name",
    ),
    SymbolKind.PORT: (re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*"), "letters, digits and '_'"),
    SymbolKind.PARAMETER: (re.compile(r"[^\s.\[\]<>%{}'\"#:&*!|,]+"), "no blanks, dots, brackets or quotes"),
    SymbolKind.SECRET: (re.compile(r"[^\s.\[\]<>%{}'\"#:&*!|,]+"), "no blanks, dots, brackets or quotes"),
    SymbolKind.TEMPLATE_VARIABLE: (re.compile(r"[A-Za-z_][\w-]*"), "letters, digits, '_' and '-'"),
    SymbolKind.ANCHOR: (re.compile(r"[^\s,\[\]{}]+"), "no blanks, commas or brackets"),
}


class RenameRefused(Exception):  # noqa: N818 - the editor shows it as an answer, not as a fault
    """A rename that would break the job; the text says why."""


@dataclass(frozen=True, slots=True)
class Renamable:
    """The name at a cursor, and its place."""

    span: Span
    name: str


def prepare(document: Document, offset: int) -> Renamable | None:
    """The name that a rename at the cursor would change; None where there is none, or nothing here defines it."""
    here = name_at(document, offset)
    if here is None or not any(one.is_definition for one in places_of(document, here.symbol)):
        return None
    return Renamable(here.span, document.text[here.span.start : here.span.end])


def rename(document: Document, offset: int, new_name: str) -> tuple[TextEdit, ...]:
    """The edits that give the thing at the cursor another name.

    Raises:
        RenameRefused: where there is nothing to rename, the name has a wrong form, or something else has it.
    """
    here = name_at(document, offset)
    if here is None or prepare(document, offset) is None:
        raise RenameRefused("there is no name here that this file defines")
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
        raise RenameRefused(f"'{new_name}' can not name a {kind}: {words}")
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
