"""Rules about variables that are not set: the platform runs commands with nounset, "unbound variable" ends the task.

Sources: openpai-runtime, src/runtime.d/user.sh; the bash reference manual, "Shell Parameters", "Shell Variables" and
"The Set Builtin" (`-u`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from pai_lsp.embedded.shell_structure import structure
from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.rules.commands.command_uses import changed, image_address, scripts, uses
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Script, VariableUse
    from pai_lsp.embedded.shell_structure import Step, Structure
    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

# Variables that a login or a terminal sets, so that a container does not have them, and what to write instead.
_NOT_IN_CONTAINER = {
    "USER": ":-root", "LOGNAME": ":-root", "DISPLAY": ":-", "PS1": ":-", "SSH_CLIENT": ":-", "SSH_TTY": ":-",
    "XDG_RUNTIME_DIR": ":-", "TERM_PROGRAM": ":-", "EDITOR": ":-",
}  # fmt: skip
# Source: the Dockerfiles of docker-library, nvidia/cuda, pytorch/pytorch and tensorflow/tensorflow.
_OF_DEBIAN = lazy_pattern(r"(?:docker\.io/)?(?:library/)?(?:debian|python)(?:[:@](?!.*alpine).*)?")
_OF_UBUNTU = lazy_pattern(
    r"(?:docker\.io/)?(?:(?:library/)?ubuntu(?:[:@].*)?|nvidia/cuda:.*ubuntu.*|pytorch/pytorch(?:[:@].*)?"
    r"|tensorflow/tensorflow(?:[:@].*)?)"
)
# What some images set.
_PATHS = {"LD_LIBRARY_PATH", "PYTHONPATH", "LD_PRELOAD", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH", "MANPATH"}
_OFTEN_UNSET = _NOT_IN_CONTAINER.keys() | _PATHS


@rule(Severity.WARNING)
def unset_positional(job: Job) -> Iterator[Finding]:
    """A script without arguments uses `$1`.

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
        asked = [line.span for line in place.lines.by_program.get("dirname", ())]
        for span in script.positionals:
            written = place.written(span)
            if written.strip("${}") != "0":
                if not script.allows_unset:
                    message = f"'{written}' is not set: the platform runs the script without arguments"
                    yield Finding(place.span(span), message)
            elif any(one.holds(span) for one in asked):
                yield Finding(place.span(span), "'$0' is the platform's own script, not a file of yours")
        for use in script.uses:
            if use.name == "BASH_SOURCE" and any(one.holds(use.span) for one in asked):
                yield Finding(place.span(use.span), "this is the platform's own script, not a file of yours")


@rule(Severity.INFORMATION, spreads=True)
def unset_in_container(job: Job) -> Iterator[Finding]:
    """Containers usually do not have a variable that is used.

    A login or a terminal sets `USER`, `DISPLAY` and `PS1`; `LD_LIBRARY_PATH` and `PYTHONPATH` are only set by some
    images, so they are a hint. Write a default: `${LD_LIBRARY_PATH:-}`. The `.bashrc` of Ubuntu reads `PS1`, that of
    Debian does not.
    Source: the bash reference manual, "Shell Variables"; the package base-files of Ubuntu and of Debian 12.

        taskRoles:
          worker:
            commands:
              - mkdir -p /data/$USER
              #                ^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - mkdir -p /data/${USER:-root}
    """
    for source in uses(job, "source", "."):
        image, fails = image_address(job, source.role), source.ends_script and not source.place.script.allows_unset
        for word in source.line.arguments[:1]:
            if word.text.endswith(".bashrc") and fails and not _OF_DEBIAN.fullmatch(image):
                message = "the '.bashrc' of Ubuntu images reads '$PS1', which is not set, and ends the task"
                level = Severity.WARNING if _OF_UBUNTU.fullmatch(image) else Severity.HINT
                yield Finding(source.word(word), message, severity=level)
    for place in scripts(job):
        script = place.script
        if script.allows_unset or not any(use.name in _OFTEN_UNSET for use in script.uses):
            continue
        guarded = {use.name for use in script.uses if use.is_guarded} | script.tested_names
        for use in script.uses:
            if use.name in guarded or use.name not in _OFTEN_UNSET or _is_assigned(script, use):
                continue
            default = _NOT_IN_CONTAINER.get(use.name, ":-")
            new = f"${{{use.name}{default}}}"
            message = f"'{use.name}' is often not set in containers; use '{new}'"
            # What an image sets is not known from the file: one hint for a job.
            severity = Severity.HINT if use.name in _PATHS else None
            cause = "paths" if severity else ""
            yield changed(place, use.span, message, new, safe=default == ":-", severity=severity, cause=cause)
            guarded.add(use.name)


