"""Reports for people: findings with the lines that they are in, and diffs."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import LaidOut, Style, Terminal, lay_out, severity_style
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import cell_width, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.cli.report.results import PlacedDiagnostic, PlacedRelated, Results
    from pai_lsp.source.text import LineIndex, Span

_MOST_FIXES = 3
_MOST_LINES = 4
_CUT = "…"
_CONTEXT = 3  # lines around a change in a diff
# The line ends of a text, as source/text.py has them; `splitlines` knows more of them than editors do.
_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DIFF_STYLES = {"+": Style.ADDED, "-": Style.REMOVED, "@": Style.INFORMATION}


def findings(results: Results, terminal: Terminal) -> str:
    """Each finding with a code frame, its related places and its fixes, and an empty line."""
    lines: list[str] = []
    for item in placed(results):
        lines += [*_finding(item, terminal), ""]
    return "".join(f"{line}\n" for line in lines)


def unified_difference(path: str, before: str, after: str) -> str:
    """The diff that turns `before` into `after`, as `diff -u` writes it; empty when they are equal."""
    from pai_lsp.source.line_changes import changed_lines  # noqa: PLC0415 - only for diffs

    old, new = _LINE.findall(before), _LINE.findall(after)
    hunks: list[list[tuple[int, int, int, int]]] = []
    for change in changed_lines(old, new):
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * _CONTEXT:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    lines = [f"--- {path}\n", f"+++ {path}\n"] if hunks else []
    for hunk in hunks:
        lines += _hunk(hunk, old, new)
    return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _hunk(changes: list[tuple[int, int, int, int]], old: list[str], new: list[str]) -> Iterator[str]:
    """The lines of changes that are near one another, with those around them."""
    first, last = changes[0], changes[-1]
    begin, end = max(first[0] - _CONTEXT, 0), min(last[1] + _CONTEXT, len(old))
    new_begin, new_end = first[2] - (first[0] - begin), last[3] + (end - last[1])
    yield f"@@ -{_range(begin, end)} +{_range(new_begin, new_end)} @@\n"
    at = begin
    for change in changes:
        yield from (f" {line}" for line in old[at : change[0]])
        yield from (f"-{line}" for line in old[change[0] : change[1]])
        yield from (f"+{line}" for line in new[change[2] : change[3]])
        at = change[1]
    yield from (f" {line}" for line in old[at:end])


def _range(begin: int, end: int) -> str:
    """Lines as the head of a hunk has them: of one its number, of none the number of the line before."""
    return f"{begin + 1}" if end - begin == 1 else f"{begin + (end > begin)},{end - begin}"


def styled_difference(difference: str, terminal: Terminal) -> str:
    """The diff with colors, where the terminal has them."""
    if not terminal.colour:
        return difference
    lines = [line if line.endswith("\n") else f"{line}\n" for line in difference.split("\n") if line]
    return "".join(
        terminal.styled(line[:-1], _DIFF_STYLES[line[0]]) + "\n" if line[0] in _DIFF_STYLES else line for line in lines
    )


def _finding(item: PlacedDiagnostic, terminal: Terminal) -> Iterator[str]:
    diagnostic = item.diagnostic
    style = severity_style(diagnostic.severity)
    code = terminal.linked(diagnostic.code, diagnostic.url)
    label = terminal.styled(f"{diagnostic.severity.label}[{code}]", style)
    yield f"{label}: {terminal.styled(visible(diagnostic.message), Style.STRONG)}"
    frames = [(item.lines, diagnostic.span), *((one.lines, one.span) for one in item.related if one.lines is not None)]
    width = max(2, *(len(str(_last_line(*frame) + 1)) for frame in frames))
    yield _arrow(item.path, item.start.line, item.start.column, width, terminal)
    if item.lines.text:
        yield from _code_frame(item.lines, diagnostic.span, "^", style, terminal, number_width=width)
    for related in item.related:
        yield from _related(related, width, terminal)
    for fix in item.fixes[:_MOST_FIXES]:
        sign = terminal.styled("=", Style.FRAME)
        word = "fix" if fix.safe else "suggestion"
        yield f"{' ' * width} {sign} {terminal.styled(word, Style.STRONG)}: {visible(fix.title)}"


def _related(related: PlacedRelated, width: int, terminal: Terminal) -> Iterator[str]:
    blank = " " * width
    sign, word = terminal.styled("=", Style.FRAME), terminal.styled("note", Style.STRONG)
    yield f"{blank} {sign} {word}: {visible(related.message)}"
    if related.lines is None or related.start is None:
        yield f"{blank}{terminal.styled('-->', Style.FRAME)} {visible(related.path)}"
        return
    yield _arrow(related.path, related.start.line, related.start.column, width, terminal)
    yield from _code_frame(related.lines, related.span, "-", Style.FRAME, terminal, number_width=width)


def _arrow(path: str, line: int, column: int, width: int, terminal: Terminal) -> str:
    return f"{' ' * width}{terminal.styled('-->', Style.FRAME)} {visible(path)}:{line}:{column}"


def _code_frame(
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
            frame.append(terminal.styled("...", Style.FRAME))
        shown_before = number
        laid_out = lay_out(lines.line_text(number))
        text = f"{bar} {_cropped(laid_out, *window)}".rstrip()
        frame.append(f"{terminal.styled(f'{number + 1:>{number_width}}', Style.FRAME)} {text}")
        if number >= first and (marks := _marks(lines, number, span, laid_out, window)):
            indent, length = marks
            frame.append(f"{blank} {bar} {' ' * indent}{terminal.styled(mark * length, style)}")
    return frame


def _last_line(lines: LineIndex, span: Span) -> int:
    """The last line with something of the span in it; the line end itself belongs to the line it ends."""
    first, last = lines.line_of(span.start), lines.line_of(max(span.end, span.start))
    return last - 1 if last > first and span.end == lines.line_start(last) else last


def _marks(
    lines: LineIndex, number: int, span: Span, laid_out: LaidOut, window: tuple[int, int]
) -> tuple[int, int] | None:
    """The number of spaces and of marks below a line; None if it has no marks."""
    left, right = window
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
    if first > right or after < left:
        return None
    first = max(first, left)
    return first - left, max(min(after, right) - first, 1)


def _window(lines: LineIndex, span: Span, first: int, width: int) -> tuple[int, int]:
    """Which cells of the lines are shown, the last one not: all if the marked line fits, else those where it starts."""
    line = lines.line_span(first)
    cells = lay_out(lines.line_text(first)).cells
    start, end = (cells[min(max(offset - line.start, 0), len(cells) - 1)] for offset in (span.start, span.end))
    if cells[-1] <= width or end < width:
        return 0, width
    left = min(max(start - width // 3, 0), cells[-1] - width + 1)
    return left, left + width


def _cropped(laid_out: LaidOut, left: int, right: int) -> str:
    """The part of a shown line between two cells, with an ellipsis where something is cut off."""
    total = laid_out.cells[-1]
    if left == 0 and total <= right:
        return laid_out.text
    first, last = left + (left > 0), right - (total > right)
    before, after = (_CUT if left > 0 else ""), (_CUT if total > right else "")
    if laid_out.text.isascii():  # a long line has many findings
        return before + laid_out.text[first:last] + after
    places = zip(laid_out.text, accumulate(map(cell_width, laid_out.text), initial=0), strict=False)
    shown = [(one, cell) for one, cell in places if first <= cell and cell + cell_width(one) <= last]
    half = " " * (shown[0][1] - first) if shown else ""
    return f"{before}{half}{''.join(one for one, _ in shown)}{after}"
