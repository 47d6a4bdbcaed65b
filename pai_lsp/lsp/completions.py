"""Completion: suggestions in the form that the client supports, with or without snippets, with one edit or two."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.ide.completion.complete import complete, is_written
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped
from pai_lsp.lsp.convert import markup, text_edits
from pai_lsp.source.edits import line_end
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import Span, start_of_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pai_lsp.lsp.documents import OpenDocument


def completion(document: OpenDocument, params: lsp.CompletionParams) -> lsp.CompletionList:
    """What can be typed at a place.

    The client asks again when more is typed, because a complete word has no suggestions, and a client that filters an
    older list by itself does so loosely: `$PAI_TASK_INDEX` fits `$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX`.
    """
    offset = document.places.offset(params.position)
    # The data that a client keeps which fetches documentation later.
    kept = {"uri": document.uri, "offset": offset} if document.client.later_documentation else None
    offer = CompletionItems(document, offset, kept)
    is_asked = params.context is None or params.context.trigger_kind is lsp.CompletionTriggerKind.Invoked
    found = complete(document.document, offset, is_asked=is_asked)
    return lsp.CompletionList(is_incomplete=True, items=[offer.item(one) for one in found])


def resolved_completion(document: OpenDocument, item: lsp.CompletionItem) -> lsp.CompletionItem:
    """An item with its documentation: the suggestions at its place are computed again.

    More may have been typed since; the text in front of the place, and so the suggestions, are the same.
    """
    offset: Any = as_mapping(item.data).get("offset")
    is_place = isinstance(offset, int) and 0 <= offset <= len(document.text)
    found = complete(document.document, offset) if is_place else ()
    documentation = next((one.documentation for one in found if one.label == item.label), "")
    if documentation:
        item.documentation = markup(documentation, is_shown=document.client.markdown_completions)
    return item


_KINDS: Mapping[SuggestionKind, lsp.CompletionItemKind] = {
    SuggestionKind.KEY: lsp.CompletionItemKind.Property,
    SuggestionKind.VALUE: lsp.CompletionItemKind.Value,
    SuggestionKind.REFERENCE: lsp.CompletionItemKind.Reference,
    SuggestionKind.ROLE: lsp.CompletionItemKind.Class,
    SuggestionKind.PLUGIN: lsp.CompletionItemKind.Module,
    SuggestionKind.EVENT: lsp.CompletionItemKind.Event,
    SuggestionKind.SNIPPET: lsp.CompletionItemKind.Snippet,
    SuggestionKind.VARIABLE: lsp.CompletionItemKind.Variable,
    SuggestionKind.PARAMETER: lsp.CompletionItemKind.Field,
}
# Those that every client knows. Source: LSP 3.17, CompletionClientCapabilities.
_BASIC_KINDS = frozenset(range(1, 19))
# Only a single word may be inserted in front of the rest of another word; keys and snippets replace it.
_WORDS = frozenset(SuggestionKind) - {SuggestionKind.KEY, SuggestionKind.SNIPPET}


@dataclass(frozen=True, slots=True)
class CompletionItems:
    """Makes the items for one place: the document, and the offset of the cursor in it.

    kept: the data that the client sends back to get more about an item.
    """

    document: OpenDocument
    offset: int
    kept: Mapping[str, object] | None = None

    def item(self, suggestion: Suggestion) -> lsp.CompletionItem:
        """One suggestion."""
        client = self.document.client
        kind, known = _KINDS[suggestion.kind], client.completion_kinds or _BASIC_KINDS
        text, form = self._text(suggestion)
        documentation = suggestion.documentation if self.kept is None else ""
        is_marked = suggestion.is_deprecated and lsp.CompletionItemTag.Deprecated in client.completion_tags
        return lsp.CompletionItem(
            suggestion.label,
            kind=kind if kind in known else lsp.CompletionItemKind.Value,
            tags=[lsp.CompletionItemTag.Deprecated] if is_marked else None,
            detail=suggestion.detail or None,
            documentation=markup(documentation, is_shown=client.markdown_completions) if documentation else None,
            sort_text=f"{suggestion.order:05}",
            filter_text=self._filter_text(suggestion),
            insert_text_format=form,
            insert_text_mode=lsp.InsertTextMode.AsIs if client.keeps_indentation else None,
            text_edit=self._edit(suggestion, text),
            additional_text_edits=text_edits(suggestion.elsewhere, self.document.places) or None,
            data=dict(self.kept) if self.kept and suggestion.documentation else None,
        )

    def _text(self, suggestion: Suggestion) -> tuple[str, lsp.InsertTextFormat | None]:
        """The text to insert, with the line ends of the document."""
        client = self.document.client
        text, form = suggestion.edit.new_text, lsp.InsertTextFormat.PlainText
        is_indented_again = "\n" in text and client.snippets and not client.keeps_indentation
        if client.snippets and (suggestion.snippet is not None or is_indented_again):
            text = suggestion.snippet if suggestion.snippet is not None else escaped(text)
            form = lsp.InsertTextFormat.Snippet
        if "\n" in text:
            if is_indented_again:
                text = text.replace("\n" + self._indentation(suggestion.edit.span.start), "\n")
            text = text.replace("\n", line_end(self.document.text))
        return text, form if client.snippets else None

    def _indentation(self, offset: int) -> str:
        """The indentation of the line of an offset; a dash is not a part of it."""
        line = self.document.text[start_of_line(self.document.text, offset) : offset]
        return line[: len(line) - len(line.lstrip())]

    def _filter_text(self, suggestion: Suggestion) -> str | None:
        """The text that the client compares with what is typed; None for the label, where nothing is typed yet.

        Without it, a client compares the label; but Neovim 0.11 then keeps every item that has an edit (its
        `vim.lsp.completion._lsp_to_complete_items`). It ends at a colon: clients compare further, and a typed `worker:`
        is not the beginning of a snippet. A word that is complete with its last character, as keys are not, lacks this
        one: so it leaves an older list that a client filters while the next answer is on its way. (VS Code does not
        filter it, but shows it unchanged for so long.)
        """
        start = self.document.text[suggestion.edit.span.start : self.offset]
        text = self._compared_text(suggestion, start)
        if len(text) > max(1, len(start)) and text.startswith(start) and is_written(suggestion, text):
            return text[:-1]
        return text if start else None

    @staticmethod
    def _compared_text(suggestion: Suggestion, start: str) -> str:
        typed = re.compile(re.escape(start), re.IGNORECASE)
        if typed.match(suggestion.label):
            return suggestion.label
        line = suggestion.edit.new_text.strip().partition("\n")[0]
        found = typed.search(line)
        if found is None and typed.match(suggestion.detail):  # the title of an item
            return suggestion.detail
        return line[found.start() :].partition(":")[0] if found else suggestion.label

    def _edit(self, suggestion: Suggestion, text: str) -> lsp.TextEdit | lsp.InsertReplaceEdit:
        span, places = suggestion.edit.span, self.document.places
        is_within = span.end > self.offset >= span.start
        if is_within and self.document.client.two_edits and suggestion.kind in _WORDS and "\n" not in text:
            return lsp.InsertReplaceEdit(text, places.range(Span(span.start, self.offset)), places.range(span))
        return lsp.TextEdit(places.range(span), text)
