"""Where each character of a scalar's text is written in the file.

A command may be written plain, quoted, as a block, folded or with escapes; what is found inside its text (a template,
a variable) must be shown on the very characters the author wrote.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from pai_lsp.source.building import SURROGATE_ESCAPE, joined_surrogates
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, ScalarStyle
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

_ESCAPE_LENGTH = {"x": 4, "u": 6, "U": 10}
_LINE_BREAK = lazy_pattern(r"\r\n|\r|\n")
_HEADER = lazy_pattern(r"[|>][^\r\n]*(?:\r\n|\r|\n|$)")
_LINE = lazy_pattern(r"([^\r\n]*)(?:\r\n|\r|\n)?")


# A number of characters, and where they are written: each in its own place where the numbers are equal, else, such as
# an escape, each in the whole place.
_Piece: TypeAlias = "tuple[int, int, int]"


@dataclass(frozen=True, eq=False)
class MappedText:
    """A text and the place of each of its characters.

    outside: the place of the whole text in the file, with its quotes.
    find_pieces: gives the places of its characters, which few texts are asked for.
    """

    text: str
    outside: Span
    find_pieces: Callable[[], Iterable[_Piece]]

    @cached_property
    def _pieces(self) -> tuple[list[_Piece], list[int]]:
        """The pieces, and how many characters there are up to the end of each."""
        pieces = [piece for piece in self.find_pieces() if piece[0]]
        return pieces, list(accumulate(length for length, _, _ in pieces))

    def place(self, index: int) -> Span:
        """The place in the file of character `index`, from 0."""
        pieces, ends = self._pieces
        number = bisect_right(ends, index)
        length, start, end = pieces[number]
        at = end - ends[number] + index
        return Span(at, at + 1) if length == end - start else Span(start, end)

    def span(self, start: int, end: int) -> Span:
        """The place in the file of `text[start:end]`; for an empty range, the place between its neighbours."""
        if start >= end:
            at = self.offset(start)
            return Span(at, at)
        first = self.place(start).start
        return Span(first, max(first, self.place(end - 1).end))

    def offset(self, index: int) -> int:
        """The place in the file in front of character `index`; at the end, after the last one."""
        if index < len(self.text):
            return self.place(index).start
        return self.place(len(self.text) - 1).end if self.text else self.outside.start

    def index(self, offset: int) -> int | None:
        """The character at (or the gap before) a place in the file; None outside the text."""
        if not self.outside.touches(offset):
            return None
        at = 0
        for length, start, end in self._pieces[0]:
            if offset < end or offset <= start:
                return at + (offset - start if start < offset and length == end - start else 0)
            at += length
        return at


def mapped(source: str, scalar: Scalar) -> MappedText:
    """The scalar's text with its places in `source`, the whole file's text.

    Where the way it is written is not understood, every character is placed on the whole scalar.
    """
    return MappedText(scalar.text, scalar.span, lambda: _pieces(source, scalar))


def _pieces(source: str, scalar: Scalar) -> list[_Piece]:
    span, text = scalar.span, scalar.text
    if len(span) == len(text) and scalar.style is ScalarStyle.PLAIN:
        return [(len(text), span.start, span.end)]
    if scalar.is_block:
        pieces = _block(source, scalar)
    elif scalar.style is ScalarStyle.PLAIN:
        pieces = _flow(source, span.start, span.end, "")
    else:
        quote = scalar.style.value
        # The closing quote is missing where recovery had to close the scalar.
        is_closed = len(span) > 1 and source[span.end - 1] == quote
        pieces = _flow(source, span.start + 1, span.end - is_closed, quote)
    written = "".join([piece[0] for piece in pieces])
    missing = text[len(written) :]
    if not text.startswith(written) or missing.strip():
        return [(1, span.start, span.end)] * len(text)
    return [*((len(shown), start, end) for shown, start, end in pieces), *[(1, span.end, span.end)] * len(missing)]


def joined_lines(source: str, scalars: Sequence[Scalar]) -> MappedText:
    """The texts of scalars, each trimmed, as lines; a line end is placed at the end of the scalar before it."""
    outside = Span(scalars[0].span.start, scalars[-1].span.end) if scalars else Span(0, 0)
    text = "\n".join([scalar.text.strip() for scalar in scalars])
    return MappedText(text, outside, lambda: _joined(source, scalars))


def _joined(source: str, scalars: Sequence[Scalar]) -> Iterator[_Piece]:
    for number, scalar in enumerate(scalars):
        if number:
            end = scalars[number - 1].span.end
            yield 1, end, end
        yield from trimmed(mapped(source, scalar)).find_pieces()


def trimmed(part: MappedText) -> MappedText:
    """The text without white space at both ends."""
    text = part.text.strip()
    start = len(part.text) - len(part.text.lstrip())
    return MappedText(text, part.outside, lambda: _cut(part.find_pieces(), start, start + len(text)))


def _cut(pieces: Iterable[_Piece], start: int, end: int) -> Iterator[_Piece]:
    """The pieces of the characters from `start` on, up to `end`."""
    at = 0
    for length, begin, stop in pieces:
        first, last = max(start - at, 0), min(end - at, length)
        if first < last:
            yield (last - first, begin + first, begin + last) if length == stop - begin else (last - first, begin, stop)
        at += length


# A part of a scalar's text as it is written: a run of characters as they are, or something else, such as an escape.
_Written: TypeAlias = "tuple[str, int, int]"
_RUNS = {"": lazy_pattern(r"[^\r\n]+"), "'": lazy_pattern(r"[^\r\n']+|'(?!')"), '"': lazy_pattern(r"[^\r\n\\]+")}


def _flow(source: str, start: int, end: int, quote: str) -> list[_Written]:
    """A plain or quoted scalar's text, its lines folded."""
    pieces: list[_Written] = []
    runs = _RUNS[quote]
    at = start
    while at < end:
        if run := runs.match(source, at, end):
            pieces.append((run[0], at, run.end()))
            at = run.end()
        elif source[at] in "\r\n":
            at = _fold(source, at, end, pieces)
        elif quote == '"':
            at = _escape(source, at, end, pieces)
        else:
            pieces.append(("'", at, at + 2))
            at += 2
    return pieces


