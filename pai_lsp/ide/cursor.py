"""Where a cursor stands in a job, in text that is being typed.

A mark is put into the text at the cursor, the text is read as always (recovery included), and the scalar that the mark
ends up in tells the place. So a half-typed key, an empty value, a new list item and the inside of a block of commands
need no rules of their own. Of a large text only the part around the cursor is read (see window.py).

The part of a large job that says where a cursor stands, so that not all of it is read at every keystroke.

In block style everything about a place stands in the lines of the section and of the task role (or item) that it is in.
Those are found by indentation alone. Where that might be wrong, there is no window, and the whole text is read.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.job.job import Job
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence, Style
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document


# A private-use character that no one types; another when the text has it.
_MARKS = ("\ue2c5", "\ue2c6", "\ue2c7")
# Blanks, and then the item that stands there already.
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
        the name of a key that is being typed is not in it. An index may be that in the part that was read.
    parents: the collections on that path, outermost first.
    prefix, suffix: what is typed of the scalar on this line before and behind the cursor.
    replace: the place in the document's text of both.
    scalar: the scalar with the mark, in the marked text; `local_job` is what was read of the marked text.
    content: the scalar's whole text without the mark; `index` is the cursor in it.
    missing: what must stand in front of anything inserted here: a list item's dash, or the blank behind a colon.
    missing_behind: what must stand behind it: the comma in front of the next item.
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
    local_job: Job
    document: Document
    offset: int
    is_part: bool
    missing: str = ""
    missing_behind: str = ""

    @property
    def job(self) -> Job:
        """The whole job, for the names in it; of a large one it is read when it is asked for."""
        return self.document.job if self.is_part else self.local_job

    @property
    def document_text(self) -> str:
        """The text that is edited."""
        return self.document.text

    @property
    def line_before(self) -> str:
        """What stands on the cursor's line in front of what would be replaced."""
        start = self.document_text.rfind("\n", 0, self.replace.start) + 1
        return self.document_text[start : self.replace.start]

    @property
    def line_behind(self) -> str:
        """What stands on the cursor's line behind what would be replaced."""
        end = self.document_text.find("\n", self.replace.end)
        return self.document_text[self.replace.end : len(self.document_text) if end < 0 else end].rstrip("\r")

    def block_start(self) -> tuple[str, str]:
        """What must stand in front of a key or item of a block inserted here, and the indentation of its next lines.

        On a line of its own it begins where the cursor is; behind a key's colon it begins on the next line.
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
        """Whether the cursor stands within `[…]` or `{…}`."""
        return any(node.is_flow for node in self.parents)

    @property
    def quote(self) -> str:
        """The quote that the scalar is written in; empty for none."""
        return self.scalar.style.value if self.scalar.style in {Style.SINGLE, Style.DOUBLE} else ""


def cursor(document: Document, offset: int) -> Cursor | None:
    """The place of an offset; None where nothing of the job can be typed: in comments, and in what can not be read."""
    text = document.text
    mark = next((mark for mark in _MARKS if mark not in text), None)
    if mark is None or _in_comment(text, offset):
        return None
    start = text.rfind("\n", 0, offset) + 1
    if text[start:offset].rstrip(" ").endswith(":") and text[offset - 1 : offset] == ":":
        # Right behind the colon: what is inserted needs a blank in front.
        return _find(document, offset, mark, " ")
    found = _new_flow_item(document, offset, mark) or _find(document, offset, mark)
    if found is None and not text[start:offset].strip():
        # A line of its own below a list whose items are scalars: only a new item can stand there.
        found = _find(document, offset, mark, "- ")
    return found


def _in_comment(text: str, offset: int) -> bool:
    """Whether a `#` in front of the cursor certainly begins a comment: it starts the line and no block is open."""
    start = text.rfind("\n", 0, offset) + 1
    return text[start:offset].lstrip().startswith("#")


def _new_flow_item(document: Document, offset: int, mark: str) -> Cursor | None:
    """The place of a new item in `[…]`: behind a comma or the bracket, and not at the word that comes next."""
    text = document.text
    line = text[text.rfind("\n", 0, offset) + 1 : offset].rstrip(" ")
    next_word = _NEXT_WORD.match(text, offset)
    if not line.endswith((",", "[")) or (not line.endswith(",") and not next_word):
        return None
    before = " " if text[offset - 1] == "," else ""
    found = _find(document, offset, mark, before, "," if next_word else "")
    return found if found and found.spot is Spot.ITEM and found.is_flow and found.content == "" else None


def _find(document: Document, offset: int, mark: str, before: str = "", behind: str = "") -> Cursor | None:
    part = None if document.is_catalogue else window(document.text, offset)
    found = _find_in(document, offset, mark, before, behind, part) if part else None
    return found or _find_in(document, offset, mark, before, behind, None)


def _find_in(
    document: Document, offset: int, mark: str, before: str, behind: str, part: Window | None
) -> Cursor | None:
    """The place of an offset, read from the whole text or from a part of it."""
    text, shift = document.text, 0
    if part is not None:
        header = text[part.header.start : part.header.end]
        marked = f"{header}{text[part.body.start : offset]}{before}{mark}{behind}{text[offset : part.body.end]}"
        shift = part.shift
    else:
        marked = f"{text[:offset]}{before}{mark}{behind}{text[offset:]}"
    syntax = parse(marked)
    trail = next(_trails(syntax.root, mark), None)
    if trail is None:
        return None
    scalar, spot, path, parents = trail
    if part is not None and (path[:1] != (part.section,) or (spot is Spot.KEY and len(parents) < 3)):
        return None
    place = mapped(marked, scalar)
    index = place.text.index(mark)
    at = place.starts[index]
    if at + shift - len(before) != offset:
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
    replace = Span(min(start + shift, offset), max(offset, stop + shift - added))
    job = Job(syntax, document.settings.plugins, document.lookup, document.is_catalogue)
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
        is_part=part is not None,
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


# Shorter texts are read in a millisecond or two.
_SHORTEST = 8_000

_SECTION = re.compile(r"([A-Za-z_][\w.-]*):[ \t]*(?:#[^\r\n]*)?\r?(?:\n|\Z)")
_CHILD = re.compile(r" *(?:[A-Za-z_][\w.-]*:[ \t]*(?:#[^\r\n]*)?\r?(?:\n|\Z)|- )")
_ALIAS = re.compile(r"(?:^|[ \[,])[*&][\w-]")


@dataclass(frozen=True, slots=True)
class Window:
    """Two pieces of a text, both of whole lines: the line of a section's key, and the part of it to be read.

    section: the key.
    """

    header: Span
    body: Span
    section: str

    @property
    def shift(self) -> int:
        """How much further a place of the body stands in the text than in the two pieces put together."""
        return self.body.start - len(self.header)


def window(text: str, offset: int) -> Window | None:
    """The lines that say where an offset is; None where all are needed."""
    if len(text) < _SHORTEST or "\r" in text.replace("\r\n", ""):
        return None
    start = text.rfind("\n", 0, offset) + 1
    header = _section_start(text, start)
    match = _SECTION.match(text, header) if header is not None else None
    if match is None or match.end() > start:
        return None
    end = _section_end(text, start)
    indentation = _first_indentation(text, match.end(), end)
    here = len(_blanks(text, start, offset))
    if indentation is None or here <= indentation:
        return None
    first = _child_start(text, start, match.end(), indentation)
    if first is None or not _CHILD.match(text, first):
        return None
    last = _child_end(text, start, end, indentation)
    body = Span(first, last)
    return None if _ALIAS.search(text, first, last) else Window(Span(*match.span()), body, match[1])


def _blanks(text: str, start: int, offset: int) -> str:
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" "))]


def _section_start(text: str, start: int) -> int | None:
    """The line above that begins at the left margin with something else than a comment or a list's dash."""
    at = start
    while at > 0:
        at = text.rfind("\n", 0, at - 1) + 1
        if text[at] not in " \t\r\n#-":
            return at
    return None


