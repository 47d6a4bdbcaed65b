"""Rules about single characters: those that nobody sees, and those that the two YAML parsers read differently.

The rest-server parses with js-yaml. The runtime parses the same text again with PyYAML, which implements YAML 1.1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of, quote_fix
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.platform.secrets_section import masked_span
from pai_lsp.source.building import SURROGATE, first_fault
from pai_lsp.source.edits import line_span
from pai_lsp.source.nodes import ProblemKind, Scalar, ScalarStyle, walk
from pai_lsp.source.odd_characters import odd_characters
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.odd_characters import OddCharacter

_TABS = lazy_pattern(r"\t+")
# Outside of scalars; quotes and brackets need no blank between them and a comment.
_COMMENT = lazy_pattern(r"(?<![^ \t\r\n\ufeff\"'\[\]{},])#")
_INDENTED = lazy_pattern(r"^( *)[^ \r\n]", re.MULTILINE)
_HEADER = lazy_pattern(r"[^\r\n]*")
# So many characters are read again to see what a line end changes.
_MOST_READ = 500_000
# Line ends for PyYAML, ordinary characters for js-yaml.
_LINE_ENDS = lazy_pattern("[\x85\u2028\u2029]")
# After these, parts of the file are missing from the tree.
_UNREAD = frozenset({ProblemKind.SYNTAX, ProblemKind.TOO_LARGE})
_NAMES = {"\x85": "U+0085", "\u2028": "U+2028", "\u2029": "U+2029"}


@rule(Severity.WARNING, is_about_reading=True, spreads=True)
def invisible_character(job: Job) -> Iterator[Finding]:
    """The file has an invisible character, or one that only looks like a space.

    YAML and bash read it as a letter: the key, name or word around it is another one. A bidirectional control shows
    text in another order than the cluster reads it. It is an error where the job is refused because of it. A no-break
    space and its kind are reported only then; for those in commands, see pasted-character.
    Source: YAML 1.2, section 6 (white space is space and tab); Unicode, "Default Ignorable Code Points" and Standard
    Annex 9; the bash reference manual, "Definitions".

        taskRoles:
          worker:
            commands:
              - "python\u200b train.py"
              #        ^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py
    """
    odd = odd_characters(job.syntax)
    if not odd:
        return
    import unicodedata  # noqa: PLC0415 - few files have such a character

    fixes: dict[str, Fixes] = {}  # one for all places of a character
    for one in odd:
        code = f"U+{ord(one.character):04X}"
        what = "invisible character" if unicodedata.category(one.character) == "Cf" else "character"
        name = unicodedata.name(one.character, "").lower()
        title = "Write a space" if one.meant else "Remove it"
        message = f"the {what} {code} ({name}) is read as a letter; {title.lower()}"
        if one.character not in fixes:
            fixes[one.character] = fix_of(title, _edits, odd, one.character)
        yield Finding(one.span, message, fixes[one.character], cause=one.character)


def _edits(odd: tuple[OddCharacter, ...], character: str) -> tuple[TextEdit, ...]:
    return tuple(one.edit for one in odd if one.character == character)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def stray_tab(job: Job) -> Iterator[Finding]:
    """A tab is where the runtime's YAML parser does not allow one.

    The rest-server allows tabs after a colon, before a comment, on a blank line and inside an unquoted string. The
    runtime's parser allows them only in quotes, in `|` and `>` blocks and in comments, and refuses the file otherwise,
    so every task fails in its init container: "found character that cannot start any token". Write a space, or quote
    the string.
    Source: PyYAML, scanner.py, scan_to_next_token and scan_plain.
    """
    if "\t" not in job.text:
        return
    done: set[Scalar] = set()
    text = job.text
    for span, scalar in _found(job, _TABS):
        if _may_hold_tab(text, scalar, span.start):
            continue
        is_plain = scalar is not None and scalar.style is ScalarStyle.PLAIN and span.start < scalar.span.end
        if scalar is not None and is_plain and "\t" in scalar.text:
            if scalar not in done:
                done.add(scalar)
                message = "the runtime does not allow a tab in an unquoted string; quote it"
                yield Finding(span, message, quote_fix(scalar))
            continue
        yield Finding(span, "the runtime does not allow a tab here; write a space", _without_tab(text, span))


def _may_hold_tab(text: str, scalar: Scalar | None, at: int) -> bool:
    """Whether the runtime's parser allows a tab at `at`; `scalar` is the last one that begins before it."""
    if scalar is not None and at < scalar.span.end:
        if not scalar.is_block:
            return scalar.style is not ScalarStyle.PLAIN
        header = _HEADER.match(text, scalar.span.start)
        return (header is not None and at >= header.end()) or _COMMENT.search(text, scalar.span.start, at) is not None
    if scalar is not None and scalar.is_block and not text[scalar.span.end : at].strip():
        line = _line_start(text, at)
        return 0 < _block_indentation(text, scalar) <= at - line and line >= scalar.span.end
    return _is_comment(text, scalar, at)


