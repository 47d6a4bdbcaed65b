"""Rules about the order of commands: what never runs, fails when it runs again, or has no effect in its place."""

from __future__ import annotations

from itertools import pairwise

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, rule
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, changed, is_failing_code, scripts, uses
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_structure import Step
    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

# Programs after which a name may be free again, or means another file.
_MOVING = frozenset({"cd", "mv", "popd", "pushd", "rm", "rmdir", "unlink"})


@rule(Severity.WARNING, consequence=Consequence.IGNORED)
def commands_never_run(job: Job) -> Iterator[Finding]:
    """Commands after `exec` or `exit` never run.

    `exec PROGRAM` replaces the shell and `exit` ends it: nothing after them runs. `exit` is an information.
    Source: the bash reference manual, "Bourne Shell Builtins".

        taskRoles:
          worker:
            commands:
              - exec python train.py
              # ^^^^^^^^^^^^^^^^^^^^ warning
              - cp model.bin /tmp

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py
              - cp model.bin /tmp
    """
    for place in scripts(job):
        tree = structure(place.script)
        for step in (*tree.calls.get("exec", ()), *tree.calls.get("exit", ())):
            if step.parent is not tree.root or step.before in {"&&", "||", "|"} or step.after in {"&&", "||", "|", "&"}:
                continue
            words = step.command.words if step.command else ()
            following = step.following()
            if not words or following is None or following.defines or (words[0].text == "exec" and len(words) == 1):
                continue
            # Whoever writes `exit` there mostly means it.
            severity = Severity.INFORMATION if words[0].text == "exit" else None
            yield Finding(place.span(step.span), f"nothing after '{words[0].text}' runs", severity=severity)


@rule(Severity.INFORMATION, about=("break", "continue", "return"), spreads=True)
def jump_outside(job: Job) -> Iterator[Finding]:
    """`break` or `continue` is outside of a loop, or `return` outside of a function.

    `break` and `continue` only print a message there, and the script continues; `return` ends it with code 2, which is
    a warning where it does not mean a failure.
    Source: the bash reference manual, "Bourne Shell Builtins".

        taskRoles:
          worker:
            commands:
              - if [ -f done ]; then break; fi
              #                      ^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - if [ -f done ]; then exit 0; fi
    """
    for use in uses(job, "break", "continue", "return", with_callbacks=False):
        around = list(use.line.step.ancestors)
        if any(step.defines or step.kind in {"for", "while", "until", "select"} for step in around):
            continue
        name = use.line.program
        effect = "ends the script with code 2" if name == "return" else "has no effect"
        where = "a function" if name == "return" else "a loop"
        is_unexpected = name == "return" and use.ends_script and not is_failing_code(use.line.texts)
        severity = Severity.WARNING if is_unexpected else None
        yield Finding(use.word(use.line.name), f"outside of {where}, '{name}' {effect}", severity=severity)


@rule(Severity.WARNING)
def not_repeatable(job: Job) -> Iterator[Finding]:
    """The script creates a link, a folder or the content of an archive twice.

    `ln -s` and `mkdir` fail when the name exists, which ends the task; `unzip` asks before it replaces files.
    Source: ln(1), `-f`; mkdir(1), `-p`; unzip(1), `-o`.

        taskRoles:
          worker:
            commands:
              - ln -s /data/a train
              - ln -s /data/b train
              # ^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - ln -s /data/a train
              - ln -sf /data/b train
    """
    unpacked: dict[tuple[ScriptPlace, str | None, tuple[str, ...]], Step] = {}
    for use in uses(job, "unzip"):
        archive, arguments = (use.place, use.folder, use.line.texts), use.arguments("unzip")
        is_decided = arguments.has("-o", "-n", "-l", "-Z", "-p", "-t", "-v")
        is_again = use.folder is not None and _runs_before(unpacked.get(archive), use.line.step)
        if is_again and not is_decided and use.ends_script:
            message = "unzip asks whether to replace the files; add '-o'"
            yield changed(use.place, use.line.name.span, message, "unzip -o", "Add '-o'")
        unpacked[archive] = use.line.step
    for place in scripts(job):
        made: dict[str, Step] = {}
        lines = command_lines(place.script).by_program
        if not _MOVING.isdisjoint(lines):
            continue
        folders = {word.text for line in lines.get("mkdir", ()) for word in line.arguments}
        for line in (*lines.get("ln", ()), *lines.get("mkdir", ())):
            use = CommandUse(place, line)
            options = [word for word in line.arguments if word.text.startswith("-")]
            operands = [word for word in line.arguments if not word.text.startswith("-")]
            if not operands or not operands[-1].is_literal or not use.ends_script:
                continue
            letter = "f" if line.program == "ln" else "p"
            is_forced = any(letter in one.text or one.text in {"--force", "--parents"} for one in options)
            name = operands[-1].text
            if line.program == "ln" and (name.rpartition("/")[2] in {"", ".", ".."} or name in folders):
                continue  # the link gets its name in this folder
            if _runs_before(made.get(name), line.step) and not is_forced and not (line.program == "ln" and not options):
                last = options[-1] if options else line.name
                new = f"{last.text}{letter}" if options else f"{line.name.text} -{letter}"
                span = Span(line.name.span.start, last.span.end)
                yield changed(place, last.span, f"'{name}' already exists", new, f"Add '-{letter}'", at=span)
            made[name] = line.step


