"""Silences one finding by a comment: `# pai-lsp: ignore[code]` on its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_script import PartKind
from pai_lsp.findings.diagnostic import Fix
from pai_lsp.findings.suppression import ignores
from pai_lsp.source.content import mapped
from pai_lsp.source.nodes import Scalar, ScalarStyle, walk
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic


def ignore_comment(document: Document, diagnostic: Diagnostic) -> Fix | str:
    """The fix that adds the comment to the line where the finding begins; or why there can be none.

    In a block of shell the comment becomes one of the shell's, so it must end a whole command line.
    """
    title = f"Ignore '{diagnostic.code}' on this line"
    lines = document.lines
    number = lines.line_of(diagnostic.span.start)
    line = lines.line_span(number)
    written = next((one for one in ignores(document.text, lines) if number in one.lines), None)
    if written is not None:
        return Fix(title, (TextEdit(Span(written.span.start, written.span.start), f"{diagnostic.code}, "),))
    scalar = _scalar_over(document, line.end)
    if scalar is not None and (problem := _no_room(document.text, scalar, line)):
        return problem
    end = line.start + len(document.text[line.start : line.end].rstrip(" \t"))
    gap = "  " if end > line.start else ""
    return Fix(title, (TextEdit(Span(end, line.end), f"{gap}# pai-lsp: ignore[{diagnostic.code}]"),))


def _scalar_over(document: Document, line_end: int) -> Scalar | None:
    """The scalar that goes on behind the end of the line."""
    for node in walk(document.syntax.root):
        if isinstance(node, Scalar) and node.span.start < line_end < node.span.end:
            return node
    return None


def _no_room(text: str, scalar: Scalar, line: Span) -> str:
    """Why a comment at the end of a line within a scalar would change more than it should; empty when it does not."""
    if scalar.is_block and line.start <= scalar.span.start:
        return ""  # behind the block's indicator YAML allows a comment
    if scalar.style is not ScalarStyle.LITERAL:
        return "a comment here would become a part of the text"
    script = read_script(scalar.text)
    end = mapped(text, scalar).index(line.end)
    if end is None or end in script.line_ends or (end >= len(scalar.text) and script.is_complete):
        return ""
    part = next((part for part in script.parts if part.span.start <= end < part.span.end), None)
    if part is None or part.kind is PartKind.ESCAPED:
        return "the shell's line goes on behind this one"
    if part.kind is PartKind.HERE_DOCUMENT:
        return "a comment here would become a part of a here-document"
    return "a comment here would become a part of a quoted word"
