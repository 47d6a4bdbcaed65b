"""Rules about what YAML makes of a script: folded lines, line ends, marks of lists and tags, lines that go on.

Sources: YAML 1.2, 8.1.3 (folding); rest-server, middlewares/v2/protocol.js, protocolRender.
"""

from __future__ import annotations

import re

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_expansions import NAME
from pai_lsp.embedded.shell_script import PartKind
from pai_lsp.findings.diagnostic import Finding, Fix, Fixes, Severity, later, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, changed, edit_fix, scalar_at, scripts
from pai_lsp.source.content import mapped
from pai_lsp.source.nodes import Scalar, ScalarStyle
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.embedded.shell_structure import Step
    from pai_lsp.job.job import Job

# Programs with which a line begins, if it is a command of its own.
_BEGINNING = {
    "python", "python3", "pip", "pip3", "git", "wget", "curl", "apt-get", "apt", "cd", "export", "source", "bash",
    "tar", "unzip", "mkdir", "torchrun", "conda", "make", "cp", "mv", "rm", "nvidia-smi", "mpirun",
}  # fmt: skip
_WITH_WORDS = {"export", "cd", "echo", "source", "mkdir", "set", "pip", "git", "wget", "curl", "apt-get", "apt", "rm"}

_TAG_OR_ANCHOR = r"(?:![^\s,\[\]{}]*|&[^\s,\[\]{}]+)"
_YAML_MARK = lazy_pattern(rf"(?:^|\n)[ \t]*-[ \t]+(?:-[ \t]+)*(?:{_TAG_OR_ANCHOR}[ \t]+)*({_TAG_OR_ANCHOR})[ \t]*$")
# Minimum length of a line of prose that continues on the next line; a shorter line was ended on purpose.
_PROSE_WIDTH = 50


@rule(Severity.WARNING, spreads=True)
def line_not_continued(job: Job) -> Iterator[Finding]:
    r"""A command starts with an option, as if it continued the line before.

    The line before it does not end with `\`, or with `\` and a space, or a comment is between: each line, and each item
    of `commands`, is a separate command, and bash looks for a program with that name: code 127.
    Source: the bash reference manual, "Escape Character"; rest-server, protocol.js, protocolRender.

        taskRoles:
          worker:
            commands:
              - python train.py
              - --epochs 2
              # ^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py --epochs 2
    """
    first: Step | None = None  # of lines that follow each other, which are one command
    former: Step | None = None
    for use in all_uses(job):
        step, name = use.line.step, use.line.name
        is_first = step.before == "\n" and step.command is not None and name is step.command.words[0]
        if name.text[:1] != "-" or not is_first:
            continue
        if re.match(r"--?[A-Za-z]", use.line.written(name)):
            before = step.preceding()
            if before is not None and before.command is not None and _quotes_a_space(use, before.command.words):
                continue  # `backslash_then_space` reports it
            fixes: Fixes = ()
            end = max((before.span.end, before.end, *(one.span.end for one in before.redirections))) if before else 0
            gap = use.written(Span(end, name.span.start))
            is_same_scalar = gap.count("\n") == 1 and len(gap) == len(_written(use, end, name.span.start))
            if end and not gap.strip(" \t\n") and is_same_scalar:
                last = Span(end - 1, end)
                fixes = edit_fix(use.place, "Continue the line before", last, use.written(last) + " \\")
            first = first if first is not None and former is before else step
            former = step
            message = f"bash runs '{name.text}' as a program; end the line before with '\\'"
            cause = f"a command up to {use.place.span(first.span)}"
            yield Finding(use.span(use.line.span), message, fixes, cause=cause)


def _quotes_a_space(use: CommandUse, words: Iterable[Word]) -> bool:
    r"""Whether a word is a quoted space, or one before a comment: a `\` that was meant to continue the line."""
    return any(one == "\\ " or one.startswith("\\ #") for one in (use.written(word.span) for word in words))


