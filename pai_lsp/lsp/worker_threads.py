"""Runs work in threads, so that messages are read and cancellations noticed while it works.

The interpreter runs one thread at a time, so two analyses at once would only slow each other down: they run one after
the other, requests before checks. One that takes longer than `PATIENCE` no longer blocks the next, which starts in
another thread. All threads are daemons: work that never ends does not keep the program alive.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Result = TypeVar("Result")


# How long one analysis blocks the next, in seconds.
PATIENCE = 0.1
MOST_THREADS = 8


@dataclass(frozen=True, slots=True)
class _Work:
    """A function to call in a worker thread, and the future that gets its result."""

    function: Callable[[], Any]
    future: asyncio.Future[Any]
    is_alone: bool


class Lane:
    """The queue of work and the threads that do it; belongs to one event loop and is used only from there."""

    def __init__(self) -> None:
        self._requests: deque[_Work] = deque()
        self._checks: deque[_Work] = deque()
        self._current: _Work | None = None
        self._end_of_patience: asyncio.TimerHandle | None = None
        self._idle: list[SimpleQueue[_Work]] = []
        self._busy = 0

    async def run(self, function: Callable[[], Result], *, is_request: bool, is_alone: bool = False) -> Result:
        """Call a function in a worker thread and return its result; a caller cancelled early enough prevents the call.

        `is_alone`: nothing else starts before it has ended, however long it takes. Modules are loaded like that: two
        threads that import the same packages in different orders get them half-loaded.

        Raises:
            Exception: what the function raises.
        """
        loop = asyncio.get_running_loop()
        work = _Work(function, loop.create_future(), is_alone)
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
        if not work.is_alone:
            self._end_of_patience = asyncio.get_running_loop().call_later(PATIENCE, self._unblock, work)

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
            if self._end_of_patience is not None:
                self._end_of_patience.cancel()  # or it keeps the document alive until then
        _settle(work.future, result, error)
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
                except RuntimeError:  # the loop has ended: the result is not needed
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


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if not future.done():
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


async def in_thread(work: Callable[[], Result]) -> Result:
    """The result of slow work that is not analysis, such as asking servers; it runs in a thread of its own.

    Raises:
        Exception: what `work` raises.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def run() -> None:
        outcome = _outcome(work)
        with suppress(RuntimeError):  # the loop has ended: the result is not needed
            loop.call_soon_threadsafe(_settle, future, *outcome)

    threading.Thread(target=run, name="pai-lsp background", daemon=True).start()
    return await future
