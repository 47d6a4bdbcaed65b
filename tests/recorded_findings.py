"""All that is said about the fixtures of rules: `python tests/recorded_findings.py` writes it to `findings.txt`.

Marks in a fixture say where something is found. The record has the messages, the other places and the fixes, each edit
with what it replaces and the text before it. After a change, read what `git diff` shows of it. A finding that is not
recorded yet is no failure: its marks are enough until the record is written again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from marks import examples, is_catalog, read_marks

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.rules import RULES
from pai_lsp.source.text import shortened

if TYPE_CHECKING:
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.source.text import Span

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
    """What is found in a text: of each finding some lines."""
    document = Document(text, _SETTINGS, is_catalog=is_catalog(text))
    return [_lines(text, one) for one in document.diagnostics]


def _lines(text: str, one: Diagnostic) -> str:
    lines = [f"{_at(text, one.span)} {one.severity.label} {one.consequence.value} {one.code}", f"    {one.message!a}"]
    lines += (f"    {related.path or _at(text, related.span)} {related.message!a}" for related in one.related)
    for fix in one.fixes:
        lines.append(f"    {'safe: ' if fix.safe else ''}{fix.title!a}")
        for edit in fix.edits:
            before = text[max(edit.span.start - 8, 0) : edit.span.start]
            lines.append(f"        {before!a} {_at(text, edit.span)} -> {edit.new_text!a}")
    return "\n".join(lines)


def _at(text: str, span: Span) -> str:
    return ascii(shortened(text[span.start : span.end], 80))


def read() -> dict[str, list[str]]:
    """The record, by title."""
    parts = re.split(r"^# (.*)\n", RECORD.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    bodies = (re.findall(r"^\S.*(?:\n .*)*", part, re.MULTILINE) for part in parts[1::2])
    return dict(zip(parts[::2], bodies, strict=True))


if __name__ == "__main__":
    found = {title: recorded(text) for title, text in texts().items()}
    record = (line for title, lines in found.items() if lines for line in (f"# {title}", *lines))
    RECORD.write_text("\n".join(record) + "\n", encoding="utf-8")
