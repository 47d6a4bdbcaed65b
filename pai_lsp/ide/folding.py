"""What can be folded away: the value of a key, an item of a list, a block of comment lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.nodes import Mapping, Sequence
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.nodes import Node

_COMMENTS = re.compile(r"(?:^[ \t]*#[^\r\n]*(?:\r\n|\n|\r|\Z)){2,}", re.MULTILINE)


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
            # What an alias brings stands elsewhere, and is folded there.
            if entry.value.span.start >= entry.key.span.start:
                yield Fold(entry.span)
                yield from _below(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            if node.span.start <= item.span.start:
                yield Fold(item.span)
                yield from _below(item)


def _comments(document: Document) -> Iterator[Fold]:
    """Comment lines below each other; a line in a block of text is none, however it begins."""
    blocks = [scalar.span for scalar in document.syntax.scalars if scalar.is_block]
    for match in _COMMENTS.finditer(document.text):
        span = Span(match.start(), match.start() + len(match[0].rstrip("\r\n")))
        if not any(block.start < span.start and span.end <= block.end for block in blocks):
            yield Fold(span, is_comment=True)
