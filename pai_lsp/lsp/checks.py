"""Sends diagnostics: the newest text's, with its version, as soon as they are known.

Of one document one check runs at a time. What has changed meanwhile is checked next, and what was found in the old text
is dropped. To a client that asks for diagnostics itself none are sent: it would show them twice.

Runs the analysis beside the event loop, so that messages are read and cancellations heard while it works.

The interpreter runs one thread at a time, so two pieces of work at once would only slow each other down: work is done
one piece after the other, requests before checks. A piece that takes longer than `PATIENCE` is left to itself, and the
next one begins beside it: a slow one holds up nobody.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from contextvars import Context
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.lsp.convert import lsp_diagnostic
from pai_lsp.lsp.documents import Kind
from pai_lsp.lsp.other_files import file_at
from pai_lsp.lsp.workspace_settings import known
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.session import Session


# A check that takes longer, in seconds, is given up: its text is far beyond what a cluster takes.
LONGEST_CHECK = 30.0
# How long a request waits for the check of a document at most, in seconds, but for the longest part of one.
MOMENT = 0.002

_log = logging.getLogger(__name__)


class Publisher:
    """The checks under way, and the files that the client shows diagnostics of."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._shown: set[str] = set()

    def check_soon(self, uri: str) -> None:
        """Check the newest text of a document once all messages that have arrived are read."""
        if uri not in self._checks and not self._session.client.pulls_diagnostics:
            # In a context of its own: that of the message holds the documents as they were, for as long as any timer.
            self._checks[uri] = Context().run(asyncio.get_running_loop().create_task, self._check(uri))

    def clear(self, uri: str) -> None:
        """A document was closed: nothing is shown of it any more."""
        if uri in self._shown:
            self._shown.discard(uri)
            self._send(lsp.PublishDiagnosticsParams(uri, []))

    def refresh(self) -> None:
        """Tell a client that asks itself to ask again."""
        client = self._session.client
        if client.pulls_diagnostics and client.refreshes_diagnostics:
            self._session.in_background(self._refresh())

    def stop(self) -> None:
        """Begin no check any more."""
        for check in self._checks.values():
            check.cancel()

    async def _check(self, uri: str) -> None:
        try:
            await known(self._session.settings_known)
            await self._session.marketplaces.read()
            while (document := self._session.documents.get(uri)) is not None:
                found = await self._found(document)
                if self._session.documents.get(uri) is document:
                    if found is not None:
                        self._show(document, found)
                    return
        finally:
            del self._checks[uri]

    async def _found(self, document: OpenDocument) -> list[lsp.Diagnostic] | None:
        """What is found in a document; None when that can not be told, or when there is a newer text."""
        try:
            return await asyncio.wait_for(self._check_in_parts(document), LONGEST_CHECK)
        except asyncio.TimeoutError:
            _log.warning("a check of %d characters was given up after %d seconds", len(document.text), LONGEST_CHECK)
        except Exception:  # noqa: BLE001 - the next text may do better
            _log.exception("a check failed")
        return None

    async def _check_in_parts(self, document: OpenDocument) -> list[lsp.Diagnostic] | None:
        """Check a little at a time: requests come in between, and a text that is no longer wanted is left."""
        lane, parts = self._session.lane, document.check_in_parts()
        await lane.run(document.read, is_request=False, gives_way=True)
        while await lane.run(partial(_goes_on, parts), is_request=False):
            if self._session.documents.get(document.uri) is not document:
                return None
        return await lane.run(partial(diagnostics_of, document), is_request=False)

    def _show(self, document: OpenDocument, found: list[lsp.Diagnostic]) -> None:
        uri = document.uri
        if document.kind is not Kind.OTHER:
            self._shown.add(uri)
        elif uri in self._shown:
            self._shown.discard(uri)
        else:
            return
        self._send(lsp.PublishDiagnosticsParams(uri, found, document.version))

    def _send(self, params: lsp.PublishDiagnosticsParams) -> None:
        self._session.server.text_document_publish_diagnostics(params)

    async def _refresh(self) -> None:
        try:
            await self._session.server.workspace_diagnostic_refresh_async(None)
        except JsonRpcException as error:
            _log.warning("the client does not refresh diagnostics: error %s", error.code)


