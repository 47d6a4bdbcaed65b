"""Rules about when a script ends: errexit and pipefail, lists, background jobs, `exec` and `exit`.

The platform runs a task's commands with errexit, nounset and pipefail. Sources: openpai-runtime, src/runtime.d/user.sh
and runtime_entry.sh; the bash reference manual, "The Set Builtin", "Lists of Commands" and "Pipelines".
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell_structure import Step, Structure, structure
from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, edit_fix, scripts, uses
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

_FINDING = {
    "grep": "nothing is found", "egrep": "nothing is found", "fgrep": "nothing is found", "zgrep": "nothing is found",
    "rg": "nothing is found", "pgrep": "no process is found", "pkill": "no process is found",
    "killall": "no process is found", "which": "the program is not found", "diff": "the files differ",
    "cmp": "the files differ", "type": "the name is not found", "hash": "the program is not found",
}  # fmt: skip
# Programs that nearly every image has.
_ALWAYS_THERE = frozenset({"bash", "sh", "ls", "cat", "python", "python3", "pip", "pip3", "grep", "cd", "echo", "git"})
_TESTS = frozenset({"[", "[[", "test"})
_RELIABLE = frozenset(
    {
        "date", "echo", "printf", "pwd", "hostname", "nproc", "whoami", "id", "uname", "basename", "dirname", "seq",
        "wc", "cut", "awk", "sed", "tr", "sort", "head", "tail", "cat", "readlink", "realpath", "mktemp", "python",
        "ip", "ifconfig", "nvidia-smi", "free", "jq", "xargs", "uniq", "paste", "ls", "git", "az", "curl", "openssl",
    }
)  # fmt: skip


@rule(Severity.WARNING)
def command_finds_nothing(job: Job) -> Iterator[Finding]:
    """Command whose result "nothing found" or "different" ends the task.

    grep, pgrep, which, diff and cmp report by their exit code, which errexit takes for a failure, also in the middle of
    a pipeline. Write `|| true`, or use the command in a condition.
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
    for use in uses(job, *_FINDING, "command", with_callbacks=False):
        line = use.line
        what = _FINDING.get(line.program, "")
        if line.program == "command":
            if not line.arguments or line.arguments[0].text not in {"-v", "-V"}:
                continue
            what = "the program is not found"
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
        span = line.span
        fixes = edit_fix(
            use.place,
            "Add '|| true'",
            span,
            f"{{ {_text(use.place, span)} || true; }}" if len(pipeline) > 1 else f"{_text(use.place, span)} || true",
        )
        if line.step.redirections and len(pipeline) == 1:
            fixes = ()
        yield Finding(use.span(span), f"this ends the task when {what}; add '|| true' if that is allowed", fixes)


@rule(Severity.WARNING)
def arithmetic_is_zero(job: Job) -> Iterator[Finding]:
    """Arithmetic command whose value is zero.

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
        text = place.script.text
        if "((" not in text and "let " not in text and "expr " not in text:
            continue
        tree = structure(place.script)
        known: dict[str, int] = {}
        for step in tree.all:
            words = step.command.words if step.command else ()
            before = dict(known) if step.kind == "arithmetic" or step.command else known
            _learn(tree, step, known)
            expression = ""
            if step.kind == "arithmetic":
                expression = text[step.span.start + 2 : step.span.end - 2].strip()
            elif words and words[0].text == "let" and len(words) == 2:
                expression = words[1].text
            elif words and words[0].text == "expr" and all(word.is_literal for word in words):
                expression = " ".join(word.text for word in words[1:])
            if not expression or not tree.ends_script(step):
                continue
            if _value(expression, before) == 0:
                new = _better(expression) if step.kind == "arithmetic" or words[0].text == "let" else ""
                if words and words[0].text == "expr":
                    new = f"echo $(({expression}))"
                fixes = edit_fix(place, f"Change to '{new}'", step.span, new) if new else ()
                yield Finding(place.span(step.span), "the value is 0, so this returns code 1 and ends the task", fixes)


@rule(Severity.WARNING)
def pipe_cut_short(job: Job) -> Iterator[Finding]:
    """Pipeline whose reader stops early.

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
    for use in uses(job, "yes", "find", "seq", "cat", "tr", with_callbacks=False):
        line, step = use.line, use.line.step
        following = step.following()
        if step.after not in {"|", "|&"} or following is None or not use.ends_script or not _is_long(use):
            continue
        reader = following.command
        if line.program == "yes":
            yield Finding(use.span(line.span), "'yes' fails with code 141 here, which ends the task; use 'echo y'")
        elif reader is not None and _stops(reader.name, reader.arguments):
            message = f"'{line.program}' writes more than '{reader.name}' reads, so it fails with code 141"
            yield Finding(use.span(following.span), message)