@rule(Severity.WARNING)
def backslash_then_space(job: Job) -> Iterator[Finding]:
    r"""A space follows `\` at the end of a line, or before an option.

    It quotes the space instead of continuing the line: the program gets a word that is a space, and the next line is a
    separate command. In a folded string (`>`), where lines are joined with spaces, every `\` at a line's end does this.
    Before an option of the same line, the program gets ` --option`, with the space.
    Source: the bash reference manual, "Escape Character"; YAML 1.2, 8.1.3 (folding).

        taskRoles:
          worker:
            commands:
              - >-
                python train.py \
                #               ^ warning
                --epochs 2

    Good:

        taskRoles:
          worker:
            commands:
              - >-
                python train.py
                --epochs 2
    """
    for place in scripts(job, with_callbacks=True):
        for part in place.script.parts:
            start, end = part.span.start, part.span.end
            if part.kind is not PartKind.ESCAPED or place.written(part.span) != "\\ ":
                continue
            line_end = place.script.line_end_after(end)
            if place.written(Span(end, end + 2)).rstrip() == "#":
                message = "this '\\' quotes the space after it, and no comment can follow a line that continues"
                yield Finding(place.span(Span(start, end + 1)), message)
                continue
            where = place.span(Span(start, end))
            is_folded = "\n" in job.text[where.start : where.end]
            if is_folded:
                following = place.lines.word_after(end)
                if following is not None and _is_option(place.written(following)):
                    message = "YAML joins the lines with a space, and this '\\' quotes the space"
                    yield Finding(Span(where.start, where.start + 1), message)
            elif line_end is not None:
                message = "this '\\' quotes the space after it and does not continue the line"
                yield changed(place, Span(start, line_end), message, "\\", "Remove the space")
            elif (word := place.lines.word_after(start)) and word.start == start and _is_option(place.written(word)):
                message = "this '\\' quotes the space after it, which becomes a part of the option"
                yield changed(place, Span(start, end), message, "", "Remove it")


def _is_option(written: str) -> bool:
    return written.lstrip("\\ ").startswith("-")


@rule(Severity.WARNING)
def folded_lines_joined(job: Job) -> Iterator[Finding]:
    """YAML joins commands into one, because the string is folded.

    In a `>` block, and in an unquoted or quoted string over several lines, a line end becomes a space: the next command
    is an argument of the one before. A `|` block keeps the lines. `cd` and `export` refuse such arguments: an error.
    Source: YAML 1.2, 8.1.3 (folding); bash 5.2.

        taskRoles:
          worker:
            commands:
              - >-
                echo start
                python train.py
                #^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - |-
                echo start
                python train.py
    """
    for use in all_uses(job):
        if use.line.program in _WITH_WORDS and (found := joined_word(use)):
            word, scalar = found
            message = f"YAML joins the lines, so this becomes an argument of '{use.line.name.text}'"
            severity = Severity.ERROR if _stops(use, word) else None
            yield Finding(use.word(word), message, _keep_lines(scalar), severity=severity)


def _stops(use: CommandUse, joined: Word) -> bool:
    """Whether `cd` or `export` refuses its arguments from one on, so that the task goes on without what is written."""
    words = use.line.arguments
    names = (word.text.partition("=")[0] for word in words[words.index(joined) :])
    return use.line.program == "cd" or (use.line.program == "export" and not all(map(NAME.fullmatch, names)))


def joined_word(use: CommandUse) -> tuple[Word, Scalar] | None:
    """The first argument that begins a command of its own in the line below, and the folded string that they are in."""
    words = use.line.arguments
    if use.line.program not in _WITH_WORDS or use.line.wrappers:
        return None
    program, has_operand = use.line.program, False
    for before, word in zip((use.line.name, *words), words, strict=False):
        is_begun = word.text in _BEGINNING and word.text != program and word is not words[-1]
        is_wrong = is_begun or (has_operand and _is_too_much(program, word))
        has_operand = has_operand or word.text[:1] != "-"
        if not is_wrong:
            continue
        gap = use.place.span(Span(before.span.end, word.span.start))
        scalar = scalar_at(use.place.parts, gap.start) if "\n" in use.place.source[gap.start : gap.end] else None
        if scalar and scalar.style is not ScalarStyle.LITERAL and use.line.written(word) == word.text:
            return word, scalar
    return None