def _goes_on(parts: Iterator[None]) -> bool:
    """Do parts of a check for a moment; whether there are more."""
    end = time.monotonic() + MOMENT
    return any(time.monotonic() > end for _ in parts)


def diagnostics_of(document: OpenDocument) -> list[lsp.Diagnostic]:
    """What is found in a document, in the client's words; nothing in a file that is not ours."""
    places, client = document.places, document.client
    other_file = partial(file_at, document)
    return [lsp_diagnostic(one, document.uri, places, client, other_file) for one in document.diagnostics]


Result = TypeVar("Result")

PATIENCE = 0.1
MOST_THREADS = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Some work, the future that waits for its result, and whether requests may begin beside it."""

    work: Callable[[], Any]
    future: asyncio.Future[Any]
    gives_way: bool = False


class Lane:
    """The queue of work and the threads that do it; belongs to one event loop, and is used from it alone.

    The threads are daemons: work that never ends does not keep the program alive.
    """

    def __init__(self) -> None:
        self._requests: deque[_Piece] = deque()
        self._checks: deque[_Piece] = deque()
        self._current: _Piece | None = None
        self._idle: list[SimpleQueue[_Piece]] = []
        self._busy = 0

    async def run(self, work: Callable[[], Result], *, is_request: bool, gives_way: bool = False) -> Result:
        """The result of `work`, done in another thread; when the caller is cancelled in time, it is not even begun.

        Work that `gives_way` is not waited for by requests: they are done beside it.

        Raises:
            Exception: what `work` raises.
        """
        loop = asyncio.get_running_loop()
        piece = _Piece(work, loop.create_future(), gives_way)
        (self._requests if is_request else self._checks).append(piece)
        # Not at once: of the messages that have come together, requests go before checks.
        loop.call_soon(self._begin_next)
        result: Result = await piece.future
        return result

    def _begin_next(self) -> None:
        is_waited_for = self._current is not None and not (self._current.gives_way and self._requests)
        if is_waited_for or self._busy >= MOST_THREADS:
            return
        piece = self._next_piece()
        if piece is None:
            return
        self._current = piece
        self._busy += 1
        (self._idle.pop() if self._idle else self._new_thread()).put(piece)
        asyncio.get_running_loop().call_later(PATIENCE, self._leave, piece)

    def _next_piece(self) -> _Piece | None:
        for queue in (self._requests, self._checks):
            while queue:
                piece = queue.popleft()
                if not piece.future.cancelled():
                    return piece
        return None

    def _leave(self, piece: _Piece) -> None:
        if self._current is piece:
            self._current = None
            self._begin_next()

    def _end(self, thread: SimpleQueue[_Piece], piece: _Piece, result: Any, error: Exception | None) -> None:
        self._idle.append(thread)
        self._busy -= 1
        if self._current is piece:
            self._current = None
        if not piece.future.done():
            if error is None:
                piece.future.set_result(result)
            else:
                piece.future.set_exception(error)
        self._begin_next()

    def _new_thread(self) -> SimpleQueue[_Piece]:
        """The queue of a new thread, which does what is put in it."""
        loop = asyncio.get_running_loop()
        waiting: SimpleQueue[_Piece] = SimpleQueue()

        def work() -> None:
            while True:
                piece = waiting.get()
                result, error = (None, None) if piece.future.cancelled() else _outcome(piece.work)
                try:
                    loop.call_soon_threadsafe(self._end, waiting, piece, result, error)
                except RuntimeError:  # the loop has ended meanwhile, and nobody waits
                    return
                del piece, result, error  # an idle thread keeps no document alive

        threading.Thread(target=work, name="pai-lsp analysis", daemon=True).start()
        return waiting


def _outcome(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return work(), None
    except StopIteration as error:  # a future can not hold this one
        return None, RuntimeError("an iterator was empty").with_traceback(error.__traceback__)
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
        return None, error