@rule(Severity.WARNING)
def last_and_list(job: Job) -> Iterator[Finding]:
    """Test with `&&` as the last command.

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
        if "&&" not in place.script.text:
            continue
        tree = structure(place.script)
        for step in tree.all:
            if step.before != "&&" or step.after in {"&&", "||", "&", "|"} or not step.is_last_of_list:
                continue
            parent = step.parent
            if parent is None or (parent.kind and parent.kind not in {"{", "("}) or parent.prefixes:
                continue
            first = step
            operators = []
            while first.before in {"&&", "||"} and (earlier := first.preceding()) is not None:
                operators.append(first.before)
                first = earlier
            is_test = first.command is not None and first.command.name in _TESTS and "!" not in first.prefixes
            if not is_test or "||" in operators or not tree.ends_script(step):
                continue
            is_asked_last = step.command is not None and step.command.name in _TESTS
            if tree.calls.get("exit") or _is_jump(step) or is_asked_last:
                continue
            span = Span(first.span.start, step.span.end)
            condition = _text(place, Span(first.span.start, first.span.end))
            rest = place.script.text[first.span.end : step.span.end].lstrip(" \n").removeprefix("&&").strip()
            new = f"if {condition}; then {rest}; fi"
            fixes = edit_fix(place, "Change to 'if'", span, new) if not step.redirections else ()
            message = "when the test is false, this is the result: code 1, which fails the task; use 'if'"
            yield Finding(place.span(span), message, fixes)


@rule(Severity.WARNING)
def background_last(job: Job) -> Iterator[Finding]:
    """Script that ends with a command in the background.

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
        if not place.script.text.rstrip().endswith("&"):
            continue
        last = structure(place.script).root.steps[-1:]
        if last and last[0].after == "&" and last[0].span != Span(0, 0):
            message = "the script ends with a command in the background, so its result is lost; end with 'wait $!'"
            yield Finding(place.span(last[0].span), message)


@rule(Severity.WARNING)
def wait_loses_code(job: Job) -> Iterator[Finding]:
    """`wait` without arguments, which loses the results of what it waits for.

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
            yield Finding(use.span(use.line.span), "'wait' alone returns 0 whatever failed; use 'wait $!' or 'wait -n'")


@rule(Severity.WARNING)
def commands_never_run(job: Job) -> Iterator[Finding]:
    """Commands after `exec` or `exit`.

    `exec PROGRAM` replaces the shell and `exit` ends it: nothing after them runs.
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
        if "exec" not in place.script.text and "exit" not in place.script.text:
            continue
        tree = structure(place.script)
        for step in (*tree.calls.get("exec", ()), *tree.calls.get("exit", ())):
            if step.parent is not tree.root or step.before in {"&&", "||", "|"} or step.after in {"&&", "||", "|", "&"}:
                continue
            words = step.command.words if step.command else ()
            following = step.following()
            if not words or following is None or following.defines or (words[0].text == "exec" and len(words) == 1):
                continue
            yield Finding(place.span(step.span), f"nothing after '{words[0].text}' runs")


@rule(Severity.INFORMATION)
def failure_hidden(job: Job) -> Iterator[Finding]:
    """Command whose failure `export` hides.

    The result of `export X=$(command)` is that of `export`: the script goes on with an empty value. `X=$(command)` ends
    it; export the variable afterwards.
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
            yield Finding(use.span(use.line.span), f"'{use.line.program}' hides it when '{names[-1]}' fails")


@rule(Severity.INFORMATION)
def jump_outside(job: Job) -> Iterator[Finding]:
    """`break` or `continue` outside of a loop, or `return` outside of a function.

    `break` and `continue` only print a message there, and the script goes on; `return` ends it with code 2.
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
        yield Finding(use.word(use.line.name), f"outside of {where}, '{name}' {effect}")


