"""Whether a task role's first commands may run in a callback of a prerequisite instead, and mean the same there.

A released cluster runs every callback in a process of its own: what it exports and where it goes is lost to what comes
after. Callbacks know `errexit` but neither `nounset` nor `pipefail`, and the runtime fills their templates in its own
way. Sources: openpai-runtime, src/runtime.d/runtime_entry.sh and src/plugins/plugin_utils.py, inject_commands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.definition import CMD_PLUGIN
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_effects import run_builtin
from pai_lsp.expand.released_commands import CanNotExpressError, callback_items, role_values
from pai_lsp.expand.runtime_references import references
from pai_lsp.frozen import dataclass
from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError
from pai_lsp.plugin_parameters import damages
from pai_lsp.template import tags

if TYPE_CHECKING:
    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole

# Builtins whose effect ends with their process.
_LOST = frozenset(
    {
        "cd", "pushd", "popd", "set", "shopt", "ulimit", "umask", "trap", "alias", "unalias", "exec", "exit", "return",
        "unset", "wait", "jobs", "fg", "bg", "disown", "hash", "enable", "break", "continue",
    }
)  # fmt: skip
# What needs the plugin `ssh` to have started.
_NEEDS_SSH = frozenset(
    {"ssh", "scp", "sftp", "rsync", "ssh-keyscan", "mpirun", "mpiexec", "orterun", "horovodrun", "deepspeed", "pdsh"}
)
# What pystache writes otherwise when it fills a secret into commands, and the runtime does not in a callback.
_CHANGED_IN_HTML = re.compile(r"[&<>\"']")


@dataclass(frozen=True, slots=True)
class CallbackCommands:
    """Commands in the form of a callback's items.

    options: items in front that make the callback stop where commands would stop.
    items: for each command, in order, the item or items that it becomes.
    """

    options: tuple[str, ...]
    items: tuple[tuple[str, ...], ...]


def callback_commands(job: Job, role: TaskRole, count: int) -> CallbackCommands:
    """The first `count` commands in a `taskStarts` callback of the last prerequisite that the role lists.

    Raises:
        CanNotRefactorError: where they would not do the same there.
    """
    moved, left = role.commands[:count], role.commands[count:]
    if not left:
        raise CanNotRefactorError("a task role needs a command of its own")
    _refuse_what_runs_between(job, role, "\n".join(scalar.text for scalar in moved))
    behind = [scalar for scalar in job.command_parts(role) if scalar not in moved]
    texts = [scalar.text.strip() for scalar in moved]
    rest = "\n".join(scalar.text.strip() for scalar in behind)
    script, script_behind = read_script("\n".join(texts)), read_script(rest)
    if not (script.is_complete and script_behind.is_complete):
        raise CanNotRefactorError("these commands begin or end something that other commands go on with")
    _refuse_lost_effects(script, script_behind)
    return CallbackCommands(_options(script), _items(job, role, texts))


def _options(script: Script) -> tuple[str, ...]:
    """What makes a callback stop where commands stop; only where that can make a difference."""
    return ("set -o nounset -o pipefail",) if "$" in script.text or script.has_pipeline else ()


def _refuse_what_runs_between(job: Job, role: TaskRole, code: str) -> None:
    deployment = job.default_deployment
    if deployment is not None and deployment.commands(role.name, "preCommands"):
        raise CanNotRefactorError(f"the deployment '{deployment.name}' runs commands in front of these")
    programs = {command.name.rpartition("/")[2] for command in read_script(code).commands}
    for plugin in job.plugins:
        if plugin.task_roles is not None and all(name.text != role.name for name in plugin.task_roles):
            continue
        if plugin.plugin in {"cmd", CMD_PLUGIN}:
            raise CanNotRefactorError("the cmd plugin of extras runs between the prerequisites and the commands")
        if plugin.plugin == "ssh" and (found := sorted(programs & _NEEDS_SSH)):
            raise CanNotRefactorError(f"'{found[0]}' needs the ssh plugin, which starts behind the prerequisites")
        if plugin.plugin not in {"ssh", "tensorboard", "git", "teamwise_storage"}:
            raise CanNotRefactorError(f"the plugin '{plugin.plugin}' starts between the prerequisites and the commands")


def _refuse_lost_effects(moved: Script, rest: Script) -> None:
    for command in moved.commands:
        name = run_builtin(command.words)[0].text
        if name in _LOST and not command.is_subshell:
            raise CanNotRefactorError(f"'{name}' has no effect on the commands behind a callback")
        if command.is_background:
            raise CanNotRefactorError("a command in the background belongs to the callback alone")
    if moved.is_open_ended:
        raise CanNotRefactorError("they may set variables that the commands behind them use")
    if moved.functions:
        raise CanNotRefactorError("a function is not known outside its callback")
    used = {use.name for use in rest.uses} | rest.tested_names
    for assignment in moved.assignments:
        if assignment.is_exported:
            raise CanNotRefactorError(f"'{assignment.name}' is exported, which reaches nothing outside its callback")
        if assignment.name in used or rest.is_open_ended:
            raise CanNotRefactorError(f"'{assignment.name}' is set here and used by the commands behind")


def _items(job: Job, role: TaskRole, texts: list[str]) -> tuple[tuple[str, ...], ...]:
    """The commands line by line, as long as that is what reaches the plugin."""
    values = role_values(job)[role.name]
    has_blank_text = any(part in text for text in texts for part in ("'", '"', "<<", "\\"))
    items = tuple(tuple(line for line in text.split("\n") if has_blank_text or line.strip()) for text in texts)
    lines = tuple(line for lines in items for line in lines)
    for line in lines:
        if found := damages(line):
            raise CanNotRefactorError(f"the runtime changes a callback's command that holds {found[0].value}")
        found_tags, fault = tags(line)
        if fault or any(tag.kind.value or not tag.content.startswith("$") for tag in found_tags):
            raise CanNotRefactorError("a '<% %>' in them is filled in commands, but not in a callback")
        for reference in references(line):
            secret = values.secrets.get(reference.path.partition(".")[2]) if reference.names_secret else None
            if isinstance(secret, str) and _CHANGED_IN_HTML.search(secret):
                message = f"the secret '{reference.path.partition('.')[2]}' is written as HTML in commands alone"
                raise CanNotRefactorError(message)
    try:
        released = callback_items(lines, [values])
    except CanNotExpressError as error:
        raise CanNotRefactorError(str(error)) from None
    if released != lines:
        raise CanNotRefactorError("a value that is filled in here reaches commands, but no callback")
    return items