def _runs_before(first: Step | None, second: Step) -> bool:
    """Whether a step surely runs before another one: it is not in a branch without the other one."""
    if first is None or {"&&", "||"} & {first.before, second.before}:
        return False
    return any(first.siblings is one.siblings for one in second.around)


@rule(Severity.INFORMATION, about=("rm",))
def file_may_be_missing(job: Job) -> Iterator[Finding]:
    """`rm` removes a file that may not exist.

    `rm` fails when there is no such file, which ends the task; `rm -f` does not.
    Source: rm(1), `-f`.

        taskRoles:
          worker:
            commands:
              - rm old.log
              # ^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - rm -f old.log
    """
    for use in uses(job, "rm"):
        words = use.line.arguments
        operands = [word for word in words if not word.text.startswith("-")]
        if len(operands) != 1 or not operands[0].is_literal or not use.ends_script or "*" in operands[0].text:
            continue
        if any("f" in word.text for word in words if word.text.startswith("-")):
            continue
        name = operands[0].text.rstrip("/")
        stem = name.rpartition("/")[2].partition(".")[0]
        if name.startswith("/") or (stem and use.mentioned(stem)):
            continue
        message = f"this ends the task if there is no '{name}'; use 'rm -f'"
        yield changed(use.place, use.line.name.span, message, "rm -f", "Add '-f'", at=use.line.span)


@rule(Severity.WARNING, about=("cd", "pushd", "export"))
def cd_in_subshell(job: Job) -> Iterator[Finding]:
    """`cd` or `export` is the last command in a process of its own, so it has no effect.

    In parentheses, in a pipeline and in the background, `cd` and `export` change that process only; the commands after
    it run in the folder and with the variables from before.
    Source: the bash reference manual, "Command Grouping" and "Pipelines".

        taskRoles:
          worker:
            commands:
              - (cd model)
              # ^^^^^^^^^^ warning
              - python train.py

    Good:

        taskRoles:
          worker:
            commands:
              - cd model
              - python train.py
    """
    for use in uses(job, "cd", "pushd", "export", with_callbacks=False):
        step = use.line.step
        process = step.process
        if process is None or process.is_substitution or not _is_last_in(step, process) or not _goes_on(process):
            continue
        if any(one.part == "condition" for one in step.around) or "-p" in use.line.texts:
            continue
        read = {one.name for one in use.place.script.uses} - use.place.script.guarded_names
        if any(word.text.partition("=")[0] in read for word in use.line.arguments if use.line.program == "export"):
            continue  # `used_before_set` reports it
        where = "inside these parentheses" if process.kind == "(" else "in this part of the pipeline"
        if process.kind != "(" and process.after == "&":
            where = "in this process in the background"
        span = Span(process.span.start, process.end) if process.kind == "(" else use.line.span
        is_alone = process.kind == "(" and len(process.steps) == 1 and not process.redirections
        is_alone = is_alone and {"|", "|&", "&"}.isdisjoint({process.before, process.after})
        new = use.written(use.line.span) if is_alone else None
        message = f"'{use.line.program}' only has an effect {where}"
        yield changed(use.place, span, message, new, "Remove the parentheses")


def _is_last_in(step: Step, process: Step) -> bool:
    """Whether nothing runs after a step in the process that it runs in."""
    one: Step | None = step
    while one is not None and one is not process:
        is_inner = one.parent is not process and one.part in {"body", "then", "else"}
        if one.following() is not None or is_inner or one.defines:
            return False
        one = one.parent
    return one is not None


def _goes_on(process: Step) -> bool:
    """Whether a command runs after a process, and its failure ends nothing."""
    last = process.pipeline[-1]
    return last.after not in {"&&", "||"} and last.following() is not None


@rule(Severity.INFORMATION)
def redirection_order(job: Job) -> Iterator[Finding]:
    """`2>&1` is written before the redirection of the output.

    Redirections apply from left to right: `2>&1 > file` leaves errors on the terminal. Write `> file 2>&1`.
    Source: the bash reference manual, "Redirections".

        taskRoles:
          worker:
            commands:
              - python train.py 2>&1 > train.log
              #                 ^^^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py > train.log 2>&1
    """
    for use in all_uses(job):
        step = use.line.step
        for first, second in pairwise(step.redirections):
            is_joined = (first.descriptor, first.operator, first.target.text) == ("2", ">&", "1")
            if not is_joined or second.operator not in {">", ">>"} or second.descriptor:
                continue
            if step.after == "|" or (step.parent is not None and step.parent.is_substitution):
                continue
            if not any(first.span.end <= word.span.start < second.span.start for word in use.line.arguments):
                span = Span(first.span.start, second.span.end)
                new = f"{second.operator} {use.written(second.target.span)} 2>&1"
                yield changed(use.place, span, "errors are not redirected to the file: '2>&1' must come last", new)