@rule(Severity.WARNING)
def not_repeatable(job: Job) -> Iterator[Finding]:
    """Link or folder that the script has already made.

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
    unpacked: set[tuple[str, str]] = set()
    for use in uses(job, "unzip", with_callbacks=False):
        archive = (use.place.script.text, " ".join(use.line.texts))
        is_decided = any(re.fullmatch(r"-[a-zA-Z]*[onlZptv][a-zA-Z]*", word) for word in use.line.texts)
        if archive in unpacked and not is_decided and use.ends_script:
            fixes = edit_fix(use.place, "Add '-o'", use.line.name.span, "unzip -o")
            yield Finding(use.word(use.line.name), "unzip asks whether to replace the files; add '-o'", fixes)
        unpacked.add(archive)
    for place in scripts(job):
        made: set[str] = set()
        lines = command_lines(place.script).by_program
        if len(lines.get("ln", ())) + len(lines.get("mkdir", ())) < 2 or "rm" in lines or "cd" in lines:
            continue
        for line in (*lines.get("ln", ()), *lines.get("mkdir", ())):
            use = CommandUse(place, line)
            options = [word for word in line.arguments if word.text.startswith("-")]
            operands = [word for word in line.arguments if not word.text.startswith("-")]
            if not operands or not operands[-1].is_literal or not use.ends_script:
                continue
            letter = "f" if line.program == "ln" else "p"
            is_forced = any(letter in one.text or one.text in {"--force", "--parents"} for one in options)
            name = operands[-1].text
            if name in made and not is_forced and not (line.program == "ln" and not options):
                last = options[-1] if options else line.name
                new = f"{last.text}{letter}" if options else f"{line.name.text} -{letter}"
                fixes = edit_fix(place, f"Add '-{letter}'", last.span, new)
                yield Finding(place.span(Span(line.name.span.start, last.span.end)), f"'{name}' already exists", fixes)
            made.add(name)


@rule(Severity.INFORMATION)
def file_may_be_missing(job: Job) -> Iterator[Finding]:
    """`rm` of a file that may not exist.

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
    for use in uses(job, "rm", with_callbacks=False):
        words = use.line.arguments
        operands = [word for word in words if not word.text.startswith("-")]
        if len(operands) != 1 or not operands[0].is_literal or not use.ends_script or "*" in operands[0].text:
            continue
        if any("f" in word.text for word in words if word.text.startswith("-")):
            continue
        name = operands[0].text.rstrip("/")
        if name.startswith("/"):
            continue
        stem = name.rpartition("/")[2].partition(".")[0]
        if stem and stem in use.place.script.text[: use.line.span.start]:
            continue
        fixes = edit_fix(use.place, "Add '-f'", use.line.name.span, "rm -f")
        yield Finding(use.span(use.line.span), f"this ends the task if there is no '{name}'; use 'rm -f'", fixes)


@rule(Severity.WARNING)
def cd_in_subshell(job: Job) -> Iterator[Finding]:
    """`cd` alone in a subshell.

    The folder only changes inside the brackets; the next command runs where it was.
    Source: the bash reference manual, "Command Grouping".

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
    for use in uses(job, "cd", with_callbacks=False):
        parent = use.line.step.parent
        if parent is None or parent.kind != "(" or len(parent.steps) != 1 or parent.after in {"&&", "||", "|"}:
            continue
        if parent.parent is None or parent.part == "condition" or parent.following() is None:
            continue
        end = use.place.script.text.find(")", use.line.span.end) + 1
        span = Span(parent.span.start, end)
        fixes = edit_fix(use.place, "Remove the brackets", span, _text(use.place, use.line.span))
        yield Finding(use.span(span), "the folder only changes inside these brackets", fixes)


@rule(Severity.INFORMATION)
def redirection_order(job: Job) -> Iterator[Finding]:
    """`2>&1` before the redirection of the output.

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
        text = use.place.script.text
        operators = step.redirections
        for (first, target), (second, file) in pairwise(operators):
            start = target.start - 3
            if (first, text[start : target.end]) != (">&", "2>&1") or second not in {">", ">>"}:
                continue
            if step.after == "|" or (step.parent is not None and step.parent.is_substitution):
                continue
            between = text[target.end : file.start]
            if between.strip() != second:
                continue
            span = Span(start, file.end)
            new = f"{between.strip()} {text[file.start : file.end]} 2>&1"
            fixes = edit_fix(use.place, f"Change to '{new}'", span, new)
            yield Finding(use.span(span), "errors are not redirected to the file: '2>&1' must come last", fixes)


def _text(place: ScriptPlace, span: Span) -> str:
    return place.script.text[span.start : span.end]


def _is_jump(step: Step) -> bool:
    return step.command is not None and step.command.name in {"exit", "return", "break", "continue"}