def _is_too_much(program: str, word: Word) -> bool:
    """Whether `cd` or `export` cannot have an argument after the first, such as `./run.sh`."""
    return program == "cd" or (program == "export" and "/" in word.text.partition("=")[0])


@rule(Severity.WARNING)
def here_document_trimmed(job: Job) -> Iterator[Finding]:
    """A line of a here-document loses its indentation.

    The rest-server removes the spaces at both ends of each command, so a line that is an item of its own begins at the
    first column. Write the here-document as one item with `|`.
    Source: rest-server, middlewares/v2/protocol.js, protocolRender.

        taskRoles:
          worker:
            commands:
              - cat > t.py <<EOF
              - "for i in range(3):"
              - "    print(i)"
              #  ^^^^ warning
              - EOF

    Good:

        taskRoles:
          worker:
            commands:
              - |
                cat > t.py <<EOF
                for i in range(3):
                    print(i)
                EOF
    """
    for place in scripts(job):
        bodies = [place.span(part.span) for part in place.script.parts if part.kind is PartKind.HERE_DOCUMENT]
        for scalar in place.parts if bodies else ():
            blanks = len(scalar.text) - len(scalar.text.lstrip(" \t"))
            if not blanks or not scalar.text.strip():
                continue
            places = mapped(job.text, scalar)
            first = places.span(blanks, blanks + 1).start
            if any(one.start <= first < one.end for one in bodies):
                span = places.span(0, blanks)
                yield Finding(span, "the platform removes these spaces; write the here-document as one item with '|'")


@rule(Severity.WARNING)
def value_after_hash(job: Job) -> Iterator[Finding]:
    """YAML reads a value as a comment.

    In a plain string a `#` after a space begins a comment of YAML, and bash never sees it: the option is without a
    value.
    Source: YAML 1.2, "Comments".

        taskRoles:
          worker:
            commands:
              - python train.py --tag #1 --lr 0.1
              #                       ^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py --tag "#1" --lr 0.1
    """
    for use in all_uses(job):
        word = use.line.arguments[-1] if use.line.arguments else None
        if word is None or word.text[:1] != "-" or not _OPTION.fullmatch(word.text):
            continue
        if use.line.step.after not in {"", "\n"}:
            continue
        end = use.word(word).end
        line = job.text[end:].partition("\n")[0]
        match = _HASH_VALUE.match(line)
        scalar = next((one for one in use.place.parts if one.span.end == end), None)
        if match is not None and scalar is not None and scalar.style is ScalarStyle.PLAIN:
            span = Span(end + match.start(1), end + len(line.rstrip()))
            yield Finding(span, f"YAML reads this as a comment, so '{word.text}' has no value; quote the command")


_OPTION = lazy_pattern(r"--?[A-Za-z][\w-]*")
# A number or a color, or words with an option after them; other words are likely meant as a comment.
_HASH_VALUE = lazy_pattern(r"[ \t]+(#(?:[0-9]+|[0-9a-fA-F]{3,8})(?=\s|$)|#[^\s#!][^\n]*[ \t]--?[A-Za-z])")


@rule(Severity.WARNING)
def yaml_mark_in_command(job: Job) -> Iterator[Finding]:
    """YAML takes `!` or `&` at the start of a command for itself.

    YAML reads `! command` as a tag and `&name command` as an anchor, so bash gets only the rest: the result is not
    negated. Quote the command.
    Source: YAML 1.2, 6.8.2 (tags) and 6.9.2 (anchors).

        taskRoles:
          worker:
            commands:
              - ! grep -q error train.log
              # ^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - "! grep -q error train.log"
    """
    for place in scripts(job):
        for scalar in place.parts:
            line = max(job.text.rfind("\n", 0, scalar.span.start), 0)
            written = job.text[line : scalar.span.start]
            match = _YAML_MARK.search(written)
            if match is None:
                continue
            start, mark = line + match.start(1), written[match.start(1) :].strip()
            if mark.startswith("!!") or (mark.startswith("&") and f"*{mark[1:]}" in job.text):
                continue
            name = "a tag" if mark.startswith("!") else "an anchor"
            fixes: Fixes = ()
            is_simple = scalar.style is ScalarStyle.PLAIN and not set("\n'").intersection(scalar.text)
            if is_simple and mark == "!":
                fixes = fix_of("Quote it", TextEdit, Span(start, scalar.span.end), f"'! {scalar.text}'")
            message = f"YAML reads '{mark}' as {name}, and bash never sees it"
            yield Finding(Span(start, start + len(mark)), message, fixes)


