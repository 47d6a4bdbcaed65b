"""`# pai-lsp: ignore[code] reason`: suppress one finding, and report comments that suppress nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import SHELLCHECK_CODE, Diagnostic, DiagnosticTag, Finding, Fix, Severity, rule
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import LineIndex, Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pai_lsp.job.job import Job

_COMMENT = lazy_pattern(r"#[ \t]*pai-lsp:[ \t]*ignore\[(?P<codes>[^\]\r\n]*)\][^\r\n]*")
_CODE = lazy_pattern(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One code in a comment. It applies to findings on its own line or, if alone on its line, on the next."""

    code: str
    span: Span
    comment: Span
    lines: tuple[int, ...]
    is_only_code: bool

    def silences(self, diagnostic: Diagnostic, lines: LineIndex) -> bool:
        """Whether the comment suppresses this finding."""
        return self.code == diagnostic.code and lines.line_of(diagnostic.span.start) in self.lines


def ignores(text: str, lines: LineIndex) -> tuple[Ignore, ...]:
    """Every ignored code in the text; comments in a shell script count as well."""
    if "pai-lsp:" not in text:
        return ()
    found: list[Ignore] = []
    for match in _COMMENT.finditer(text):
        line = lines.line_of(match.start())
        is_alone = not text[lines.line_start(line) : match.start()].strip()
        codes = list(_CODE.finditer(text, *match.span("codes")))
        found += (
            Ignore(
                code[0],
                Span(*code.span()),
                Span(*match.span()),
                (line, line + 1) if is_alone else (line,),
                len(codes) == 1,
            )
            for code in codes
        )
    return tuple(found)


def unused_ignores(
    comments: Sequence[Ignore], diagnostics: Collection[Diagnostic], lines: LineIndex, codes: Iterable[str]
) -> Iterator[Finding]:
    """The findings of `unused_ignore`, the only rule that needs the findings of the others."""
    known = tuple(codes)
    for comment in comments:
        if any(comment.silences(diagnostic, lines) for diagnostic in diagnostics):
            continue
        if SHELLCHECK_CODE.fullmatch(comment.code):
            continue  # ShellCheck may not have been asked
        if comment.code in known:
            message = f"unused ignore comment: there is no '{comment.code}' here"
        else:
            message = f"no rule is named '{comment.code}'{did_you_mean(comment.code, known)}"
        place = comment.comment if comment.is_only_code else comment.span
        fixes = (Fix("Remove the comment", (TextEdit(place, ""),)),) if comment.is_only_code else ()
        yield Finding(comment.span, message, fixes, tags=(DiagnosticTag.UNNECESSARY,))


@rule(Severity.HINT)
def unused_ignore(job: Job) -> Iterable[Finding]:
    """Unused ignore comment.

    The finding is fixed, or the code is misspelled; an unused comment could hide a later mistake. A comment applies to
    its own line, or to the next line if it is alone on its line:
    `# pai-lsp: ignore[image-latest-tag] we pin it nightly`.

        # pai-lsp: ignore[unknown-key] was needed once
        #                 ^^^^^^^^^^^ hint
        name: train

    Good:

        name: train
    """
    del job  # `unused_ignores` finds them after the other rules
    return ()


RULES = (unused_ignore,)
