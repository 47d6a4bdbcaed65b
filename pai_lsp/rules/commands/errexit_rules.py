"""Rules about what ends a script, or hides that something failed: errexit and pipefail, lists, background jobs.

The platform runs a task's commands with errexit, nounset and pipefail. Sources: openpai-runtime, src/runtime.d/user.sh
and runtime_entry.sh; the bash reference manual, "The Set Builtin", "Lists of Commands" and "Pipelines".
"""

from __future__ import annotations

import re
from bisect import bisect_right

from pai_lsp.embedded.shell_structure import Step, structure
from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.rules.commands.command_uses import CommandUse, changed, is_failing_code, scripts, uses
from pai_lsp.source.foreign import number_of
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

_FINDING = {
    "grep": "nothing is found", "egrep": "nothing is found", "fgrep": "nothing is found", "zgrep": "nothing is found",
    "rg": "nothing is found", "pgrep": "no process is found", "pkill": "no process is found",
    "killall": "no process is found", "which": "the program is not found", "diff": "the files differ",
    "cmp": "the files differ", "type": "the name is not found", "hash": "the program is not found",
}  # fmt: skip
# Programs whose output is a list of what is there: that something is not in it is an ordinary answer.
_LISTING = {
    "ps", "docker", "kubectl", "helm", "dpkg", "rpm", "lsof", "netstat", "ss", "nvidia-smi", "ls", "lsmod", "mount",
    "env", "pip", "conda", "jobs", "screen", "tmux", "who", "df", "find", "lspci",
}  # fmt: skip
# What prints and holds the same kinds of lines on every machine, or whose lines are chosen to be filtered.
_FACTS = frozenset({"lscpu", "free", "uname", "printenv", "locale", "ifconfig", "ip", "gcloud", "az", "aws"})
_FILES_OF_FACTS = lazy_pattern(r"/proc/(?:cpuinfo|meminfo|version|self/\S*)|/etc/\S*(?:release|issue|passwd)")
# Programs that nearly every image has.
_ALWAYS_THERE = frozenset({"bash", "sh", "ls", "cat", "python", "python3", "pip", "pip3", "grep", "cd", "echo", "git"})
_TESTS = frozenset({"[", "[[", "test"})
# What is the last command of a list on purpose, whatever its result.
_MEANT_LAST = _TESTS | {"exit", "return", "break", "continue"}
_RELIABLE = {
    "date", "echo", "printf", "pwd", "hostname", "nproc", "whoami", "id", "uname", "basename", "dirname", "seq", "wc",
    "cut", "awk", "sed", "tr", "sort", "head", "tail", "cat", "readlink", "realpath", "mktemp", "python", "ip",
    "ifconfig", "nvidia-smi", "free", "jq", "xargs", "uniq", "paste", "ls", "git", "az", "curl", "openssl",
}  # fmt: skip


@rule(Severity.WARNING, about=(*_FINDING, "command"), spreads=True)
def command_finds_nothing(job: Job) -> Iterator[Finding]:
    """A command ends the task if it finds nothing, or finds a difference.

    grep, pgrep, which, diff and cmp report by their exit code, which errexit treats as a failure, also in the middle of
    a pipeline. Write `|| true`, or use the command in a condition. It is an information where grep filters data that
    surely has such lines, and where a program or its path is needed. It is a warning where a command asks
    whether there is something: of a list of processes, with `-c` or `wc`, or where the script tests the result.
    Source: grep(1), "Exit Status"; the bash reference manual, "The Set Builtin".

        taskRoles:
          worker:
            commands:
              - cat train.log | grep loss | wc -l
              #                 ^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - cat train.log | { grep loss || true; } | wc -l
    """
    asked: set[Step] = set()
    asked_for: dict[ScriptPlace, _Asked] = {}
    for use in uses(job, *_FINDING, "command"):
        line = use.line
        what = _FINDING.get(line.program, "the program is not found")
        if line.program == "command" and line.texts[:1] not in {("-v",), ("-V",)}:
            continue
        if not line.arguments or not use.ends_script:
            continue
        if what.startswith("the program") and line.arguments[-1].text in _ALWAYS_THERE:
            continue
        if line.program in {"type", "hash"} and line.arguments[0].text.startswith("-"):
            continue
        is_quiet = any(word.text.startswith("-") and "q" in word.text for word in line.arguments)
        if is_quiet and line.step is structure(use.place.script).root.steps[-1]:
            continue  # only its result is wanted
        pipeline = line.step.pipeline
        is_inside = line.step.parent is not None and line.step.parent.is_substitution
        is_open = not (what.startswith("the program") and is_inside)
        if what == "nothing is found":
            is_open = _is_question(use)
        if not is_open and use.place not in asked_for:
            asked_for[use.place] = _asked_for(use.place)
        severity = None if is_open or _is_asked(use, asked_for[use.place]) else Severity.INFORMATION
        is_needed = what.startswith("the program") and line.arguments[-1].text in use.place.lines.by_program
        if severity is None and ((is_needed and not is_inside) or _fails_anyway(line.step)):
            severity = Severity.INFORMATION
        if severity is None and what == "nothing is found":
            if pipeline[0] in asked:
                continue  # the same cause
            asked.add(pipeline[0])
        text = f"{use.written(line.span)} || true"
        new = f"{{ {text}; }}" if len(pipeline) > 1 else None if line.step.redirections else text
        message = f"this ends the task if {what}; add '|| true' if the task should continue"
        cause = f"{line.program} {severity}"
        yield changed(use.place, line.span, message, new, "Add '|| true'", severity=severity, cause=cause)