def _is_comment(text: str, scalar: Scalar | None, at: int) -> bool:
    """Whether `at` is inside a comment; `scalar` is the last one that begins before `at`."""
    begin = max(_line_start(text, at), scalar.span.end if scalar is not None else 0)
    return _COMMENT.search(text, begin, at) is not None


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


@later
def _without_tab(text: str, span: Span) -> Fixes:
    """Replace the tab with a space; at the end of a line, remove it."""
    rest = re.compile(r"[ \t]*(?=[\r\n]|\Z)").match(text, span.end)
    if rest is not None:
        start = len(text[: span.start].rstrip(" \t"))
        return fix_of("Remove the tab", TextEdit, Span(start, rest.end()), "", safe=True)
    return fix_of("Write a space", TextEdit, span, " ", safe=True)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def unicode_line_end(job: Job) -> Iterator[Finding]:
    """An invisible character ends the line, but only for the runtime.

    U+2028, U+2029 and U+0085 are often copied from documents and web pages, and most editors do not show them. For the
    runtime's YAML parser, the text after such a character is a new line without indentation: the parser refuses the
    file, or reads the rest of a comment as part of the job. Inside quotes these characters are harmless.
    Source: PyYAML, scanner.py, scan_line_break; js-yaml 3.13, lib/js-yaml/loader.js, is_EOL.
    """
    if job.text.isascii():
        return
    most = max(1, _MOST_READ // max(1, len(job.text)))
    breaking = [span for span, _ in islice(_found(job, _LINE_ENDS), most) if _breaks_line(job, span)]
    if breaking:
        # Sometimes the runtime reads another job, with the rest of the line as a key of its own.
        is_read = first_fault(SURROGATE.sub("\ufffd", job.text)) is None
        for span in breaking:
            message = f"the invisible character {_NAMES[job.text[span.start]]} ends the line for the runtime; remove it"
            fixes = fix_of("Write a space", TextEdit, span, " ")
            yield Finding(span, message, fixes, consequence=Consequence.FAILS if is_read else None)


_NUL = "a command cannot contain the character NUL, so the task cannot be started"


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def nul_in_command(job: Job) -> Iterator[Finding]:
    r"""A command has a NUL character.

    The commands are passed to the container in an environment variable, which cannot contain the character: the
    container cannot be started. It is the same with a value that the rest-server inserts for `<% %>`.
    Source: rest-server, models/v2/job/k8s.js (entrypoint); execve(2).

        taskRoles:
          worker:
            commands: ["printf 'a\0b'"]
            #          ^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands: ['printf "a\0b"']
    """
    for role in job.task_roles:
        for scalar in job.command_parts(role):
            if "\0" in scalar.text:
                yield Finding(scalar.span, _NUL)
    inserted = (one for one in job.answers_with(PathOutcome.FOUND) if not one.in_plugin and one.root != "$secrets")
    for node in dict.fromkeys(one.node for one in inserted if one.roles and one.node is not None):
        for part in walk(node):
            if isinstance(part, Scalar) and "\0" in part.text:
                yield Finding(part.span, _NUL)


def _breaks_line(job: Job, span: Span) -> bool:
    """Whether a reader that ends the line at `span` finds a fault there, or other keys and values."""
    before, after = (_LINE_ENDS.sub("x", part) for part in (job.text[: span.start], job.text[span.end :]))
    read = parse(f"{before}\n{after}", job.syntax.reader)
    if len(read.problems) > len(job.syntax.problems):
        return first_fault(SURROGATE.sub("x", read.text)) is not None  # not of js-yaml alone
    return len(read.scalars) != len(job.syntax.scalars)


def _block_indentation(text: str, scalar: Scalar) -> int:
    """The indentation of a block's lines; 0 if they are not indented."""
    first = _INDENTED.search(text[scalar.span.start : scalar.span.end].partition("\n")[2])
    return len(first[1]) if first else 0


def _found(job: Job, pattern: re.Pattern[str]) -> Iterator[tuple[Span, Scalar | None]]:
    """The matches of a pattern in what the runtime reads, each with the last scalar that begins before it."""
    if job.is_catalog:
        return
    text, scalars = job.text, job.syntax.scalars
    unread = [line_span(text, problem.span) for problem in job.syntax.problems if problem.kind in _UNREAD]
    masked = masked_span(text)
    starts = [scalar.span.start for scalar in scalars]
    for match in pattern.finditer(text):
        span = Span(*match.span())
        if span.start in masked or any(span.overlaps(line) for line in unread):
            continue
        number = bisect_right(starts, span.start) - 1
        yield span, scalars[number] if number >= 0 else None
