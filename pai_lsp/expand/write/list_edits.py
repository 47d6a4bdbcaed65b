"""Edits of lists: a task role's `prerequisites` with all that is required, and the entries of `extras`.

In `extras`, references and inlined plugins are removed, and storages are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.edits import column, insert_entry, remove_entry
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.tree_edits import item_span, items_behind, without_entries, without_items, without_lines
from pai_lsp.source.writing import entry_lines, flow_scalar, flow_value, indented, scalar_line

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as MappingOf

    from pai_lsp.expand.effective import EffectiveRole
    from pai_lsp.expand.storages import Storage
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.require_graph import ExpansionStep
    from pai_lsp.source.nodes import Entry


def released_references(job: Job, role: EffectiveRole, listed: MappingOf[ExpansionStep, str]) -> dict[Scalar, str]:
    """Which name each reference that the role lists has in the released job, by its scalar.

    listed: by its step, the name of every prerequisite that the role is to list.
    """
    steps = {one.definition.node: one.step for one in role.prerequisites}
    released: dict[Scalar, str] = {}
    for reference in role.role.prerequisites:
        for target in job.require_graph.link(reference).targets:
            step = steps.get(target.node)
            # What is not listed itself gives its line to the last of what it requires.
            while step is not None and step not in listed:
                step = step.required[-1] if step.required else None
            if step is not None:
                released[reference.scalar] = listed[step]
    return released


def role_list_edits(
    text: str, role: TaskRole, names: tuple[str, ...], released: MappingOf[Scalar, str]
) -> tuple[TextEdit, ...]:
    """Edits that make the role list these names in this order, without changing the lines that stay.

    released: see `released_references`.
    """
    entry = role.field("prerequisites")
    if entry is None or role.node is None or not isinstance(entry.value, Sequence):
        return ()
    sequence = entry.value
    if tuple(item.text if isinstance(item, Scalar) else "" for item in sequence.items) == names:
        return ()
    if not names:
        own = role.node.own("prerequisites")
        if own is entry and len(role.node.entries) > 1:
            return without_entries(text, role.node, [entry])
        return (TextEdit(sequence.span, "[]"),)
    if sequence.is_flow:
        return (TextEdit(sequence.span, f"[{', '.join(map(flow_scalar, names))}]"),)
    return _block_edits(text, sequence, names, released)


def _block_edits(
    text: str, sequence: Sequence, names: tuple[str, ...], released: MappingOf[Scalar, str]
) -> tuple[TextEdit, ...]:
    pad = " " * column(text, sequence.span.start)
    edits: list[TextEdit] = []
    places = {name: number for number, name in enumerate(names)}
    done = 0
    for number, item in enumerate(sequence.items):
        line = _line(text, sequence, number)
        name = released.get(item, "") if isinstance(item, Scalar) else ""
        at = places.get(name, -1)
        if at < done:
            edits.append(TextEdit(line, ""))
            continue
        edits += _inserted(line.start, pad, names[done:at])
        if isinstance(item, Scalar) and item.text != name:
            edits.append(TextEdit(item.span, scalar_line(name)))
        done = at + 1
    end = _line(text, sequence, len(sequence.items) - 1).end
    last = _inserted(end, pad, names[done:])
    if last and end == len(text) and not text.endswith("\n"):
        last = [TextEdit(edit.span, "\n" + edit.new_text.removesuffix("\n")) for edit in last]
    return (*edits, *last)


def _inserted(at: int, pad: str, names: tuple[str, ...]) -> list[TextEdit]:
    return [TextEdit(Span(at, at), "".join(f"{pad}- {scalar_line(name)}\n" for name in names))] if names else []


def _line(text: str, sequence: Sequence, number: int) -> Span:
    span = item_span(text, sequence, number)
    start = span.start - column(text, span.start)
    end = text.find("\n", span.end)
    return Span(start, len(text) if end < 0 else end + 1)


def extras_edits(
    job: Job,
    storages: tuple[Storage, ...],
    removed: Collection[str],
    removed_plugins: tuple[Entry, Collection[int]] | None,
) -> tuple[TextEdit, ...]:
    """Remove keys and plugin entries from `extras`, and add storages."""
    section, extras = job.section("extras"), job.extras
    values = [{"name": one.name, "mountPath": one.mount_path} for one in storages]
    if extras is None or section is None:
        return (_at_the_end(job.text, entry_lines("extras", {"storages": values})),) if values else ()
    text = job.text
    gone = [entry for name in removed if (entry := extras.own(name))]
    edits: list[TextEdit] = []
    if removed_plugins is not None:
        entry, numbers = removed_plugins
        if isinstance(entry.value, Sequence) and len(numbers) < len(entry.value.items):
            edits += without_items(text, entry.value, numbers)
        else:
            gone.append(entry)
    kept = [entry for entry in extras.entries if not any(entry is one for one in gone)]
    listed = extras.entry("storages")
    if values and listed is not None:
        edits += _more_storages(text, listed, values)
    elif values:
        lines = [f"storages: {flow_value(values)}"] if extras.is_flow else entry_lines("storages", values)
        if kept:
            edits.append(insert_entry(text, extras, "\n".join(lines), kept[-1]))
        else:
            pad = " " * column(text, extras.entries[0].key.span.start)
            first, *rest = lines
            span = Span(extras.entries[0].key.span.start, extras.entries[-1].span.end)
            return (*edits, TextEdit(span, "\n".join([first, *indented(rest, pad)])))
    if not kept and job.root is not None:
        removals = remove_entry(text, job.root, section) if gone else ()
        for one in removals:
            edits += [one] if one.new_text else without_lines(text, one.span)
        return tuple(edits)
    return (*edits, *without_entries(text, extras, gone))


def _more_storages(text: str, listed: Entry, values: list[dict[str, str]]) -> tuple[TextEdit, ...]:
    node = listed.value
    if isinstance(node, Sequence) and node.items:
        return items_behind(text, node, values)
    return (TextEdit(node.span, flow_value(values)),)


def _at_the_end(text: str, lines: list[str]) -> TextEdit:
    break_before = "" if text.endswith("\n") or not text else "\n"
    return TextEdit(Span(len(text), len(text)), break_before + "".join(f"{line}\n" for line in lines))
