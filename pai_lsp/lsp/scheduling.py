"""Runs the analysis beside the event loop, so that messages are read and cancellations heard while it works.

The interpreter runs one thread at a time, so two pieces of work at once would only slow each other down: work is done
one piece after the other, requests before checks. A piece that takes longer than `PATIENCE` is left to itself, and the
next one begins beside it: a slow one holds up nobody.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

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