def _fails_anyway(step: Step) -> bool:
    """Whether the list of a step ends with a failure in any case: `diff a b; exit 1`."""
    last = step.siblings[-1].command
    is_exit = last is not None and last.name in {"exit", "return"} and is_failing_code(last.arguments)
    return is_exit or (last is not None and last.name == "false")


# The places of values of variables that tests ask whether they are empty, in order, and where `$?` is read.
_Asked: TypeAlias = "tuple[list[Span], list[int]]"
_EMPTINESS = lazy_pattern(r'(?:-[nz] |! )?"?\$\{?(\w+)\}?"?(?: \]\]?| !?==? "")?')


def _asked_for(place: ScriptPlace) -> _Asked:
    tests = (test for name in _TESTS for test in place.lines.by_program.get(name, ()))
    matches = (_EMPTINESS.fullmatch(" ".join(map(test.written, test.arguments))) for test in tests)
    names = {match[1] for match in matches if match}
    assigned = (one for step in structure(place.script).all for one in step.assigned if one.name in names)
    return sorted(one.whole for one in assigned), [one.span.start for one in place.script.uses if one.name == "?"]


def _is_asked(use: CommandUse, asked: _Asked) -> bool:
    """Whether the script asks later if the command has found something: `[ -z "$X" ]`, or `$?` right after it."""
    line, (values, codes) = use.line, asked
    number = bisect_right(values, line.span.start, key=lambda one: one.start)
    if number and line.span.start in values[number - 1]:
        return True
    following = (line.step.pipeline[-1].following() or line.step).span
    at = bisect_right(codes, line.span.end - 1)
    return at < len(codes) and codes[at] < following.end


def _is_question(use: CommandUse) -> bool:
    """Whether a grep asks if something is there, so that nothing is an ordinary answer."""
    line, pipeline = use.line, use.line.step.pipeline
    commands = [step.command for step in pipeline if step.command is not None]
    if commands and _prints_always(commands[0].name, commands[0].arguments):
        return False
    options = [text for text in line.texts if text.startswith("-")]
    if {"--count", "--quiet"} & {*options} or any(set("cqL") & {*text} for text in options if text[1:2] != "-"):
        return True
    if commands[:1] and commands[0].name == "ps" and sum(one.name in _FINDING for one in commands) == 1:
        return False  # it finds itself
    if not commands or any(_FILES_OF_FACTS.fullmatch(text) for one in commands for text in one.arguments):
        return False
    if commands[0].name in _FACTS or any(text.startswith("-") and "v" in text for text in options):
        return False
    is_counted = any(one.name == "wc" for one in commands)
    # `find ... | grep ... > list` filters what was found.
    return is_counted or (commands[0].name in _LISTING and not (commands[0].name == "find" and len(pipeline) > 1))


def _prints_always(name: str, arguments: tuple[str, ...]) -> bool:
    """Whether a program prints what is asked for, or fails itself."""
    if name == "nvidia-smi":
        return any(text.startswith(("--query", "--list-gpus", "-L")) for text in arguments)
    return name in {"pip", "pip3"} and arguments[:1] == ("show",)


