"""Adding a value to `parameters` or `secrets`, which a job may not have yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.source.edits import column, insert_entry, line_end
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from pai_lsp.job.job import Job

_DOCUMENT_END = re.compile(r"^\.\.\.[ \t\r]*\Z", re.MULTILINE)


def add_to_section(job: Job, section: str, lines: str) -> TextEdit | None:
    """Add `key: value` lines to `parameters` or `secrets`; the section is made if the job has none."""
    root = job.root
    entry = job.section(section)
    if root is None or not root.entries:
        return None
    if entry is None:
        indented = [f"  {line}" for line in lines.splitlines()]
        return None if root.is_flow else _new_section(job.text, root, [f"{section}:", *indented])
    value = entry.value
    if not isinstance(value, Mapping) or root.own(section) is None:
        return None
    if not value.entries and not value.is_flow:
        return None
    return insert_entry(job.text, value, lines)


def _new_section(text: str, root: Mapping, lines: list[str]) -> TextEdit:
    """Lines after everything in the document."""
    end = len(text.rstrip())
    if text.endswith("...", 0, end) and (mark := _DOCUMENT_END.search(text, 0, end)) is not None:
        end = len(text[: mark.start()].rstrip())
    first = root.entries[0].key.span.start
    pad = " " * column(text, first)
    return TextEdit(Span(end, end), "".join(f"{line_end(text)}{pad}{line}" for line in lines))
