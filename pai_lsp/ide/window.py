"""The part of a large job that says where a cursor stands, so that not all of it is read at every keystroke.

In block style everything about a place stands in the lines of the section and of the task role (or item) that it is in.
Those are found by indentation alone. Where that might be wrong, there is no window, and the whole text is read.
"""

from __future__ import annotations

import re

from pai_lsp.frozen import dataclass
from pai_lsp.text import Span

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