@rule(Severity.WARNING)
def arithmetic_is_zero(job: Job) -> Iterator[Finding]:
    """An arithmetic command ends the task, because its value is zero.

    `((...))`, `let` and `expr` return code 1 for the value 0, which ends the task: `((i++))` has the old value of `i`.
    Write `i=$((i+1))`.
    Source: the bash reference manual, "Conditional Constructs" and "Bourne Shell Builtins"; expr(1).

        taskRoles:
          worker:
            commands:
              - i=0
              - ((i++))
              # ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - i=0
              - i=$((i+1))
    """
    for place in scripts(job):
        tree = structure(place.script)
        if not tree.has_arithmetic and not {"let", "expr"} & tree.calls.keys():
            continue
        from pai_lsp.embedded.shell_arithmetic import as_assignment, learn, value_of  # noqa: PLC0415 - few compute

        known: dict[str, int] = {}
        for step in tree.all:
            words = step.command.words if step.command else ()
            before = dict(known) if step.kind == "arithmetic" or step.command else known
            learn(tree, step, known)
            expression = ""
            if step.kind == "arithmetic":
                expression = place.written(Span(step.span.start + 2, step.span.end - 2)).strip()
            elif words and words[0].text == "let" and len(words) == 2:
                expression = words[1].text
            elif words and words[0].text == "expr" and all(word.is_literal for word in words):
                expression = " ".join(word.text for word in words[1:])
            if not expression or not tree.ends_script(step):
                continue
            if value_of(expression, before) == 0:
                is_expr = bool(words) and words[0].text == "expr"
                new = f"echo $(({expression}))" if is_expr else as_assignment(expression)
                message = "the value is 0, so this returns code 1 and ends the task"
                yield changed(place, step.span, message, new or None)


@rule(Severity.WARNING, about=("yes", "find", "seq", "cat", "tr"))
def pipe_cut_short(job: Job) -> Iterator[Finding]:
    """The reader of a pipeline stops early.

    `head`, `grep -q` and `apt-get` with `yes` end before the program before them, which then dies of SIGPIPE: with
    pipefail, the pipeline fails with code 141 although everything was printed.
    Source: the bash reference manual, "Pipelines" and "The Set Builtin" (`pipefail`); signal(7), SIGPIPE.

        taskRoles:
          worker:
            commands:
              - find / -name "*.so" | head -5
              #                       ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - "{ find / -name '*.so' || true; } | head -5"
    """
    for use in uses(job, "yes", "find", "seq", "cat", "tr"):
        line, step = use.line, use.line.step
        following = step.following()
        if step.after not in {"|", "|&"} or following is None or not use.ends_script:
            continue
        reader = following.command
        if line.program == "yes":
            yield Finding(use.span(line.span), "'yes' fails with code 141 here, which ends the task; use 'echo y'")
        elif reader is not None and _is_long(use) and _stops(reader.name, reader.arguments):
            message = f"'{line.program}' writes more than '{reader.name}' reads, so it fails with code 141"
            yield Finding(use.span(following.span), message)


@rule(Severity.WARNING)
def last_and_list(job: Job) -> Iterator[Finding]:
    """The last command is a test with `&&`.

    errexit passes over `[ -f x ] && cat x` in the middle of a script. As the last command of the script, of a function
    or of a group, its code 1 becomes the result: the task fails when the test is false. Write `if`.
    Source: the bash reference manual, "The Set Builtin" (`-e`) and "Exit Status".

        taskRoles:
          worker:
            commands:
              - python train.py
              - "[ -f result.txt ] && cat result.txt"
              #  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py
              - if [ -f result.txt ]; then cat result.txt; fi
    """
    for place in scripts(job):
        tree = structure(place.script)
        for step in tree.all:
            if step.before != "&&" or step.after in {"&&", "||", "&", "|"} or step.following() is not None:
                continue
            parent = step.parent
            if parent is None or (parent.kind and parent.kind not in {"{", "("}) or parent.prefixes:
                continue
            if not _is_result(parent):
                continue  # bash: the result of a group whose failure errexit passed over ends nothing
            first = step
            operators = []
            while first.before in {"&&", "||"} and (earlier := first.preceding()) is not None:
                operators.append(first.before)
                first = earlier
            is_test = first.command is not None and first.command.name in _TESTS and "!" not in first.prefixes
            if not is_test or "||" in operators or not tree.ends_script(step):
                continue
            if tree.calls.get("exit") or (step.command is not None and step.command.name in _MEANT_LAST):
                continue
            span = Span(first.span.start, max(step.span.end, step.end))
            rest = place.written(Span(first.span.end, span.end)).lstrip(" \n").removeprefix("&&").strip()
            new = None if step.redirections else f"if {place.written(first.span)}; then {rest}; fi"
            message = "if the test is false, the script ends with code 1 and the task fails; use 'if'"
            yield changed(place, span, message, new, "Change to 'if'")


def _is_result(group: Step) -> bool:
    """Whether the result of a group is that of the script, a function or a process."""
    step: Step | None = group
    while step is not None and step.kind == "{" and not step.defines:
        if step.following() is not None:
            return False
        step = step.parent
    return True


@rule(Severity.WARNING)
def background_last(job: Job) -> Iterator[Finding]:
    """The last command of a script runs in the background.

    Whatever the command returns, the task ends with code 0: at once on some clusters, when the command ends on others.
    End the script with `wait $!`, or do not use `&`.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh (`wait` for the log's process).

        taskRoles:
          worker:
            commands:
              - nohup python train.py > train.log 2>&1 &
              # ^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py 2>&1 | tee train.log
    """
    for place in scripts(job):
        last = structure(place.script).root.steps[-1:]
        if last and last[0].after == "&":
            message = "the script ends without waiting for this command in the background; end with 'wait $!'"
            yield Finding(place.span(last[0].span), message)


