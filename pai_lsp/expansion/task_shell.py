"""Callbacks among the commands of a task role: what is written in front of them, in both forms of an expanded job.

A released cluster runs nothing when a task fails. So a task role with such callbacks runs all of its callbacks from its
commands, and so does one whose callbacks are inlined. The script of the task starts itself once more for everything
that follows `pai_lsp_commands`, and then runs what belongs to the end. Each callback has a process of its own, too: so
nothing that commands or a callback do to their shell (`exit`, `exec`, `trap`, `set`, functions, `IFS`, a syntax error)
reaches the others. The forms differ in one thing: inlined start callbacks run in the shell of the commands, where
`export` and `cd` last. One that ends its shell or sets a trap in it has a process of its own even then.

Source of the meaning: docs/protocol.md, "Events"; of the options: openpai-runtime, src/plugins/plugin_utils.py,
inject_commands (errexit alone); user commands run with errexit, nounset and pipefail (src/init.d, user.sh). The runtime
runs `user.sh` by its path, so `$0` names it; with `bash -c`, the script is in `BASH_EXECUTION_STRING`.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import TYPE_CHECKING

from pai_lsp.embedded.server_rendering import trim
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.embedded.template import OPENING
from pai_lsp.expansion.effective import (
    CANNOT_BE_EXPANDED,
    CANNOT_BE_EXPRESSED,
    CmdPluginEntry,
    CommandItem,
    Prerequisite,
    problem,
)
from pai_lsp.expansion.released_commands import CanNotExpressError, FindsNothingError, command_text
from pai_lsp.platform.tables import EventForm, Moment, event_at, moments_with, shell_text
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.tree_edits import items_after, items_in_front

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.expansion.released_commands import RoleValues
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.text import Span, TextEdit

    Report: TypeAlias = Callable[[Diagnostic], None]

Source = Prerequisite | CmdPluginEntry


@dataclass(frozen=True, slots=True)
class AddedCommands:
    """The items that are added to a role's commands.

    ends: they keep a callback for the end each. starts: they run the start callbacks.
    needs_process: whether the commands need a process of their own, as more than inlined start callbacks is added.
    """

    ends: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    needs_process: bool = False

    def edits(self, text: str, commands: Sequence) -> tuple[TextEdit, ...]:
        """Add the items to a role's first list of commands."""
        at = _start_of_process(commands.items)
        if at is None:
            return items_in_front(text, commands, self._in_front())
        return (*items_after(text, commands, self.ends, at - 1), *items_after(text, commands, self.starts, at))

    def added_to(self, commands: Iterable[Scalar]) -> list[str]:
        """The texts of all commands of a role with these among them."""
        own = list(commands)
        texts = [one.text for one in own]
        at = _start_of_process(own)
        if at is None:
            return [*self._in_front(), *texts]
        return [*texts[:at], *self.ends, texts[at], *self.starts, *texts[at + 1 :]]

    def _in_front(self) -> tuple[str, ...]:
        if not self.needs_process:
            return self.starts
        return (_functions(), *self.ends, _COMMANDS, *self.starts)


def added_commands(
    sources: tuple[Source, ...], values: RoleValues, report: Report, *, shares_shell: bool
) -> AddedCommands:
    """The items that run all callbacks of `sources` around a role's commands.

    sources: in start order. shares_shell: whether start callbacks run in the shell of the commands.
    """
    starts: list[str] = []
    needs_process = False
    for callback in _callbacks(sources, (Moment.START,), values, report):
        is_shared = shares_shell and callback.script.is_complete and not structure(callback.script).changes_process
        needs_process = needs_process or not is_shared
        starts.append(_shared(callback) if is_shared else _apart(_RUN, callback))
    last = _callbacks(sources[::-1], (Moment.SUCCESS, *moments_with(EventForm.COMMANDS)), values, report)
    ends = tuple(_apart(_AT_END, callback) for callback in last)
    return AddedCommands(ends, tuple(starts), needs_process or bool(ends))


