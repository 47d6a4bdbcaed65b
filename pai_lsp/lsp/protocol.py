"""pygls' protocol with our text store, and with an answer to every request.

pygls ends lines where Python does (U+2028, form feed, ...), not where LSP does, so that its incremental changes damage
such texts; and it does not answer requests whose parameters cannot be read.

The answer to a request runs outside of the event loop, on the document as it was when the request arrived.
"""

from __future__ import annotations

import gc
import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from pai_lsp.lsp.client import Client
from pai_lsp.lsp.features import DOCUMENT_FEATURES, WORKSPACE_TRUST, CommandName, DocumentFeature
from pai_lsp.lsp.session import ARRIVED, Session
from pai_lsp.lsp.transport import bodies, parent_end
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.text import ColumnUnit

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Generator

    from cattrs import Converter
    from pygls.lsp.server import LanguageServer

    from pai_lsp.lsp.documents import OpenDocument

    Handler = Callable[[Any], Any]

_log = logging.getLogger(__name__)


class Protocol(LanguageServerProtocol):
    """The messages of one connection; `session` is the state of the connection."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        self.session = Session(server)
        self._watched_reader: asyncio.StreamReader | None = None
        super().__init__(server, converter)

    async def serve(self, reader: asyncio.StreamReader, *, ends_with_parent: bool) -> int:
        """Answer messages until `exit`, the end of the input or, if `ends_with_parent`, that of the client's process.

        Returns:
            The exit status that LSP asks for: 0 after a `shutdown` request, 1 without one.
        """
        self._watched_reader = reader if ends_with_parent else None
        async for body in bodies(reader):
            message = self._read(body)
            if message.get("method") == lsp.EXIT:
                break
            if message:
                self._handle(message)
        return 0 if self._shutdown else 1

    def _read(self, body: bytes) -> dict[str, Any]:
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._send_error(None, JsonRpcParseError("this message is not JSON"))
            return {}
        if isinstance(message, dict):
            return message
        self._send_error(None, JsonRpcInvalidRequest("a message is a JSON object"))
        return {}

    def _handle(self, message: dict[str, Any]) -> None:
        identifier, method = message.get("id"), message.get("method")
        is_request = "id" in message and "method" in message
        refused = self._refused(method) if "method" in message else None
        if is_request and not isinstance(identifier, (int, str)):
            identifier, refused = None, JsonRpcInvalidRequest("an id is a number or a string")
        if refused is not None:
            if is_request:
                self._send_error(identifier, refused)
            return
        try:
            structured = self.structure_message({"jsonrpc": self.VERSION, **message})
        except (JsonRpcException, TypeError, RecursionError) as error:
            if is_request:
                self._send_error(identifier, JsonRpcInvalidParams(f"the parameters of '{method}' cannot be read"))
            else:
                _log.warning("a message '%s' cannot be read: %s", method or "response", type(error).__name__)
            return
        before = ARRIVED.set(self.session.documents)
        try:
            self.handle_message(structured)
        except Exception as error:  # noqa: BLE001 - the next message is to be answered
            _log.exception("'%s' failed", method)
            if is_request:
                self._send_error(identifier, JsonRpcInternalError(f"'{method}' failed: {kind_and_place(error)}"))
        finally:
            ARRIVED.reset(before)  # the documents of a message live no longer than its own tasks

    def _refused(self, method: Any) -> JsonRpcException | None:
        """Why a request or notification is not allowed in the state of the connection; None if it is."""
        if not isinstance(method, str):
            return JsonRpcInvalidRequest("a method is a string")
        if self._shutdown:
            return JsonRpcInvalidRequest("the server is shutting down")
        if self._workspace is None and method != lsp.INITIALIZE:
            return JsonRpcServerNotInitialized("the first request is 'initialize'")
        if self._workspace is not None and method == lsp.INITIALIZE:
            return JsonRpcInvalidRequest("the server is initialized already")
        return None

    def _send_error(self, identifier: Any, error: JsonRpcException) -> None:
        self._send_data(lsp.ResponseErrorMessage(id=identifier, error=error.to_response_error()))

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Take the client's capabilities, and answer with those of the server."""
        result: lsp.InitializeResult = yield from super().lsp_initialize(params)
        capabilities = result.capabilities
        unit = ColumnUnit(lsp.PositionEncodingKind(capabilities.position_encoding).value)
        self.session.begin(params, Client(params.capabilities, unit, params.initialization_options))
        if not self.session.client.pulls_diagnostics:
            capabilities.diagnostic_provider = None
        if self._watched_reader is not None and params.process_id is not None:
            self.session.in_background(_end_with(params.process_id, self._watched_reader))
        capabilities.execute_command_provider = lsp.ExecuteCommandOptions([one.value for one in CommandName])
        return result

    @lsp_method(lsp.INITIALIZED)
    async def lsp_initialized(self, *_arguments: Any) -> None:
        """Ask the client for its settings, and to report when they change."""
        self.session.in_background(self.session.lane.run(load_answers, is_request=True, is_alone=True))
        await self.session.start()

    @lsp_method(lsp.SHUTDOWN)
    def lsp_shutdown(self, *arguments: Any) -> Generator[Any, Any, None]:
        """Cancel all work."""
        self.session.end()
        yield from super().lsp_shutdown(*arguments)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Keep the text."""
        self.session.open(params.text_document)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Keep the new text."""
        self.session.change(params.text_document, params.content_changes)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Drop the text."""
        self.session.close(params.text_document.uri)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_SAVE)
    def lsp_text_document__did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Read a configuration or definitions that were saved; the text of a saved job is known."""
        self.session.saved(params.text_document.uri)

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def lsp_workspace__did_change_watched_files(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        """Read configuration files and definitions again, and check the files of checked folders again."""
        self.session.files_changed(params.changes)

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def lsp_workspace__did_change_configuration(self, params: lsp.DidChangeConfigurationParams) -> None:
        """Ask for the new settings, or else take the ones that were sent."""
        if self.session.client.configuration:
            await self.session.ask_settings()
        else:
            self.session.take_pushed_settings(params.settings)

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: lsp.DidChangeWorkspaceFoldersParams
    ) -> Generator[Any, Any, None]:
        """Ask for the settings of the new folders."""
        yield from super().lsp_workspace__did_change_workspace_folders(params)
        self.session.in_background(self.session.ask_settings())

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # a coroutine can be cancelled, pygls' own not
        self, params: lsp.ExecuteCommandParams
    ) -> Any:
        """Run one of our commands."""
        return await run_command(self.session, params)

    def _send_data(self, data: Any) -> None:
        """Write a message; a result that cannot be written becomes an error, so that the client gets an answer."""
        try:
            body = json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode()
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            _log.exception("an answer cannot be written")
            if hasattr(data, "result"):
                reason = f"the answer cannot be written: {kind_and_place(error)}"
                self._send_error(data.id, JsonRpcInternalError(reason))
            return
        if self.writer is not None:
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


