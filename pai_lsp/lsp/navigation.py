"""Answers to who is reading names: what they mean, where they are defined, and everywhere they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import definitions, highlights, references
from pai_lsp.lsp.convert import location, location_link
from pai_lsp.lsp.markup import markup
from pai_lsp.lsp.other_files import file_at

if TYPE_CHECKING:
    from pai_lsp.lsp.open_document import OpenDocument


def hovered(document: OpenDocument, params: lsp.HoverParams) -> lsp.Hover | None:
    """What stands at a place, in words."""
    found = hover(document.document, document.places.offset(params.position))
    if found is None:
        return None
    contents = markup(found.markdown, is_shown=document.client.reading.markdown_hover)
    return lsp.Hover(contents, document.places.range(found.span))


def definition(
    document: OpenDocument, params: lsp.DefinitionParams
) -> list[lsp.Location] | list[lsp.LocationLink] | None:
    """Where the name at a place is defined, here or in a file of the catalogue."""
    found = definitions(document.document, document.places.offset(params.position))
    targets = [(target, file) for target in found if (file := file_at(document, target.path))]
    if document.client.reading.definition_links:
        origin = document.places
        return [location_link(target, origin, file.uri, file.places) for target, file in targets] or None
    return [location(file.uri, target.span, file.places) for target, file in targets] or None


def all_references(document: OpenDocument, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    """Every place of the name at a place."""
    offset = document.places.offset(params.position)
    found = references(document.document, offset, with_definition=params.context.include_declaration)
    return [location(document.uri, span, document.places) for span in found] or None


def highlighted(document: OpenDocument, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight] | None:
    """The places of the name at a place, told apart: the one that defines it and those that use it."""
    kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
    found = highlights(document.document, document.places.offset(params.position))
    return [lsp.DocumentHighlight(document.places.range(one.span), kinds[one.is_definition]) for one in found] or None
