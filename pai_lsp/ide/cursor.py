"""Where a cursor is in a job, in text that is being typed.

A mark is put into the text at the cursor, the text is read as always (recovery included), and the scalar that then
holds the mark gives the place. So a half-typed key, an empty value, a new list item and the inside of a block of
commands need no rules of their own.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.job.job import Job
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, ScalarStyle, Sequence
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document


# Private-use characters that no one types; the first that the text does not contain is used.
_MARKS = ("\ue2c5", "\ue2c6", "\ue2c7")
# Blanks, and after them an item that is there already.
_NEXT_WORD = re.compile(r" +[^\s,\]}#]")


class Spot(Enum):
    """What can be typed at the cursor."""

    KEY = "key"
    VALUE = "value"
    ITEM = "item"


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """A place in a job.

    path: the keys and indexes from the root to the mapping (KEY), the entry (VALUE) or the item (ITEM) at the cursor;
        the name of a key that is being typed is not in it.
    parents: the collections on that path, outermost first.
    prefix, suffix: the scalar's characters on this line before and after the cursor.
    replace: the place in the document's text of both.
    scalar: the scalar with the mark, in the marked text; `job` is the job of the marked text.
    content: the scalar's whole text without the mark; `index` is the cursor in it.
    missing: what must be inserted in front of anything inserted here: a list item's dash, or the blank after a colon.
    missing_behind: what must be inserted after it: the comma in front of the next item.
    """

    spot: Spot
    path: tuple[str | int, ...]
    parents: tuple[Mapping | Sequence, ...]
    prefix: str
    suffix: str
    replace: Span
    scalar: Scalar
    content: str
    index: int
    job: Job
    document: Document
    offset: int
    missing: str = ""
    missing_behind: str = ""

    @property
    def document_text(self) -> str:
        """The text that is edited."""
        return self.document.text

    @property
    def line_before(self) -> str:
        """The cursor's line up to the text that would be replaced."""
        start = self.document_text.rfind("\n", 0, self.replace.start) + 1
        return self.document_text[start : self.replace.start]

    @property
    def line_behind(self) -> str:
        """The cursor's line from the end of the text that would be replaced."""
        end = self.document_text.find("\n", self.replace.end)
        return self.document_text[self.replace.end : len(self.document_text) if end < 0 else end].rstrip("\r")

    def block_start(self) -> tuple[str, str]:
        """What must precede a key or item of a block inserted here, and the indentation of the block's next lines.

        On a line of its own the block begins at the cursor; after a key's colon it begins on the next line.
        """
        line = self.line_before
        if self.is_flow or not line.strip(" -") or self.spot is Spot.KEY:
            return self.missing, " " * len(line + self.missing)
        pad = " " * (len(line) - len(line.lstrip(" -")) + 2)
        return "\n" + pad, pad

    @property
    def mapping(self) -> Mapping | None:
        """The innermost mapping around the cursor."""
        return next((node for node in reversed(self.parents) if isinstance(node, Mapping)), None)

    @property
    def sequence(self) -> Sequence | None:
        """The list whose item the cursor is, for ITEM."""
        node = self.parents[-1] if self.parents else None
        return node if isinstance(node, Sequence) else None

    @property
    def is_flow(self) -> bool:
        """Whether the cursor is within `[…]` or `{…}`."""
        return any(node.is_flow for node in self.parents)

    @property
    def quote(self) -> str:
        """The quote that the scalar is written in; empty for none."""
        return self.scalar.style.value if self.scalar.style in {ScalarStyle.SINGLE, ScalarStyle.DOUBLE} else ""


