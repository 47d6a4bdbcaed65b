"""What expansion puts around a task role's commands: the exit trap in front, and commands of inlined callbacks.

The EXIT trap runs when a task's commands end, for events that no released cluster has. It is set in front of the
commands and keeps their exit code. Each hook runs in a shell of its own with the
options that callbacks have. Source of those: openpai-runtime, src/plugins/plugin_utils.py, inject_commands (errexit
alone); user commands run with errexit, nounset and pipefail (src/init.d, user.sh).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.template import OPENING
from pai_lsp.expand.effective import CmdPluginEntry, Prerequisite
from pai_lsp.expand.filled_definition import CANNOT_BE_EXPANDED, CANNOT_BE_EXPRESSED, problem
from pai_lsp.expand.write.released_commands import CanNotExpressError, FindsNothingError, command_text
from pai_lsp.platform.tables import EventForm, Moment, event_at, moments_with
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pai_lsp.expand.effective import EffectiveRole
    from pai_lsp.expand.filled_definition import CommandItem
    from pai_lsp.expand.write.released_commands import RoleValues
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.job import Job
    from pai_lsp.source.text import Span


Source = Prerequisite | CmdPluginEntry


@dataclass(frozen=True, slots=True)
class AddedCommands:
    """The texts before a role's commands and after them, one for each item."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def added_commands(
    job: Job, role: EffectiveRole, values: RoleValues, inlined: tuple[Source, ...], report: Callable[[Diagnostic], None]
) -> AddedCommands:
    """The exit trap for the role's hooks, and the commands of `inlined`, in start order."""
    front: list[str] = []
    hooks: list[Hook] = []
    for source in reversed(role.sources):
        for moment in moments_with(EventForm.TRAP):
            if items := source.moments(moment):
                text = _text(source, items, values, report)
                hooks.append(Hook(moment, owner(source), text, source.ignores_failure))
    if hooks:
        _check_commands(job, role, hooks, report)
        front.append(exit_trap(hooks))
    front += [part for source in inlined if (part := _inlined(source, Moment.START, values, report))]
    behind = [part for source in reversed(inlined) if (part := _inlined(source, Moment.SUCCESS, values, report))]
    return AddedCommands(tuple(front), tuple(behind))


def owner(source: Source) -> str:
    """The owner of these commands, in words."""
    return f"'{source.definition.name}'" if isinstance(source, Prerequisite) else "the cmd plugin of extras"


def place_of(source: Source, items: tuple[CommandItem, ...]) -> Span:
    """The place of commands that cannot be expressed, usually because of their references.

    For a definition in another file, the reference in the job that leads there.
    """
    if isinstance(source, Prerequisite) and not source.is_own:
        return source.entry.reference.span
    return next((item for item in items if OPENING in item.text), items[0]).scalar.span


def _text(
    source: Source, items: tuple[CommandItem, ...], values: RoleValues, report: Callable[[Diagnostic], None]
) -> str:
    related = source.related if isinstance(source, Prerequisite) else ()
    try:
        return command_text([item.text for item in items], values)
    except FindsNothingError as error:
        report(problem(CANNOT_BE_EXPANDED, place_of(source, items), str(error), *related))
    except CanNotExpressError as error:
        report(problem(CANNOT_BE_EXPRESSED, place_of(source, items), str(error), *related))
    return ""


def _inlined(source: Source, moment: Moment, values: RoleValues, report: Callable[[Diagnostic], None]) -> str:
    """A callback's commands among the role's: with the options of a callback as far as that matters."""
    items = source.moments(moment)
    if not items:
        return ""
    text = _text(source, items, values, report)
    # A callback knows neither nounset nor pipefail, which only matter where there is a variable or a pipe.
    is_open = "$" in text or "|" in text
    before = [f"# {event_at(moment)} of {owner(source)}"]
    after: list[str] = []
    if read_script(text).changes_process:
        options = f"set {'+' if source.ignores_failure else '-'}o errexit +o nounset +o pipefail"
        return "\n".join([*before, "(", options, text, ")"])
    if source.ignores_failure:
        before.append("set +o errexit")
        after.append("set -o errexit")
    if is_open:
        before.append("set +o nounset +o pipefail")
        after.append("set -o nounset -o pipefail")
    return "\n".join([*before, text, *after])


def _check_commands(job: Job, role: EffectiveRole, hooks: list[Hook], report: Callable[[Diagnostic], None]) -> None:
    """Report commands of the role that replace the trap."""
    word = next(job.scripts[role.role].exit_trap_words(), None)
    if word:
        events = " and ".join(dict.fromkeys(f"{event_at(hook.moment)} of {hook.owner}" for hook in hooks))
        span = job.command_text(role.role).span(word.span.start, word.span.end)
        message = f"this takes the place of the EXIT trap that runs {events}"
        report(problem(CANNOT_BE_EXPRESSED, span, message))


_HEAD = """\
# What runs when the commands below end; their exit code stays.
pai_lsp_at_exit() {
  pai_lsp_status=$?
  pai_lsp_result=$pai_lsp_status
  trap - EXIT
  set +o errexit
"""
_TAIL = """\
  exit "$pai_lsp_result"
}
trap pai_lsp_at_exit EXIT"""

_IF_FAILED = """\
  # {event} of {owner}
  if [ "$pai_lsp_status" -ne 0 ]; then (
set {errexit}o errexit +o nounset +o pipefail
{text}
  ) fi
"""
_ALWAYS = """\
  # {event} of {owner}
  (
set {errexit}o errexit +o nounset +o pipefail
{text}
  )
"""
# As with `taskSucceeds`, a failure after successful commands fails the task.
_TAKE_STATUS = """\
  pai_lsp_hook_status=$?
  [ "$pai_lsp_result" -ne 0 ] || pai_lsp_result=$pai_lsp_hook_status
"""


@dataclass(frozen=True, slots=True)
class Hook:
    """Commands that run when the task's commands have failed, or have ended in either way.

    owner: their owner, in words. text: the commands in the form of a task role's commands.
    """

    moment: Moment
    owner: str
    text: str
    ignores_failure: bool = False


def exit_trap(hooks: Sequence[Hook]) -> str:
    """The trap as text to be put in front of a role's commands; the hooks run in the order given."""
    parts = [_HEAD]
    for hook in hooks:
        form = _IF_FAILED if hook.moment is Moment.FAILURE else _ALWAYS
        errexit = "+" if hook.ignores_failure else "-"
        # A backslash at the end must not take the bracket's line with it.
        text = hook.text + ("\n" if hook.text.endswith("\\") else "")
        parts.append(form.format(event=event_at(hook.moment), owner=hook.owner, errexit=errexit, text=text))
        if hook.moment is Moment.EXIT and not hook.ignores_failure:
            parts.append(_TAKE_STATUS)
    return "".join([*parts, _TAIL])
