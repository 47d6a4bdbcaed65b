"""The selected commands of a task role become a prerequisite's.

Whole commands are cut out of their list with their comments. A released cluster runs every callback in a process of
its own: the variables that it exports and its working directory are lost afterwards. Callbacks have `errexit` but
neither `nounset` nor `pipefail`, and the runtime fills their templates in its own way.
Sources: openpai-runtime, src/runtime.d/runtime_entry.sh and src/plugins/plugin_utils.py, inject_commands.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_script import run_builtin
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.embedded.template import ESCAPED_CHARACTERS, tags
from pai_lsp.expansion.released_commands import CanNotExpressError, callback_items, role_values
from pai_lsp.expansion.released_run import references
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    definition_added,
    listed_in_role,
    refuse_shared,
    together,
    trimmed,
)
from pai_lsp.job.definition import CMD_PLUGIN
from pai_lsp.job.plugin_parameters import damages
from pai_lsp.platform.programs import launchers
from pai_lsp.source.comments import comments
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit, column, next_line
from pai_lsp.source.tree_edits import item_span, without_items
from pai_lsp.source.writing import indented, item_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


def extract_prerequisite(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for whole commands; they then run as a `taskStarts` callback of a new prerequisite of the role."""
    selection = selected_commands(document, span)
    if selection is None:
        return
    name = document.job.free_name("setup")
    title = f"Extract into a prerequisite '{name}'"
    yield attempted(title, RefactoringKind.EXTRACT, lambda: _extracted(document, selection, name))


def _extracted(document: Document, selection: CommandSelection, name: str) -> tuple[TextEdit, ...]:
    job = document.job
    if not selection.is_first:
        raise CanNotRefactorError("only the first commands can run before the others")
    refuse_shared(job, selection.sequence, f"the commands of '{selection.role.name}'")
    commands = callback_commands(job, selection.role, selection.count)
    texts = [*commands.options, *chain.from_iterable(commands.items)]
    plugin = {"plugin": CMD_PLUGIN, "callbacks": [{"event": "taskStarts", "commands": texts}]}
    keys = ["type: script", f"name: {name}", f"plugin: {CMD_PLUGIN}", "callbacks:"]
    lines = [*keys, "  - event: taskStarts", "    commands:", *indented(moved_lines(job, selection, commands), " " * 6)]
    edits = (
        definition_added(job, {"type": "script", "name": name, **plugin}, lines),
        listed_in_role(job, selection.role, name),
        *without_commands(job, selection),
    )
    return together(document.syntax, edits)


@dataclass(frozen=True, slots=True)
class CommandSelection:
    """The first `count` commands of a task role's own list, or others, which cannot be moved (`is_first` is false).

    span: what is cut out of a block list: whole lines, with the comments that are selected; of a flow list, the items.
    """

    role: TaskRole
    sequence: Sequence
    count: int
    is_first: bool
    span: Span


def selected_commands(document: Document, span: Span) -> CommandSelection | None:
    """The commands that a selection includes as a whole; None if it includes none, or only a part of one."""
    text = document.text
    chosen = trimmed(text, span)
    start, end = chosen.start, chosen.end
    if start == end:
        return None
    for role in document.job.task_roles:
        entry = role.node.own("commands") if role.node else None
        if entry is None or not isinstance(sequence := entry.value, Sequence) or start < entry.key.span.end:
            continue
        items = sequence.items
        places = ((number, item.span) for number, item in enumerate(items) if len(item.span))
        touched = [number for number, one in places if one.overlaps(chosen) and one.start >= sequence.span.start]
        if not touched or not all(isinstance(item, Scalar) and item.is_string for item in items):
            continue
        first, last = touched[0], touched[-1] + 1
        if items[first].span.start < start or end < items[last - 1].span.end:
            return None
        after = text[items[last - 1].span.end : end]
        is_comma = sequence.is_flow and after.strip() in {",", "]"}
        if not is_comma and any(line.strip() and not line.lstrip().startswith("#") for line in after.split("\n")):
            return None
        is_first = first == 0
        if sequence.is_flow:
            cut = Span(items[first].span.start, items[last - 1].span.end)
            return CommandSelection(role, sequence, last, is_first, cut)
        begin = min(item_span(text, sequence, first).start, start)
        cut = Span(begin - column(text, begin), next_line(text, max(item_span(text, sequence, last - 1).end, end)))
        return CommandSelection(role, sequence, last, is_first, cut)
    return None


def without_commands(job: Job, selection: CommandSelection) -> tuple[TextEdit, ...]:
    """Take the commands out of their list, which keeps some."""
    if selection.sequence.is_flow:
        return without_items(job.text, selection.sequence, range(selection.count))
    return (TextEdit(selection.span, ""),)


def moved_lines(job: Job, selection: CommandSelection, commands: CallbackCommands) -> list[str]:
    """The items of a callback in block style: as written, with their comments, where a command is one item."""
    lines = [line for option in commands.options for line in item_lines(option)]
    text, sequence = job.text, selection.sequence
    if sequence.is_flow:
        lines += (one.text for one in comments(job.syntax) if one.span.start in selection.span)
        for item, items in zip(sequence.items, commands.items, strict=False):
            lines += _item(item, items, text[item.span.start : item.span.end])
        return lines
    pad = column(text, sequence.span.start)
    at = selection.span.start
    for number, items in enumerate(commands.items):
        span = item_span(text, sequence, number)
        lines += _lines(text[at : span.start - column(text, span.start)], pad)
        end = text.find("\n", span.end)
        end = selection.span.end if end < 0 else end
        item = sequence.items[number]
        after = text[span.end : end].strip()
        written = "\n".join(_lines(text[item.span.start : end], pad))
        found_lines = _item(item, items, written)
        if after and found_lines[0] != f"- {written.split(chr(10))[0]}":
            lines.append(after)
        lines += found_lines
        at = min(end + 1, selection.span.end)
    return lines + _lines(text[at : selection.span.end], pad)


