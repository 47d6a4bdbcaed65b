"""The table of what the server can be asked, and how a question gets its answer.

A feature is one line in a table: its method, the function that answers, and what is told to the client about it. The
function gets the document as it was when the question came in, runs beside the event loop, and knows nothing of either;
it is five lines long: client units in (`document.places`), one question to the analysis, client units out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams

from pai_lsp.lsp.code_actions import CODE_ACTION_KINDS, code_actions
from pai_lsp.lsp.commands import COMMANDS
from pai_lsp.lsp.failures import told
from pai_lsp.lsp.open_document import Kind, OpenDocument
from pai_lsp.lsp.publishing import diagnostics_of
from pai_lsp.lsp.session import ARRIVED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pai_lsp.lsp.session import Session

_log = logging.getLogger(__name__)

_OURS = frozenset({Kind.JOB, Kind.CONFIGURATION})


def _nothing(params: Any) -> Any:
    del params


@dataclass(frozen=True, slots=True)
class DocumentFeature:
    """A question about one open document.

    answer: gets the document and the request's parameters.
    options: makes what is told to the client, for methods that have options.
    kinds: the files that it answers in; in all others, and in unknown ones, the answer is `otherwise`.
    """

    method: str
    answer: Callable[[OpenDocument, Any], Any]
    options: Callable[[], Any] | None = None
    kinds: frozenset[Kind] = frozenset({Kind.JOB})
    otherwise: Callable[[Any], Any] = _nothing


@dataclass(frozen=True, slots=True)
class WorkspaceFeature:
    """A question about all open documents; `answer` gets them by URI, and the request's parameters."""

    method: str
    answer: Callable[[Mapping[str, OpenDocument], Any], Any]
    options: Callable[[], Any] | None = None


def pulled_diagnostics(document: OpenDocument, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
    """The diagnostics, for a client that asks for them itself."""
    del params
    return lsp.RelatedFullDocumentDiagnosticReport(items=diagnostics_of(document))


DOCUMENT_FEATURES: tuple[DocumentFeature, ...] = (
    DocumentFeature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        pulled_diagnostics,
        lambda: lsp.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="pai-lsp"),
        kinds=_OURS,
        otherwise=lambda _: lsp.RelatedFullDocumentDiagnosticReport(items=[]),
    ),
    DocumentFeature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        code_actions,
        lambda: lsp.CodeActionOptions(code_action_kinds=list(CODE_ACTION_KINDS)),
        kinds=_OURS,
    ),
)

WORKSPACE_FEATURES: tuple[WorkspaceFeature, ...] = ()


def handlers(session: Session) -> list[tuple[str, Any, Callable[[Any], Awaitable[Any]]]]:
    """The method, the options and the handler of every feature."""
    return [
        *((one.method, one.options and one.options(), _document_handler(session, one)) for one in DOCUMENT_FEATURES),
        *((one.method, one.options and one.options(), _workspace_handler(session, one)) for one in WORKSPACE_FEATURES),
    ]


async def run_command(session: Session, params: lsp.ExecuteCommandParams) -> Any:
    """The result of a command.

    Raises:
        JsonRpcException: for a command that there is not, for wrong arguments, and when the command fails.
    """
    command = COMMANDS.get(params.command)
    if command is None:
        raise JsonRpcInvalidParams(f"no command is named '{params.command}'")
    return await _answered(params.command, command(session, params.arguments or []))


def _document_handler(session: Session, feature: DocumentFeature) -> Callable[[Any], Awaitable[Any]]:
    async def handle(params: Any) -> Any:
        document = ARRIVED.get().get(_uri_in(params))
        if document is None:
            return feature.otherwise(params)
        work = partial(_answer, feature, document, params)
        return await _answered(feature.method, session.lane.run(work, is_request=True))

    return handle


def _answer(feature: DocumentFeature, document: OpenDocument, params: Any) -> Any:
    return feature.answer(document, params) if document.kind in feature.kinds else feature.otherwise(params)


def _workspace_handler(session: Session, feature: WorkspaceFeature) -> Callable[[Any], Awaitable[Any]]:
    async def handle(params: Any) -> Any:
        work = partial(feature.answer, ARRIVED.get(), params)
        return await _answered(feature.method, session.lane.run(work, is_request=True))

    return handle


def _uri_in(params: Any) -> str:
    """The document that a request is about: it, or the thing to be resolved, says so."""
    for name in ("text_document", "item"):
        if (part := getattr(params, name, None)) is not None:
            return str(part.uri)
    kept = getattr(params, "data", None)
    return str(kept["uri"]) if isinstance(kept, dict) and "uri" in kept else ""


async def _answered(name: str, work: Awaitable[Any]) -> Any:
    try:
        return await work
    except JsonRpcException:
        raise
    except Exception as error:  # noqa: BLE001 - one broken feature never silences the others
        _log.exception("'%s' failed", name)
        raise JsonRpcInternalError(f"'{name}' failed: {told(error)}") from None
