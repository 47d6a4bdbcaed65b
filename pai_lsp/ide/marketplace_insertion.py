"""Brings a definition of the marketplace into a job: a named reference with its template variables filled, in a role.

The reference goes to `extras.reference_prerequisites`, so that the rest of the job does not depend on where definitions
come from, and its name to a task role's `prerequisites`.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from pai_lsp.ide.refactorings.refactoring import added_prerequisites, together
from pai_lsp.source.edits import append_item, column, insert_entry
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import indented, item_lines, value_lines

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
    edits: list[TextEdit] = []
    role = _role_at(job, offset)
    if role is not None and own not in {listed.name for listed in role.prerequisites}:
        edits += _role_edit(job.text, role, own)
    if not known:
        edits.append(_reference_edit(job, job.root, own, reference, values))
    return together(job.syntax, edits)


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
    required: Any = {"name": reference, "template_variables": dict(values)} if values else reference
    definition = {"name": name, "require": [required]}
    item, flow_item = item_lines(definition), json.dumps(definition, ensure_ascii=False)
    section, flow = "\n".join([f"{_SECTION}:", *indented(item, "  ")]), f"{_SECTION}: [{flow_item}]"
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
        return _below_key(text, inner, "\n".join(item))
    return append_item(text, inner.value, flow_item if inner.value.is_flow else "\n".join(value_lines(definition)))


def _role_edit(text: str, role: TaskRole, name: str) -> list[TextEdit]:
    if role.node is None:
        return []
    listed = role.node.own("prerequisites")
    if listed is None:
        return [added_prerequisites(text, role.node, name)]
    if isinstance(listed.value, Sequence):
        return [append_item(text, listed.value, name)]
    is_empty = isinstance(listed.value, Scalar) and listed.value.value is None
    return [_below_key(text, listed, f"- {name}")] if is_empty else []


def _below_key(text: str, entry: Entry, lines: str) -> TextEdit:
    """Lines below a key that has no value, in place of an empty value (`~`, `null`, `""`)."""
    key_end = entry.key.span.end
    pad = " " * (column(text, entry.key.span.start) + 2)
    # An empty value may not be written at all; then the colon is replaced.
    end = entry.value.span.end if entry.value.span.end > key_end else max(key_end, text.find(":", key_end) + 1)
    return TextEdit(Span(key_end, end), f":\n{textwrap.indent(lines, pad)}")
