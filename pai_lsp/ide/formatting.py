"""Formats a job: changes the indentation of lines and the spaces after `-` and `:`, and nothing else.

The formatted text is read back: all values must be the same for the rest-server and for the runtime, and all comments
must be there. A text that is not read back equal, or that has a fault, is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.refactoring import line_edits
from pai_lsp.source.comments import comments
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, walk
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.source.nodes import Entry, Node, Syntax
    from pai_lsp.source.text import LineIndex, TextEdit

# Spaces after a dash or a colon, in front of something that is not a comment.
_DASHES = re.compile(r"(?P<indentation> *)(?P<dashes>(?:- +)+)(?=[^\s#])")
_GAP = re.compile(r"(?P<colon>[ \t]*:)(?! \S)[ \t]+(?=[^\s#])")
_MOST_STEPS = 8


def formatted(document: Document, step: int = 2) -> tuple[TextEdit, ...]:
    """Edits of whole lines that format a document.

    Args:
        document: a job or a file of definitions.
        step: by how many spaces a mapping or list is indented in its parent.
    """
    syntax = document.syntax
    if syntax.problems or syntax.root is None or len(syntax.documents) != 1:
        return ()
    text = _Formatter(syntax.root, document.lines, min(max(step, 2), _MOST_STEPS)).text()
    after = parse(text)
    return line_edits(syntax.text, text) if not after.problems and _content(syntax) == _content(after) else ()


def _content(syntax: Syntax) -> list[object]:
    """All that both readers take from a text, and its comments."""
    found: list[object] = [one.text for one in comments(syntax)]
    found += [(one.name, one.anchor.name if one.anchor else None) for one in syntax.aliases]
    found += [one.name for one in syntax.anchors]
    for root in syntax.documents:
        found += map(_facts, walk(root))
    return found


def _facts(node: Node) -> tuple[object, ...]:
    if isinstance(node, Scalar):
        return (node.text, node.style, node.tag)  # which make its values
    if isinstance(node, Sequence):
        return ("sequence", node.tag, len(node.items), node.is_flow)
    return ("mapping", node.tag, tuple(entry.name for entry in node.entries), node.is_flow)


class _Formatter:
    """Finds the new indentation of every line of a text without faults."""

    def __init__(self, root: Node, lines: LineIndex, step: int) -> None:
        self._text = lines.text
        self._root = root
        self._lines = lines
        self._step = step
        # By line number: the new column of its first character; the line whose shift it follows, and its least column.
        self._columns: dict[int, int] = {}
        self._shifted: dict[int, tuple[int, int]] = {}
        # Lines inside of scalars, which keep their spaces; and where colons are.
        self._held: set[int] = set()
        self._gaps: dict[int, list[int]] = {}

    def text(self) -> str:
        """The formatted text."""
        self._place(self._root, 0, 0)
        self._place_comments()
        return "".join(self._line(number) for number in range(len(self._lines)))

    def _place(self, node: Node, column: int, start: int) -> None:
        """Put a node that begins at or after the offset `start` at a column; aliases lead to nodes before it."""
        if node.span.start < start:
            return
        if isinstance(node, Scalar) or node.is_flow:
            self._follow(node, column)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                if entry.key.span.start >= node.span.start:
                    self._place_entry(entry, column)
        else:
            for item in node.items:
                self._place_item(item, column, node.span.start)

    def _place_entry(self, entry: Entry, column: int) -> None:
        key, value = entry.key, entry.value
        self._begin(key.span.start, column)
        self._gaps.setdefault(self._lines.line_of(key.span.start), []).append(key.span.end)
        is_hanging = isinstance(value, Sequence) and not value.is_flow and self._is_hanging(value, key)
        self._place(value, column if is_hanging else column + self._step, key.span.end)

    def _is_hanging(self, value: Sequence, key: Node) -> bool:
        """Whether the dashes of a list are below the first letter of its key."""
        dash = self._dash(value.items[0], key.span.end) if value.items else None
        return dash is not None and self._column(dash) == self._column(key.span.start)

    def _place_item(self, item: Node, column: int, start: int) -> None:
        dash = self._dash(item, start)
        if dash is not None:
            self._begin(dash, column)
            self._place(item, column + 2, dash)

    def _dash(self, item: Node, start: int) -> int | None:
        """The dash of an item; None for an alias, whose node is elsewhere."""
        found = self._text.rfind("-", start, item.span.start + 1 if len(item.span) == 0 else item.span.start)
        return found if found >= 0 and not self._text[found + 1 : item.span.start].split("#")[0].strip() else None

    def _begin(self, offset: int, column: int) -> None:
        """Put a line at a column, if it begins at an offset."""
        number = self._lines.line_of(offset)
        if not self._text[self._lines.line_start(number) : offset].strip():
            self._columns.setdefault(number, column)

    def _follow(self, node: Node, column: int) -> None:
        """Shift the other lines of a scalar or of `[…]` like its first one; the text of a block has its own column."""
        first, last = self._lines.line_of(node.span.start), self._lines.line_of(max(node.span.start, node.span.end - 1))
        self._begin(node.span.start, column)
        below = range(first + 1, last + 1)
        if isinstance(node, Scalar):
            self._held.update(below)
        if isinstance(node, Scalar) and node.is_block:
            written = [number for number in below if self._lines.line_text(number).strip()]
            before = min((self._indentation(number) for number in written), default=0)
            header = self._text[node.span.start : node.span.start + 3]
            if not any(character.isdigit() for character in header):
                for number in below:
                    self._columns[number] = max(0, self._indentation(number) - before + column)
                return
        for number in below:
            self._shifted[number] = (first, column)

    def _place_comments(self) -> None:
        """A comment on a line of its own is placed like the next line that it is aligned with, else the one before."""
        placed = sorted(self._columns.keys() - self._held)
        for number in range(len(self._lines)):
            is_placed = number in self._columns or number in self._shifted
            if is_placed or not self._lines.line_text(number).lstrip().startswith("#"):
                continue
            after = [one for one in placed if one > number][:1]
            others = [*after, *(one for one in reversed(placed) if one < number)]
            aligned = [one for one in others if self._indentation(one) == self._indentation(number)]
            for nearest in (aligned or others)[:1]:
                self._columns[number] = self._columns[nearest]

    def _line(self, number: int) -> str:
        start = self._lines.line_start(number)
        line = self._text[start : self._lines.line_start(number + 1)]
        bare = line.rstrip("\r\n")
        ending = line[len(bare) :]
        column = self._column_of(number)
        if number in self._held:
            return (" " * column + bare[self._indentation(number) :] if bare.strip() else bare) + ending
        for key_end in sorted(self._gaps.get(number, ()), reverse=True):
            if gap := _GAP.match(bare, key_end - start):
                bare = f"{bare[: gap.start()]}{gap['colon']} {bare[gap.end() :]}"
        if number in self._columns and (dashes := _DASHES.match(bare)):
            bare = dashes["indentation"] + "- " * dashes["dashes"].count("-") + bare[dashes.end() :]
        bare = bare.rstrip()
        return (" " * column + bare.lstrip(" ") if bare else "") + ending

    def _column_of(self, number: int) -> int:
        if number in self._shifted:
            first, least = self._shifted[number]
            return max(least, self._indentation(number) + self._column_of(first) - self._indentation(first))
        return self._columns.get(number, self._indentation(number))

    def _indentation(self, number: int) -> int:
        line = self._lines.line_text(number)
        return len(line) - len(line.lstrip(" "))

    def _column(self, offset: int) -> int:
        return offset - self._lines.line_start(self._lines.line_of(offset))