def _written(use: CommandUse, start: int, end: int) -> str:
    """What the file has between two places of the script."""
    span = use.span(Span(start, end))
    written = use.place.source[span.start : span.end]
    return written.replace(" ", "") if "-" not in written else ""


@rule(Severity.WARNING)
def comment_in_folded_scalar(job: Job) -> Iterator[Finding]:
    """A comment swallows the following commands, because YAML joins the lines.

    In a `>` block, and in an unquoted or quoted string over several lines, YAML replaces line breaks with spaces. In
    bash the comment then extends to the end of the whole string. A `|` block keeps the lines.
    Source: YAML 1.2, 8.1.3 (folding); the bash reference manual, "Comments".

        taskRoles:
          worker:
            commands:
              - >-
                cd /data
                # unpack
                #^^^^^^^ warning
                tar xf train.tar

    Good:

        taskRoles:
          worker:
            commands:
              - |-
                cd /data
                # unpack
                tar xf train.tar
    """
    for scalar in _command_scalars(job):
        if "#" not in scalar.text or scalar.style is ScalarStyle.LITERAL:
            continue
        if "\n" not in job.text[scalar.span.start : scalar.span.end]:
            continue
        place = mapped(job.text, scalar)
        for comment in read_script(scalar.text).comments:
            span = place.span(comment.start, comment.end)
            first, *others = job.text[span.start : span.end].splitlines()
            swallowed = [line.strip() for line in others]
            is_prose = not scalar.text[: comment.start].strip() and len(first) >= _PROSE_WIDTH
            if is_prose or all(not line or line.startswith("#") for line in swallowed):
                continue
            message = "YAML joins these lines, so bash reads the lines below as part of this comment"
            yield Finding(Span(span.start, span.start + len(first)), message, _keep_lines(scalar))


def _keep_lines(scalar: Scalar) -> Fixes:
    if scalar.style is not ScalarStyle.FOLDED:
        return ()
    return fix_of("Use '|' to keep the lines", TextEdit, Span(scalar.span.start, scalar.span.start + 1), "|")


@rule(Severity.WARNING)
def crlf_in_commands(job: Job) -> Iterator[Finding]:
    r"""A command has Windows line endings.

    YAML converts the file's own line endings to `\n`, but keeps a `\r` that is written as an escape, as by programs
    that convert a script to YAML. Bash treats it as part of the last word of the line: "command not found", or a file
    whose name ends with it.
    Source: openpai, issue 1897; the bash reference manual, "Definitions" (blank, word).

        taskRoles:
          worker:
            commands:
              - "cd /data\r\nls"
              #          ^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - "cd /data\nls"
    """
    for scalar in _command_scalars(job):
        if "\r\n" not in scalar.text.strip():
            continue
        place = mapped(job.text, scalar)
        ends = [match.start() for match in re.finditer("\r\n", scalar.text)]
        spans = [place.span(at, at + 1) for at in ends]
        is_certain = all(job.text[span.start : span.end] == "\\r" for span in spans)
        message = "this line ends with CRLF; bash treats the carriage return as part of the last word"
        yield Finding(spans[0], message, _without(*spans) if is_certain else ())


@later
def _without(*spans: Span) -> Fixes:
    return (Fix("Remove the carriage returns", tuple(TextEdit(span, "") for span in spans), safe=True),)


def _command_scalars(job: Job) -> Iterable[Scalar]:
    """The strings that the task roles run, each once."""
    return dict.fromkeys(scalar for role in job.task_roles for scalar in job.command_parts(role))