def _fold(source: str, at: int, end: int, pieces: list[_Written]) -> int:
    """Read line ends and the white space around them; one becomes a blank, each further one a line end."""
    while pieces and pieces[-1][2] - pieces[-1][1] == len(pieces[-1][0]):
        text, start, _ = pieces.pop()
        if bare := text.rstrip(" \t"):
            pieces.append((bare, start, start + len(bare)))
            break
    first, before = at, len(pieces)
    at = _breaks(source, at, end, pieces)
    if len(pieces) == before:
        pieces.append((" ", first, at))
    return at


def _breaks(source: str, at: int, end: int, pieces: list[_Written]) -> int:
    """Read line ends and the white space around them; each after the first is a line end of the text."""
    is_first = True
    while at < end and source[at] in " \t\r\n":
        match = _LINE_BREAK.match(source, at)
        after = match.end() if match else at + 1
        if match and not is_first:
            pieces.append(("\n", at, after))
        is_first = is_first and match is None
        at = after
    return at


def _escape(source: str, at: int, end: int, pieces: list[_Written]) -> int:
    letter = source[at + 1 : at + 2]
    if letter in {"\r", "\n"}:
        return _breaks(source, at + 1, end, pieces)
    if surrogates := SURROGATE_ESCAPE.match(source, at, end):
        pieces.append((joined_surrogates(surrogates[0]), at, surrogates.end()))
        return surrogates.end()
    length = _ESCAPE_LENGTH.get(letter, 2)
    digits = source[at + 2 : at + length]
    if letter in _ESCAPE_LENGTH:
        try:
            character = chr(int(digits, 16))
        except (ValueError, OverflowError):
            character = "\ufffd"
    else:
        character = _ESCAPES.get(letter, letter)
    pieces.append((character, at, at + length))
    return at + length


_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip


def _block(source: str, scalar: Scalar) -> list[_Written]:
    """A literal or folded block's characters, without the line ends that chomping leaves at its end."""
    span = scalar.span
    header = _HEADER.match(source, span.start)
    body = header.end() if header else span.end
    # Where each line starts and ends, and where the next begins.
    lines = [(*line.span(1), line.end()) for line in _LINE.finditer(source, body, span.end) if line[0]]
    texts = (source[start:end] for start, end, _ in lines)
    width = next((len(text) - len(text.lstrip(" ")) for text in texts if text.strip(" ")), 0)
    # With an indentation indicator the width is relative to a parent that is not known here: try each.
    candidates = range(width + 1) if re.search(r"[1-9]", source[span.start : body].partition("#")[0]) else (width,)
    fold = scalar.style is ScalarStyle.FOLDED
    for indentation in candidates:
        pieces = _block_lines(source, lines, indentation, fold=fold)
        if scalar.text.rstrip() == "".join(piece[0] for piece in pieces).rstrip():
            return pieces
    return []


def _block_lines(source: str, lines: list[tuple[int, int, int]], indentation: int, *, fold: bool) -> list[_Written]:
    pieces: list[_Written] = []
    previous_folds = False
    waiting: list[_Written] = []  # line ends since the last line with text
    for start, end, after in lines:
        content = min(start + indentation, end)
        text = source[content:end]
        if not text:
            waiting.append(("\n", end, after))
            continue
        folds = fold and text[0] not in " \t"
        if folds and previous_folds:
            waiting = waiting[1:] or [(" ", waiting[0][1], content)]
        pieces += [*waiting, (text, content, end)]
        waiting = [("\n", end, after)]
        previous_folds = folds
    return pieces
