"""What expansion puts around a task role's commands: its callbacks, when everything of the role runs in one shell.

A released cluster runs nothing when a task fails. So a task role with such hooks runs in one shell: its callbacks move
into its commands. What runs at the end is in an EXIT trap, which keeps the exit code of what failed. Each callback
still has a process of its own, the folder in which the task starts, and the options of a callback: one that bash cannot
read harms nothing else. Only with `--inline`, start callbacks run in the shell of the commands.

Source of the meaning: docs/protocol.md, "Events"; of the options: openpai-runtime, src/plugins/plugin_utils.py,
inject_commands (errexit alone); user commands run with errexit, nounset and pipefail (src/init.d, user.sh).
"""

from __future__ import annotations

import re
import shlex
from functools import partial

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.embedded.template import OPENING
from pai_lsp.expansion.effective import CmdPluginEntry, Prerequisite
from pai_lsp.expansion.filled_definition import CANNOT_BE_EXPANDED, CANNOT_BE_EXPRESSED, problem
from pai_lsp.expansion.write.released_commands import CanNotExpressError, FindsNothingError, command_text
from pai_lsp.platform.tables import EventForm, Moment, event_at, moments_with
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.nodes import Sequence as SequenceNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.expansion.effective import EffectiveRole
    from pai_lsp.expansion.filled_definition import CommandItem
    from pai_lsp.expansion.write.released_commands import RoleValues
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.text import Span

    Report: TypeAlias = Callable[[Diagnostic], None]

Source = Prerequisite | CmdPluginEntry


@dataclass(frozen=True, slots=True)
class AddedCommands:
    """The texts before a role's commands and after them, one for each item; `has_trap` if they set an EXIT trap."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    has_trap: bool = False


@dataclass(frozen=True, slots=True)
class _HookText:
    """What one owner runs at one moment; the text has the form of a task role's commands."""

    source: Source
    moment: Moment
    text: str

    @property
    def title(self) -> str:
        """Its event and owner; bash puts it in front of its messages."""
        return f"{event_at(self.moment)} of {self.source.title}"

    @property
    def script(self) -> Script:
        """What bash reads."""
        return read_script(self.text)


def added_commands(
    job: Job,
    role: EffectiveRole,
    values: RoleValues,
    sources: tuple[Source, ...],
    report: Report,
    *,
    shares_shell: bool,
) -> AddedCommands:
    """The commands that run everything of `sources` around a role's commands.

    sources: in start order. shares_shell: whether start callbacks run in the shell of the commands.
    """
    read = partial(_callbacks, values=values, report=report)
    starts = read(sources, Moment.START)
    successes = read(sources[::-1], Moment.SUCCESS)
    hooks = [callback for moment in moments_with(EventForm.TRAP) for callback in read(sources[::-1], moment)]
    shell = [callback.script for callback in starts if shares_shell and _can_share(callback)]
    has_trap = bool(hooks) or any(_may_skip_the_end(one) for one in (*shell, job.scripts[role.role]) if successes)
    ends = [*successes, *hooks] if has_trap else []
    if ends:
        _refuse_lost_trap(job, role, ends, report)
    before = [_shared(one) if shares_shell and _can_share(one) else _run(one) for one in starts]
    if ends or any(_RUN in text for text in before):
        before.insert(0, _PROCESS + (_exit_trap(ends) if ends else ""))
    after = () if has_trap else tuple(map(_shared, successes))
    return AddedCommands(tuple(text.removesuffix("\n") for text in before), after, bool(ends))


def command_lists(job: Job, role: TaskRole) -> tuple[SequenceNode | None, SequenceNode | None]:
    """The lists with the first and with the last of the commands that a role runs."""
    own = role.get("commands")
    first = last = own if isinstance(own, SequenceNode) and own.items else None
    if deployment := job.default_deployment:
        entry = next((entry for entry in deployment.role_entries if entry.name == role.name), None)
        if entry and isinstance(entry.value, Mapping):
            before, after = entry.value.get("preCommands"), entry.value.get("postCommands")
            first = before if isinstance(before, SequenceNode) and before.items else first
            last = after if isinstance(after, SequenceNode) and after.items else last
    return first, last


def place_of(source: Source, items: tuple[CommandItem, ...]) -> Span:
    """The place of commands that cannot be expressed, usually because of their references.

    For a definition in another file, the reference in the job that leads there.
    """
    return source.reference or next((item for item in items if OPENING in item.text), items[0]).scalar.span


