"""The difference between two texts as edits of whole lines."""

from __future__ import annotations

import difflib

from pai_lsp.text import Span, TextEdit


def line_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    """Edits of whole lines that make one text the other, and leave alone what is the same."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        TextEdit(Span(starts[first], starts[last]), "".join(new[new_first:new_last]))
        for tag, first, last, new_first, new_last in matcher.get_opcodes()
        if tag != "equal"
    )
