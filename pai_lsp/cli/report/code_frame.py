"""Draws the lines of a text that a span is in, with marks under exactly the characters of the span."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pai_lsp.cli.report.terminal import LaidOut, Style, Terminal, lay_out
from pai_lsp.source.text import cell_width

if TYPE_CHECKING:
    from pai_lsp.source.text import LineIndex, Span

_MOST_LINES = 4
_CUT = "…"


def code_frame(
    lines: LineIndex, span: Span, mark: str, style: Style, terminal: Terminal, *, number_width: int
) -> list[str]:
    """The lines of a frame: a number in `number_width` cells, a bar, the text, and below it `mark` under the span.

    The line above the span is shown too unless it is blank; the middle of a long span is left out.
    """
    first, last = lines.line_of(span.start), _last_line(lines, span)
    numbers = list(range(first, last + 1))
    if first > 0 and lines.line_text(first - 1).strip():
        numbers.insert(0, first - 1)
    if last - first >= _MOST_LINES:
        numbers = [number for number in numbers if number < first + _MOST_LINES - 2] + [last]
    width = max(terminal.width - number_width - 3, 20)
    window = _window(lines, span, first, width)
    bar = terminal.styled("|", Style.FRAME)
    blank = " " * number_width
    frame = [f"{blank} {bar}"]
    shown_before: int | None = None
    for number in numbers:
        if shown_before is not None and number > shown_before + 1:
            frame.append(terminal.styled("." * min(3, number_width + 1), Style.FRAME))
        shown_before = number
        laid_out = lay_out(lines.line_text(number))
        text = f"{bar} {_cropped(laid_out, window)}".rstrip()
        frame.append(f"{terminal.styled(f'{number + 1:>{number_width}}', Style.FRAME)} {text}")
        if number >= first and (marks := _marks(lines, number, span, laid_out, window)):
            indent, length = marks
            frame.append(f"{blank} {bar} {' ' * indent}{terminal.styled(mark * length, style)}")
    return frame


def number_width(lines: LineIndex, span: Span) -> int:
    """How many digits the highest line number in the frame of the span has."""
    return len(str(_last_line(lines, span) + 1))


def _last_line(lines: LineIndex, span: Span) -> int:
    """The last line with something of the span in it; the line end itself belongs to the line it ends."""
    first, last = lines.line_of(span.start), lines.line_of(max(span.end, span.start))
    return last - 1 if last > first and span.end == lines.line_start(last) else last


def _marks(lines: LineIndex, number: int, span: Span, laid_out: LaidOut, window: _Window) -> tuple[int, int] | None:
    """The number of spaces and of marks below a line; None if it has no marks."""
    line = lines.line_span(number)
    text = lines.line_text(number)
    start, end = max(span.start, line.start), min(span.end, line.end)
    if span.start < line.start:  # a later line of a longer span: its indentation is not meant
        start += len(text) - len(text.lstrip())
        if start >= end:
            return None
    elif start > line.end:
        start = end = line.end
    first = laid_out.cells[start - line.start]
    after = laid_out.cells[max(end, start) - line.start]
    if first > window.right or after < window.left:
        return None
    first = max(first, window.left)
    return first - window.left, max(min(after, window.right) - first, 1)


class _Window(NamedTuple):
    """The cells of each line that are shown, the right one not among them."""

    left: int
    right: int


def _window(lines: LineIndex, span: Span, first: int, width: int) -> _Window:
    """Which cells of the lines are shown: all when the marked line fits, else those around the span's start."""
    line = lines.line_span(first)
    cells = lay_out(lines.line_text(first)).cells
    if cells[-1] <= width:
        return _Window(0, width)
    start = cells[min(max(span.start - line.start, 0), len(cells) - 1)]
    end = cells[min(max(span.end - line.start, 0), len(cells) - 1)]
    if end < width:
        return _Window(0, width)
    left = max(start - width // 3, 0) if end - start < width * 2 // 3 else max(start - 10, 0)
    left = min(left, max(cells[-1] - width + 1, 0))
    return _Window(left, left + width)


def _cropped(laid_out: LaidOut, window: _Window) -> str:
    """The part of a shown line between two cells, with an ellipsis where something is cut off."""
    left, right = window
    total = laid_out.cells[-1]
    if left == 0 and total <= right:
        return laid_out.text
    first, last = left + (left > 0), right - (total > right)
    before, after = (_CUT if left > 0 else ""), (_CUT if total > right else "")
    if laid_out.text.isascii():
        return before + laid_out.text[first:last] + after
    shown: list[str] = []
    cell = 0
    for character in laid_out.text:
        width = cell_width(character)
        if cell >= first and cell + width <= last:
            if not shown and left > 0:
                shown.append(before + " " * (cell - first))
            shown.append(character)
        cell += width
    return "".join(shown) + after
