"""What can be folded, and what to select when a selection grows.

Folded are the value of a key, an item of a list, and a block of comment lines. A selection grows from the word to the
template, the line of a command, the value, and the entry.
"""

from __future__ import annotations

import re

from pai_lsp.ide.cursor import Cursor
from pai_lsp.job.definition import name_span
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.ide.cursor import Location
    from pai_lsp.source.nodes import Node


_COMMENTS = lazy_pattern(r"(?:^[ \t]*#[^\r\n]*(?:\r\n|\n|\r|\Z)){2,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fold:
    """From the end of the line in which `span` starts to its end; it has more than one line."""

    span: Span
    is_comment: bool = False


def folds(document: Document) -> list[Fold]:
    """What can be folded, by place; what begins in the same line comes once, as far as it goes."""
    found = [*(fold for root in document.syntax.documents for fold in _below(root)), *_comments(document)]
    lines = document.lines
    longest: dict[int, Fold] = {}
    for fold in found:
        first, last = lines.line_of(fold.span.start), lines.line_of(fold.span.end)
        if first < last and (first not in longest or longest[first].span.end < fold.span.end):
            longest[first] = fold
    return [fold for _, fold in sorted(longest.items())]


def _below(node: Node | None) -> Iterator[Fold]:
    if isinstance(node, Mapping):
        for entry in node.entries:
            # The content of an alias is elsewhere, and is folded there.
            if entry.value.span.start >= entry.key.span.start:
                yield Fold(entry.span)
                yield from _below(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            if node.span.start <= item.span.start:
                yield Fold(item.span)
                yield from _below(item)


def _comments(document: Document) -> Iterator[Fold]:
    """Comment lines below each other; a line in a block of text is not a comment, however it begins."""
    blocks = [scalar.span for scalar in document.syntax.scalars if scalar.is_block]
    for match in _COMMENTS.finditer(document.text):
        span = Span(match.start(), match.start() + len(match[0].rstrip("\r\n")))
        if not any(block.start < span.start and span.end <= block.end for block in blocks):
            yield Fold(span, is_comment=True)


_WORD = lazy_pattern(r"[\w-]+")


def selection_ranges(document: Document, offset: int) -> list[Span]:
    """The spans around an offset, the innermost first; each holds the one before it and is larger."""
    location = Cursor(document, offset).location
    around = [*_in_text(document, offset), *_in_tree(document, location, offset)] if location else []
    grown: list[Span] = []
    for span in sorted((*around, Span(0, len(document.text))), key=len):
        last = grown[-1] if grown else Span(offset, offset)
        if span.start <= last.start and last.end <= span.end and span != last:
            grown.append(span)
    return grown


def _in_text(document: Document, offset: int) -> Iterator[Span]:
    """The word at the offset, and the template with its content."""
    line = document.lines.line_span(document.lines.line_of(offset))
    for match in _WORD.finditer(document.text, line.start, line.end):
        if match.start() <= offset <= match.end():
            yield Span(*match.span())
    for use in document.job.template_uses:
        if use.span.touches(offset):
            yield use.content_span
            yield use.span


def _in_tree(document: Document, location: Location, offset: int) -> Iterator[Span]:
    """The line of a block, the scalar without and with its quotes, and every collection around it with its key."""
    node = location.node
    if isinstance(node, Scalar):
        if node.is_block:
            yield from _block_lines(document, node, offset)
        yield name_span(node)
    yield node.span
    inner = node
    for parent in reversed(location.parents):
        if isinstance(parent, Mapping):
            yield from (entry.span for entry in parent.entries if entry.value is inner or entry.key is inner)
        elif not parent.is_flow:
            yield _item(document, inner.span)
        yield parent.span
        inner = parent


def _item(document: Document, span: Span) -> Span:
    """An item of a block list with its dash."""
    start = document.lines.line_start(document.lines.line_of(span.start))
    dash = document.text.rfind("-", start, span.start)
    return Span(dash, span.end) if dash >= 0 and not document.text[dash + 1 : span.start].strip() else span


def _block_lines(document: Document, node: Scalar, offset: int) -> Iterator[Span]:
    """The line of a block's text that the offset is in, and all its text."""
    text = mapped(document.text, node)
    if not text.text.strip():
        return
    whole = text.span(0, len(text.text.rstrip()))
    line = document.lines.line_span(document.lines.line_of(offset))
    written = document.text[line.start : line.end]
    start = line.start + len(written) - len(written.lstrip())
    if whole.start <= start and line.end <= whole.end:
        yield Span(start, line.end)
    yield whole
