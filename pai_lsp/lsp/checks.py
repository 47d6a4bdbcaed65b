"""Checks the open documents and publishes what is found; `Lane` runs this and every other analysis in a worker thread.

The newest text is checked, and its diagnostics are published with its version. One check of a document runs at a time:
when the text changes meanwhile, the result is dropped and the new text is checked next. A client that pulls diagnostics
gets none published: it would show them twice.

The analysis runs outside of the event loop, so that messages are read and cancellations noticed while it works. The
interpreter runs one thread at a time, so two analyses at once would only slow each other down: they run one after the
other, requests before checks. One that takes longer than `PATIENCE` no longer blocks the next, which starts in another
thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
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
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.lsp.connection import Connection
    from pai_lsp.lsp.documents import OpenDocument


# A check that takes longer, in seconds, is given up: its text is far larger than a cluster accepts.
LONGEST_CHECK = 30.0

_log = logging.getLogger(__name__)


class Publisher:
    """The checks that are running, and the files that the client shows diagnostics of."""

    def __init__(self, connection: Connection, lane: Lane) -> None:
        self._connection = connection
        self._lane = lane
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._shown: set[str] = set()

    def check_soon(self, uri: str) -> None:
        """Check the newest text of a document, after all messages that have arrived were read."""
        if uri not in self._checks and not self._connection.client.pulls_diagnostics:
            # In a context of its own: the context of the message keeps the old documents alive.
            self._checks[uri] = Context().run(asyncio.get_running_loop().create_task, self._check(uri))

    def clear(self, uri: str) -> None:
        """Remove the diagnostics of a document that was closed."""
        if uri in self._shown:
            self._shown.discard(uri)
            self._send(lsp.PublishDiagnosticsParams(uri, []))

    def refresh(self) -> None:
        """Ask a client that pulls diagnostics to pull them again."""
        client = self._connection.client
        if client.pulls_diagnostics and client.refreshes_diagnostics:
            self._connection.in_background(self._refresh())

    def stop(self) -> None:
        """Cancel all checks."""
        for check in self._checks.values():
            check.cancel()

    async def _check(self, uri: str) -> None:
        try:
            await self._connection.ready_to_check()
            while (document := self._connection.documents.get(uri)) is not None:
                found = await self._found(document)
                if self._connection.documents.get(uri) is document:
                    if found is not None:
                        self._show(document, found)
                    return
        finally:
            del self._checks[uri]

    async def _found(self, document: OpenDocument) -> list[lsp.Diagnostic] | None:
        """The diagnostics of a document; None when the check failed or took too long."""
        check = self._lane.run(partial(diagnostics_of, document), is_request=False)
        try:
            return await asyncio.wait_for(check, LONGEST_CHECK)
        except asyncio.TimeoutError:
            _log.warning("a check of %d characters was given up after %d seconds", len(document.text), LONGEST_CHECK)
        except Exception:  # noqa: BLE001 - the next text may do better
            _log.exception("a check failed")
        return None

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
        self._connection.server.text_document_publish_diagnostics(params)

    async def _refresh(self) -> None:
        try:
            await self._connection.server.workspace_diagnostic_refresh_async(None)
        except JsonRpcException as error:
            _log.warning("the client does not refresh diagnostics: error %s", error.code)


def diagnostics_of(document: OpenDocument) -> list[lsp.Diagnostic]:
    """The diagnostics of a document as LSP values; none for a file that is neither a job nor a configuration."""
    places, client = document.places, document.client
    other_file = partial(file_at, document)
    return [lsp_diagnostic(one, document.uri, places, client, other_file) for one in document.diagnostics]


Result = TypeVar("Result")

# How long one analysis blocks the next, in seconds.
PATIENCE = 0.1
MOST_THREADS = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A function to call in a worker thread, and the future that gets its result."""

    function: Callable[[], Any]
    future: asyncio.Future[Any]


class Lane:
    """The queue of work and the threads that do it; belongs to one event loop and is used only from there.

    The threads are daemons: work that never ends does not keep the program alive.
    """

    def __init__(self) -> None:
        self._requests: deque[_Work] = deque()
        self._checks: deque[_Work] = deque()
        self._current: _Work | None = None
        self._idle: list[SimpleQueue[_Work]] = []
        self._busy = 0

    async def run(self, function: Callable[[], Result], *, is_request: bool) -> Result:
        """Call a function in a worker thread and return its result; a caller cancelled early enough prevents the call.

        Raises:
            Exception: what the function raises.
        """
        loop = asyncio.get_running_loop()
        work = _Work(function, loop.create_future())
        (self._requests if is_request else self._checks).append(work)
        # Not at once: of the messages that arrived together, requests go before checks.
        loop.call_soon(self._start_next)
        result: Result = await work.future
        return result

    def _start_next(self) -> None:
        if self._current is not None or self._busy >= MOST_THREADS:
            return
        work = self._next_work()
        if work is None:
            return
        self._current = work
        self._busy += 1
        (self._idle.pop() if self._idle else self._new_thread()).put(work)
        asyncio.get_running_loop().call_later(PATIENCE, self._unblock, work)

    def _next_work(self) -> _Work | None:
        for queue in (self._requests, self._checks):
            while queue:
                work = queue.popleft()
                if not work.future.cancelled():
                    return work
        return None

    def _unblock(self, work: _Work) -> None:
        """Let the next work start if this one is still running."""
        if self._current is work:
            self._current = None
            self._start_next()

    def _finish(self, thread: SimpleQueue[_Work], work: _Work, result: Any, error: Exception | None) -> None:
        self._idle.append(thread)
        self._busy -= 1
        if self._current is work:
            self._current = None
        if not work.future.done():
            if error is None:
                work.future.set_result(result)
            else:
                work.future.set_exception(error)
        self._start_next()

    def _new_thread(self) -> SimpleQueue[_Work]:
        """Start a thread; returns the queue that it takes its work from."""
        loop = asyncio.get_running_loop()
        waiting: SimpleQueue[_Work] = SimpleQueue()

        def run() -> None:
            while True:
                work = waiting.get()
                result, error = (None, None) if work.future.cancelled() else _outcome(work.function)
                try:
                    loop.call_soon_threadsafe(self._finish, waiting, work, result, error)
                except RuntimeError:  # the loop has ended, and nobody waits for the result
                    return
                del work, result, error  # an idle thread keeps no document alive

        threading.Thread(target=run, name="pai-lsp analysis", daemon=True).start()
        return waiting


def _outcome(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return function(), None
    except StopIteration as error:  # a future cannot hold this one
        return None, RuntimeError("an iterator was empty").with_traceback(error.__traceback__)
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
        return None, error
