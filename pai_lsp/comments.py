"""The comments of a YAML text, with their places; the tree has none of them, and a change must keep them all."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.nodes import Scalar, Syntax

_COMMENT = re.compile(r"(?<![^ \t\r\n\ufeff])#[^\r\n]*")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: `span` goes from its `#` to the end of the line; whether it has its line for itself."""

    span: Span
    text: str
    is_alone: bool


def comments(syntax: Syntax) -> tuple[Comment, ...]:
    """All comments, in order; a `#` inside a scalar is none."""
    return comments_within(syntax.text, Span(0, len(syntax.text)), syntax.scalars)


def comments_within(text: str, span: Span, scalars: Iterable[Scalar]) -> tuple[Comment, ...]:
    """The comments that begin in a part of the text, in order; `scalars` are at least those that stand in it."""
    if text.find("#", span.start, span.end) < 0:
        return ()
    written = sorted((scalar for scalar in scalars if len(scalar.span)), key=lambda one: one.span)
    starts = [scalar.span.start for scalar in written]
    found: list[Comment] = []
    for match in _COMMENT.finditer(text, span.start, span.end):
        number = bisect_right(starts, match.start()) - 1
        scalar = written[number] if number >= 0 else None
        if scalar is not None and match.start() < scalar.span.end:
            # Behind a block's indicator, on the same line, a comment may stand.
            header_end = text.find("\n", scalar.span.start)
            if not scalar.is_block or match.start() > header_end:
                continue
        line_start = text.rfind("\n", 0, match.start()) + 1
        is_alone = not text[line_start : match.start()].strip(" \t\ufeff")
        found.append(Comment(Span(*match.span()), match[0].rstrip(), is_alone))
    return tuple(found)
