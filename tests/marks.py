"""Fixtures with marks: a YAML text in which carets under a line say what is found there.

    prerequisites: [justecho_wrong]
    #               ^^^^^^^^^^^^^^ error[unknown-prerequisite]

Mark lines are removed before the text is read, so they also work inside block scalars. The carets are under the
characters of the last line above that is not a mark; a `#` that touches the first caret counts as a caret, for places
at the start of a line. A finding of several lines is marked on its first line, to its end. `error[code]: message` also
fixes the message. `$0` is the cursor.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pai_lsp.findings.diagnostic import Diagnostic, Rule

_MARK = re.compile(
    r"^\s*(?P<hash>#)(?P<gap> *)(?P<carets>\^+) (?P<severity>error|warning|information|hint)"
    r"(?:\[(?P<code>[a-z0-9-]+)\])?(?:: (?P<message>.*))?$",
)


_EXAMPLE = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Mark:
    """A finding in a fixture: line and columns from 0, in the text without marks."""

    line: int
    start: int
    end: int
    severity: str
    code: str
    message: str = ""


def read_marks(text: str, code: str = "") -> tuple[str, list[Mark]]:
    """The text without its mark lines, and the marks; `code` is the code of marks that name none."""
    lines: list[str] = []
    marks: list[Mark] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        match = _MARK.match(line.rstrip("\r\n"))
        if match is None:
            lines.append(line)
            continue
        start = match.start("carets") if match["gap"] else match.start("hash")
        marks.append(
            Mark(
                len(lines) - 1,
                start,
                match.end("carets"),
                match["severity"],
                match["code"] or code,
                match["message"] or "",
            )
        )
    return "".join(lines), sorted(marks)


def examples(rule: Rule) -> tuple[list[str], list[str]]:
    """The bad and the good examples of a rule's documentation: what is indented before and after `Good:`."""
    bad, _, good = (rule.documentation + "\n").partition("Good:\n")
    parts = [[textwrap.dedent(block).strip("\n") + "\n" for block in _EXAMPLE.findall(part)] for part in (bad, good)]
    return ([block for block in parts[0] if block.strip()], [block for block in parts[1] if block.strip()])


def is_catalog(text: str) -> bool:
    """Whether a fixture is a file of definitions."""
    return text.startswith("# a catalog file")


def before(path: Path) -> str:
    """The text of a fixture; that of a fix ends before the line that begins the text afterwards."""
    return path.read_bytes().decode().split("=====\n")[0]


def as_marks(text: str, diagnostics: Iterable[Diagnostic], *, with_messages: Iterable[Mark] = ()) -> list[Mark]:
    """The diagnostics as marks; with a message only where a mark of `with_messages` at the same place has one."""
    index = LineIndex(text)
    spoken = {(mark.line, mark.start, mark.code) for mark in with_messages if mark.message}
    marks: list[Mark] = []
    for diagnostic in diagnostics:
        start = index.position(diagnostic.span.start)
        end = index.position(diagnostic.span.end)
        line_end = len(index.line_text(start.line))
        stop = line_end if end.line != start.line else end.column
        stop = max(stop, start.column + 1)
        key = (start.line, start.column, diagnostic.code)
        message = diagnostic.message if key in spoken else ""
        marks.append(Mark(start.line, start.column, stop, diagnostic.severity.label, diagnostic.code, message))
    return sorted(marks)


def read_cursor(text: str) -> tuple[str, int]:
    """The text without its `$0`, and its offset."""
    offset = text.index("$0")
    return text[:offset] + text[offset + 2 :], offset