@rule(Severity.WARNING)
def pipestatus_not_reached(job: Job) -> Iterator[Finding]:
    """`PIPESTATUS` is read after a pipeline whose failure ends the script.

    With errexit and pipefail the script ends at the pipeline when a part of it fails; the next command only runs when
    all codes are 0. It is an information after `exit`, as the script ends with the code of the pipeline in any case.
    Source: the bash reference manual, "The Set Builtin"; openpai-runtime, src/runtime.d/user.sh.

        taskRoles:
          worker:
            commands:
              - python train.py | tee train.log
              - CODE=${PIPESTATUS[0]}
              #      ^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py | tee train.log || CODE=${PIPESTATUS[0]}
    """
    for place in scripts(job):
        for use in place.script.uses:
            if use.name != "PIPESTATUS":
                continue
            tree = structure(place.script)
            before = max((one for one in tree.all if one.span.start < use.span.start), key=lambda one: one.span.start)
            around = next((one for one in before.around if one.preceding() is not None), None)
            pipeline = around.preceding() if around is not None else None
            is_list = around is not None and around.before in {"&&", "||"}
            if pipeline is not None and not is_list and len(pipeline.pipeline) > 1 and tree.ends_script(pipeline):
                message = "if a part of the pipeline fails, the script ends there, so this is always 0"
                is_exit = around is not None and around.command is not None and around.command.name == "exit"
                yield Finding(place.span(use.span), message, severity=Severity.INFORMATION if is_exit else None)


@rule(Severity.WARNING, about=("wait",))
def wait_loses_code(job: Job) -> Iterator[Finding]:
    """`wait` without arguments loses the exit codes of the programs that it waits for.

    It always returns 0: the task succeeds although its programs failed. `wait $!`, `wait -n` and `wait $PID` return the
    code of the program.
    Source: the bash reference manual, "Job Control Builtins", `wait`.

        taskRoles:
          worker:
            commands:
              - python train.py &
              - wait
              # ^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py &
              - wait $!
    """
    for use in uses(job, "wait", with_callbacks=False):
        step = use.line.step
        parent = step.parent
        if use.line.arguments or parent is None or parent.kind or step.following() is not None or step.after == "||":
            continue
        if any(one.after == "&" for one in parent.steps):
            message = "'wait' without arguments returns 0 even if a program failed; use 'wait $!' or 'wait -n'"
            yield Finding(use.span(use.line.span), message)


@rule(Severity.INFORMATION, about=("export", "readonly", "declare", "local"))
def failure_hidden(job: Job) -> Iterator[Finding]:
    """`export` hides the failure of a command.

    The result of `export X=$(command)` is that of `export`: the script continues with an empty value. `X=$(command)`
    ends it; export the variable afterwards.
    Source: the bash reference manual, "Command Substitution" and "Bourne Shell Builtins".

        taskRoles:
          worker:
            commands:
              - export ADDRESS=$(getent hosts example.com)
              # ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - ADDRESS=$(getent hosts example.com)
              - export ADDRESS
    """
    for use in uses(job, "export", "readonly", "declare", "local", with_callbacks=False):
        inner = [step for one in use.line.step.substitutions for step in one.steps]
        if not inner or any(step.after in {"||", "|"} or step.before == "||" for step in inner):
            continue
        names = [step.command.name.rpartition("/")[2] if step.command else "" for step in inner]
        if not any(name in _RELIABLE or name.startswith("python") or not name for name in names):
            yield Finding(use.span(use.line.span), f"if '{names[-1]}' fails, '{use.line.program}' hides the failure")


def _is_long(use: CommandUse) -> bool:
    """Whether a program surely writes more than a pipe holds."""
    texts = use.line.texts
    if use.line.program == "find":
        return bool(texts) and texts[0] == "/" and "-maxdepth" not in texts
    if use.line.program == "seq":
        numbers = [number_of(text) for text in texts if text.isdigit()]
        return bool(numbers) and numbers[-1] >= 20_000
    files = {one.target.text for one in use.line.step.redirections} | set(texts)
    return bool(files & {"/dev/urandom", "/dev/zero", "/dev/random"})


def _stops(name: str, arguments: tuple[str, ...]) -> bool:
    """Whether a program reads only the begin of its input."""
    if name in {"grep", "egrep", "fgrep"}:
        return any(one.startswith("-") and "q" in one for one in arguments) or "-m1" in arguments or "-m" in arguments
    if name == "sed":
        return any(re.fullmatch(r"[0-9]*q", one) for one in arguments)
    return name == "head" and re.search(r"-[cn] ?-", " ".join(arguments)) is None
