"""Rules about variables that are not set: the platform runs commands with nounset, "unbound variable" ends the task.

Sources: openpai-runtime, src/runtime.d/user.sh; the bash reference manual, "Shell Parameters", "Shell Variables" and
"The Set Builtin" (`-u`).
"""

from __future__ import annotations

from pai_lsp.embedded.shell_structure import structure
from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.rules.commands.command_uses import edit_fix, scripts, uses
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import VariableUse
    from pai_lsp.embedded.shell_structure import Step, Structure
    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

# Variables that a login or a terminal sets, so that a container does not have them, and what to write instead.
_NOT_IN_CONTAINER = {
    "USER": ":-root", "LOGNAME": ":-root", "DISPLAY": ":-", "PS1": ":-", "SSH_CLIENT": ":-", "SSH_TTY": ":-",
    "XDG_RUNTIME_DIR": ":-", "TERM_PROGRAM": ":-", "EDITOR": ":-",
}  # fmt: skip
_PATHS = frozenset(
    {"LD_LIBRARY_PATH", "PYTHONPATH", "LD_PRELOAD", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH", "MANPATH"}
)


@rule(Severity.WARNING)
def unset_positional(job: Job) -> Iterator[Finding]:
    """`$1` in a script without arguments.

    The platform starts the script without arguments, so `$1` to `$9` are not set, also in a here-document without
    quotes around its mark. `$0` is the platform's own file: `cd $(dirname $0)` goes to the platform's folder.
    Source: openpai-runtime, src/runtime.d/user.sh and runtime_entry.sh.

        taskRoles:
          worker:
            commands:
              - python train.py --name $1
              #                        ^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py --name "<% $parameters.name %>"
        parameters:
          name: first
    """
    for place in scripts(job):
        script = place.script
        if not script.positionals and not any(use.name == "BASH_SOURCE" for use in script.uses):
            continue
        if any(one.name in {"set", "shift"} and len(one.words) > 1 and _sets(one.arguments) for one in script.commands):
            continue
        for span in script.positionals:
            written = script.text[span.start : span.end]
            if written.strip("${}") != "0":
                if not script.allows_unset:
                    message = f"'{written}' is not set: the platform runs the script without arguments"
                    yield Finding(place.span(span), message)
            elif "dirname" in script.text[max(span.start - 12, 0) : span.start]:
                yield Finding(place.span(span), "'$0' is the platform's own script, not a file of yours")
        for use in script.uses:
            if use.name == "BASH_SOURCE" and "dirname" in script.text[max(use.span.start - 12, 0) : use.span.start]:
                yield Finding(place.span(use.span), "this is the platform's own script, not a file of yours")


@rule(Severity.INFORMATION)
def unset_in_container(job: Job) -> Iterator[Finding]:
    """Variable that containers usually do not have.

    A login or a terminal sets `USER`, `DISPLAY` and `PS1`; `LD_LIBRARY_PATH` and `PYTHONPATH` are only set by some
    images. Write a default: `${LD_LIBRARY_PATH:-}`.
    Source: the bash reference manual, "Shell Variables"; the Dockerfiles of the official images.

        taskRoles:
          worker:
            commands:
              - export LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH
              #                                 ^^^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - export LD_LIBRARY_PATH=/opt/lib:${LD_LIBRARY_PATH:-}
    """
    for source in uses(job, "source", ".", with_callbacks=False):
        word = next(iter(source.line.arguments), None)
        is_login = word is not None and word.text.endswith(".bashrc") and source.ends_script
        if word is not None and is_login and not source.place.script.allows_unset:
            message = "the '.bashrc' of Ubuntu images reads '$PS1', which is not set, and ends the task"
            yield Finding(source.word(word), message)
    for place in scripts(job):
        script = place.script
        if script.allows_unset or not any(use.name in _NOT_IN_CONTAINER or use.name in _PATHS for use in script.uses):
            continue
        tree = structure(script)
        guarded: set[str] = {use.name for use in script.uses if use.is_guarded} | script.tested_names
        for use in script.uses:
            if use.is_guarded or use.name in guarded or not (use.name in _NOT_IN_CONTAINER or use.name in _PATHS):
                continue
            if any(start < use.span.start and not _covers(end, use) for start, end in _assigned(tree, use.name)):
                continue
            default = _NOT_IN_CONTAINER.get(use.name, ":-")
            new = f"${{{use.name}{default}}}"
            fixes = edit_fix(place, f"Change to '{new}'", use.span, new, safe=default == ":-")
            yield Finding(place.span(use.span), f"'{use.name}' is often not set in containers; use '{new}'", fixes)
            guarded.add(use.name)


@rule(Severity.WARNING)
def used_before_set(job: Job) -> Iterator[Finding]:
    """Variable that is only set later, or only where it has no effect.

    `OUT` in `mkdir $OUT` before `OUT=/data` is not set. Brackets and pipelines run in a process of their own, and
    `A=1 echo $A` reads `A` before it is set for `echo`.
    Source: the bash reference manual, "Command Execution Environment" and "Simple Command Expansion".

        taskRoles:
          worker:
            commands:
              - mkdir -p $RESULT
              #          ^^^^^^^ warning
              - RESULT=/tmp/result

    Good:

        taskRoles:
          worker:
            commands:
              - RESULT=/tmp/result
              - mkdir -p $RESULT
    """
    for place in scripts(job):
        script = place.script
        if script.allows_unset or script.is_open_ended or not script.assignments or not script.uses:
            continue
        tree = structure(script)
        known = _known_from(tree)
        for use in script.uses:
            if use.is_guarded or use.name not in script.assigned_names or known.get(use.name, _NEVER) < use.span.start:
                continue
            if use.name in script.guarded_names:
                continue
            if use.name.startswith(("PAI_", "FC_")) or use.name in _KNOWN or use.name in _PATHS:
                continue
            yield from _judged(place, tree, use)


# Variables that every image has, or bash itself.
_KNOWN = frozenset(
    {"HOME", "PATH", "PWD", "OLDPWD", "HOSTNAME", "LANG", "SHELL", "TERM", "SHLVL", "UID", "EUID", "PPID", "RANDOM",
     "SECONDS", "IFS", "OPTIND", "OPTARG", "OSTYPE", "LINENO", "REPLY", "CUDA_VISIBLE_DEVICES", "CUDA_HOME",
     *_NOT_IN_CONTAINER}
)  # fmt: skip


_NEVER = 1 << 62
# Commands that set variables named by their arguments.
_SETTING = ("export", "declare", "readonly", "read", "local")


def _known_from(tree: Structure) -> dict[str, int]:
    """By variable, the offset from which on the script's own shell has it."""
    hidden = {
        span.start
        for step in tree.all
        for _, span in step.assigned
        if step.kind != "assignment" or any(_is_shell(one) for one in (step, *step.ancestors))
    }
    for name in _SETTING:
        for step in tree.calls.get(name, ()):
            if any(_is_shell(one) for one in (step, *step.ancestors)):
                hidden |= {one.span.start for one in tree.script.assignments if one.span.start in step.span}
    found: dict[str, int] = {}
    for one in tree.script.assignments:
        if one.span.start not in hidden:
            found[one.name] = min(one.span.start, found.get(one.name, _NEVER))
    return found


def _judged(place: ScriptPlace, tree: Structure, use: VariableUse) -> Iterator[Finding]:
    script = place.script
    around = _step_at(tree, use.span.start)
    if around is not None and any(one.defines or one.kind in {"for", "while", "until"} for one in around.ancestors):
        return
    own = [one for one in script.assignments if one.name == use.name]
    steps = [step for step in tree.all for name, span in step.assigned if name == use.name]
    setting = [step for name in _SETTING for step in tree.calls.get(name, ())]
    steps += [step for one in own for step in setting if one.span.start in step.span]
    first = min(one.span.start for one in own)
    if around is not None and use.name in {name for name, _ in around.assigned} and around.command is not None:
        before = [one for one in own if one.span.start < around.span.start]
        if not before:
            message = f"'{use.name}' is read before it is set for '{around.command.name}'"
            yield Finding(place.span(around.span), message)
        return
    if first > use.span.start:
        if not any(one.defines for step in steps for one in step.ancestors):
            related = (Related(place.span(Span(first, first + len(use.name))), "set here"),)
            yield Finding(place.span(use.span), f"'{use.name}' is only set later", related=related)
    elif len(steps) == len(own) and all(step.kind == "assignment" or step in setting for step in steps):
        mine = set(around.ancestors if around else ())
        hidden = [step for step in steps if any(_is_shell(one) and one not in mine for one in (step, *step.ancestors))]
        if len(hidden) == len(steps):
            related = (Related(place.span(steps[0].span), "set here, in a process of its own"),)
            yield Finding(place.span(use.span), f"'{use.name}' is only set in a process of its own", related=related)


def _is_shell(step: Step) -> bool:
    return step.kind == "(" or step.is_substitution or step.before in {"|", "|&"} or step.after in {"|", "|&", "&"}


def _step_at(tree: Structure, at: int) -> Step | None:
    """The innermost simple step that a place is in."""
    found = [
        step for step in tree.all if step.span.start <= at < step.span.end and step.kind in {"command", "assignment"}
    ]
    return min(found, key=lambda step: len(step.span), default=None)


def _assigned(tree: Structure, name: str) -> list[tuple[int, Span]]:
    """Where a variable is set: the offset of its name, and the place of the whole word."""
    text = tree.script.text
    found: list[tuple[int, Span]] = []
    for one in tree.script.assignments:
        if one.name == name:
            words = [
                word
                for c in tree.script.commands
                for word in c.words
                if word.span.start <= one.span.start < word.span.end
            ]
            whole = [span for step in tree.all for _, span in step.assigned if span.start == one.span.start]
            end = max([span.end for span in whole] + [word.span.end for word in words] + [one.span.end])
            if "=" in text[one.span.start : end]:
                found.append((one.span.start, Span(one.span.start, end)))
    return found


def _covers(span: Span, use: VariableUse) -> bool:
    return span.start <= use.span.start < span.end


def _sets(arguments: tuple[str, ...]) -> bool:
    """Whether `set` sets `$1`."""
    return any(not one.startswith(("-", "+")) or one == "--" for one in arguments) and arguments[0] not in {"-o", "+o"}


@rule(Severity.ERROR)
def bad_substitution(job: Job) -> Iterator[Finding]:
    """`${...}` that bash cannot read.

    Bash stops with "bad substitution" when it gets there: a name has only letters, digits and `_`.
    Source: the bash reference manual, "Shell Parameter Expansion".

        taskRoles:
          worker:
            commands:
              - echo ${PAI_JOB_NAME.x}
              #      ^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - echo ${PAI_JOB_NAME}.x
    """
    for place in scripts(job, with_callbacks=True):
        for span in place.script.bad_substitutions:
            written = place.script.text[span.start : span.end]
            if "<%" not in written and "{{" not in written:
                yield Finding(place.span(span), "bash cannot read this: a name has only letters, digits and '_'")


RULES = (unset_positional, unset_in_container, used_before_set, bad_substitution)