@rule(Severity.WARNING, spreads=True)
def used_before_set(job: Job) -> Iterator[Finding]:
    """A variable is only set later, or only where it has no effect.

    `OUT` in `mkdir $OUT` before `OUT=/data` is not set. Commands in parentheses and pipelines run in a separate
    process, and `A=1 echo $A` reads `A` before it is set for `echo`.
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
        judge = None
        for use in script.uses:
            if use.is_guarded or use.name not in script.assigned_names or known.get(use.name, _NEVER) < use.span.start:
                continue
            if use.name in script.guarded_names or use.name in _KNOWN or use.name.startswith(("PAI_", "FC_")):
                continue
            judge = judge or _Judge(place, tree)
            yield from judge.findings(use)


# Variables that every image has, or bash itself, or that `unset_in_container` is about.
_KNOWN = {
    "HOME", "PATH", "PWD", "OLDPWD", "HOSTNAME", "LANG", "SHELL", "TERM", "SHLVL", "UID", "EUID", "PPID", "RANDOM",
    "SECONDS", "IFS", "OPTIND", "OPTARG", "OSTYPE", "LINENO", "REPLY", "CUDA_VISIBLE_DEVICES", "CUDA_HOME",
    *_NOT_IN_CONTAINER, *_PATHS,
}  # fmt: skip


_NEVER = 1 << 62
# Commands that set variables named by their arguments.
_SETTING = ("export", "declare", "readonly", "read", "local")


def hidden_assignments(tree: Structure) -> set[int]:
    """The offsets of the assignments that the script's own shell does not see: for one command, in another process."""
    hidden = {
        one.span.start
        for step in tree.all
        for one in step.assigned
        if step.kind != "assignment" or step.process is not None
    }
    starts = sorted(one.span.start for one in tree.script.assignments)
    for name in _SETTING:
        for step in tree.calls.get(name, ()):
            if step.process is not None:
                hidden.update(starts[bisect_left(starts, step.span.start) : bisect_left(starts, step.span.end)])
    return hidden


def _known_from(tree: Structure) -> dict[str, int]:
    """By variable, the offset from which on the script's own shell has it."""
    hidden = hidden_assignments(tree)
    found: dict[str, int] = {}
    for one in tree.script.assignments:
        if one.span.start not in hidden:
            found[one.name] = min(one.span.start, found.get(one.name, _NEVER))
    return found