async def _end_with(process: int, reader: asyncio.StreamReader) -> None:
    await parent_end(process)
    reader.feed_eof()


def handlers(session: Session) -> list[tuple[str, Any, Handler]]:
    """The method, the options and the handler of every feature."""
    return [
        *((one.method, one.options and one.options(), _about_document(session, one)) for one in DOCUMENT_FEATURES),
        (lsp.WORKSPACE_SYMBOL, None, partial(_found_symbols, session)),
        (WORKSPACE_TRUST, None, lambda params: session.trust.take_value(getattr(params, "trusted", None))),
    ]


async def run_command(session: Session, params: lsp.ExecuteCommandParams) -> Any:
    """The result of a command.

    Raises:
        JsonRpcException: for an unknown command, for wrong arguments, and when the command fails.
    """
    from pai_lsp.lsp.answers import COMMANDS  # noqa: PLC0415 - loaded when the client is connected

    try:
        command = COMMANDS[CommandName(params.command)]
    except ValueError:
        raise JsonRpcInvalidParams(f"no command is named '{params.command}'") from None
    return await _answered(params.command, command(session, params.arguments or []))


def load_answers() -> None:
    """Load the answers and the analysis."""
    from pai_lsp.lsp import answers  # noqa: F401, PLC0415 - loaded when the client is connected

    # What was imported stays, so it need not be searched for cycles.
    gc.freeze()


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


async def _found_symbols(session: Session, params: lsp.WorkspaceSymbolParams) -> Any:
    work = partial(session.job_files.search, ARRIVED.get(), session.folders, session.client.unit, params.query)
    return await _answered(lsp.WORKSPACE_SYMBOL, session.lane.run(work, is_request=True))


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
