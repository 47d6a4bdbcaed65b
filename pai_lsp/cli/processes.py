"""Runs one function over many items in several forked processes.

A fork costs a few milliseconds and starts with everything already imported, where a pool of fresh interpreters would
import it all again. It also survives a process that dies: the item it was at is reported as lost, and the rest goes on.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, BinaryIO, TypeVar

    Item = TypeVar("Item")
    Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LostItem:
    """Replaces the result of an item whose process died; `reason` is how."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, and the pipe through which its answers come."""

    identifier: int
    pipe: BinaryIO


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


def mapped(function: Callable[[Item], Result], items: Sequence[Item], processes: int) -> Iterator[Result | LostItem]:
    """`function` of every item, in their order; it must not raise. Results are pickled.

    Each process has every so many of the items, and its answers are read in turn. Closing the iterator early ends the
    processes.
    """
    workers: list[_Worker] = []
    try:
        for first in range(min(processes, len(items))):
            workers.append(_fork(function, items[first::processes], workers))
        for number in range(len(items)):
            at = number % processes
            try:
                answer = pickle.load(workers[at].pipe)  # noqa: S301 - from our own process, over our own pipe
            except (EOFError, pickle.UnpicklingError):
                answer = LostItem(_end(workers[at]))
                workers[at] = _fork(function, items[number + processes :: processes], workers)
            yield answer
    finally:
        for worker in workers:
            os.kill(worker.identifier, signal.SIGTERM)
            _end(worker)


def _fork(function: Callable[[Any], Any], items: Iterable[Any], workers: Sequence[_Worker]) -> _Worker:
    read_end, write_end = os.pipe()
    identifier = os.fork()
    if identifier:
        os.close(write_end)
        return _Worker(identifier, os.fdopen(read_end, "rb"))
    try:  # from here on this is the new process, which must never return into the caller's code
        os.close(read_end)
        for worker in workers:
            worker.pipe.close()
        with os.fdopen(write_end, "wb") as answers:
            for item in items:
                pickle.dump(function(item), answers, pickle.HIGHEST_PROTOCOL)
                answers.flush()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the parent sees that the answer is missing
        os._exit(1)


def _end(worker: _Worker) -> str:
    """Wait for a process that has closed its pipe; return how it ended."""
    worker.pipe.close()
    _, status = os.waitpid(worker.identifier, 0)
    code = os.waitstatus_to_exitcode(status)
    return f"the process was ended by signal {-code}" if code < 0 else "the process ended too early"
