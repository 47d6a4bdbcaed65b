"""Where in a job the values stand that no report, log or preview may show.

These are the values below `secrets`, and whatever a rule has recognised as a password or token in clear text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.syntax import Mapping, Scalar, Sequence
from pai_lsp.text import LineIndex, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.diagnostic import Diagnostic
    from pai_lsp.document import Document
    from pai_lsp.syntax import Node

# Rules whose findings stand on a secret.
TELLING_CODES = frozenset({"secret-in-clear"})

_SECTION = re.compile(r"""(?:"secrets"|'secrets'|secrets)[ \t]*:""")
_KEY = re.compile(r"""[ \t]*(?:"[^"]*"|'[^']*'|[^\s"'#:]+)[ \t]*:(?=\s|$)""")


def hidden_spans(document: Document, diagnostics: Iterable[Diagnostic]) -> tuple[Span, ...]:
    """The places of hidden values; `diagnostics` are all those of the document."""
    found = [diagnostic.span for diagnostic in diagnostics if diagnostic.code in TELLING_CODES]
    if "secrets" in document.text:
        root = document.syntax.root
        if isinstance(root, Mapping):
            for entry in root.effective_entries():
                if entry.name == "secrets":
                    found += _values(entry.value)
        if document.syntax.problems:  # the tree may have lost a part of the section
            found += _section_lines(document.text, document.lines)
    return tuple(sorted(span for span in found if len(span)))


def _values(node: Node) -> Iterator[Span]:
    """All scalars below a node but keys."""
    if isinstance(node, Scalar):
        yield node.span
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _values(item)
    else:
        for entry in node.entries:
            yield from _values(entry.value)


def _section_lines(text: str, lines: LineIndex) -> Iterator[Span]:
    """What follows the keys in the lines of a section that begins a line with `secrets:`, up to the next such key."""
    is_inside = False
    for number in range(len(lines)):
        span = lines.line_span(number)
        if _SECTION.match(text, span.start, span.end):
            is_inside = True
        elif len(span) and not text[span.start].isspace() and text[span.start] not in "#-}]":
            is_inside = False
        if is_inside:
            key = _KEY.match(text, span.start, span.end)
            yield Span(key.end() if key else span.start, span.end)
