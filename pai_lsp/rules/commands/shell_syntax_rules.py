"""Rules about the syntax of scripts: what bash refuses to read, in the commands of task roles and of callbacks.

Bash reads and runs a script command by command, so everything before the error has run when it stops. Sources: the bash
reference manual, "Shell Syntax"; rest-server, middlewares/v2/protocol.js, protocolRender (items are joined by line
ends); openpai-runtime, src/runtime.d/user.sh.
"""

from __future__ import annotations

from pai_lsp.embedded.shell import read_script
from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.rules.commands.command_uses import all_scripts
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.scalar import server_text
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.variable_places import ScriptPlace


@rule(Severity.ERROR)
def shell_syntax(job: Job) -> Iterator[Finding]:
    """Syntax error in a script.

    Bash refuses the script: it runs everything before the error, then the task ends with exit code 2. All items of
    `commands` form one script, together with `preCommands` and `postCommands` of the default deployment; each callback
    is a script of its own.
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
    """Here-document without its last line.

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


def _problems(job: Job) -> tuple[tuple[bool, Finding], ...]:
    """The first problem of each script, and whether it is an error."""
    return tuple(_found_problems(job))


def _found_problems(job: Job) -> Iterator[tuple[bool, Finding]]:
    values = _parameter_values(job)
    for place in all_scripts(job):
        script = place.script
        filled = _filled(job, place, place.role, values) if place.role is not None and "<%" in script.text else None
        if filled is not None:
            script = read_script("".join(text for text, _ in filled))
        if script.fault is None and not script.unclosed:
            continue
        from pai_lsp.embedded.shell_syntax import syntax_problem  # noqa: PLC0415 - only for a script with a fault

        problem = syntax_problem(script)
        if problem is not None and not _is_left_over(script, problem.span):
            span = _place(place, filled, problem.span)
            related = tuple(Related(_place(place, filled, other), message) for other, message in problem.related)
            yield problem.is_error, Finding(span, problem.message, related=related)


def _is_left_over(script: Script, span: Span) -> bool:
    """Whether the problem is the `>` of a `%>` without `<%`, which `template_syntax` reports."""
    return script.text.startswith("%>", span.start - 1)


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
    text = place.script.text
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
            if len(text) == len(written) and not place.script.text.startswith("<%", written.start):
                start = written.start + span.start - at
                return place.span(Span(start, min(start + len(span), written.end)))
            return place.span(written)
        at += len(text)
    return place.span(Span(len(place.script.text), len(place.script.text)))


RULES = (shell_syntax, here_document_not_ended)
