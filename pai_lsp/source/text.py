"""Places in a text, and edits of it.

Everywhere inside pai-lsp a place is an *offset*: a number of code points from the start of the text, beginning at 0.
Ranges are half-open. Line numbers and columns that start at 0 are the protocol's, and exist only where this module's
`LineIndex` hands them out; reports count from 1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from enum import Enum
from functools import cached_property
from itertools import accumulate

from pai_lsp.source.frozen import dataclass, dataclass_of_many
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.steps import spend
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# LSP knows these three line ends and no others (specification 3.17, "Text Documents").
_LINE_END = lazy_pattern(r"\r\n|\n|\r")
# Characters that are not shown, as in the brackets of a regular expression. Unicode, "Default Ignorable Code Points".
UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"


@dataclass_of_many(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of code points: `start <= offset < end`."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, offset: int) -> bool:
        return self.start <= offset < self.end

    def touches(self, offset: int) -> bool:
        """Whether a cursor at `offset` is in the span or at its end, as an editor's user sees it."""
        return self.start <= offset <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a place; empty spans overlap what they touch."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end

    def holds(self, other: Span) -> bool:
        """Whether all of another place is in this one."""
        return self.start <= other.start and other.end <= self.end

    def shifted(self, by: int) -> Span:
        """The span moved by `by` code points."""
        return Span(self.start + by, self.end + by)


def any_overlaps(spans: Sequence[Span], span: Span) -> bool:
    """Whether one of the spans, which are in order and apart from each other, overlaps another one."""
    at = bisect_left(spans, span)
    return any(one.overlaps(span) for one in spans[max(at - 1, 0) : at + 2])


def apart(spans: Iterable[Span]) -> list[Span]:
    """The same places as spans that are in order and apart: those that overlap are one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and found[-1].overlaps(span):
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


class ColumnUnit(Enum):
    """What a column counts; the values are LSP's names for it."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    CODE_POINT = "utf-32"


@dataclass(frozen=True, slots=True)
class Position:
    """A line and a column in it, both from 0; the unit of the column is that of the call that returned it."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Place:
    """A place as reports give it: line and column count from 1, the offset from 0, all in code points."""

    line: int
    column: int
    offset: int


class LineIndex:
    """Finds lines and columns in one text; lines end as in LSP: at CR LF, LF or CR."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        if "\r" in text:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        else:
            self._starts = [0, *accumulate([len(line) + 1 for line in text.split("\n")[:-1]])]

    def __len__(self) -> int:
        return len(self._starts)

    def place(self, offset: int) -> Place:
        """The place at `offset`; for one outside the text, the nearest end of the text."""
        offset = min(max(offset, 0), len(self.text))
        position = self.position(offset)
        return Place(position.line + 1, position.column + 1, offset)

    def line_of(self, offset: int) -> int:
        """The number, from 0, of the line that `offset` is in."""
        spend(1)
        return bisect_right(self._starts, max(offset, 0)) - 1

    def line_start(self, line: int) -> int:
        """The offset at which `line` begins; past the last line, the end of the text."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def line_span(self, line: int) -> Span:
        """The line without its line end."""
        spend(1)
        start, end = self.line_start(line), self.line_start(line + 1)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return Span(start, end)

    def line_text(self, line: int) -> str:
        """The characters of the line without its line end."""
        span = self.line_span(line)
        return self.text[span.start : span.end]

    def parts(self, span: Span) -> list[Span]:
        """The span line by line, without line ends and empty parts."""
        lines = (self.line_span(line) for line in range(self.line_of(span.start), self.line_of(span.end) + 1))
        parts = (Span(max(line.start, span.start), min(line.end, span.end)) for line in lines)
        return [part for part in parts if part.start < part.end]

    def position(self, offset: int, unit: ColumnUnit = ColumnUnit.CODE_POINT) -> Position:
        """Where `offset` is, the column counted in `unit`; an offset outside the text is drawn to its nearest end."""
        offset = min(max(offset, 0), len(self.text))
        line = self.line_of(offset)
        return Position(line, text_width(self.text[self._starts[line] : offset], unit))

    def offset(self, line: int, column: int, unit: ColumnUnit = ColumnUnit.CODE_POINT) -> int:
        """The offset of a column counted in `unit`; past a line's end means its end, past the last line the text's."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        span = self.line_span(line)
        here = self.text[span.start : span.end]
        if unit is ColumnUnit.CODE_POINT or here.isascii():
            return min(span.start + max(column, 0), span.end)
        for index, character in enumerate(here):
            if column <= 0:
                return span.start + index
            column -= text_width(character, unit)
        return span.end


