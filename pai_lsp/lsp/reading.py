"""Inlay hints, semantic tokens, lenses, links, folds and selections: what is shown around the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.ide.folding import folds, selection_ranges
from pai_lsp.ide.inlay_hints import HintKind, inlay_hints
from pai_lsp.ide.lenses import LensKind, lenses
from pai_lsp.ide.links import links
from pai_lsp.ide.semantic_tokens import semantic_tokens
from pai_lsp.lsp.convert import fold_range, location, selection_range, token_numbers

if TYPE_CHECKING:
    from pai_lsp.ide.lenses import Lens
    from pai_lsp.lsp.documents import OpenDocument

PREVIEW = "openpai.preview"
# A client that announces one of these can show a list of places; the second is what VS Code's own is called.
SHOW_REFERENCES = ("openpai.showReferences", "editor.action.showReferences")
# The command of a lens that only shows a text.
_NO_COMMAND = ""


def hints(document: OpenDocument, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """The inlay hints of a range, without those that the settings switch off."""
    wanted = frozenset(kind for kind in HintKind if kind.value not in document.hidden_hints)
    return [
        lsp.InlayHint(
            document.places.position(hint.offset),
            hint.label,
            tooltip=hint.tooltip or None,
            padding_left=hint.kind is not HintKind.RUN_ORDER,
            padding_right=hint.kind is HintKind.RUN_ORDER,
        )
        for hint in inlay_hints(document.document, document.places.span(params.range), wanted)
    ]


def all_tokens(document: OpenDocument, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    """The semantic tokens of the document."""
    del params
    found = semantic_tokens(document.document)
    return lsp.SemanticTokens(
        token_numbers(found, document.places, spans_lines=document.client.reading.multi_line_tokens)
    )


def some_tokens(document: OpenDocument, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
    """The semantic tokens of a range."""
    found = semantic_tokens(document.document, document.places.span(params.range))
    return lsp.SemanticTokens(
        token_numbers(found, document.places, spans_lines=document.client.reading.multi_line_tokens)
    )


def code_lenses(document: OpenDocument, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """The lenses of the document; where the client lacks the command, a lens only shows its text."""
    del params
    commands = ((lens, _command(document, lens)) for lens in lenses(document.document))
    return [lsp.CodeLens(document.places.range(lens.span), command) for lens, command in commands if command]


def _command(document: OpenDocument, lens: Lens) -> lsp.Command | None:
    """The command of a click; None for a lens that has no use without it."""
    known = document.client.reading.commands
    if lens.kind is LensKind.PREVIEW:
        return lsp.Command(lens.title, PREVIEW, arguments=[document.uri, lens.role]) if PREVIEW in known else None
    show = next((name for name in SHOW_REFERENCES if name in known), None)
    if lens.kind is LensKind.SHOW_REFERENCES and lens.references and show:
        places = [location(document.uri, span, document.places) for span in lens.references]
        position = document.places.position(lens.span.start)
        return lsp.Command(lens.title, show, arguments=[document.uri, position, places])
    return lsp.Command(lens.title, _NO_COMMAND)


def document_links(document: OpenDocument, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """The links of the document."""
    del params
    shows_tooltips = document.client.reading.link_tooltips
    return [
        lsp.DocumentLink(document.places.range(link.span), link.address, link.tooltip if shows_tooltips else None)
        for link in links(document.document)
    ]


def folding_ranges(document: OpenDocument, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """The folds of the document; no more than the client accepts."""
    del params
    client = document.client.reading
    found = folds(document.document)[: client.fold_limit]
    return [fold_range(fold, document.places, whole_lines=client.whole_line_folds) for fold in found]


def selections(document: OpenDocument, params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange]:
    """For each position, the growing selections around it."""
    offsets = [document.places.offset(position) for position in params.positions]
    return [selection_range(selection_ranges(document.document, offset), document.places) for offset in offsets]