def command_list(job: Job, role: TaskRole) -> Sequence | None:
    """The list with the first of the commands that a role runs."""
    own = role.get("commands")
    first = own if isinstance(own, Sequence) and own.items else None
    if deployment := job.default_deployment:
        entry = next((entry for entry in deployment.role_entries if entry.name == role.name), None)
        before = entry.value.get("preCommands") if entry and isinstance(entry.value, Mapping) else None
        first = before if isinstance(before, Sequence) and before.items else first
    return first


def place_of(source: Source, items: tuple[CommandItem, ...]) -> Span:
    """The place of commands that cannot be expressed, usually because of their references.

    For a definition in another file, the reference in the job that leads there.
    """
    return source.reference or next((item for item in items if OPENING in item.text), items[0]).scalar.span


@dataclass(frozen=True, slots=True)
class _AddedCallback:
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


def _callbacks(
    sources: Iterable[Source], moments: tuple[Moment, ...], values: RoleValues, report: Report
) -> Iterator[_AddedCallback]:
    for source in sources:
        for moment in moments:
            if items := source.moments(moment):
                text = ""
                try:
                    text = command_text([item.text for item in items], values)
                except CanNotExpressError as error:
                    code = CANNOT_BE_EXPANDED if isinstance(error, FindsNothingError) else CANNOT_BE_EXPRESSED
                    report(problem(code, place_of(source, items), str(error), *source.related))
                yield _AddedCallback(source, moment, text)


def _shared(callback: _AddedCallback) -> str:
    """A start callback in the shell of the commands: with the options of a callback as far as that matters."""
    text, changed = callback.text, []
    sets_options = any(command.name in _SETTING for command in structure(callback.script).own_commands)
    if callback.source.ignores_failure:
        changed.append("errexit")
    # A callback knows neither nounset nor pipefail, which only matter where there is a variable or a pipe.
    if "$" in text or "|" in text:
        changed += ["nounset", "pipefail"]
    before = [f"set {' '.join(f'+o {option}' for option in changed)}"] if changed else []
    restored = ["errexit", "nounset", "pipefail"] if sets_options else changed
    after = [f"set {' '.join(f'-o {option}' for option in restored)}"] if restored else []
    # As at the end of a script, the status of the last command counts, also where errexit does not see it.
    if not callback.source.ignores_failure and (sets_options or "&&" in text or "!" in text):
        after = ["pai_lsp_status=$?", *after, '[ "$pai_lsp_status" -eq 0 ] || exit "$pai_lsp_status"']
    return "\n".join([f"# {callback.title}", *before, text, *after])


# Builtins that may change the options with which the commands run.
_SETTING = frozenset({"set", "shopt", "source", ".", "eval"})

_RUN, _AT_END, _COMMANDS = "pai_lsp_run", "pai_lsp_at_end", "pai_lsp_commands"


@cache
def _functions() -> str:
    success, failure, last = map(event_at, (Moment.SUCCESS, Moment.FAILURE, Moment.EXIT))
    values = {"EVENTS": f"{success} {failure} {last}", "ON_SUCCESS": success, "ON_FAILURE": failure}
    return shell_text("callbacks.sh", **values).removesuffix("\n")


def _start_of_process(commands: Iterable[object]) -> int | None:
    """The number of the command that starts the process of the commands, if callbacks were added to them before."""
    texts = [trim(one.text) if isinstance(one, Scalar) else "" for one in commands]
    return texts.index(_COMMANDS) if _COMMANDS in texts and _functions() in texts[: texts.index(_COMMANDS)] else None


def _apart(function: str, callback: _AddedCallback) -> str:
    """A command that gives a callback to a function."""
    text = callback.text + ("\n" if callback.text.endswith("\\") else "")
    end = "PAI_LSP_END"
    while end in text.split("\n"):
        end += "_"
    # With failurePolicy `ignore`, the last line succeeds, as in the script that the released runtime writes.
    lines = ["set +o errexit", text, "set -o errexit"] if callback.source.ignores_failure else ["set -o errexit", text]
    title = shlex.quote(re.sub(r"[^\w.:/-]+", " ", callback.title).strip())
    return "\n".join([f"{function} {title} 3<<'{end}'", *lines, end])
