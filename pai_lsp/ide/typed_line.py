"""Moves a line that is being typed to the column where its key or list item belongs.

After a nested block, an editor begins the next line in the block. A key that the job cannot have there, but in a
mapping further out, moves to that mapping; an item moves to its list, and the first item of a list to the column where
the job's lists begin. What can be meant as it is stays.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pai_lsp.ide.cursor import schema_context
from pai_lsp.platform.job_schema import field, fields
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, column, end_of_line, start_of_line

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.platform.job_schema import Field
    from pai_lsp.source.nodes import Node

    Path = tuple[str | int, ...]

_TYPED = re.compile(
    r"(?P<pad> *)(?P<dash>- +)?(?:(?(dash)(?:\{ *)?)(?P<key>[\w.-]+) *:(?P<value> .*)?|(?P<text>(?:[^ \n].*?)?))\r?\Z"
)
# The first item of a list, below its key.
_FIRST_ITEM = lazy_pattern(r"^(?P<key> *(?:- +)*)[\w.-]+ *: *(?:#.*)?\n(?P<item> *)- ", re.MULTILINE)
_COMMENT = lazy_pattern(r"^[ \t]*#.*", re.MULTILINE)


class _Match(IntEnum):
    """Whether a mapping can have a key."""

    NO = 0
    NAME = 1  # as any name of the author's own
    KEY = 2  # it is known there
    REQUIRED = 3  # it is known there, and missing
    SECTION = 4  # it is known there, and hardly a name: its value is a mapping or a list, or it is several words


@dataclass(frozen=True, slots=True)
class _Typed:
    """A line: its indentation, its key, if it has one, and whether it is the item of a list.

    is_name: whether Enter has ended it after a key without a value, as the name of a task role.
    """

    column: int
    key: str | None
    is_item: bool
    is_name: bool


@dataclass(frozen=True, slots=True)
class _Destination:
    """A block collection above the line that may go on in it."""

    path: Path
    column: int
    fit: _Match


def moved_line(document: Document, offset: int) -> tuple[TextEdit, ...]:
    """The edits that move the line of the cursor, or the one that Enter has just ended; empty if it stays."""
    text = document.text
    start = start_of_line(text, offset)
    is_ended = start > 0 and not text[start:offset].strip()
    cursor = start
    if is_ended:
        start = start_of_line(text, start - 1)
    end = end_of_line(text, start)
    match = _TYPED.match(text[start:end])
    # A command may have been typed faster than its dash was answered.
    if match is None or not (match["dash"] or match["key"]) or (match["text"] and not is_ended):
        return ()
    is_name = is_ended and match["dash"] is None and not (match["value"] or "").strip()
    typed = _Typed(len(match["pad"]), match["key"], match["dash"] is not None, is_name)
    rest = text[offset if is_ended else end :]
    column = _Above(document, text[:start] + rest, start).column_of(typed)
    following = next((line for line in rest.split("\n")[1:] if line.strip()), "")
    if column >= typed.column or len(following) - len(following.lstrip(" ")) > column:
        return ()
    by = typed.column - column
    edits = (TextEdit(Span(start + column, start + typed.column), ""),)
    return (*edits, TextEdit(Span(offset - by, offset), "")) if is_ended and offset - cursor >= by else edits


class _Above:
    """What is open above a line that is left out of a text."""

    def __init__(self, document: Document, text: str, offset: int) -> None:
        self._document = document
        self._text = text[:offset]
        self._collections: list[tuple[Mapping | Sequence, Path, int]] = []
        self._offset = offset
        syntax = parse(text)
        roots = (root for root in reversed(syntax.documents) if root and root.span.start < offset)
        is_open = any(one.fix and one.fix[1].new_text in {"]", "}", "'", '"'} for one in syntax.problems)
        # The last node, and the path to it; None where a bracket or quote is open and the line may be within.
        self.last: Node | None = next(roots, None) if not is_open else None
        self.path: Path = ()
        while isinstance(self.last, (Mapping, Sequence)) and not self.last.is_flow:
            begin = self.last.span.start
            self._collections.append((self.last, self.path, column(text, begin)))
            self.path, self.last = self._step(self.last)

    def _step(self, node: Mapping | Sequence) -> tuple[Path, Node | None]:
        if isinstance(node, Mapping):
            entry = next((one for one in reversed(node.entries) if one.key.span.start < self._offset), None)
            return (*self.path, entry.name if entry else ""), entry.value if entry else None
        number = sum(item.span.start < self._offset for item in node.items) - 1
        return (*self.path, number), node.items[number] if number >= 0 else None

    def column_of(self, typed: _Typed) -> int:
        """The column for a line: its own, or a smaller one."""
        innermost = self._collections[-1][2] if self._collections else 0
        places = [place for place in self._places(typed) if place.fit]
        outer = [place for place in reversed(places) if place.column < typed.column]
        if self._is_in_text(typed.column, innermost):
            return self._out_of_text(typed, outer)
        own = next((place for place in places if place.column == typed.column), None)
        here = own.fit if own else _Match.NO
        is_known = here >= _Match.KEY or (own is not None and not self._is_documented(own.path))
        if self._begins(typed, innermost):
            return innermost if typed.is_item and self._lists_begin_below_their_keys() else typed.column
        if is_known or (here and typed.key is None):
            return typed.column
        least = _Match.SECTION if here else _Match.KEY
        found = self._first(outer, least, -1)
        if found >= 0 or here:
            return typed.column if found < 0 else found
        if typed.key is not None:
            for node, path, depth in self._collections:
                if depth == typed.column and isinstance(node, Mapping) and not self._is_own_name(typed, node, path):
                    return typed.column
        return self._first(outer, _Match.NAME, typed.column)

    def _places(self, typed: _Typed) -> list[_Destination]:
        """The open collections, outermost first, and whether the line fits."""
        found = []
        for node, path, depth in self._collections:
            if isinstance(node, Sequence) is typed.is_item:
                inner = (*path, len(node.items)) if isinstance(node, Sequence) else path
                found.append(_Destination(path, depth, self._fit(inner, node, typed.key)))
        return found

    def _begins(self, typed: _Typed, innermost: int) -> bool:
        """Whether the line is the first of a value that the key above does not have yet."""
        is_deeper = typed.column > innermost or (typed.is_item and typed.column == innermost)
        return is_deeper and isinstance(self.last, Scalar) and self.last.is_empty

    def _lists_begin_below_their_keys(self) -> bool:
        """Whether the last list above is as far to the left as its key."""
        last = [*_FIRST_ITEM.finditer(self._text)][-1:]
        return any(len(one["key"]) == len(one["item"]) for one in last)

    def _fit(self, path: Path, node: Node | None, key: str | None) -> _Match:
        """Whether the mapping at a path can have a key, which it must not have yet."""
        if key is None:
            return _Match.NAME
        if isinstance(node, Mapping) and node.own(key) is not None:
            return _Match.NO
        known = self._fields(path, node)
        if key not in known:
            is_own = not known or (isinstance(node, Mapping) and path[:-1] == ("prerequisites",))
            return _Match.NAME if is_own and not self._is_list_of_texts(path, node) else _Match.NO
        types = known[key].types
        if key != key.lower() or (types and not {"string", "integer", "number", "boolean"} & set(types)):
            return _Match.SECTION
        return _Match.REQUIRED if known[key].required else _Match.KEY

    def _fields(self, path: Path, node: Node | None) -> dict[str, Field]:
        """The known keys of the mapping at a path."""
        if self._is_list_of_texts(path, node):
            return {}
        return {str(one.key): one for one in fields(path, **self._context(path, node))}

    def _is_documented(self, path: Path) -> bool:
        return not path or field(path, **schema_context(self._document, ())) is not None

    def _is_list_of_texts(self, path: Path, node: Node | None) -> bool:
        return bool(path) and isinstance(path[-1], int) and self._type(path[:-1], node).endswith("list of strings")

    def _type(self, path: Path, node: Node | None) -> str:
        """The type of what is at a path, in words; empty if it is not known."""
        found = field(path, **self._context(path, node))
        return found.type if found else ""

    def _context(self, path: Path, node: Node | None) -> dict[str, Any]:
        """What decides which keys are known at a path, among it the type of the prerequisite and the plugin."""
        around = [one for one, own, _ in self._collections if own == path[: len(own)]]
        return schema_context(self._document, [*around, node])

    def _is_own_name(self, typed: _Typed, node: Mapping, path: Path) -> bool:
        """Whether a key that its mapping cannot have is a name, and not a known key with a mistake."""
        key = typed.key or ""
        return typed.is_name and node.own(key) is None and not nearest(key, self._fields(path, node))

    def _is_in_text(self, column: int, innermost: int) -> bool:
        """Whether the line goes on with a text or with something in brackets."""
        if self.last is None or (isinstance(self.last, Scalar) and self.last.is_empty):
            return False
        if isinstance(self.last, Scalar) and self.last.is_block:
            return column > innermost
        return self.last.span.end > self._offset

    def _out_of_text(self, typed: _Typed, outer: list[_Destination]) -> int:
        """The column for what does not continue the commands or the description above.

        Where text of another language is possible, in a here-document or between quotes, everything stays.
        """
        last = self.last
        if not (isinstance(last, Scalar) and last.is_block):
            return typed.column
        if not self._is_list_of_texts(self.path, last):
            is_description = self._type(self.path, last) == "string" and not last.text.count("```") % 2
            return self._first(outer, _Match.REQUIRED, typed.column) if is_description else typed.column
        script = _COMMENT.sub("", last.text)
        if "<<" in script or script.count("'") % 2 or script.count('"') % 2:
            return typed.column
        if typed.is_item:
            return self._first(outer, _Match.NAME if typed.key is None else _Match.KEY, typed.column)
        roles = [one for one in outer if one.path == ("taskRoles",) and typed.is_name]
        return self._first(outer, _Match.SECTION, self._first(roles, _Match.NAME, typed.column))

    @staticmethod
    def _first(places: list[_Destination], least: _Match, otherwise: int) -> int:
        return next((place.column for place in places if place.fit >= least), otherwise)
