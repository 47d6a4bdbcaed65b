"""Converts our values to LSP and back. Nothing else knows that clients count columns in units of their own."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.uris import to_fs_path, urlparse

from pai_lsp.ide.token_types import TokenModifier, TokenType
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import ColumnUnit, LineIndex, Span, TextEdit, text_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.ide.navigation import DefinitionPlace
    from pai_lsp.ide.outline import Fold
    from pai_lsp.ide.semantic_tokens import SemanticToken
    from pai_lsp.lsp.client import Client


SOURCE = "pai-lsp"

_TOKEN_TYPES, _TOKEN_MODIFIERS = list(TokenType), list(TokenModifier)


@dataclass(frozen=True, slots=True)
class Places:
    """Translates places in one text between offsets and the client's lines and columns."""

    lines: LineIndex
    unit: ColumnUnit

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset."""
        position = self.lines.position(offset, self.unit)
        return lsp.Position(position.line, position.column)

    def range(self, span: Span) -> lsp.Range:
        """The span as a range."""
        return lsp.Range(self.position(span.start), self.position(span.end))

    def width(self, span: Span) -> int:
        """How many of the client's units the span has, line ends among them."""
        return text_width(self.lines.text[span.start : span.end], self.unit)

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; a position outside of the text becomes the nearest one in it."""
        return self.lines.offset(position.line, position.character, self.unit)

    def span(self, range_: lsp.Range) -> Span:
        """The range as a span, its ends in order."""
        start, end = self.offset(range_.start), self.offset(range_.end)
        return Span(min(start, end), max(start, end))


def changed_text(lines: LineIndex, changes: Iterable[lsp.TextDocumentContentChangeEvent], unit: ColumnUnit) -> str:
    """The text of `lines` after a client's changes, each of which applies to the result of the one before."""
    text = lines.text
    index: LineIndex | None = lines
    first_edited_line = len(lines)
    for change in changes:
        if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
            text, index = change.text, None
            continue
        last_line = max(change.range.start.line, change.range.end.line)
        # Editors send the edits of many cursors from the last to the first. Lines above all of them are where they
        # were, so one index serves for all.
        if index is None or last_line >= first_edited_line:
            index = LineIndex(text)
        span = Places(index, unit).span(change.range)
        text = text[: span.start] + change.text + text[span.end :]
        first_edited_line = index.line_of(span.start)
    return text


def lsp_diagnostic(
    diagnostic: Diagnostic,
    uri: str,
    places: Places,
    client: Client,
    other_file: Callable[[str], tuple[str, Places] | None] = lambda _: None,
) -> lsp.Diagnostic:
    """The diagnostic of the file `uri` with all that the client can show.

    `other_file` gives URI and places of another file; a related place whose file it does not know is left out.
    """
    files = ((one, (uri, places) if one.path is None else other_file(one.path)) for one in diagnostic.related)
    related = [
        lsp.DiagnosticRelatedInformation(location(file[0], one.span, file[1]), one.message)
        for one, file in (files if client.related_information else ())
        if file is not None
    ]
    return lsp.Diagnostic(
        places.range(diagnostic.span),
        diagnostic.message,
        severity=lsp.DiagnosticSeverity(diagnostic.severity.value),
        code=diagnostic.code,
        code_description=lsp.CodeDescription(diagnostic.url) if diagnostic.url else None,
        source=SOURCE,
        tags=[lsp.DiagnosticTag(tag.value) for tag in diagnostic.tags if tag.value in client.diagnostic_tags] or None,
        related_information=related or None,
    )


def location(uri: str, span: Span, places: Places) -> lsp.Location:
    """A place in the file `uri`, whose places are given."""
    return lsp.Location(uri, places.range(span))


def location_link(target: DefinitionPlace, origin: Places, uri: str, places: Places) -> lsp.LocationLink:
    """A place to go to in the file `uri`, and the word that leads there in the file of `origin`."""
    whole = around(target.whole, target.span)
    return lsp.LocationLink(uri, places.range(whole), places.range(target.span), origin.range(target.origin))


