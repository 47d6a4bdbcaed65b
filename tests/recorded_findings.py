"""All that is said about the fixtures of rules: `python tests/recorded_findings.py` writes it to `findings.txt`.

Marks in a fixture say where something is found. The record has the messages, the other places and the fixes, each edit
with what it replaces. After a change, read what `git diff` shows of it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from marks import examples, is_catalog, read_marks

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.findings.diagnostic import Diagnostic

FIXTURES = Path(__file__).parent / "rules"
RECORD = Path(__file__).parent / "findings.txt"
_SETTINGS = Settings(previews=True)


def texts() -> dict[str, str]:
    """Fixtures and the bad examples of rules, by a title."""
    found = {path.name: read_marks(path.read_bytes().decode())[0] for path in sorted(FIXTURES.glob("*.yaml"))}
    for rule in RULES:
        found |= {f"{rule.code}, {n}": read_marks(one, rule.code)[0] for n, one in enumerate(examples(rule)[0], 1)}
    return found


def recorded(text: str) -> list[str]:
    """What is found in a text, in lines."""
    document = Document(text, _SETTINGS, is_catalog=is_catalog(text))
    return [line for one in document.diagnostics for line in _lines(text, one)]


def _lines(text: str, one: Diagnostic) -> Iterator[str]:
    yield f"{_place(text, one.span.start)} {one.severity.label} {one.consequence.value} {one.code}: {one.message!a}"
    for related in one.related:
        yield f"    {related.path or _place(text, related.span.start)} {related.message!a}"
    for fix in one.fixes:
        yield f"    {'safe: ' if fix.safe else ''}{fix.title!a}"
        for edit in fix.edits:
            old = text[edit.span.start : edit.span.end]
            yield f"        {_place(text, edit.span.start)} {old!a} -> {edit.new_text!a}"


def _place(text: str, at: int) -> str:
    return f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"


def read() -> dict[str, list[str]]:
    """The record, by title."""
    parts = groupby(RECORD.read_text(encoding="utf-8").splitlines(), key=lambda line: line.startswith("# "))
    lines = [list(part) for _, part in parts]
    return {title[-1].removeprefix("# "): body for title, body in zip(lines[::2], lines[1::2], strict=True)}


if __name__ == "__main__":
    all_lines = {title: recorded(text) for title, text in texts().items()}
    lines = [line for title, found in all_lines.items() if found for line in (f"# {title}", *found)]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
