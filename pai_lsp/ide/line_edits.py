"""The difference between two texts as edits of whole lines."""

from __future__ import annotations

import difflib

from pai_lsp.source.text import Span, TextEdit


def line_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    """Edits of whole lines that make one text the other, and leave alone what is the same."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    # What is the same at both ends needs no search, which takes long in long texts.
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    matcher = difflib.SequenceMatcher(None, old[first : len(old) - last], new[first : len(new) - last], autojunk=False)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    return tuple(
        TextEdit(Span(starts[first + begin], starts[first + end]), "".join(new[first + new_begin : first + new_end]))
        for tag, begin, end, new_begin, new_end in matcher.get_opcodes()
        if tag != "equal"
    )


def _same(one: list[str], other: list[str]) -> int:
    """How many lines two lists have in common at their start."""
    return next(
        (number for number, (line, another) in enumerate(zip(one, other, strict=False)) if line != another),
        min(len(one), len(other)),
    )
