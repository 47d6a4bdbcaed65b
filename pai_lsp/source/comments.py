"""The comments of a YAML text, with their places; the tree has none of them, and a change must keep them all.

`written_comments` finds them with ruamel.yaml's scanner: a second opinion on what a fix leaves in place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import lru_cache

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, start_of_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pai_lsp.source.nodes import Scalar, Syntax


# After a quoted text or a bracket, a comment needs no space before it.
_COMMENT = lazy_pattern(r"""(?<![^ \t\r\n\ufeff"'\[\]{},])#[^\r\n]*""")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: `span` goes from its `#` to the end of the line; whether it has its line for itself."""

    span: Span
    text: str
    is_alone: bool


def comments(syntax: Syntax) -> tuple[Comment, ...]:
    """All comments, in order; a `#` inside a scalar does not begin one."""
    return comments_within(syntax.text, Span(0, len(syntax.text)), syntax.scalars)


def comments_within(text: str, span: Span, scalars: Iterable[Scalar]) -> tuple[Comment, ...]:
    """The comments that begin in a part of the text, in order; `scalars` are at least those in it."""
    if text.find("#", span.start, span.end) < 0:
        return ()
    written = sorted((scalar for scalar in scalars if len(scalar.span)), key=lambda one: one.span)
    starts = [scalar.span.start for scalar in written]
    found: list[Comment] = []
    at = span.start
    while match := _COMMENT.search(text, at, span.end):
        at = match.end()
        number = bisect_right(starts, match.start()) - 1
        scalar = written[number] if number >= 0 else None
        if scalar is not None and match.start() < scalar.span.end:
            # A comment is allowed after a block's indicator, on the same line.
            header_end = text.find("\n", scalar.span.start)
            if not scalar.is_block or match.start() > header_end:
                at = scalar.span.end
                continue
        line_start = start_of_line(text, match.start())
        is_alone = not text[line_start : match.start()].strip(" \t\ufeff")
        found.append(Comment(Span(*match.span()), match[0].rstrip(), is_alone))
    return tuple(found)


@lru_cache(maxsize=4)
def written_comments(text: str) -> Counter[str]:
    """Each comment with its number of occurrences; in a text that is not YAML, those before the fault."""
    if "#" not in text:
        return Counter()
    from ruamel.yaml import YAML  # noqa: PLC0415 - only fixes need it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    found: Counter[str] = Counter()
    try:
        # js-yaml takes a tab in front of a comment, at which ruamel.yaml would stop.
        for token in YAML().scan(text.replace("\t", " ")):
            found.update(_lines(getattr(token, "_comment", None)))
    except (YAMLError, RecursionError, ValueError, AssertionError):  # the last one for two comments at one token
        return found
    return found


def _lines(comments: Any) -> Iterator[str]:
    """The lines of the comments of a token of ruamel.yaml: the one after it, and a list of those above it.

    A comment after the indicator of a block is a bare string.
    """
    if comments is None:
        return
    for one in comments if isinstance(comments, list) else [comments]:
        if isinstance(one, list):
            yield from _lines(one)
        elif one is not None:
            text = one if isinstance(one, str) else one.value
            yield from (line.strip() for line in text.splitlines() if line.strip())
