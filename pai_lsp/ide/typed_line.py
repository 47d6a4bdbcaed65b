"""Moves a line that is being typed to the column where its key or list item belongs.

After a nested block, an editor begins the next line in the block. A key that the job cannot have there, but in a
mapping further out, moves to that mapping; an item moves to its list. What can be meant as it is stays.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from pai_lsp.platform.job_schema import field, fields
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, value_at
from pai_lsp.source.spelling import nearest
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, end_of_line

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.platform.job_schema import Kind
    from pai_lsp.source.nodes import Node

    Path = tuple[str | int, ...]

_TYPED = re.compile(r"(?P<pad> *)(?P<dash>- +)?(?:(?P<key>[\w.-]+):(?P<value> .*)?|(?P<text>(?:[^ \n].*?)?))\r?\Z")


class _Match(IntEnum):
    """Whether a mapping can have a key."""

    NO = 0
    NAME = 1  # as any name of the author's own
    KEY = 2  # it is known there
    SECTION = 3  # it is known there, and its value is a mapping or a list


@dataclass(frozen=True, slots=True, eq=False)
class _Typed:
    """A line: its indentation, its key, if it has one, and whether it is the item of a list.

    is_name: whether Enter has ended it after a key without a value, as the name of a task role.
    """

    column: int
    key: str | None
    is_item: bool
    is_name: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Destination:
    """A block collection above the line that may go on in it."""

    node: Mapping | Sequence
    path: Path
    column: int
    fit: _Match


def moved_line(document: Document, offset: int) -> tuple[TextEdit, ...]:
    """The edits that move the line of the cursor, or the one that Enter has just ended; empty if it stays."""
    text = document.text
    start = text.rfind("\n", 0, offset) + 1
    is_ended = start > 0 and not text[start:offset].strip()
    cursor = start
    if is_ended:
        start = text.rfind("\n", 0, start - 1) + 1
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
        self._kind: Kind = "definition" if document.is_catalog else "job"
        self._platform = document.platform
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
            self._collections.append((self.last, self.path, begin - text.rfind("\n", 0, begin) - 1))
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
        if is_known or (here and typed.key is None) or self._begins(typed, innermost):
            return typed.column
        least = _Match.SECTION if here else _Match.KEY
        found = next((place.column for place in outer if place.fit >= least), None)
        if found is not None or here:
            return typed.column if found is None else found
        is_key = any(isinstance(node, Mapping) and column == typed.column for node, _, column in self._collections)
        if typed.key is not None and is_key and not self._is_own_name(typed):
            return typed.column
        return next((place.column for place in outer), typed.column)

    def _places(self, typed: _Typed) -> list[_Destination]:
        """The open collections, outermost first, and whether the line fits."""
        found = []
        for node, path, column in self._collections:
            if isinstance(node, Sequence) is typed.is_item:
                inner = (*path, len(node.items)) if isinstance(node, Sequence) else path
                found.append(_Destination(node, path, column, self._fit(inner, node, typed.key)))
        return found

    def _begins(self, typed: _Typed, innermost: int) -> bool:
        """Whether the line is the first of a value that the key above does not have yet."""
        is_deeper = typed.column > innermost or (typed.is_item and typed.column == innermost)
        return is_deeper and isinstance(self.last, Scalar) and self.last.is_empty

    def _fit(self, path: Path, node: Node | None, key: str | None) -> _Match:
        """Whether the mapping at a path can have a key, which it must not have yet."""
        if key is None:
            return _Match.NAME
        if isinstance(node, Mapping) and node.own(key) is not None:
            return _Match.NO
        known = self._keys(path, node)
        if key in known:
            types = known[key]
            return (
                _Match.SECTION if types and not {"string", "integer", "number", "boolean"} & set(types) else _Match.KEY
            )
        return _Match.NO if known or self._is_list_of_texts(path) else _Match.NAME

    def _keys(self, path: Path, node: Node | None) -> dict[str, tuple[str, ...]]:
        """The known keys of the mapping at a path, and the types of their values."""
        if self._is_list_of_texts(path):
            return {}
        kind, plugin = (self._nearest(name, path, node) for name in ("type", "plugin"))
        known = fields(path, prerequisite_type=kind, plugin=plugin, kind=self._kind, platform=self._platform)
        return {str(one.key): one.types for one in known}

    def _is_documented(self, path: Path) -> bool:
        return not path or field(path, kind=self._kind, platform=self._platform) is not None

    def _is_list_of_texts(self, path: Path) -> bool:
        items = field(path[:-1], kind=self._kind, platform=self._platform) if path else None
        return items is not None and isinstance(path[-1], int) and items.type.endswith("list of strings")

    def _nearest(self, name: str, path: Path, node: Node | None) -> str | None:
        """The value of a key of the mapping, or of the nearest one around it but the job itself."""
        around = [one for one, own, _ in self._collections[1:] if own == path[: len(own)]]
        for mapping in (node if path else None, *reversed(around)):
            value = value_at(mapping, name)
            if isinstance(value, Scalar):
                return value.text
        return None

    def _is_own_name(self, typed: _Typed) -> bool:
        """Whether a key that its mapping cannot have is a name, and not a known key with a mistake."""
        for node, path, column in self._collections:
            if column == typed.column and isinstance(node, Mapping):
                return (
                    typed.is_name
                    and node.own(typed.key or "") is None
                    and not nearest(typed.key or "", self._keys(path, node))
                )
        return False

    def _is_in_text(self, column: int, innermost: int) -> bool:
        """Whether the line goes on with a text or with something in brackets."""
        if self.last is None or (isinstance(self.last, Scalar) and self.last.is_empty):
            return False
        if isinstance(self.last, Scalar) and self.last.is_block:
            return column > innermost
        return self.last.span.end > self._offset

    def _out_of_text(self, typed: _Typed, outer: list[_Destination]) -> int:
        """The column for text that does not continue the commands above: a section of the job, or the next command.

        Where text of another language is possible, in a here-document or between quotes, everything stays.
        """
        last = self.last
        if not (isinstance(last, Scalar) and last.is_block and self._is_list_of_texts(self.path)):
            return typed.column
        if "<<" in last.text or last.text.count("'") % 2 or last.text.count('"') % 2:
            return typed.column
        least = _Match.NAME if typed.is_item and typed.key is None else _Match.SECTION
        return next((place.column for place in outer if place.fit >= least), typed.column)
