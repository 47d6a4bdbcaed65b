"""Rules about the text of scripts: what bash refuses to read, and characters that come from a page or an editor.

Bash reads and runs a script command by command, so everything before the error has run when it stops. Sources: the bash
reference manual, "Shell Syntax"; rest-server, middlewares/v2/protocol.js, protocolRender (items are joined by line
ends); openpai-runtime, src/runtime.d/user.sh.
"""

from __future__ import annotations

import re

from pai_lsp.embedded.shell import read_script
from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.rules.commands.command_uses import all_scripts, changed, scripts
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from pai_lsp.embedded.shell_structure import Step
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.variable_places import ScriptPlace


@rule(Severity.ERROR)
def shell_syntax(job: Job) -> Iterator[Finding]:
    """A script has a syntax error.

    Bash refuses the script: it runs everything before the error, then the task ends with exit code 2. All items of
    `commands` form one script, together with `preCommands` and `postCommands` of the default deployment; each callback
    is a separate script.
    Source: the bash reference manual, "Shell Syntax"; bash 5.2, parse.y.

        taskRoles:
          worker:
            commands:
              - if [ -d /data ]; then
              # ^^ error
              - ls /data

    Good:

        taskRoles:
          worker:
            commands:
              - if [ -d /data ]; then
              - ls /data
              - fi
    """
    return (finding for is_error, finding in job.once(_problems) if is_error)


@rule(Severity.WARNING)
def here_document_not_ended(job: Job) -> Iterator[Finding]:
    """The last line of a here-document is missing.

    The rest of the script becomes text of the here-document and never runs; the task still succeeds. The line that ends
    it must be exactly the word after `<<`, without blanks before or after it; `<<-` allows tabs before it.
    Source: the bash reference manual, "Here Documents".

        taskRoles:
          worker:
            commands:
              - |
                cat > config <<EOF
                #            ^^ warning
                lr: 1
                  EOF
                python train.py

    Good:

        taskRoles:
          worker:
            commands:
              - |
                cat > config <<EOF
                lr: 1
                EOF
                python train.py
    """
    return (finding for is_error, finding in job.once(_problems) if not is_error)


def _problems(job: Job) -> list[tuple[bool, Finding]]:
    """The first problem of each script, and whether it is an error."""
    found: list[tuple[bool, Finding]] = []
    values = _parameter_values(job)
    for place in all_scripts(job):
        script = place.script
        filled = _filled(job, place, place.role, values) if place.role is not None and script.has_templates else None
        if filled is not None:
            script = read_script("".join(text for text, _ in filled))
        if script.fault is None and not script.unclosed:
            continue
        from pai_lsp.embedded.shell_syntax import syntax_problem  # noqa: PLC0415 - only for a script with a fault

        problem = syntax_problem(script)
        # The `>` of a `%>` without `<%` is reported by `template_syntax`.
        if problem is not None and not script.is_template_end(problem.span.start - 1):
            span = _place(place, filled, problem.span)
            related = tuple(Related(_place(place, filled, other), message) for other, message in problem.related)
            found.append((problem.is_error, Finding(span, problem.message, related=related)))
    return found


# The pieces of a script with its tags filled: each text, and the part of the written script that it replaces.
_Filled: TypeAlias = "list[tuple[str, Span]]"


def _parameter_values(job: Job) -> dict[tuple[TaskRole, int], str]:
    """What the rest-server writes for a tag that reads a parameter, by role and offset of the tag in its script."""
    return {
        (answer.use.role, answer.use.tag.span.start): str(server_text(answer.node.value))
        for answer in job.answers_with(PathOutcome.FOUND)
        if answer.use.role is not None and answer.root == "$parameters" and isinstance(answer.node, Scalar)
    }


def _filled(job: Job, place: ScriptPlace, role: TaskRole, values: Mapping[tuple[TaskRole, int], str]) -> _Filled | None:
    """The script of a role as the rest-server fills it; None where it needs more than the job's parameters."""
    text = place.written(place.script.whole)
    pieces: _Filled = []
    at = 0
    for tag in job.command_templates[role.name][1]:
        value = values.get((role, tag.span.start))
        if value is None or "<%" in value:
            return None
        pieces += ((text[at : tag.span.start], Span(at, tag.span.start)), (value, tag.span))
        at = tag.span.end
    return [*pieces, (text[at:], Span(at, len(text)))]


