"""Refactorings as code actions: offered with what stands against them, their edits made when the client asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from pai_lsp.ide.refactorings import RefactoringKind, conversion, made, refactorings
from pai_lsp.lsp.convert import workspace_edit
from pai_lsp.lsp.open_document import Kind
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pai_lsp.ide.refactorings import Refactoring
    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.text import TextEdit


def refactoring_actions(
    document: OpenDocument, here: Span, kinds: Collection[RefactoringKind]
) -> Iterator[lsp.CodeAction]:
    """The refactorings of some kinds for a place."""
    for offer in _offered(document, here, kinds):
        found = offer if document.client.resolves_edits else made(offer)
        action = lsp.CodeAction(found.title, kind=found.kind.value)
        if found.make is None:
            if document.client.disabled_code_actions:
                action.disabled = lsp.CodeActionDisabled(found.disabled_reason)
                yield action
            continue
        if document.client.resolves_edits:
            action.data = {"uri": document.uri, "version": document.version, "start": here.start, "end": here.end}
        else:
            action.edit = _edit(document, found.make())
        yield action


def resolved_action(document: OpenDocument, action: lsp.CodeAction) -> lsp.CodeAction:
    """An action with its edit: it is offered again where it was offered.

    Raises:
        JsonRpcException: when the text is another one by now, or it can not be done after all; the user reads why.
    """
    kept: Any = action.data
    if not isinstance(kept, dict) or kept.get("version") != document.version:
        raise JsonRpcContentModified("the text has changed since this was offered")
    start, end = kept.get("start"), kept.get("end")
    if isinstance(start, int) and isinstance(end, int):
        kinds = [kind for kind in RefactoringKind if kind.value == action.kind]
        for offer in _offered(document, Span(start, end), kinds):
            if offer.title == action.title:
                found = made(offer)
                if found.make is None:
                    raise JsonRpcException(found.disabled_reason, lsp.LSPErrorCodes.RequestFailed)
                action.edit = _edit(document, found.make())
                break
    return action


def _offered(document: OpenDocument, here: Span, kinds: Collection[RefactoringKind]) -> Iterable[Refactoring]:
    """What is offered in a job; a job of the first protocol is not known as one, and can be converted."""
    if document.is_excluded:
        return ()
    if document.kind is Kind.JOB:
        return refactorings(document.document, here, kinds)
    is_wanted = document.kind is Kind.OTHER and RefactoringKind.REWRITE in kinds
    return conversion(document.document, here) if is_wanted else ()


def _edit(document: OpenDocument, edits: Iterable[TextEdit]) -> lsp.WorkspaceEdit:
    return workspace_edit(edits, document.uri, document.version, document.places, document.client)