def _item(item: object, items: tuple[str, ...], written: str) -> list[str]:
    if _is_as_written(item, items):
        first, *rest = written.split("\n")
        return [f"- {first}", *rest]
    return [line for one in items for line in item_lines(one)]


def _is_as_written(item: object, items: tuple[str, ...]) -> bool:
    return isinstance(item, Scalar) and items == (item.text,) and item.runtime_value == item.text


def _lines(text: str, pad: int) -> list[str]:
    """Lines without the indentation that their list has."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line[min(pad, len(line) - len(line.lstrip(" "))) :] for line in lines]


# Builtins whose effect ends with their process.
_LOST = frozenset(
    {
        "cd", "pushd", "popd", "set", "shopt", "ulimit", "umask", "trap", "alias", "unalias", "exec", "exit", "return",
        "unset", "wait", "jobs", "fg", "bg", "disown", "hash", "enable", "break", "continue",
    }
)  # fmt: skip
# What needs the plugin `ssh` to have started, besides the launchers of MPI.
_NEEDS_SSH = frozenset({"ssh", "scp", "sftp", "rsync", "ssh-keyscan", "deepspeed", "pdsh"})


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
        CanNotRefactorError: if they would not do the same there.
    """
    moved, left = role.commands[:count], role.commands[count:]
    if not left:
        raise CanNotRefactorError("a task role must keep at least one command")
    _refuse_what_runs_between(job, role, "\n".join(scalar.text for scalar in moved))
    after = [scalar for scalar in job.command_parts(role) if scalar not in moved]
    texts = [scalar.text.strip() for scalar in moved]
    rest = "\n".join(scalar.text.strip() for scalar in after)
    script, script_after = read_script("\n".join(texts)), read_script(rest)
    if not (script.is_complete and script_after.is_complete):
        raise CanNotRefactorError(
            "these commands contain only a part of a block, such as an 'if', that other commands complete"
        )
    _refuse_lost_effects(script, script_after)
    return CallbackCommands(_options(script), _items(job, role, texts))


def _options(script: Script) -> tuple[str, ...]:
    """The shell options that make a callback stop where commands stop; only if that can make a difference."""
    return ("set -o nounset -o pipefail",) if "$" in script.text or structure(script).has_pipeline else ()


def _refuse_what_runs_between(job: Job, role: TaskRole, code: str) -> None:
    deployment = job.default_deployment
    if deployment is not None and deployment.commands(role.name, "preCommands"):
        raise CanNotRefactorError(f"the deployment '{deployment.name}' runs commands in front of these")
    programs = command_lines(read_script(code)).by_program.keys()
    for plugin in job.plugins:
        if plugin.task_roles is not None and all(name.text != role.name for name in plugin.task_roles):
            continue
        if plugin.plugin in {"cmd", CMD_PLUGIN}:
            raise CanNotRefactorError("the cmd plugin of extras runs between the prerequisites and the commands")
        if plugin.plugin == "ssh" and (found := sorted(programs & (_NEEDS_SSH | launchers()))):
            raise CanNotRefactorError(f"'{found[0]}' needs the ssh plugin, which starts after the prerequisites")
        if plugin.plugin not in {"ssh", "tensorboard", "git", "teamwise_storage"}:
            raise CanNotRefactorError(f"the plugin '{plugin.plugin}' starts between the prerequisites and the commands")


def _refuse_lost_effects(moved: Script, rest: Script) -> None:
    for step in structure(moved).all:
        name = run_builtin(step.command.words)[0].text if step.command is not None else ""
        if name in _LOST and not step.is_subshell:
            raise CanNotRefactorError(f"'{name}' has no effect on the commands after a callback")
        if step.command is not None and step.is_background:
            raise CanNotRefactorError("a command in the background only lives as long as its callback")
    if moved.is_open_ended:
        raise CanNotRefactorError("they may set variables that the commands after them use")
    if moved.functions:
        raise CanNotRefactorError("a function is not known outside its callback")
    used = {use.name for use in rest.uses} | rest.tested_names
    for assignment in moved.assignments:
        if assignment.is_exported:
            raise CanNotRefactorError(f"'{assignment.name}' is exported, which has no effect outside its callback")
        if assignment.name in used or rest.is_open_ended:
            raise CanNotRefactorError(f"'{assignment.name}' is set here and used by the commands after it")


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
            name = reference.path.partition(".")[2]
            secret = values.secrets.get(name) if reference.names_secret else None
            if isinstance(secret, str) and not ESCAPED_CHARACTERS.isdisjoint(secret):
                raise CanNotRefactorError(f"the secret '{name}' is written as HTML in commands alone")
    try:
        released = callback_items(lines, [values])
    except CanNotExpressError as error:
        raise CanNotRefactorError(str(error)) from None
    if released != lines:
        raise CanNotRefactorError("a value that is filled in here reaches commands, but no callback")
    return items
