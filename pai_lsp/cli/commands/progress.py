"""A bar on the terminal for runs that take a while; short runs never show one."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")

_FIRST_AFTER = 0.5  # seconds
_EVERY = 0.1  # seconds
_WIDTH = 30  # cells


def with_progress(items: Iterable[Item], total: int, *, shown: bool) -> Iterator[Item]:
    """The items, and while they come a bar on standard error, which is gone when they end."""
    if not shown or total == 0:
        yield from items
        return
    next_time = time.monotonic() + _FIRST_AFTER
    drawn = False
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if time.monotonic() >= next_time:
                drawn = True
                next_time = time.monotonic() + _EVERY
                _draw(f"[{bar(done, total)}] {done} of {total} files")
    finally:
        if drawn:
            _draw("")


def bar(done: int, total: int) -> str:
    """A bar of 30 cells of which the part that is done is filled."""
    filled = _WIDTH * done // total
    return "#" * filled + "-" * (_WIDTH - filled)


def _draw(text: str) -> None:
    sys.stderr.write(f"\r\x1b[2K{text}")
    sys.stderr.flush()
