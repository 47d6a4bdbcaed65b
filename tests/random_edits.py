"""Random edits of job files, as somebody who types, pastes and deletes makes them; and what must hold after each."""

from __future__ import annotations

import logging
import random
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marks import read_marks

from pai_lsp.rules import RULES
from pai_lsp.rules.subjects import rules_about
from pai_lsp.source.text import LineIndex, apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.text import ColumnUnit

ROOT = Path(__file__).parent.parent

# What people type into a job, and what makes trouble in YAML, in templates and in positions.
SNIPPETS = (
    *" \n\t:-#'\"[]{}|>&*!%@`,?$<=~\\0aé漢😀\r\u2028\u0085\ufeff\x00\x0c",
    "\ud83d",
    "\r\n",
    "\n  ",
    "\n    - ",
    ": ",
    "<% $parameters.",
    " %>",
    "{{ ",
    "}}",
    "<<: *",
    "- |\n",
    "# pai-lsp: ignore[unknown-prerequisite]",
    "protocolVersion: 2\n",
    "taskRoles:\n",
    "prerequisites: [",
    "\n---\n",
    "\n<<<<<<< HEAD\n",
    "1e999",
    "0o17",
    "2001-02-30",
)


def job_texts() -> dict[str, str]:
    """The examples and the fixtures of the rules, without their marks, by name."""
    files = [*sorted((ROOT / "examples").glob("*.yaml")), *sorted((ROOT / "tests" / "rules").glob("*.yaml"))]
    return {path.name: read_marks(path.read_bytes().decode())[0] for path in files}


@dataclass(frozen=True)
class Edit:
    """Replace `text[start:end]` by `new`."""

    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def change(self, text: str, unit: ColumnUnit) -> dict[str, Any]:
        """The edit as a client sends it."""
        lines = LineIndex(text)
        start, end = (lines.position(offset, unit) for offset in (self.start, self.end))
        return {
            "range": {
                "start": {"line": start.line, "character": start.column},
                "end": {"line": end.line, "character": end.column},
            },
            "text": self.new,
        }


def edited(text: str, seed: int, count: int = 3) -> str:
    """The text after some edits, the same for the same seed."""
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    for _ in range(count):
        text = random_edit(text, source).applied(text)
    return text


def random_edit(text: str, source: random.Random) -> Edit:
    """An edit that a client can name: none between the two characters of a line end."""
    start, end = _place(text, source), _place(text, source)
    kind = source.random()
    if kind < 0.55:
        return Edit(start, start, source.choice(SNIPPETS))
    if kind < 0.8:
        return Edit(start, _nameable(text, min(len(text), start + source.randrange(1, 4))), "")
    start, end = sorted((start, end))
    if kind < 0.9:
        return Edit(start, end, "") if end - start < 200 else Edit(start, start, text[start:end][:200])
    return Edit(end, end, text[start:end][:300])


def _place(text: str, source: random.Random) -> int:
    return _nameable(text, source.randint(0, len(text)))


def _nameable(text: str, offset: int) -> int:
    return offset + 1 if text[max(offset - 1, 0) : offset + 1] == "\r\n" else offset


def assert_sound(document: Document) -> None:
    """All places of all diagnostics and fixes lie inside the text, and every fix can be applied."""
    size = len(document.text)
    for diagnostic in document.diagnostics:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= size, diagnostic
        assert diagnostic.message, diagnostic
        for related in diagnostic.related:
            assert related.path is not None or 0 <= related.span.start <= related.span.end <= size, diagnostic
        for fix in diagnostic.fixes:
            assert all(0 <= edit.span.start <= edit.span.end <= size for edit in fix.edits), diagnostic
            apply_edits(document.text, fix.edits)
    assert_rules_not_asked_find_nothing(document)


def assert_rules_not_asked_find_nothing(document: Document) -> None:
    """A rule that says what it is about finds nothing in a file without that."""
    job = document.job.as_meant
    asked = set(rules_about(job, RULES))
    assert not [(rule.code, found) for rule in RULES if rule not in asked for found in rule.check(job)]


@contextmanager
def no_failures() -> Iterator[None]:
    """Fail when something of ours is logged as an error: a broken rule is passed over otherwise."""
    found: list[logging.LogRecord] = []

    class Gatherer(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    gatherer = Gatherer(logging.ERROR)
    logger = logging.getLogger("pai_lsp")
    logger.addHandler(gatherer)
    try:
        yield
    finally:
        logger.removeHandler(gatherer)
    for record in found:
        raise AssertionError(record.getMessage()) from (record.exc_info[1] if record.exc_info else None)