def _place(place: ScriptPlace, filled: _Filled | None, span: Span) -> Span:
    """The place in the file; that of the whole tag for a place in a value."""
    if filled is None:
        return place.span(span)
    at = 0
    for text, written in filled:
        if span.start < at + len(text):
            if len(text) == len(written) and not place.written(written).startswith("<%"):
                start = written.start + span.start - at
                return place.span(Span(start, min(start + len(span), written.end)))
            return place.span(written)
        at += len(text)
    end = place.script.whole.end
    return place.span(Span(end, end))


_PASTED = {
    "\u00a0": (" ", "a no-break space"), "\u2007": (" ", "a figure space"), "\u202f": (" ", "a narrow no-break space"),
    "\u3000": (" ", "an ideographic space"), "\uff1d": ("=", "a full-width '='"), "\uff1b": (";", "a full-width ';'"),
    "\uff08": ("(", "a full-width '('"), "\uff09": (")", "a full-width ')'"), "\uff5c": ("|", "a full-width '|'"),
    "\uff06": ("&", "a full-width '&'"), "\uff1e": (">", "a full-width '>'"), "\uff0d": ("-", "a full-width '-'"),
    "\uff04": ("$", "a full-width '$'"), "\uff1a": (":", "a full-width ':'"),
}  # fmt: skip
_DASHES = {"\u2013": "-", "\u2014": "--", "\u2212": "-", "\u2012": "-", "\u2010": "-", "\u2011": "-", "\u2015": "--"}
_QUOTES = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'", "\u00ab": '"', "\u00bb": '"'}
_CLOSING = lazy_pattern(f"[{''.join(_QUOTES)}]")
_SMART = lazy_pattern("[" + "".join((*_PASTED, *_DASHES, *_QUOTES)) + "]")


@rule(Severity.WARNING, spreads=True)
def pasted_character(job: Job) -> Iterator[Finding]:
    """A command has a typographic character, as web pages and documents have them.

    For bash, typographic quotes, dashes and spaces are letters: quotes do not quote, options are not options, and a
    no-break space is a part of the word. Inside quotes they are text and not reported.
    Source: the bash reference manual, "Definitions" (blank) and "Quoting".

        taskRoles:
          worker:
            commands:
              - python train.py –lr 0.1
              #                 ^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py -lr 0.1
    """
    for place in scripts(job, with_callbacks=True):
        for step in () if place.script.text.isascii() else place.lines.tree.all:
            if any(not word.text.isascii() for word in step.words):
                yield from _pasted_in(place, step)


def _pasted_in(place: ScriptPlace, step: Step) -> Iterator[Finding]:
    done = 0
    is_echo = step.command is not None and step.command.name == "echo"
    is_printed = is_echo and not step.redirections and step.process is None
    for word in step.words:
        written = place.written(word.span)
        for match in _SMART.finditer(written):
            at, character = word.span.start + match.start(), match[0]
            if at < done or (place.role is None and character.isspace()) or place.script.is_quoted(at):
                continue
            before = written[: match.start()].rpartition("=")[2]
            if character in _QUOTES:
                line = place.written(Span(at, place.script.line_end(at)))
                closing = next((m.end() for m in _CLOSING.finditer(line, 1)), 0)
                if not closing or "\n" in line[:closing] or before.isalnum():
                    continue
                if is_printed and at + closing <= step.span.end:
                    continue
                span, done = Span(at, at + closing), at + closing
                new = f"{_QUOTES[character]}{line[1 : closing - 1]}{_QUOTES[character]}"
                message = "bash treats typographic quotes as letters; use plain quotes"
                yield changed(place, span, message, new, "Use plain quotes")
            elif is_printed:
                continue
            elif character in _DASHES:
                option = written[match.start() :]
                following = option.lstrip("-" + "".join(_DASHES))
                if before or not following[:1].isalpha() or not following[:1].isascii():
                    continue
                dashes = "--" if len(re.split(r"[=\W]", following)[0]) > 1 else "-"
                count = len(option) - len(following)
                dashes = dashes if count == 1 and character in {"\u2014", "\u2015"} else _DASHES[character] * count
                span, done = Span(at, word.span.end), word.span.end
                message = f"'{character}' is not '-', so this is not an option"
                yield changed(place, span, message, dashes + following, cause="dash")
            else:
                new, name = _PASTED[character]
                around = written[max(match.start() - 1, 0) : match.start()] + written[match.end() : match.end() + 1]
                if around.isascii() and (character != "\uff1a" or around.isalnum()):
                    message = f"this is {name}, which bash treats as a letter"
                    yield changed(place, Span(at, at + 1), message, new)
