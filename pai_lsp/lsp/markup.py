"""Markdown for clients that show it, and the same in plain text for those that do not."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

_FENCE = re.compile(r"^[ \t]*`{3,}[\w-]*[ \t]*$")
_LINK = re.compile(r"\[([^\]\n]+)\]\(([^)\s]+)\)")
_STRONG = re.compile(r"\*\*(.+?)\*\*")
_EMPHASIS = re.compile(r"(?<!\w)_([^_\n]+(?:_[^_\n]+)*)_(?!\w)")
_CODE = re.compile(r"(`+)(.+?)\1")


def markup(markdown: str, *, is_shown: bool) -> lsp.MarkupContent:
    """Our Markdown as it is where a client shows such, else without its marks."""
    if is_shown:
        return lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    return lsp.MarkupContent(lsp.MarkupKind.PlainText, plain_text(markdown))


def plain_text(markdown: str) -> str:
    """The text without marks; what stands in a block of code stays as it is."""
    lines: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        if _FENCE.match(line) and (not fence or line.strip() == fence):
            fence = "" if fence else line.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
        elif fence:
            lines.append(line)
        else:
            lines.append(_without_marks(line))
    return "\n".join(lines).strip("\n")


def _without_marks(line: str) -> str:
    """A line outside of blocks of code; what stands in single backquotes keeps its asterisks and underscores."""
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(line):
        parts += _outside_code(line[at : code.start()]), code[2]
        at = code.end()
    return "".join([*parts, _outside_code(line[at:])])


def _outside_code(text: str) -> str:
    if text.strip() == "---":
        return ""
    linked = _LINK.sub(r"\1 (\2)", text)
    return _EMPHASIS.sub(r"\1", _STRONG.sub(r"\1", linked))
