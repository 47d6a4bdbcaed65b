"""What the rules about inserted values have in common: words for a value, and which names templates use at all."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from pai_lsp.definition import key_name_span
from pai_lsp.diagnostic import Finding, Fix, Tag
from pai_lsp.edits import remove_entry
from pai_lsp.fixes import fix_of
from pai_lsp.nodes import Scalar, Sequence
from pai_lsp.rules.template_fixes import may_hold_brackets
from pai_lsp.scalar import Binary, Date
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.nodes import Entry, Mapping
    from pai_lsp.template_answers import TemplateAnswer


def kind_of_value(value: object) -> str:
    """What a scalar's value is, in words."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Date):
        return "a date"
    if isinstance(value, Binary):
        return "binary data"
    if isinstance(value, float) and math.isfinite(value) and abs(value) > 2**53:
        return "a number too long to keep its digits"
    return "a number" if isinstance(value, (int, float)) else "a text"


def first_item_fix(job: Job, answer: TemplateAnswer) -> tuple[Fix, ...]:
    """Offer the first item of a list in the place of the list."""
    if not isinstance(answer.node, Sequence) or not answer.node.items:
        return ()
    if not may_hold_brackets(job, answer.use.span.start):
        return ()
    end = answer.use.content_span.end
    return (Fix("Take the first item", (TextEdit(Span(end, end), "[0]"),)),)


def unused_entries(job: Job, section: str) -> Iterator[Finding]:
    """The parameters or secrets that no tag of the file names, not even one in a comment."""
    mapping = job.mapping(section)
    if mapping is None or not mapping.entries or (used := used_names(job, f"${section}")) is None:
        return
    for entry in mapping.entries:
        name = entry.name
        if not isinstance(entry.key, Scalar) or entry.is_merge or "." in name:
            continue
        if name in used or _is_written(job.text, f"{section}.{name}"):
            continue
        gone = removable(job, mapping, entry, section)
        fixes = fix_of(f"Remove '{name}'", remove_entry(job.text, *gone)) if gone else ()
        yield Finding(
            key_name_span(entry), f"no template uses the {section[:-1]} '{name}'", fixes, tags=(Tag.UNNECESSARY,)
        )


def used_names(job: Job, root: str) -> frozenset[str] | None:
    """The names behind a root in all tags of the file, whoever fills them; None where the whole root is used."""
    found: set[str] = set()
    for tag in {use.tag.content: use.tag for use in job.template_uses}.values():
        for steps in (tag.server_steps, tag.runtime_steps):
            if steps[0].name == root:
                if len(steps) == 1:
                    return None
                found.add(str(steps[1].name))
                found.add(".".join(str(step.name) for step in steps[1:]))
    return frozenset(found)


def _is_written(text: str, path: str) -> bool:
    """Whether a path stands anywhere in the file, be it in a comment or in a tag that can not be read."""
    return path in text and re.search(rf"{re.escape(path)}(?![\w-])", text) is not None


def removable(job: Job, mapping: Mapping, entry: Entry, section: str) -> tuple[Mapping, Entry] | None:
    """What goes with a parameter or secret: it alone, or its section with the last one."""
    if len(mapping.entries) == 1:
        whole = job.root.own(section) if job.root else None
        if job.root is None or whole is None:
            return None
        mapping, entry = job.root, whole
    return mapping, entry
