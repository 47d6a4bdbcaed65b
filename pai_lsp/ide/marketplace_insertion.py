"""Brings a definition of the marketplace into a job: a named reference with its template variables filled, in a role.

The reference goes to `extras.reference_prerequisites`, so that the rest of the job does not depend on where definitions
come from, and its name to a task role's `prerequisites`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError, below_key, listed_in_role, together
from pai_lsp.source.edits import insert_entry
from pai_lsp.source.nodes import Mapping, Sequence
from pai_lsp.source.tree_edits import append_value, insert_values
from pai_lsp.source.writing import entry_lines

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingOf

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.text import TextEdit

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
        with suppress(CanNotRefactorError):  # a list that is no list gets nothing
            edits.append(listed_in_role(job, role, own))
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
    section = {_SECTION: [definition]}
    if extras is None:
        if root.is_flow:
            return insert_values(text, root, {"extras": section})
        return insert_entry(text, root, "\n".join(["", *entry_lines("extras", section)]))
    if not isinstance(extras.value, Mapping):
        return below_key(text, extras, section)
    inner = extras.value.own(_SECTION)
    if inner is None:
        return insert_values(text, extras.value, section)
    if not isinstance(inner.value, Sequence):
        return below_key(text, inner, [definition])
    return append_value(text, inner.value, definition)
