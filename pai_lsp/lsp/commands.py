"""What the server's commands do; their table is in answers.py."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidParams

from pai_lsp.commands.known_rules import UnknownCodeError, known
from pai_lsp.ide.rule_page import rule_page
from pai_lsp.lsp.features import APPLY_EDIT
from pai_lsp.lsp.session import ARRIVED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pai_lsp.diagnostic import Rule
    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.lsp.session import Session

    Command = Callable[[Session, Sequence[Any]], Awaitable[Any]]


async def explain(session: Session, arguments: Sequence[Any]) -> str:
    """The documentation of a rule as Markdown; the argument is its code."""
    del session
    return rule_page(_rule(arguments))


async def open_rule(session: Session, arguments: Sequence[Any]) -> None:
    """Let the client open the page of a rule; the argument is its code."""
    parameters = lsp.ShowDocumentParams(_rule(arguments).url, external=True)
    if session.client.shows_documents:
        await session.server.window_show_document_async(parameters)


async def apply_edit(session: Session, arguments: Sequence[Any]) -> None:
    """Send an edit back: how a code action works in clients that know only commands. The argument is the edit."""
    if not arguments or not session.client.applies_edits:
        raise JsonRpcInvalidParams(f"'{APPLY_EDIT}' expects an edit, and a client that applies edits")
    try:
        edit = get_converter().structure(arguments[0], lsp.WorkspaceEdit)
    except Exception as error:
        raise JsonRpcInvalidParams(f"'{APPLY_EDIT}' expects an edit") from error
    await session.server.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit))


def about_document(answer: Callable[[OpenDocument, Sequence[Any]], Any]) -> Command:
    """A command about an open document: the first argument is its URI; `answer` gets it and the other arguments.

    Without such a document the result is null.
    """

    async def run(session: Session, arguments: Sequence[Any]) -> Any:
        document = ARRIVED.get().get(str(arguments[0])) if arguments else None
        if document is None:
            return None
        return await session.lane.run(partial(answer, document, arguments[1:]), is_request=True)

    return run


def _rule(arguments: Sequence[Any]) -> Rule:
    try:
        return known(str(arguments[0]) if arguments else "")
    except UnknownCodeError as error:
        raise JsonRpcInvalidParams(str(error)) from None
