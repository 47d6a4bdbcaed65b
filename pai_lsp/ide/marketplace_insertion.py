"""Brings a definition of the marketplace into a job: a named reference with its template variables filled, in a role.

The reference goes to `extras.reference_prerequisites`, so that the rest of the job does not depend on where definitions
come from, and its name to a task role's `prerequisites`.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from pai_lsp.ide.refactorings.refactoring import added_prerequisites
from pai_lsp.source.edits import append_item, column, insert_entry, line_end
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import scalar_line

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingOf

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Entry

_SECTION = "reference_prerequisites"


def insertion(job: Job, offset: int, reference: str, name: str, values: MappingOf[str, Any]) -> tuple[TextEdit, ...]:
    """The edits that make a role use a definition; none where the job has no mapping to put it in.

    Args:
        job: the job.
        offset: the cursor; the role around it gets the definition, else the first one.
        reference: the address of the definition.
        name: the definition's name. If something else in the job has it, a number is added.
        values: what its template variables are filled with, by name.
    """
    if job.root is None:
        return ()
    known = _known(job, reference, values)
    own = known or job.free_name(name)
    edits = [] if known else [_reference_edit(job, job.root, own, reference, values)]
    role = _role_at(job, offset)
    if role is not None and own not in {listed.name for listed in role.prerequisites}:
        edits += _role_edit(job.text, role, own)
    return _joined(edits)


def _known(job: Job, reference: str, values: MappingOf[str, Any]) -> str | None:
    """The name of a reference that the job has already, with the same values."""
    for definition in job.reference_prerequisites:
        if job.definitions_by_name.get(definition.name) is definition and len(definition.requirements) == 1:
            requirement = definition.requirements[0]
            if requirement.reference.name == reference and requirement.values() == dict(values):
                return definition.name
    return None


def _role_at(job: Job, offset: int) -> TaskRole | None:
    around = (role for role in job.task_roles if role.entry.span.touches(offset))
    return next(around, None) or next(iter(job.task_roles), None)


def _reference_edit(job: Job, root: Mapping, name: str, reference: str, values: MappingOf[str, Any]) -> TextEdit:
    text, extras = job.text, root.own("extras")
    block = _block(name, reference, values)
    section = f"{_SECTION}:\n{textwrap.indent(f'- {_hanging(block)}', '  ')}"
    flow = f"{_SECTION}: [{_flow(name, reference, values)}]"
    if extras is None:
        if root.is_flow:
            return insert_entry(text, root, f"extras: {{{flow}}}")
        return insert_entry(text, root, f"\nextras:\n{textwrap.indent(section, '  ')}")
    if not isinstance(extras.value, Mapping):
        return _below_key(text, extras, section)
    inner = extras.value.own(_SECTION)
    if inner is None:
        return insert_entry(text, extras.value, flow if extras.value.is_flow else section)
    if not isinstance(inner.value, Sequence):
        return _below_key(text, inner, f"- {_hanging(block)}")
    return append_item(text, inner.value, _flow(name, reference, values) if inner.value.is_flow else block)


def _role_edit(text: str, role: TaskRole, name: str) -> list[TextEdit]:
    if role.node is None:
        return []
    listed = role.node.own("prerequisites")
    if listed is not None:
        if isinstance(listed.value, Sequence):
            return [append_item(text, listed.value, name)]
        return [_below_key(text, listed, f"- {name}")] if _is_empty(listed) else []
    return [added_prerequisites(text, role.node, name)]


def _is_empty(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.value.value is None


def _below_key(text: str, entry: Entry, lines: str) -> TextEdit:
    """Lines below a key that has no value, in place of an empty value (`~`, `null`, `""`)."""
    start = entry.key.span.start
    pad = " " * (column(text, start) + 2)
    end = max(entry.key.span.end, entry.value.span.end)
    newline = line_end(text)
    body = "".join(newline + line for line in textwrap.indent(lines, pad).split("\n"))
    return TextEdit(
        Span(entry.key.span.end, end) if end > entry.key.span.end else _through_colon(text, end), f":{body}"
    )


def _through_colon(text: str, offset: int) -> Span:
    """From the end of a key to the end of its colon."""
    colon = text.find(":", offset)
    return Span(offset, colon + 1 if colon >= 0 else offset)


def _block(name: str, reference: str, values: MappingOf[str, Any]) -> str:
    lines = [f"name: {scalar_line(name)}", "require:"]
    if not values:
        return "\n".join([*lines, f"  - {scalar_line(reference)}"])
    lines += [f"  - name: {scalar_line(reference)}", "    template_variables:"]
    return "\n".join([*lines, *(f"      {scalar_line(key)}: {_value(value)}" for key, value in values.items())])


def _flow(name: str, reference: str, values: MappingOf[str, Any]) -> str:
    required: Any = {"name": reference, "template_variables": dict(values)} if values else reference
    return json.dumps({"name": name, "require": [required]}, ensure_ascii=False)


def _value(value: Any) -> str:
    return scalar_line(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _hanging(block: str) -> str:
    """A block whose other lines are indented like the first after a list's dash."""
    return block.replace("\n", "\n  ")


def _joined(edits: list[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits, those for the same place as one: the edit of a role comes before that of a section after the roles."""
    if len(edits) == 2 and edits[0].span == edits[1].span:
        reference, role = edits
        return (TextEdit(role.span, role.new_text + reference.new_text),)
    return tuple(sorted(edits))
