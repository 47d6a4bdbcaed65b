"""Runs one function over many items in several forked processes.

A fork costs a few milliseconds and starts with everything already imported, where a pool of fresh interpreters would
import it all again. It also survives a process that dies: the item it was at is reported as lost, and the rest goes on.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    Item = TypeVar("Item")
    Result = TypeVar("Result")


_LENGTH = 8
# With many items ahead, answers gather for `_REST` seconds before they are read: waking up for each one would take the
# processors from the processes that work.
_MANY = 100
_REST = 0.005


@dataclass(frozen=True, slots=True)
class LostItem:
    """Replaces the result of an item whose process died; `reason` is how."""

    reason: str


@dataclass(slots=True)
class _Worker:
    """A process, the items it has yet to answer (as numbers, in its order) and what has come from it so far."""

    identifier: int
    pipe: int
    waiting: deque[int]
    received: bytearray = field(default_factory=bytearray)


def can_fork() -> bool:
    """Whether this machine and this moment allow it: another thread may hold a lock that a fork would keep forever."""
    if not hasattr(os, "fork"):
        return False
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def available_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def mapped(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int
) -> Iterator[tuple[int, Result | LostItem]]:
    """`function` of every item, with the item's number, as they get ready; `function` must not raise.

    Results are pickled. Closing the iterator early ends the processes.
    """
    selector = selectors.DefaultSelector()
    workers: list[_Worker] = []

    def start(numbers: deque[int]) -> None:
        worker = _fork(function, items, numbers, [other.pipe for other in workers])
        workers.append(worker)
        selector.register(worker.pipe, selectors.EVENT_READ, worker)

    try:
        for first in range(min(processes, len(items))):
            start(deque(range(first, len(items), processes)))
        while workers:
            if len(workers[0].waiting) > _MANY:
                time.sleep(_REST)
            for key, _ in selector.select():
                worker = key.data
                data = os.read(worker.pipe, 1 << 20)
                if data:
                    worker.received += data
                    yield from _answers(worker)
                    continue
                selector.unregister(worker.pipe)
                workers.remove(worker)
                reason = _end(worker)
                if worker.waiting:
                    yield worker.waiting.popleft(), LostItem(reason)
                if worker.waiting:
                    start(worker.waiting)
    finally:
        for worker in workers:
            os.kill(worker.identifier, signal.SIGTERM)
            _end(worker)
        selector.close()


def _fork(function: Callable[[Any], Any], items: Sequence[Any], numbers: deque[int], other_pipes: list[int]) -> _Worker:
    read_end, write_end = os.pipe()
    identifier = os.fork()
    if identifier:
        os.close(write_end)
        return _Worker(identifier, read_end, numbers)
    try:  # from here on this is the new process, which must never return into the caller's code
        for pipe in [read_end, *other_pipes]:
            os.close(pipe)
        with os.fdopen(write_end, "wb") as answers:
            for number in numbers:
                answer = pickle.dumps(function(items[number]), pickle.HIGHEST_PROTOCOL)
                answers.write(len(answer).to_bytes(_LENGTH, "big") + answer)
                answers.flush()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the parent sees that the answer is missing
        os._exit(1)


def _answers(worker: _Worker) -> Iterator[tuple[int, Any]]:
    """The complete answers among what has been received; a process answers its items in order."""
    received = worker.received
    while len(received) >= _LENGTH:
        length = int.from_bytes(received[:_LENGTH], "big")
        if len(received) < _LENGTH + length:
            return
        answer = pickle.loads(received[_LENGTH : _LENGTH + length])  # noqa: S301 - from our own process, over our own pipe
        del received[: _LENGTH + length]
        yield worker.waiting.popleft(), answer


def _end(worker: _Worker) -> str:
    """Wait for a process that has closed its pipe; return how it ended."""
    os.close(worker.pipe)
    _, status = os.waitpid(worker.identifier, 0)
    code = os.waitstatus_to_exitcode(status)
    return f"the process was ended by signal {-code}" if code < 0 else "the process ended too early"