class _Judge:
    """Says of the variables of one script whether they are set too late; what all of them need is found once."""

    def __init__(self, place: ScriptPlace, tree: Structure) -> None:
        self._place = place
        self._simple = sorted(
            (step for step in tree.all if step.kind in {"command", "assignment"}),
            key=lambda one: (one.span.start, -one.span.end),
        )
        self._set: dict[str, list[tuple[int, Step | None]]] = {}  # by variable, where and in which step it is set
        for one in sorted(tree.script.assignments, key=lambda one: one.span):
            self._set.setdefault(one.name, []).append((one.span.start, self._step_at(one.span.start)))

    def findings(self, use: VariableUse) -> Iterator[Finding]:
        """What is wrong with one use of a variable that the script sets."""
        around = self._step_at(use.span.start)
        outer = around or self._step_of_here_document(use.span.start)
        if outer and any(one.defines or one.kind in {"for", "while", "until"} for one in outer.ancestors):
            return
        first, setting = self._set[use.name][0]
        steps = [step for _, step in self._set[use.name]]
        if around is not None and around.command is not None and use.name in {one.name for one in around.assigned}:
            if first >= around.span.start:
                message = f"bash reads '${use.name}' before it sets it for '{around.command.name}'"
                yield Finding(self._place.span(around.span), message)
            return
        if first > use.span.start:
            if not any(one.defines for step in steps if step for one in step.ancestors):
                related = (Related(self._place.span(Span(first, first + len(use.name))), "set here"),)
                if around is not None and _asks_whether_empty(around):
                    yield self._not_empty_but_unset(use, related)
                else:
                    yield Finding(self._place.span(use.span), f"'{use.name}' is only set later", related=related)
            return
        shells = {_process(step) for step in steps}
        if setting and None not in shells and shells.isdisjoint(around.ancestors if around else ()):
            related = (Related(self._place.span(setting.span), "set here, in a separate process"),)
            message = f"'{use.name}' is only set in a separate process"
            yield Finding(self._place.span(use.span), message, related=related)

    def _not_empty_but_unset(self, use: VariableUse, related: tuple[Related, ...]) -> Finding:
        """The test of a script that was written for a shell in which unset variables are empty: one cause a script."""
        place, new = self._place, f"${{{use.name}:-}}"
        message = f"'{use.name}' is only set later, and this test ends the task; use '{new}'"
        cause = f"tested at {place.span(Span(0, 0))}"
        return changed(place, use.span, message, new, safe=True, related=related, cause=cause)

    def _step_of_here_document(self, at: int) -> Step | None:
        """The step whose here-document a place is in, which comes after the step."""
        before = self._simple[: bisect_right(self._simple, at, key=lambda one: one.span.start)][-1:]
        return next((one for one in before if any(item.operator.startswith("<<") for item in one.redirections)), None)

    def _step_at(self, at: int) -> Step | None:
        """The innermost simple step that a place is in."""
        last = bisect_right(self._simple, at, key=lambda one: one.span.start) - 1
        around = (self._simple[number] for number in range(last, -1, -1))
        return next((step for step in around if at < step.span.end), None)


def _process(step: Step | None) -> Step | None:
    """The innermost process in which a step sets a variable; None for the script itself, or if unclear."""
    is_clear = step is not None and (step.command is None or step.command.name in _SETTING)
    return step.process if step is not None and is_clear else None


def _asks_whether_empty(step: Step) -> bool:
    """Whether a step is `[ -z $X ]`, `[ "$X" = "" ]` or `[ "x$X" = x ]`."""
    is_test = step.command is not None and step.command.name in {"[", "[[", "test"}
    return is_test and any(word.text in {"-z", "-n", "", "x", "X"} for word in step.words)


def _is_assigned(script: Script, use: VariableUse) -> bool:
    """Whether a variable gets a value in front of a use, and not with that very word."""
    return any(
        one.name == use.name and one.value and one.span.start < use.span.start and use.span.start not in one.whole
        for one in script.assignments
    )


def _sets(arguments: tuple[str, ...]) -> bool:
    """Whether `set` sets `$1`."""
    return any(not one.startswith(("-", "+")) or one == "--" for one in arguments) and arguments[0] not in {"-o", "+o"}


@rule(Severity.ERROR)
def bad_substitution(job: Job) -> Iterator[Finding]:
    """Bash cannot read a `${...}`.

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
            written = place.written(span)
            if "<%" not in written and "{{" not in written:
                message = "bash cannot read this; the name of a variable has only letters, digits and '_'"
                yield Finding(place.span(span), message)
