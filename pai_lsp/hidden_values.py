"""Where in a job the values stand that no report, log or preview may show.

These are the values below `secrets`, and whatever a rule has recognised as a password or token in clear text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.frozen import replace
from pai_lsp.nodes import Mapping, Scalar
from pai_lsp.nodes import Sequence as SequenceNode
from pai_lsp.text import LineIndex, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pai_lsp.diagnostic import Diagnostic
    from pai_lsp.document import Document
    from pai_lsp.nodes import Node

# Rules whose findings stand on a secret.
TELLING_CODES = frozenset({"secret-in-clear"})

_SECTION = re.compile(r"""(?:^|(?<=[\s{,]))(?:"secrets"|'secrets'|secrets)[ \t]*:""")
_KEY = re.compile(r"""\s*(?:"[^"]*"|'[^']*'|[^\s"'#:]+)[ \t]*:(?=\s|$)""")

_WORD = re.compile(r"""[^\s'",:\[\]{}]{3,}""")
_CUT_OFF = re.compile(r"""([^\s'"]{3,})(?:…|(?='))""")


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


def without_hidden_words(diagnostic: Diagnostic, text: str, hidden: Sequence[Span]) -> Diagnostic:
    """A finding on a hidden value, with the words of that value taken out of what it says."""
    words = {word for span in hidden if span.overlaps(diagnostic.span) for word in _words(text[span.start : span.end])}
    if not words:
        return diagnostic

    def cleaned(said: str) -> str:
        for word in sorted(words, key=len, reverse=True):
            said = said.replace(word, "***")
        # A message may have cut a long value off.
        return _CUT_OFF.sub(lambda cut: "***" if any(word.startswith(cut[1]) for word in words) else cut[0], said)

    return replace(
        diagnostic,
        message=cleaned(diagnostic.message),
        fixes=tuple(replace(fix, title=cleaned(fix.title)) for fix in diagnostic.fixes),
        related=tuple(replace(related, message=cleaned(related.message)) for related in diagnostic.related),
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _values(node: Node) -> Iterator[Span]:
    """All scalars below a node but keys."""
    if isinstance(node, Scalar):
        yield node.span
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _values(item)
    else:
        for entry in node.entries:
            yield from _values(entry.value)


def _section_lines(text: str, lines: LineIndex) -> Iterator[Span]:
    """What stands behind `secrets:` in its line, and the lines indented deeper, without the section's own keys.

    Keys are what stands before a colon as far left as the section's first key; any other line may be part of a value.
    """
    section_indentation = key_indentation = -1
    for number in range(len(lines)):
        span = lines.line_span(number)
        line = text[span.start : span.end]
        bare = line.lstrip()
        indentation = len(line) - len(bare)
        if section := _SECTION.search(line):
            section_indentation, key_indentation = indentation, -1
            yield Span(span.start + section.end(), span.end)
            continue
        if bare and indentation <= section_indentation and bare[0] not in "#-}]":
            section_indentation = -1
        if section_indentation >= 0:
            key = _KEY.match(line)
            if key and key_indentation < 0:
                key_indentation = indentation
            yield Span(span.start + (key.end() if key and indentation == key_indentation else 0), span.end)
