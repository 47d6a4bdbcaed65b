"""Edits of several parts of one list or mapping at once, which leave everything else as its author wrote it.

pai_lsp/source/edits.py changes one key or item at a time; expansion removes and adds many. Values are added in the
style of their mapping or list: in braces and brackets, or line by line.
"""

from __future__ import annotations

import re

from pai_lsp.source.edits import (
    append_item,
    entry_end,
    insert_entry,
    line_span,
    places_in_brackets,
    without_parts,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit, column, start_of_line
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import always, entry_lines, flow_scalar, flow_value, indented, item_lines, value_lines

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as MappingOf
    from collections.abc import Sequence as SequenceOf
    from typing import Any

    from pai_lsp.source.nodes import Entry, Mapping, Sequence
    from pai_lsp.source.writing import IsText


_NOTHING_MORE = lazy_pattern(r"\s*\Z")
_BLANK_LINES = lazy_pattern(r"(?:[ \t]*\r?\n)*")
# A block that keeps the blank lines after it.
_KEEPING_BLOCK = lazy_pattern(r"[|>][1-9]?\+[1-9]?[ \t]*(?:#.*)?$", re.MULTILINE)


def without_lines(text: str, span: Span) -> tuple[TextEdit, ...]:
    """Take lines out, with the blank lines above them where more of those, or nothing, follow below.

    Where some block keeps the blank lines after it, those above may be a part of its text, and those below must
    not become one: then they are taken out instead.
    """
    removal = TextEdit(span, "")
    begins_line = span.start == line_span(text, Span(span.start, span.start)).start
    if text[span.end : line_span(text, Span(span.end, span.end)).end].strip() or not begins_line:
        return (removal,)
    if _KEEPING_BLOCK.search(text):
        below = _BLANK_LINES.match(text, span.end)
        return (removal, TextEdit(Span(span.end, below.end()), "")) if below and below[0] else (removal,)
    start = span.start
    while start and not text[(above := start_of_line(text, start - 1)) : start].strip():
        start = above
    return (TextEdit(Span(start, len(text) if _NOTHING_MORE.match(text, span.end) else span.end), ""),)


def without_entries(text: str, mapping: Mapping, removed: Collection[Entry]) -> tuple[TextEdit, ...]:
    """Take keys out of a mapping that keeps at least one."""
    if not removed:
        return ()
    gone = set(removed)
    spans = [(entry, Span(entry.key.span.start, entry_end(text, entry))) for entry in mapping.entries]
    if mapping.is_flow:
        return tuple(without_parts([span for _, span in spans], [entry in gone for entry, _ in spans]))
    first = next((number for number, (entry, _) in enumerate(spans) if entry not in gone), len(spans))
    edits = [
        edit for entry, span in spans[first:] if entry in gone for edit in without_lines(text, line_span(text, span))
    ]
    if 0 < first < len(spans):
        # The first key that is kept moves to the place of the first one, which may follow a list's dash.
        edits.append(TextEdit(Span(spans[0][1].start, spans[first][1].start), ""))
    return tuple(edits)


def without_items(text: str, sequence: Sequence, removed: Collection[int]) -> tuple[TextEdit, ...]:
    """Take the items with these numbers out of a list; a block that loses all of them leaves nothing."""
    if not removed:
        return ()
    if sequence.is_flow:
        spans = places_in_brackets(text, sequence)
        return tuple(without_parts(spans, [number in removed for number in range(len(spans))]))
    lines = (line_span(text, item_span(text, sequence, number)) for number in sorted(removed))
    return tuple(edit for one in lines for edit in without_lines(text, one))


def item_span(text: str, sequence: Sequence, number: int) -> Span:
    """An item of a block list with its dash."""
    item = sequence.items[number]
    dash = sequence.span.start
    if number:  # all dashes of a block are in one column
        pad = " " * column(text, dash)
        dash = text.rfind(f"\n{pad}-", dash, item.span.start + 1) + 1 + len(pad)
    return Span(dash, max(item.span.end, dash + 1))


def items_in_front(text: str, sequence: Sequence, values: SequenceOf[Any]) -> tuple[TextEdit, ...]:
    """Put items in front of a list that has some; in a block, in front of the comments above its first item."""
    if not values:
        return ()
    if sequence.is_flow:
        start = places_in_brackets(text, sequence)[0].start
        return (TextEdit(Span(start, start), "".join(f"{flow_value(value)}, " for value in values)),)
    at = start_of_line(text, sequence.span.start)
    while at > 0:
        above = start_of_line(text, at - 1)
        if text[above:at].strip() and not text[above:at].lstrip().startswith("#"):
            break
        at = above
    return (TextEdit(Span(at, at), _block(text, sequence, values)),)


def items_after(
    text: str, sequence: Sequence, values: SequenceOf[Any], number: int | None = None, *, comments: SequenceOf[str] = ()
) -> tuple[TextEdit, ...]:
    """Put items after one of a list's items, the last one unless a `number` is given; each below its comment."""
    if not values:
        return ()
    if sequence.is_flow:
        last = -1 if number is None else number
        at = places_in_brackets(text, sequence)[last].end if sequence.items else sequence.span.start + 1
        written = ", ".join(map(flow_value, values))
        return (TextEdit(Span(at, at), f", {written}" if sequence.items else written),)
    at = line_span(text, item_span(text, sequence, len(sequence.items) - 1 if number is None else number)).end
    block = _block(text, sequence, values, comments)
    if at == len(text) and not text.endswith("\n"):
        block = "\n" + block.removesuffix("\n")
    return (TextEdit(Span(at, at), block),)


def _block(text: str, sequence: Sequence, values: SequenceOf[Any], comments: SequenceOf[str] = ()) -> str:
    pad = " " * column(text, sequence.span.start)
    lines: list[str] = []
    for number, value in enumerate(values):
        lines += [f"# {comments[number]}"] if number < len(comments) else []
        lines += item_lines(value)
    return "".join(f"{line}\n" for line in indented(lines, pad))


def insert_values(
    text: str, mapping: Mapping, values: MappingOf[str, Any], after: Entry | None = None, is_text: IsText = always
) -> TextEdit:
    """Add keys with their values after one of a mapping's keys, usually the last; `is_text` as in writing.py."""
    lines: list[str] = []
    for key, value in values.items():
        if mapping.is_flow:
            lines.append(f"{flow_scalar(key, is_text)}: {flow_value(value, is_text)}")
        else:
            lines += entry_lines(key, value, is_text)
    return insert_entry(text, mapping, "\n".join(lines), after)


def append_value(text: str, sequence: Sequence, value: Any) -> TextEdit:
    """Add a value after a list's last item."""
    return append_item(text, sequence, flow_value(value) if sequence.is_flow else "\n".join(value_lines(value)))
