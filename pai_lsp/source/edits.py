"""Edits of lists and mappings: each changes only the characters it must, so that comments, order and quoting stay.

All of them apply to the text that the tree was read from.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import pairwise

from pai_lsp.source.comments import comments_within
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, scalars_below
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit, column, next_line, start_of_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Sequence as SequenceOf

    from pai_lsp.source.comments import Comment
    from pai_lsp.source.nodes import Entry, Node

_ALIAS = lazy_pattern(r"\s*:\s*\*[^\s,\[\]{}]+")
_ALIAS_IN_BRACKETS = lazy_pattern(r"[\s,]*(?:#[^\n]*\n[\s,]*)*(?P<alias>\*[^\s,\[\]{}]+)")
_LINE_OF_CONTENT = lazy_pattern(r"(?P<pad> *)(?!#)(?P<content>\S(?:[^\r\n]*\S)?)[ \t]*(?:\r?\n|\Z)")
_DOCUMENT_END = lazy_pattern(r"^\.\.\.[ \t\r]*\Z", re.MULTILINE)
_LINE_WITHOUT = lazy_pattern(r"[ \t]*(?:#[^\r\n]*)?(?:\r?\n)")


def line_span(text: str, span: Span) -> Span:
    """Whole lines around a place, with the last one's line end."""
    start = start_of_line(text, span.start)
    return Span(start, next_line(text, max(span.end - 1, span.start)))


def line_end(text: str) -> str:
    """The line end that the text uses, going by its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def remove_entry(text: str, mapping: Mapping, entry: Entry) -> tuple[TextEdit, ...]:
    """Take a key with its value out of a mapping; the comments in it and after it stay.

    Nothing where the mapping would be left without any key, or where the key is another's, taken over by `<<`.
    """
    return keeping_comments_of(text, cut_entry(text, mapping, entry), mapping)


def cut_entry(text: str, mapping: Mapping, entry: Entry) -> tuple[TextEdit, ...]:
    """As `remove_entry`, for a key that is written elsewhere: the comments in it and after it go too."""
    # The place of a key that is an alias is that of its anchor.
    if len(mapping.entries) == 1 or entry not in mapping.entries or not mapping.span.holds(entry.key.span):
        return ()
    number = mapping.entries.index(entry)
    if mapping.is_flow:
        first = max(number - 1, 0)
        near = mapping.entries[first : number + 2]
        spans = [Span(one.key.span.start, entry_end(text, one)) for one in near]
        (edit,) = without_parts(spans, [one is entry for one in near])
        return (edit,) if edit.span.start <= edit.span.end else ()
    start = entry.key.span.start
    span = line_span(text, Span(start, entry_end(text, entry)))
    if number == 0 and "-" in text[span.start : start]:
        # The first key follows a list's dash: the next key takes its place.
        span = Span(start, mapping.entries[1].key.span.start)
    return (TextEdit(span, ""),)


def entry_end(text: str, entry: Entry) -> int:
    """The offset at which a key with its value ends; for an alias, that of the alias, not of its anchor."""
    key_end = entry.key.span.end
    if entry.value.span.end < key_end and (alias := _ALIAS.match(text, key_end)):
        return alias.end()
    if isinstance(entry.value, Scalar) or entry.value.is_flow:
        return entry.span.end
    is_list = isinstance(entry.value, Sequence)
    return _block_end(text, entry.span.end, column(text, entry.key.span.start), is_list=is_list)


def _block_end(text: str, at: int, depth: int, *, is_list: bool) -> int:
    """Where a block ends that is known up to `at`: after the last line indented deeper than `depth`.

    Lines that cannot be read are not in the tree, and belong to the block nevertheless. The items of a list may be at
    `depth` itself.
    """
    following = line_span(text, Span(at, at)).end
    while following < len(text):
        if blank := _LINE_WITHOUT.match(text, following):
            following = blank.end()
            continue
        line = _LINE_OF_CONTENT.match(text, following)
        if line is None or len(line["pad"]) < depth:
            break
        if len(line["pad"]) == depth and not (is_list and re.match(r"-(?:\s|$)", line["content"])):
            break
        at, following = line.end("content"), line.end()
    return at


def remove_item(text: str, sequence: Sequence, item: Node) -> tuple[TextEdit, ...]:
    """Take an item out of a list; the comments in it and after it stay.

    Nothing where a block would be left without any item (a list in brackets becomes `[]`), or where the item is an
    alias or has one.
    """
    if sequence.items.count(item) != 1 or item.span.start < sequence.span.start:
        return ()
    if len(sequence.items) == 1:
        return (TextEdit(sequence.span, "[]"),) if sequence.is_flow else ()
    if sequence.is_flow:
        number = sequence.items.index(item)
        near = slice(max(number - 1, 0), number + 2)
        gone = [one is item for one in sequence.items[near]]
        (removal,) = without_parts(places_in_brackets(text, sequence)[near], gone)
    else:
        dash = text.rfind("-", 0, item.span.start)
        removal = TextEdit(line_span(text, Span(dash, max(item.span.end, dash + 1))), "")
    return keeping_comments_of(text, (removal,), sequence)


@lru_cache(maxsize=1)  # a text with many findings has many edits of one list
def places_in_brackets(text: str, sequence: Sequence) -> tuple[Span, ...]:
    """The places of the items of a list in brackets, in order; that of an alias, which the tree knows by its anchor."""
    places: list[Span] = []
    at = sequence.span.start + 1
    for item in sequence.items:
        alias = None if item.span.start >= at else _ALIAS_IN_BRACKETS.match(text, at)
        places.append(Span(*alias.span("alias")) if alias else item.span)
        at = places[-1].end
    return tuple(places)


def without_parts(spans: SequenceOf[Span], gone: SequenceOf[bool]) -> Iterator[TextEdit]:
    """Take parts out of what is in braces or brackets, with the commas that belong to them."""
    kept = [number for number, is_gone in enumerate(gone) if not is_gone]
    if not kept:
        yield TextEdit(Span(spans[0].start, spans[-1].end), "")
        return
    if kept[0]:
        yield TextEdit(Span(spans[0].start, spans[kept[0]].start), "")
    for here, following in pairwise(kept):
        if following > here + 1:
            yield TextEdit(Span(spans[here + 1].start, spans[following].start), "")
    if kept[-1] < len(spans) - 1:
        yield TextEdit(Span(spans[kept[-1]].end, spans[-1].end), "")


def keeping_comments_of(text: str, edits: SequenceOf[TextEdit], node: Mapping | Sequence) -> tuple[TextEdit, ...]:
    """Edits inside a mapping or list that keep the comments in it; see `keeping_comments`."""
    if not any("#" in text[edit.span.start : edit.span.end] for edit in edits):
        return tuple(edits)
    changed = Span(min(edit.span.start for edit in edits), max(edit.span.end for edit in edits))
    scalars = _scalars_below(node)
    first = bisect_left(scalars, changed.start, key=lambda one: one.span.end)
    last = bisect_right(scalars, changed.end, key=lambda one: one.span.start)
    touched = (one for one in scalars[first:last] if one.span.overlaps(changed))
    return keeping_comments(text, edits, comments_within(text, changed, touched))


@lru_cache(maxsize=1)  # as above
def _scalars_below(node: Mapping | Sequence) -> list[Scalar]:
    """The scalars below a node, and those of its aliases, in the order of their places."""
    return sorted(scalars_below(node), key=lambda one: one.span)


def keeping_comments(text: str, edits: SequenceOf[TextEdit], comments: Iterable[Comment]) -> tuple[TextEdit, ...]:
    """The edits, with each comment that they would take out written on a line of its own above what they change.

    A comment that one of the edits writes itself has moved along and is not written again. The edits come in the order
    in which they were given; those that only keep comments follow.
    """
    written = "\n".join(edit.new_text for edit in edits)
    kept: dict[Span, str] = {}
    for comment in comments:
        span = next((edit.span for edit in edits if comment.span.start in edit.span), None)
        if span is None or comment.text in written:
            continue
        line = start_of_line(text, span.start)
        pad = " " * (len(text[line:]) - len(text[line:].lstrip(" ")))
        place = span if span.start == line else Span(line, line)
        kept[place] = f"{kept.get(place, '')}{pad}{comment.text}{line_end(text)}"
    found: list[TextEdit] = []
    for edit in edits:
        lines = kept.pop(edit.span, "")
        found.append(TextEdit(edit.span, lines + edit.new_text if len(edit.span) else edit.new_text + lines))
    return (*found, *(TextEdit(place, lines) for place, lines in kept.items()))


def insert_entry(text: str, mapping: Mapping, lines: str, after: Entry | None = None) -> TextEdit:
    """Add `key: value` lines (written without indentation) after one of a mapping's keys, usually the last."""
    after = after or (mapping.entries[-1] if mapping.entries else None)
    if mapping.is_flow or after is None:
        last = entry_end(text, after) if after else mapping.span.start + 1
        flow = ", ".join(line for line in lines.splitlines() if line)
        return TextEdit(Span(last, last), f", {flow}" if mapping.entries else flow)
    return _insert_below(text, entry_end(text, after), column(text, mapping.entries[0].key.span.start), lines)