def around(whole: Span, part: Span) -> Span:
    """A span that contains its part, as LSP requires; an alias may have the name elsewhere."""
    return Span(min(whole.start, part.start), max(whole.end, part.end))


def token_numbers(tokens: Iterable[SemanticToken], places: Places) -> list[int]:
    """Semantic tokens as LSP's numbers: five for each, its place counted from the one before it.

    The types and modifiers are numbered as their enumerations list them. A token of several lines becomes several
    tokens, since not every client takes one.
    """
    numbers: list[int] = []
    last_line = last_column = 0
    for token in tokens:
        bits = sum(1 << _TOKEN_MODIFIERS.index(modifier) for modifier in token.modifiers)
        for part in places.lines.parts(token.span):
            start, length = places.position(part.start), places.width(part)
            columns = start.character - (last_column if start.line == last_line else 0)
            numbers += start.line - last_line, columns, length, _TOKEN_TYPES.index(token.type), bits
            last_line, last_column = start.line, start.character
    return numbers


def fold_range(fold: Fold, places: Places) -> lsp.FoldingRange:
    """A fold; a client that folds whole lines only ignores the columns."""
    start = places.position(places.lines.line_span(places.lines.line_of(fold.span.start)).end)
    end = places.position(fold.span.end)
    return lsp.FoldingRange(
        start.line,
        end.line,
        start.character,
        end.character,
        kind=lsp.FoldingRangeKind.Comment if fold.is_comment else None,
    )


def selection_range(spans: Iterable[Span], places: Places) -> lsp.SelectionRange:
    """Spans, the innermost first, as LSP nests them: each in the next; there is at least one."""
    outermost, *inner = reversed([places.range(span) for span in spans])
    selection = lsp.SelectionRange(outermost)
    for range_ in inner:
        selection = lsp.SelectionRange(range_, selection)
    return selection


def text_edits(edits: Iterable[TextEdit], places: Places) -> list[lsp.TextEdit]:
    """Edits of one text."""
    return [lsp.TextEdit(places.range(edit.span), edit.new_text) for edit in sorted(edits)]


def workspace_edit(
    edits: Iterable[TextEdit], uri: str, version: int, places: Places, client: Client
) -> lsp.WorkspaceEdit:
    """Edits of one file; a client that knows versions refuses them once the text has changed."""
    changes = text_edits(edits, places)
    if not client.document_changes:
        return lsp.WorkspaceEdit(changes={uri: changes})
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri, version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, list(changes))])


# The largest number that LSP allows.
_AFTER_ALL_LINES = 2**31 - 1


def written_beside(uri: str, addition: str, text: str) -> lsp.WorkspaceEdit:
    """An edit that opens a file beside a job's, with an addition to its name and this text.

    A file of that name that exists already gets the text; the user sees it before it is saved.
    """
    stem, ending, _ = re.split(r"((?:\.pai)?\.ya?ml|)$", uri, maxsplit=1, flags=re.IGNORECASE)
    beside = f"{stem}.{addition}{ending or '.yaml'}"
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(_AFTER_ALL_LINES, 0))
    created = lsp.CreateFile(beside, options=lsp.CreateFileOptions(ignore_if_exists=True))
    document = lsp.OptionalVersionedTextDocumentIdentifier(beside)
    edit = lsp.TextDocumentEdit(document, [lsp.TextEdit(everything, text)])
    return lsp.WorkspaceEdit(document_changes=[created, edit])


@lru_cache(maxsize=256)
def path_of(uri: str) -> str:
    """The file's path; for a document that is not a file (`untitled:…`, `git:…`), the text that names it.

    It has no zero byte, which no path may have.
    """
    try:
        path = to_fs_path(uri) or urlparse(uri)[2]
    except ValueError:  # a text that is not a URI still is a name
        path = uri
    return path.replace("\0", "\ufffd")


def markup(markdown: str, *, is_shown: bool) -> lsp.MarkupContent:
    """Markdown; as plain text, which it can be read as, for a client that does not show it."""
    return lsp.MarkupContent(lsp.MarkupKind.Markdown if is_shown else lsp.MarkupKind.PlainText, markdown)
