"""Which whole commands of a task role are selected, and how they are cut out of its list with their comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.comments import comments
from pai_lsp.edits import column
from pai_lsp.expand.tree_edits import item_span, without_items
from pai_lsp.expand.yaml_text import flow_scalar, item_lines
from pai_lsp.frozen import dataclass
from pai_lsp.nodes import Scalar, Sequence
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.ide.refactorings.leading_commands import CallbackCommands
    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole


@dataclass(frozen=True, slots=True, eq=False)
class CommandSelection:
    """The commands `first` to `last` (a half-open range of numbers) of a task role's own list.

    span: what is cut out of a block list: whole lines, with the comments that are selected; of a flow list, the items.
    """

    role: TaskRole
    sequence: Sequence
    first: int
    last: int
    span: Span


def selected_commands(document: Document, span: Span) -> CommandSelection | None:
    """The commands that a selection holds as a whole; None where it holds none, or cuts through one."""
    text = document.text
    chosen = text[span.start : span.end]
    start = span.start + len(chosen) - len(chosen.lstrip())
    end = span.start + len(chosen.rstrip())
    if start >= end:
        return None
    for role in document.job.task_roles:
        entry = role.node.own("commands") if role.node else None
        sequence = entry.value if entry else None
        if not isinstance(sequence, Sequence) or not sequence.items or entry is None:
            continue
        if not all(isinstance(item, Scalar) and item.is_string for item in sequence.items):
            continue
        touched = [
            number
            for number, item in enumerate(sequence.items)
            if item.span.start < end and start < item.span.end and item.span.start >= sequence.span.start
        ]
        if not touched or start < entry.key.span.end:
            continue
        first, last = touched[0], touched[-1] + 1
        if sequence.items[first].span.start < start or end < sequence.items[last - 1].span.end:
            return None
        behind = text[sequence.items[last - 1].span.end : end]
        is_comma = sequence.is_flow and behind.strip() in {",", "]"}
        if not is_comma and any(line.strip() and not line.lstrip().startswith("#") for line in behind.split("\n")):
            return None
        return command_selection(document.job, role, sequence, first, last, Span(start, end))
    return None


def command_selection(
    job: Job, role: TaskRole, sequence: Sequence, first: int, last: int, chosen: Span | None = None
) -> CommandSelection:
    """The commands of a range of numbers; with the comments at both ends that `chosen` holds, else with those above."""
    text = job.text
    if sequence.is_flow:
        return CommandSelection(
            role, sequence, first, last, Span(sequence.items[first].span.start, sequence.items[last - 1].span.end)
        )
    begin = item_span(text, sequence, first).start
    end = item_span(text, sequence, last - 1).end
    if chosen is not None:
        begin, end = min(begin, chosen.start), max(end, chosen.end)
    begin -= column(text, begin)
    while chosen is None and begin and text[text.rfind("\n", 0, begin - 1) + 1 : begin].lstrip().startswith("#"):
        begin = text.rfind("\n", 0, begin - 1) + 1
    line_end = text.find("\n", end)
    return CommandSelection(role, sequence, first, last, Span(begin, len(text) if line_end < 0 else line_end + 1))


def without_commands(job: Job, selection: CommandSelection) -> tuple[TextEdit, ...]:
    """Take the commands out of their list, which keeps some."""
    if selection.sequence.is_flow:
        return without_items(job.text, selection.sequence, range(selection.first, selection.last))
    return (TextEdit(selection.span, ""),)


def moved_lines(job: Job, selection: CommandSelection, commands: CallbackCommands) -> list[str]:
    """The items of a callback in block style: as written, with their comments, where a command is one item."""
    lines = [line for option in commands.options for line in item_lines(option)]
    text, sequence = job.text, selection.sequence
    if sequence.is_flow:
        found = [one for one in comments(job.syntax) if one.span.start in selection.span]
        lines += (one.text for one in found)
        for item, items in zip(sequence.items[selection.first : selection.last], commands.items, strict=True):
            lines += _item(job, item, items, text[item.span.start : item.span.end])
        return lines
    pad = column(text, sequence.span.start)
    at = selection.span.start
    for number, items in zip(range(selection.first, selection.last), commands.items, strict=True):
        span = item_span(text, sequence, number)
        lines += _lines(text[at : span.start - column(text, span.start)], pad)
        end = text.find("\n", span.end)
        end = selection.span.end if end < 0 else end
        item = sequence.items[number]
        behind = text[span.end : end].strip()
        written = "\n".join(_lines(text[item.span.start : end], pad))
        found_lines = _item(job, item, items, written)
        if behind and found_lines[0] != f"- {written.split(chr(10))[0]}":
            lines.append(behind)
        lines += found_lines
        at = min(end + 1, selection.span.end)
    return lines + _lines(text[at : selection.span.end], pad)


def flow_items(job: Job, selection: CommandSelection, commands: CallbackCommands) -> str:
    """The items of a callback as they stand in a flow list."""
    parts = [flow_scalar(option) for option in commands.options]
    for item, items in zip(selection.sequence.items[selection.first : selection.last], commands.items, strict=True):
        written = job.text[item.span.start : item.span.end]
        is_kept = selection.sequence.is_flow and _is_as_written(item, items) and "\n" not in written
        parts += [written] if is_kept else [flow_scalar(one) for one in items]
    return f"[{', '.join(parts)}]"


def _item(job: Job, item: object, items: tuple[str, ...], written: str) -> list[str]:
    del job
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
