"""Answers to who is writing: completion and rename."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.ide.completion import complete, is_all
from pai_lsp.ide.rename import RenameRefused, prepare, rename
from pai_lsp.lsp.completion_items import Offer
from pai_lsp.lsp.convert import workspace_edit
from pai_lsp.lsp.markup import markup

if TYPE_CHECKING:
    from pai_lsp.lsp.open_document import OpenDocument


def completion(document: OpenDocument, params: lsp.CompletionParams) -> lsp.CompletionList:
    """What can be typed at a place.

    The client asks again when more is typed, for a complete word has no suggestions. While a slow answer is awaited, an
    Enter would accept what no longer fits. So a client with which complete words do no harm filters by itself.
    """
    offset = document.places.offset(params.position)
    offer = Offer(document, offset, _asked_place(document, params.position))
    is_asked = params.context is None or params.context.trigger_kind is lsp.CompletionTriggerKind.Invoked
    found = complete(document.document, offset, is_asked=is_asked)
    is_incomplete = not (document.client.completion.smart_enter and is_all(found))
    return lsp.CompletionList(is_incomplete, [offer.item(one) for one in found])


def resolved_completion(document: OpenDocument, item: lsp.CompletionItem) -> lsp.CompletionItem:
    """An item with its documentation: it is suggested again where it was suggested.

    More may be typed there by now; what stands in front of the place, and so what is suggested, is the same.
    """
    position = _place_asked(item.data)
    found = complete(document.document, document.places.offset(position)) if position else ()
    documentation = next((one.documentation for one in found if one.label == item.label), "")
    if documentation:
        item.documentation = markup(documentation, is_shown=document.client.completion.markdown)
    return item


def prepared_rename(document: OpenDocument, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
    """The name that can be renamed at a place."""
    found = prepare(document.document, document.places.offset(params.position))
    return lsp.PrepareRenamePlaceholder(document.places.range(found.span), found.name) if found else None


def renamed(document: OpenDocument, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """The edits of a rename; why there are none is for the user to read.

    Raises:
        JsonRpcException: for a name that would break the job.
    """
    try:
        edits = rename(document.document, document.places.offset(params.position), params.new_name)
    except RenameRefused as refused:
        raise JsonRpcException(str(refused), lsp.LSPErrorCodes.RequestFailed) from None
    return workspace_edit(edits, document.uri, document.version, document.places, document.client)


def _asked_place(document: OpenDocument, position: lsp.Position) -> dict[str, object] | None:
    """What a client that fetches documentation later gets to keep."""
    if not document.client.completion.later_documentation:
        return None
    return {"uri": document.uri, "line": position.line, "character": position.character}


def _place_asked(kept: object) -> lsp.Position | None:
    if not isinstance(kept, dict):
        return None
    line, character = kept.get("line"), kept.get("character")
    if not (isinstance(line, int) and isinstance(character, int)) or min(line, character) < 0:
        return None
    return lsp.Position(line, character)
