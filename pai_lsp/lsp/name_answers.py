"""Hover, definition, references and highlights of a name, and the call hierarchy of task roles and prerequisites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.ide.hierarchy import Call, Member, members_at, needed_by, needs
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import definitions, highlights, references
from pai_lsp.lsp.convert import around, location, location_link, markup
from pai_lsp.lsp.other_files import file_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.source.text import Span


def hovered(document: OpenDocument, params: lsp.HoverParams) -> lsp.Hover | None:
    """The description of the name or key at a place."""
    found = hover(document.document, document.places.offset(params.position))
    if found is None:
        return None
    contents = markup(found.markdown, is_shown=document.client.reading.markdown_hover)
    return lsp.Hover(contents, document.places.range(found.span))


def definition(
    document: OpenDocument, params: lsp.DefinitionParams
) -> list[lsp.Location] | list[lsp.LocationLink] | None:
    """Where the name at a place is defined, here or in a file of the catalog."""
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
    """The places of the name at a place: its definition as written, its uses as read."""
    kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
    found = highlights(document.document, document.places.offset(params.position))
    return [lsp.DocumentHighlight(document.places.range(one.span), kinds[one.is_definition]) for one in found] or None


def prepared(document: OpenDocument, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem] | None:
    """The task role or prerequisite at a place."""
    members = members_at(document.document, document.places.offset(params.position))
    return [item for member in members if (item := _item(document, member))] or None


def incoming(
    document: OpenDocument, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The members that need a member."""
    calls = needed_by(document.document, _key(params.item))
    return [lsp.CallHierarchyIncomingCall(item, ranges) for item, ranges in _calls(document, calls)]


def outgoing(
    document: OpenDocument, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The members that a member needs."""
    calls = needs(document.document, _key(params.item))
    return [lsp.CallHierarchyOutgoingCall(item, ranges) for item, ranges in _calls(document, calls)]


def _calls(document: OpenDocument, calls: list[Call]) -> Iterator[tuple[lsp.CallHierarchyItem, list[lsp.Range]]]:
    for call in calls:
        item, ranges = _item(document, call.member), _ranges(document, call.places, call.path)
        if item is not None and ranges is not None:
            yield item, ranges


def _ranges(document: OpenDocument, spans: tuple[Span, ...], path: str | None) -> list[lsp.Range] | None:
    file = file_at(document, path)
    return [file.places.range(span) for span in spans] if file else None


def _item(document: OpenDocument, member: Member) -> lsp.CallHierarchyItem | None:
    """A member as an item; its data names the document that was asked about, wherever the member itself is."""
    file = file_at(document, member.path)
    if file is None:
        return None
    return lsp.CallHierarchyItem(
        member.name,
        lsp.SymbolKind.Class if member.is_role else lsp.SymbolKind.Package,
        file.uri,
        file.places.range(around(member.span, member.name_span)),
        file.places.range(member.name_span),
        detail=member.detail,
        data={"uri": document.uri, "key": member.key},
    )


def _key(item: lsp.CallHierarchyItem) -> str:
    kept = item.data
    return str(kept.get("key", "")) if isinstance(kept, dict) else ""