def cursor(document: Document, offset: int) -> Cursor | None:
    """The place of an offset; None where nothing of the job can be typed: in comments and unreadable text."""
    text = document.text
    mark = next((mark for mark in _MARKS if mark not in text), None)
    if mark is None or _in_comment(text, offset):
        return None
    start = text.rfind("\n", 0, offset) + 1
    if text[start:offset].rstrip(" ").endswith(":") and text[offset - 1 : offset] == ":":
        # Directly after the colon: an inserted text needs a blank in front.
        return _find(document, offset, mark, " ")
    found = _new_flow_item(document, offset, mark) or _find(document, offset, mark)
    if found is None and not text[start:offset].strip():
        # A line of its own below a list whose items are scalars: only a new item can follow.
        found = _find(document, offset, mark, "- ")
    return found


def _in_comment(text: str, offset: int) -> bool:
    """Whether a `#` in front of the cursor certainly begins a comment: it starts the line and no block is open."""
    start = text.rfind("\n", 0, offset) + 1
    return text[start:offset].lstrip().startswith("#")


def _new_flow_item(document: Document, offset: int, mark: str) -> Cursor | None:
    """The place of a new item in `[…]`: after a comma or the bracket, and not at the word that comes next."""
    text = document.text
    line = text[text.rfind("\n", 0, offset) + 1 : offset].rstrip(" ")
    next_word = _NEXT_WORD.match(text, offset)
    if not line.endswith((",", "[")) or (not line.endswith(",") and not next_word):
        return None
    before = " " if text[offset - 1] == "," else ""
    found = _find(document, offset, mark, before, "," if next_word else "")
    return found if found and found.spot is Spot.ITEM and found.is_flow and found.content == "" else None


def _find(document: Document, offset: int, mark: str, before: str = "", behind: str = "") -> Cursor | None:
    text = document.text
    marked = f"{text[:offset]}{before}{mark}{behind}{text[offset:]}"
    syntax = parse(marked)
    trail = next(_trails(syntax.root, mark), None)
    if trail is None:
        return None
    scalar, spot, path, parents = trail
    place = mapped(marked, scalar)
    index = place.text.index(mark)
    at = place.starts[index]
    if at - len(before) != offset:
        return None
    first, last = index, index
    if not scalar.is_block:
        # On one line only: a plain scalar may go on over several.
        while first > 0 and place.starts[first - 1] >= marked.rfind("\n", 0, at) + 1:
            first -= 1
        end = marked.find("\n", at)
        while last + 1 < len(place.text) and place.ends[last + 1] <= (len(marked) if end < 0 else end):
            last += 1
    prefix, suffix = place.text[first:index], place.text[index + 1 : last + 1]
    start = place.starts[first] if first < index else at
    stop = place.ends[last] if last > index else at + 1
    added = len(before) + 1
    replace = Span(min(start, offset), max(offset, stop - added))
    job = Job(syntax, document.settings.plugins, document.lookup, document.is_catalog)
    content = place.text.replace(mark, "", 1)
    return Cursor(
        spot,
        path,
        parents,
        prefix,
        suffix,
        replace,
        scalar,
        content,
        index,
        job,
        document,
        offset,
        missing=before,
        missing_behind=behind,
    )


_Trail = tuple[Scalar, Spot, tuple["str | int", ...], tuple["Mapping | Sequence", ...]]


def _trails(
    node: Node | None, mark: str, path: tuple[str | int, ...] = (), parents: tuple[Mapping | Sequence, ...] = ()
) -> Iterator[_Trail]:
    if isinstance(node, Scalar):
        if mark in node.text:
            spot = Spot.ITEM if parents and isinstance(parents[-1], Sequence) else Spot.VALUE
            yield node, spot, path, parents
    elif isinstance(node, Sequence):
        for number, item in enumerate(node.items):
            yield from _trails(item, mark, (*path, number), (*parents, node))
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _entry_trails(entry, mark, path, (*parents, node))


def _entry_trails(
    entry: Entry, mark: str, path: tuple[str | int, ...], parents: tuple[Mapping | Sequence, ...]
) -> Iterator[_Trail]:
    if isinstance(entry.key, Scalar) and mark in entry.key.text:
        yield entry.key, Spot.KEY, path, parents
    yield from _trails(entry.value, mark, (*path, entry.name), parents)