def append_item(text: str, sequence: Sequence, item: str) -> TextEdit:
    """Add an item (written without dash) after a list's last one."""
    if sequence.is_flow:
        last = places_in_brackets(text, sequence)[-1].end if sequence.items else sequence.span.start + 1
        return TextEdit(Span(last, last), f", {item}" if sequence.items else item)
    depth = column(text, sequence.span.start)
    first, *rest = item.splitlines()
    lines = "\n".join([f"- {first}", *(f"  {line}" if line else line for line in rest)])
    return _insert_below(text, _block_end(text, sequence.span.end, depth, is_list=True), depth, lines)


def _insert_below(text: str, offset: int, depth: int, lines: str) -> TextEdit:
    at = next_line(text, offset)
    newline = line_end(text)
    body = "".join(f"{' ' * depth}{line}{newline}" if line else newline for line in lines.splitlines())
    needs_break = at == len(text) and not text.endswith("\n") and bool(text)
    return TextEdit(Span(at, at), newline + body.removesuffix(newline) if needs_break else body)


def add_to_section(text: str, root: Mapping | None, section: str, lines: str) -> TextEdit | None:
    """Add `key: value` lines to `parameters` or `secrets`; the section is made if the job has none."""
    if root is None or not root.entries:
        return None
    value = root.get(section)
    if value is None:
        indented = [f"  {line}" for line in lines.splitlines()]
        return None if root.is_flow else _new_section(text, root, [f"{section}:", *indented])
    if not isinstance(value, Mapping) or root.own(section) is None or not (value.entries or value.is_flow):
        return None
    return insert_entry(text, value, lines)


def _new_section(text: str, root: Mapping, lines: list[str]) -> TextEdit:
    """Lines after everything in the document."""
    end = len(text.rstrip())
    if text.endswith("...", 0, end) and (mark := _DOCUMENT_END.search(text[:end])) is not None:
        end = len(text[: mark.start()].rstrip())
    first = root.entries[0].key.span.start
    pad = " " * column(text, first)
    return TextEdit(Span(end, end), "".join(f"{line_end(text)}{pad}{line}" for line in lines))
