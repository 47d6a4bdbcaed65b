"""Runs the answer to a request: on the document as it was when the request arrived, outside of the event loop."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams

from pai_lsp.lsp.features import DOCUMENT_FEATURES, WORKSPACE_FEATURES, WORKSPACE_TRUST, DocumentFeature
from pai_lsp.lsp.session import ARRIVED
from pai_lsp.source.failures import kind_and_place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lsprotocol import types as lsp

    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.session import Session
    from pai_lsp.lsp.workspace import Workspace

    Handler = Callable[[Any], Awaitable[Any]]

_log = logging.getLogger(__name__)


def handlers(session: Session) -> list[tuple[str, Any, Handler]]:
    """The method, the options and the handler of every feature."""
    return [
        *((one.method, one.options and one.options(), _about_document(session, one)) for one in DOCUMENT_FEATURES),
        *((one.method, one.options and one.options(), _about_all(session, one.method)) for one in WORKSPACE_FEATURES),
        (WORKSPACE_TRUST, None, _about_trust(session)),
    ]


async def run_command(session: Session, params: lsp.ExecuteCommandParams) -> Any:
    """The result of a command.

    Raises:
        JsonRpcException: for an unknown command, for wrong arguments, and when the command fails.
    """
    from pai_lsp.lsp.answers import COMMANDS  # noqa: PLC0415 - loaded when the client is connected

    command = COMMANDS.get(params.command)
    if command is None:
        raise JsonRpcInvalidParams(f"no command is named '{params.command}'")
    return await _answered(params.command, command(session, params.arguments or []))


def load_answers() -> None:
    """Load the answers and the analysis."""
    from pai_lsp.lsp import answers  # noqa: F401, PLC0415 - loaded when the client is connected


def _about_document(session: Session, feature: DocumentFeature) -> Handler:
    async def handle(params: Any) -> Any:
        document = ARRIVED.get().get(_uri_in(params))
        if document is None:
            return feature.otherwise(params)
        work = partial(_document_answer, feature, document, params)
        return await _answered(feature.method, session.lane.run(work, is_request=True))

    return handle


def _document_answer(feature: DocumentFeature, document: OpenDocument, params: Any) -> Any:
    from pai_lsp.lsp.answers import DOCUMENT_ANSWERS  # noqa: PLC0415 - loaded when the client is connected

    if document.kind not in feature.kinds:
        return feature.otherwise(params)
    return DOCUMENT_ANSWERS[feature.method](document, params)


def _about_all(session: Session, method: str) -> Handler:
    async def handle(params: Any) -> Any:
        work = partial(_workspace_answer, method, session.workspace(ARRIVED.get()), params)
        return await _answered(method, session.lane.run(work, is_request=True))

    return handle


def _workspace_answer(method: str, workspace: Workspace, params: Any) -> Any:
    from pai_lsp.lsp.answers import WORKSPACE_ANSWERS  # noqa: PLC0415 - loaded when the client is connected

    return WORKSPACE_ANSWERS[method](workspace, params)


def _about_trust(session: Session) -> Handler:
    async def handle(params: Any) -> None:
        session.grant_trust(getattr(params, "trusted", None))

    return handle


def _uri_in(params: Any) -> str:
    """The document of a request: it is in the request itself, or in the data that the client kept for it."""
    if (document := getattr(params, "text_document", None)) is not None:
        return str(document.uri)
    kept = getattr(getattr(params, "item", params), "data", None)
    return str(kept["uri"]) if isinstance(kept, dict) and "uri" in kept else ""


async def _answered(name: str, work: Awaitable[Any]) -> Any:
    try:
        return await work
    except JsonRpcException:
        raise
    except Exception as error:  # noqa: BLE001 - one broken feature never silences the others
        _log.exception("'%s' failed", name)
        raise JsonRpcInternalError(f"'{name}' failed: {kind_and_place(error)}") from None
