"""Terminals: colors, links, how many cells each character takes, and a bar that shows the progress of a long run."""

from __future__ import annotations

import sys
import time
from enum import Enum
from functools import lru_cache

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import cells_of, visible
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeVar

    from pai_lsp.findings.diagnostic import Severity

    Item = TypeVar("Item")


_TAB_STOP = 4
_PLAIN_WIDTH = 160
_BAR_AFTER = 0.5  # seconds
_BAR_EVERY = 0.1  # seconds
_BAR_WIDTH = 30  # cells


class Style(Enum):
    """What a piece of a report is; the values are the parameters of ECMA-48's "select graphic rendition"."""

    ERROR = "1;31"
    WARNING = "1;33"
    INFORMATION = "1;36"
    HINT = "1;32"
    STRONG = "1"
    FRAME = "34"
    ADDED = "32"
    REMOVED = "31"


def severity_style(severity: Severity) -> Style:
    """The style of a severity's name and of the marks of its findings."""
    return Style[severity.name]


@dataclass(frozen=True, slots=True)
class Terminal:
    """What the place that a report goes to can show; `width` is in cells."""

    colour: bool = False
    links: bool = False
    width: int = _PLAIN_WIDTH

    def styled(self, text: str, style: Style) -> str:
        """The text in a style; without colors, the text."""
        return f"\x1b[{style.value}m{text}\x1b[0m" if self.colour and text else text

    def linked(self, text: str, url: str) -> str:
        """The text as a link, by the OSC 8 convention; where links are not shown, or without an address, the text."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and url else text


def terminal_for(choice: str, environment: Mapping[str, str], *, is_terminal: bool, width: int) -> Terminal:
    """What to show on an output.

    `choice` is `always`, `never` or `auto`; `auto` is colors on a terminal unless NO_COLOR is set (no-color.org),
    and colors anywhere when FORCE_COLOR is (force-color.org); both count only when they are not empty. FORCE_COLOR=0
    forces nothing: Node.js reads it so, and so does its author.
    """
    has_links = is_terminal and environment.get("TERM") != "dumb"
    colour = choice == "always"
    if choice == "auto" and not environment.get("NO_COLOR"):
        colour = has_links or environment.get("FORCE_COLOR", "") not in {"", "0"}
    return Terminal(colour, colour and has_links, width if is_terminal and width > 0 else _PLAIN_WIDTH)


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A line as it is shown: `cells[i]` is the cell, from 0, where its character i begins, the last one the end."""

    text: str
    cells: tuple[int, ...]


@lru_cache(maxsize=16)
def lay_out(line: str) -> LaidOut:
    """Show a line: tabs become blanks, control characters become visible signs, wide characters take two cells."""
    if line.isascii() and line.isprintable():
        return LaidOut(line, tuple(range(len(line) + 1)))
    shown: list[str] = []
    cells = [0]
    for character in line:
        here = cells[-1]
        text = " " * (_TAB_STOP - here % _TAB_STOP) if character == "\t" else visible(character)
        shown.append(text)
        cells.append(here + cells_of(text))
    return LaidOut("".join(shown), tuple(cells))


def with_progress(items: Iterable[Item], total: int, *, shown: bool) -> Iterator[Item]:
    """The items, and while they come a bar on standard error, which is gone when they end."""
    if not shown or total == 0:
        yield from items
        return
    next_time = time.monotonic() + _BAR_AFTER
    drawn = False
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if time.monotonic() >= next_time:
                drawn = True
                next_time = time.monotonic() + _BAR_EVERY
                _draw(f"[{bar(done, total)}] {done} of {total} files")
    finally:
        if drawn:
            _draw("")


def bar(done: int, total: int) -> str:
    """A bar of 30 cells of which the part that is done is filled."""
    filled = _BAR_WIDTH * done // total
    return "#" * filled + "-" * (_BAR_WIDTH - filled)


def _draw(text: str) -> None:
    sys.stderr.write(f"\r\x1b[2K{text}")
    sys.stderr.flush()