def _is_long(use: CommandUse) -> bool:
    """Whether a program surely writes more than a pipe holds."""
    texts = use.line.texts
    if use.line.program == "yes":
        return True
    if use.line.program == "find":
        return bool(texts) and texts[0] == "/" and "-maxdepth" not in texts
    if use.line.program == "seq":
        numbers = [int(text) for text in texts if text.isdigit()]
        return bool(numbers) and numbers[-1] >= 20_000
    files = {use.place.script.text[span.start : span.end] for _, span in use.line.step.redirections} | set(texts)
    return bool(files & {"/dev/urandom", "/dev/zero", "/dev/random"})


def _stops(name: str, arguments: tuple[str, ...]) -> bool:
    """Whether a program reads only the begin of its input."""
    if name in {"grep", "egrep", "fgrep"}:
        return any(one.startswith("-") and "q" in one for one in arguments) or "-m1" in arguments or "-m" in arguments
    if name == "sed":
        return any(re.fullmatch(r"[0-9]*q", one) for one in arguments)
    return name == "head" and not any(one.startswith(("-n -", "-n-", "-c-")) for one in arguments)


def _learn(tree: Structure, step: Step, known: dict[str, int]) -> None:
    """Keep the values of variables that are surely known after a step."""
    for name, span in step.assigned:
        value = tree.script.text[span.start : span.end].partition("=")[2]
        if re.fullmatch(r"-?[0-9]{1,9}", value) and step.kind == "assignment":
            known[name] = int(value)
        else:
            known.pop(name, None)
    if step.kind == "arithmetic" or (step.command is not None and step.command.name in {"let", "read"}):
        changed = tree.script.text[step.span.start : step.span.end]
        for name in [name for name in known if name in changed]:
            del known[name]


_CHANGE = lazy_pattern(r"([A-Za-z_]\w*)[ ]*(\+\+|--)")
_CHANGE_BEFORE = lazy_pattern(r"(\+\+|--)[ ]*([A-Za-z_]\w*)")
_SET = lazy_pattern(r"([A-Za-z_]\w*)[ ]*([-+*]?)=(?!=)[ ]*(.+)")
_ALLOWED = lazy_pattern(r"[0-9A-Za-z_ +\-*%()<>=!]+")


def _value(expression: str, names: dict[str, int]) -> int | None:
    """The value of simple arithmetic with known variables; None where it is not known."""
    if match := _CHANGE.fullmatch(expression):
        return names.get(match[1])
    if match := _CHANGE_BEFORE.fullmatch(expression):
        value = names.get(match[2])
        return None if value is None else value + (1 if match[1] == "++" else -1)
    if match := _SET.fullmatch(expression):
        value = _value(match[3], names)
        before = names.get(match[1])
        if match[2] and (before is None or value is None):
            return None
        return _computed(f"{before} {match[2]} {value}", {}) if match[2] else value
    return _computed(expression, names)


def _computed(expression: str, names: dict[str, int]) -> int | None:
    if len(expression) > 60 or not _ALLOWED.fullmatch(expression) or "**" in expression:
        return None
    import ast  # noqa: PLC0415 - most scripts have no arithmetic

    expression = re.sub(r"(?<![<>=!])=(?!=)", "==", expression)
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    return _evaluated(tree.body, names)


def _evaluated(node: ast.expr, names: dict[str, int]) -> int | None:
    import ast  # noqa: PLC0415 - as above

    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _evaluated(node.operand, names)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        left, right = _evaluated(node.left, names), _evaluated(node.right, names)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Mod) and right:
            return left % right
        return None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _evaluated(node.left, names), _evaluated(node.comparators[0], names)
        if left is None or right is None:
            return None
        results: dict[type[ast.cmpop], bool] = {
            ast.Eq: left == right, ast.NotEq: left != right, ast.Lt: left < right, ast.LtE: left <= right,
            ast.Gt: left > right, ast.GtE: left >= right,
        }  # fmt: skip
        return int(results[type(node.ops[0])]) if type(node.ops[0]) in results else None
    return None


def _better(expression: str) -> str:
    """An assignment that does the same as a change of a variable."""
    if match := _CHANGE.fullmatch(expression):
        return f"{match[1]}=$(({match[1]}{match[2][0]}1))"
    if match := re.fullmatch(r"([A-Za-z_]\w*)([-+*])=([0-9A-Za-z_]+)", expression):
        return f"{match[1]}=$(({match[1]}{match[2]}{match[3]}))"
    return ""


RULES = (
    command_finds_nothing,
    arithmetic_is_zero,
    pipe_cut_short,
    last_and_list,
    background_last,
    wait_loses_code,
    commands_never_run,
    failure_hidden,
    jump_outside,
    not_repeatable,
    file_may_be_missing,
    cd_in_subshell,
    redirection_order,
)