def _section_end(text: str, start: int) -> int:
    at = text.find("\n", start) + 1
    while 0 < at < len(text):
        if text[at] not in " \t\r\n#-":
            return at
        at = text.find("\n", at) + 1
    return len(text)


def _indentation(text: str, at: int) -> int | None:
    """How deep the line that begins at `at` is indented; None for an empty line and a comment."""
    here = at
    while text[here : here + 1] == " ":
        here += 1
    return None if text[here : here + 1] in {"", "\r", "\n", "#"} else here - at


def _first_indentation(text: str, at: int, end: int) -> int | None:
    while 0 < at < end:
        found = _indentation(text, at)
        if found is not None:
            return found
        at = text.find("\n", at) + 1
    return None


def _child_start(text: str, start: int, least: int, indentation: int) -> int | None:
    at = start
    while at > least:
        at = text.rfind("\n", 0, at - 1) + 1
        found = _indentation(text, at)
        if found is not None and found <= indentation:
            return at if found == indentation and at >= least else None
    return None


def _child_end(text: str, start: int, end: int, indentation: int) -> int:
    at = text.find("\n", start) + 1
    while 0 < at < end:
        found = _indentation(text, at)
        if found is not None and found <= indentation:
            return at
        at = text.find("\n", at) + 1
    return end
