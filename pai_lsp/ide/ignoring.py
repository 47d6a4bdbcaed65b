"""Comments that silence findings: `# pai-lsp: ignore[code]` on a line, `# pai-lsp: ignore-file[code]` for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.findings.diagnostic import Fix
from pai_lsp.findings.suppression import ignores
from pai_lsp.source.content import mapped
from pai_lsp.source.edits import line_end
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import ProblemKind, ScalarStyle
from pai_lsp.source.text import Span, TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.source.nodes import Scalar

# Findings that cannot be ignored: those of reading the text, and those about ignoring.
NOT_IGNORED = frozenset({"unused-ignore", *(kind.value for kind in ProblemKind)})


def title_on_line(diagnostic: Diagnostic) -> str:
    """What silences a finding where it is."""
    return f"Ignore '{diagnostic.code}' on this line"


def ignore_comment(document: Document, diagnostic: Diagnostic) -> Fix | str:
    """The fix that adds the comment to the line where the finding begins; or why there can be none.

    In a block of shell the comment becomes one of the shell's, so it must end a whole command line.
    """
    title = title_on_line(diagnostic)
    lines = document.lines
    number = lines.line_of(diagnostic.span.start)
    line = lines.line_span(number)
    written = next((one for one in ignores(document.text, lines) if number in (one.lines or ())), None)
    if written is not None:
        return Fix(title, (TextEdit(Span(written.span.start, written.span.start), f"{diagnostic.code}, "),))
    # The one that goes on after the line.
    scalar = next((one for one in document.syntax.scalars if one.span.start < line.end < one.span.end), None)
    if scalar is not None and not _has_room(document.text, scalar, line):
        return "a comment here would become part of the text"
    end = line.start + len(document.text[line.start : line.end].rstrip(" \t"))
    gap = "  " if end > line.start else ""
    return Fix(title, (TextEdit(Span(end, line.end), f"{gap}# pai-lsp: ignore[{diagnostic.code}]"),))


def _has_room(text: str, scalar: Scalar, line: Span) -> bool:
    """Whether a comment at the end of a line within a scalar changes nothing else."""
    if scalar.is_block and line.start <= scalar.span.start:
        return True  # after the block's indicator YAML allows a comment
    if scalar.style is not ScalarStyle.LITERAL:
        return False
    script = read_script(scalar.text)
    end = mapped(text, scalar).index(line.end)
    return end is None or end in script.line_ends or (end >= len(scalar.text) and script.is_complete)


def ignore_in_file(document: Document, code: str) -> Fix:
    """The fix that adds a code to the file's comment, or a comment as the first line."""
    title = f"Ignore '{code}' in this file"
    written = next((one for one in ignores(document.text, document.lines) if one.lines is None), None)
    if written is not None:
        return Fix(title, (TextEdit(Span(written.span.start, written.span.start), f"{code}, "),))
    return Fix(title, (TextEdit(Span(0, 0), f"# pai-lsp: ignore-file[{code}]{line_end(document.text)}"),))


def with_ignore_comments(
    document: Document,
    check: Callable[[Document], tuple[Diagnostic, ...]],
    is_wanted: Callable[[Diagnostic], bool],
) -> tuple[Document, int]:
    """The document with comments that silence wanted findings on their lines, and how many they silence.

    Findings whose line has no room for a comment are left.
    """

    def found_in(tried: Document) -> list[Diagnostic]:
        return [one for one in check(tried) if is_wanted(one) and one.code not in NOT_IGNORED]

    def named(one: Diagnostic) -> tuple[int, str]:
        return document.lines.line_of(one.span.start), one.code  # a comment moves no line

    wanted, silenced = found_in(document), 0
    without_effect: set[tuple[int, str]] = set()
    while fixes := _one_each_line(document, [one for one in wanted if named(one) not in without_effect]):
        edits = dict.fromkeys(edit for fix in fixes.values() for edit in fix.edits)
        tried = replace(document, text=apply_edits(document.text, edits))
        left = found_in(tried)
        useless = fixes.keys() & {(tried.lines.line_of(one.span.start), one.code) for one in left}
        if useless or len(left) >= len(wanted):
            without_effect |= useless or fixes.keys()
            continue
        document, silenced, wanted = tried, silenced + len(wanted) - len(left), left
    return document, silenced


def _one_each_line(document: Document, wanted: Sequence[Diagnostic]) -> dict[tuple[int, str], Fix]:
    """By line and code, the comment for the first finding of each line that has room for one."""
    found: dict[int, tuple[str, Fix]] = {}
    for one in wanted:
        line = document.lines.line_of(one.span.start)
        if line not in found and not isinstance(fix := ignore_comment(document, one), str):
            found[line] = one.code, fix
    return {(line, code): fix for line, (code, fix) in found.items()}
