"""Edits that mend: each changes only the characters it must, so that comments, order and quoting stay.

All of them mean the text that the tree was read from.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Fix
from pai_lsp.spelling import nearest
from pai_lsp.syntax import Entry, Mapping, Node, Scalar, Sequence, Style
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_./][\w./+-]*")
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\[\]{}]+")


def replace_fixes(span: Span, name: str, candidates: Iterable[str], *, safe: bool = True) -> tuple[Fix, ...]:
    """Fixes that replace a misspelt name by the near ones; only a single near name is a safe one."""
    near = nearest(name, candidates)
    return tuple(
        Fix(f"Change to '{candidate}'", (TextEdit(span, candidate),), safe=safe and len(near) == 1)
        for candidate in near
    )


def double_quoted(text: str) -> str:
    """The text as a double-quoted scalar on one line."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def quoted(text: str) -> str:
    """The text as a quoted scalar on one line; single quotes unless it holds one or needs an escape."""
    if "'" in text or not text.isprintable():
        return double_quoted(text)
    return f"'{text}'"


def line_span(text: str, span: Span) -> Span:
    """Whole lines around a place, with the last one's line end."""
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", max(span.end - 1, span.start))
    return Span(start, len(text) if end < 0 else end + 1)


def indentation(text: str, offset: int) -> str:
    """The blanks at the start of the line of `offset`, a list's dash counted as a blank."""
    start = text.rfind("\n", 0, offset) + 1
    match = re.compile(r"[ ]*(?:- +)*").match(text, start)
    return " " * len(match[0]) if match else ""


def line_end(text: str) -> str:
    """The line end that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def remove_entry(text: str, mapping: Mapping, entry: Entry) -> tuple[TextEdit, ...]:
    """Take a key with its value out of a mapping; none where the mapping would be left without any."""
    if len(mapping.entries) == 1:
        return ()
    if mapping.is_flow:
        spans = [Span(one.key.span.start, entry_end(text, one)) for one in mapping.entries]
        return _remove_from_flow(spans, mapping.entries.index(entry))
    span = line_span(text, _with_value(text, entry))
    if entry is mapping.entries[0] and "-" in text[span.start : entry.key.span.start]:
        # The first key stands behind a list's dash: the next key takes its place.
        following = mapping.entries[1].key.span.start
        return (TextEdit(Span(entry.key.span.start, following), ""),)
    return (TextEdit(span, ""),)


def entry_end(text: str, entry: Entry) -> int:
    """Where a key with its value ends; an alias is where it stands, not where its anchor does."""
    key_end = entry.key.span.end
    if entry.value.span.end < key_end and (alias := _ALIAS.match(text, key_end)):
        return alias.end()
    return entry.span.end


def _with_value(text: str, entry: Entry) -> Span:
    end = entry_end(text, entry)
    return Span(entry.key.span.start, max(end, entry.key.span.start + len(text[entry.key.span.start : end].rstrip())))


def remove_item(text: str, sequence: Sequence, item: Node) -> tuple[TextEdit, ...]:
    """Take an item out of a list; an emptied block list becomes `[]` where it stands."""
    index = next(number for number, one in enumerate(sequence.items) if one is item)
    if len(sequence.items) == 1:
        return (TextEdit(sequence.span, "[]"),) if sequence.is_flow else ()
    if sequence.is_flow:
        return _remove_from_flow([one.span for one in sequence.items], index)
    dash = text.rfind("-", 0, item.span.start)
    return (TextEdit(line_span(text, Span(dash, max(item.span.end, dash + 1))), ""),)


def _remove_from_flow(spans: list[Span], index: int) -> tuple[TextEdit, ...]:
    if index + 1 < len(spans):
        return (TextEdit(Span(spans[index].start, spans[index + 1].start), ""),)
    return (TextEdit(Span(spans[index - 1].end, spans[index].end), ""),)


def insert_entry(text: str, mapping: Mapping, lines: str, behind: Entry | None = None) -> TextEdit:
    """Add `key: value` lines (written without indentation) behind one of a mapping's keys, usually the last."""
    behind = behind or (mapping.entries[-1] if mapping.entries else None)
    if mapping.is_flow or behind is None:
        last = entry_end(text, behind) if behind else mapping.span.start + 1
        flow = ", ".join(line for line in lines.splitlines() if line)
        return TextEdit(Span(last, last), f", {flow}" if mapping.entries else flow)
    first = mapping.entries[0].key.span.start
    pad = " " * (first - (text.rfind("\n", 0, first) + 1))
    return _insert_below(text, entry_end(text, behind), pad, lines)


def append_item(text: str, sequence: Sequence, item: str) -> TextEdit:
    """Add an item (written without dash) behind a list's last one."""
    if sequence.is_flow:
        last = sequence.items[-1].span.end if sequence.items else sequence.span.start + 1
        return TextEdit(Span(last, last), f", {item}" if sequence.items else item)
    start = sequence.span.start
    pad = " " * (start - (text.rfind("\n", 0, start) + 1))
    first, *rest = item.splitlines()
    lines = "\n".join([f"- {first}", *(f"  {line}" if line else line for line in rest)])
    return _insert_below(text, sequence.items[-1].span.end, pad, lines)


def _insert_below(text: str, offset: int, pad: str, lines: str) -> TextEdit:
    end = text.find("\n", offset)
    at = len(text) if end < 0 else end + 1
    newline = line_end(text)
    body = "".join(f"{pad}{line}{newline}" if line else newline for line in lines.splitlines())
    needs_break = at == len(text) and not text.endswith("\n") and bool(text)
    return TextEdit(Span(at, at), newline + body.removesuffix(newline) if needs_break else body)


def quote_fix(scalar: Scalar, title: str = "Quote it", *, safe: bool = True) -> Fix:
    """Write a plain scalar's characters in quotes, so that YAML reads them as text."""
    return Fix(title, (TextEdit(scalar.span, quoted(scalar.text)),), safe=safe)


def wrap_in_list_fix(text: str, node: Node) -> Fix | None:
    """Write a value that stands alone as a list of one."""
    written = text[node.span.start : node.span.end]
    if isinstance(node, Scalar) and node.style is Style.PLAIN and "\n" not in written and _PLAIN.fullmatch(written):
        return Fix("Wrap in a list", (TextEdit(node.span, f"[{written}]"),), safe=True)
    if isinstance(node, Scalar) and not node.is_block and "\n" not in written:
        return Fix("Wrap in a list", (TextEdit(node.span, f"[{quoted(node.text)}]"),), safe=True)
    return None
