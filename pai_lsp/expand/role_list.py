"""A task role's `prerequisites` with everything that is required written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.edits import column
from pai_lsp.expand.tree_edits import item_span, without_entries
from pai_lsp.expand.yaml_text import flow_scalar, scalar_line
from pai_lsp.nodes import Scalar, Sequence
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingOf

    from pai_lsp.expand.effective import EffectiveRole
    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole


def released_references(job: Job, role: EffectiveRole, listed: MappingOf[int, str]) -> dict[int, str]:
    """Which name each reference that the role lists has in the released job, by identity of its scalar.

    listed: by identity of its step, the name of every prerequisite that the role is to list.
    """
    steps = {id(one.definition.node): one.step for one in role.prerequisites}
    released: dict[int, str] = {}
    for reference in role.role.prerequisites:
        for target in job.require_graph.link(reference).targets:
            step = steps.get(id(target.node))
            # What is not listed itself gives its line to the last of what it requires.
            while step is not None and id(step) not in listed:
                step = step.required[-1] if step.required else None
            if step is not None:
                released[id(reference.scalar)] = listed[id(step)]
    return released


def role_list_edits(
    text: str, role: TaskRole, names: tuple[str, ...], released: MappingOf[int, str]
) -> tuple[TextEdit, ...]:
    """Edits that make the role list these names in this order, lines that stay being left alone.

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
    text: str, sequence: Sequence, names: tuple[str, ...], released: MappingOf[int, str]
) -> tuple[TextEdit, ...]:
    pad = " " * column(text, sequence.span.start)
    edits: list[TextEdit] = []
    places = {name: number for number, name in enumerate(names)}
    done = 0
    for number, item in enumerate(sequence.items):
        line = _line(text, sequence, number)
        name = released.get(id(item), "")
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
