"""`# pai-lsp: ignore[NAME] reason` suppresses findings on a line, `ignore-file[NAME]` in the whole file.

A name is a rule's code, or that of a family of rules: who knows the rules gives the codes that it means.
Comments that suppress nothing are reported, and so are those that are written almost like these.
"""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import SHELLCHECK_CODE, Diagnostic, DiagnosticTag, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import LineIndex, Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from collections.abc import Mapping as MappingOf

    from pai_lsp.job.job import Job

_COMMENT = lazy_pattern(r"#[ \t]*pai-lsp:[ \t]*ignore(?P<file>-file)?\[(?P<codes>[^\]\r\n]*)\][^\r\n]*")
# Any comment for pai-lsp, and those that have an effect; platforms.py and job_shape.py read the last two.
_ANY_COMMENT = lazy_pattern(r"#[ \t]*pai-lsp[ \t]*:[ \t]*(?P<word>[a-z-]*)[^\r\n]*", re.IGNORECASE)
_EFFECTIVE = lazy_pattern(r"#[ \t]*pai-lsp:[ \t]*(?:ignore(?:-file)?\[[^\]\r\n]*\]|platform[ \t]*=|template\b)")
_ANY_COMMENT_START = lazy_pattern(r"[^\[=]*")
_CODE = lazy_pattern(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class NameMeaning:
    """The codes that a name means, and what to say about it: that nothing is named so, or what its name is now."""

    codes: frozenset[str]
    message: str


@dataclass(frozen=True, slots=True)
class Ignore:
    """One name in a comment. It applies to findings on its own line or, if alone on its line, on the next.

    lines: their numbers; None for the whole file.
    """

    name: str
    span: Span
    comment: Span
    lines: tuple[int, ...] | None
    is_only_code: bool


def silencing(
    comments: Iterable[Ignore],
    diagnostics: Iterable[Diagnostic],
    lines: LineIndex,
    meanings: MappingOf[str, NameMeaning],
) -> tuple[set[Ignore], set[Diagnostic]]:
    """The comments that suppress a finding, and the findings that a comment suppresses."""
    by_place: dict[tuple[int | None, str], list[Ignore]] = {}
    for comment in comments:
        for number in comment.lines or (None,):
            for code in meanings[comment.name].codes:
                by_place.setdefault((number, code), []).append(comment)
    used: set[Ignore] = set()
    silenced: set[Diagnostic] = set()
    for one in diagnostics:
        for place in ((None, one.code), (lines.line_of(one.span.start), one.code)):
            if meant := by_place.get(place):
                used.update(meant)
                # All of them are used now; one is enough for the next findings.
                by_place[place] = meant[:1]
                silenced.add(one)
    return used, silenced


def ignores(text: str, lines: LineIndex) -> tuple[Ignore, ...]:
    """Every ignored name in the text; comments in a shell script count as well."""
    if "pai-lsp:" not in text:
        return ()
    found: list[Ignore] = []
    for match in _COMMENT.finditer(text):
        applies_to = None if match["file"] else _lines_of(match.start(), text, lines)
        codes = list(_CODE.finditer(text, *match.span("codes")))
        comment, is_only = Span(*match.span()), len(codes) == 1
        found += (Ignore(code[0], Span(*code.span()), comment, applies_to, is_only) for code in codes)
    return tuple(found)


def _lines_of(offset: int, text: str, lines: LineIndex) -> tuple[int, ...]:
    """The lines that a comment at `offset` applies to."""
    line = lines.line_of(offset)
    is_alone = not text[lines.line_start(line) : offset].strip()
    return (line, line + 1) if is_alone else (line,)


def unused_ignores(
    comments: Sequence[Ignore], used: Collection[Ignore], meanings: MappingOf[str, NameMeaning]
) -> Iterator[Finding]:
    """The findings of `unused_ignore`, the only rule that needs the findings of the others."""
    for comment in comments:
        meaning = meanings[comment.name]
        if comment in used:
            if meaning.message:
                fixes = change_fix(comment.span, *meaning.codes, safe=True)
                yield Finding(comment.span, meaning.message, fixes, tags=(DiagnosticTag.DEPRECATED,))
            continue
        if SHELLCHECK_CODE.fullmatch(comment.name):
            continue  # ShellCheck may not have been asked
        message = meaning.message or f"unused ignore comment: there is no finding '{comment.name}' here"
        place = comment.comment if comment.is_only_code else comment.span
        fixes = fix_of("Remove the comment", TextEdit, place, "") if comment.is_only_code else ()
        yield Finding(comment.span, message, fixes, tags=(DiagnosticTag.UNNECESSARY,))


def ineffective_comments(text: str, diagnostics: Collection[Diagnostic], lines: LineIndex) -> Iterator[Finding]:
    """The findings of `unused_ignore` about comments that are written almost like one that has an effect."""
    found: dict[int, set[str]] = {}
    for one in diagnostics:
        found.setdefault(lines.line_of(one.span.start), set()).add(one.code)
    for match in _ANY_COMMENT.finditer(text):
        if _EFFECTIVE.match(match[0]):
            continue
        span = Span(*match.span())
        if _EFFECTIVE.match(repaired := _ANY_COMMENT_START.sub(lambda start: start[0].lower(), match[0], count=1)):
            fixes = fix_of("Write it in lower case", TextEdit, span, repaired)
            yield Finding(span, "this comment has no effect: it must be in lower case", fixes)
        elif match["word"].lower() == "ignore":
            end = match.end("word")
            codes = sorted(set().union(*(found.get(line, ()) for line in _lines_of(match.start(), text, lines))))
            fixes = fix_of("Name the rules", TextEdit, Span(end, end), f"[{', '.join(codes)}]") if codes else ()
            message = "this comment has no effect, because it names no rule; write ignore[CODE]"
            yield Finding(span, message, fixes)
        else:
            message = "this comment has no effect; expected ignore[CODE], ignore-file[CODE], platform=NAME or template"
            yield Finding(span, message)


@rule(Severity.HINT, stage=Stage.CHECKER)
def unused_ignore(_job: Job) -> Iterable[Finding]:
    """An ignore comment silences nothing.

    The finding is fixed, or the comment or its code is misspelled; an unused comment could hide a later mistake. A
    comment applies to its own line, or to the next line if it is alone on its line:
    `# pai-lsp: ignore[image-latest-tag] we pin it nightly`. One with `ignore-file[CODE]` applies to the whole file.

        # pai-lsp: ignore[unknown-key] was needed once
        #                 ^^^^^^^^^^^ hint
        name: train

    Good:

        name: train
    """
    return ()  # `unused_ignores` finds them after the other rules