def text_width(text: str, unit: ColumnUnit) -> int:
    """How many units a text has."""
    if text.isascii() or unit is ColumnUnit.CODE_POINT:
        return len(text)
    if unit is ColumnUnit.UTF16:
        return len(text) + sum(character > "\uffff" for character in text)
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Replace the text in `span` by `new_text`; an empty span inserts."""

    span: Span
    new_text: str


def overlapping(edits: Iterable[TextEdit]) -> int | None:
    """The place that two of the edits change; None where each place is changed by one at most, as LSP demands."""
    done = 0
    for edit in sorted(edits):
        if edit.span.start < done:
            return edit.span.start
        done = edit.span.end
    return None


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with all edits done; their spans mean the text as it was.

    Raises:
        ValueError: if two edits change the same place.
    """
    edits = sorted(edits)
    if (place := overlapping(edits)) is not None:
        raise ValueError(f"edits overlap at {place}")
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += text[done : edit.span.start], edit.new_text
        done = edit.span.end
    return "".join([*parts, text[done:]])


@dataclass(frozen=True, eq=False)
class PlacesBefore:
    """Carries places in a text that edits have made back to the text before them; the edits are in order."""

    edits: tuple[TextEdit, ...] = ()

    def span(self, span: Span) -> Span:
        """The place in the text before; for new text, what it replaced, or where it was added."""
        start = self._offset(span.start, is_end=False)
        return Span(start, max(start, self._offset(span.end, is_end=True)))

    def _offset(self, offset: int, *, is_end: bool) -> int:
        number = (bisect_left if is_end else bisect_right)(self._starts, offset)
        if not number:
            return offset
        edit = self.edits[number - 1]
        end = self._starts[number - 1] + len(edit.new_text)
        if offset < end:
            return edit.span.end if is_end else edit.span.start
        return edit.span.end + offset - end

    @cached_property
    def _starts(self) -> list[int]:
        """Where the new text of each edit begins."""
        added = accumulate((len(edit.new_text) - len(edit.span) for edit in self.edits), initial=0)
        return [edit.span.start + more for edit, more in zip(self.edits, added, strict=False)]


def cell_width(character: str) -> int:
    """How many cells a terminal gives the character: 0, 1 or 2.

    Two for Unicode's East Asian wide and full-width ones, none for marks that combine with the one before
    (Unicode Standard Annex 11; the same reading as the C library's wcwidth).
    """
    if character.isascii():
        return 1
    import unicodedata  # noqa: PLC0415 - most text is ASCII

    if unicodedata.category(character) in {"Mn", "Me", "Cf"} or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cells_of(text: str) -> int:
    """How many cells of a terminal, or columns of a fixed-width font, a text takes."""
    return len(text) if text.isascii() else sum(map(cell_width, text))


def start_of_line(text: str, offset: int) -> int:
    """Where the line of an offset begins, behind the line feed before it."""
    return text.rfind("\n", 0, offset) + 1


def column(text: str, offset: int) -> int:
    """The number of characters before an offset on its line."""
    return offset - start_of_line(text, offset)


def end_of_line(text: str, offset: int) -> int:
    """Where the line of an offset ends, before its line feed."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def next_line(text: str, offset: int) -> int:
    """Where the line after that of an offset begins; the end of the text without one."""
    return min(end_of_line(text, offset) + 1, len(text))


def shortened(text: str, most: int = 40) -> str:
    """The text, or as much of it as so many characters hold, with an ellipsis for the rest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def one_line(text: str, most: int = 40) -> str:
    """The words of a text on one line, shortened."""
    return shortened(" ".join(text.split()), most)


def visible(text: str) -> str:
    """The text without what a terminal would obey or what would turn it around: such a character becomes a sign."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_sign(character) for character in text)


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if character.isprintable() or character in {"\u3000", "\xa0"}:
        return character
    # Joiners and variation selectors make emoji; the other format characters can reorder or hide a line.
    return character if character in "\u200c\u200d" else "\ufffd"