def _callbacks(sources: Iterable[Source], moment: Moment, values: RoleValues, report: Report) -> list[_HookText]:
    found: list[_HookText] = []
    for source in sources:
        if items := source.moments(moment):
            text = ""
            try:
                text = command_text([item.text for item in items], values)
            except CanNotExpressError as error:
                code = CANNOT_BE_EXPANDED if isinstance(error, FindsNothingError) else CANNOT_BE_EXPRESSED
                report(problem(code, place_of(source, items), str(error), *source.related))
            found.append(_HookText(source, moment, text))
    return found


def _may_skip_the_end(script: Script) -> bool:
    """Whether commands after this script may not run although it succeeds, or run although it fails."""
    options = (" ".join(command.arguments) for command in script.own_commands if command.name == "set")
    errexit = [match[1] for words in options for match in _ERREXIT.finditer(words)]
    return script.changes_process or errexit[-1:] == ["+"]


_ERREXIT = re.compile(r"(?<!\S)([-+])(?:o errexit\b|[a-zA-Z]*e)")


def _can_share(callback: _HookText) -> bool:
    return not callback.script.changes_process and syntax_problem(callback.script) is None


def _shared(callback: _HookText) -> str:
    """A callback among the role's commands: with the options of a callback as far as that matters."""
    before, after = [f"# {callback.title}"], []
    if callback.source.ignores_failure:
        before.append("set +o errexit")
        after.append("set -o errexit")
    # A callback knows neither nounset nor pipefail, which only matter where there is a variable or a pipe.
    if "$" in callback.text or "|" in callback.text:
        before.append("set +o nounset +o pipefail")
        after.append("set -o nounset -o pipefail")
    return "\n".join([*before, callback.text, *after])


def _refuse_lost_trap(job: Job, role: EffectiveRole, callbacks: list[_HookText], report: Report) -> None:
    """Report commands of the role that replace the trap."""
    word = next(job.scripts[role.role].exit_trap_words(), None)
    if word:
        span = job.command_text(role.role).span(word.span.start, word.span.end)
        titles = " and ".join(dict.fromkeys(callback.title for callback in callbacks))
        report(problem(CANNOT_BE_EXPRESSED, span, f"this replaces the EXIT trap that runs {titles}"))


_RUN = "pai_lsp_run "
_PROCESS = """\
# Runs a callback in a process of its own: its title is the argument, its commands are in file descriptor 3.
pai_lsp_folder=$PWD
pai_lsp_run() (
  IFS= read -r -d '' pai_lsp_commands <&3 || :
  cd "$pai_lsp_folder" || :
  exec /bin/bash -c "$pai_lsp_commands" "$1" 3<&-
)
"""
_TRAP = """\
# Runs when the commands below end, and keeps their exit code.
pai_lsp_at_exit() {{
  pai_lsp_status=$?
  trap - EXIT
  set +o errexit
{callbacks}\
  exit "$pai_lsp_status"
}}
trap pai_lsp_at_exit EXIT
"""
_AT_END = {
    Moment.SUCCESS: """\
  if [ "$pai_lsp_status" -eq 0 ]; then
    {run}\
    pai_lsp_status=$?
  fi
""",
    Moment.FAILURE: """\
  if [ "$pai_lsp_status" -ne 0 ]; then
    {run}\
  fi
""",
    # As with `taskSucceeds`, a failure after success fails the task.
    Moment.EXIT: """\
  {run}\
  pai_lsp_ended=$?
  [ "$pai_lsp_status" -ne 0 ] || pai_lsp_status=$pai_lsp_ended
""",
}


def _exit_trap(callbacks: Sequence[_HookText]) -> str:
    """The trap as text to be put in front of a role's commands; the callbacks run in the order given."""
    return _TRAP.format(callbacks="".join(_AT_END[one.moment].format(run=_run(one)) for one in callbacks))


def _run(callback: _HookText) -> str:
    """Commands that run a callback in a process of its own."""
    text = callback.text + ("\n" if callback.text.endswith("\\") else "")
    end = "PAI_LSP_END"
    while end in text.split("\n"):
        end += "_"
    # With failurePolicy `ignore`, the last line succeeds, as in the script that the released runtime writes.
    lines = ["set +o errexit", text, "set -o errexit"] if callback.source.ignores_failure else ["set -o errexit", text]
    title = shlex.quote(re.sub(r"[^\w.:/-]+", " ", callback.title).strip())
    return "\n".join([f"{_RUN}{title} 3<<'{end}'", *lines, end, ""])
