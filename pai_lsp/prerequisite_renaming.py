"""Giving a prerequisite another name, together with the references that surely mean it.

A field of a task role looks among the prerequisites of its own type, so it tells those of one name apart; a plain list
and `require` mean the last of that name. Sources: rest-server, middlewares/v2/protocol.js; openpai-runtime,
src/init.d/initializer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.definition import TYPED_FIELDS
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.definition import Definition, Reference
    from pai_lsp.job import Job


def rename_prerequisite(job: Job, definition: Definition, new_name: str) -> tuple[TextEdit, ...]:
    """The edits, in order; a reference that may mean another prerequisite of the old name stays."""
    spans = {definition.name_span} | {reference.span for reference in _references(job, definition)}
    return tuple(TextEdit(span, new_name) for span in sorted(spans))


def _references(job: Job, definition: Definition) -> Iterator[Reference]:
    name, kind = definition.name, definition.type
    if job.find_typed(kind, name) is definition:
        for role in job.task_roles:
            for field, reference in role.typed_references.items():
                if reference.name == name and TYPED_FIELDS[field] == kind:
                    yield reference
    is_only_one_of_type = sum(one.name == name and one.type == kind for one in job.definitions) == 1
    if is_only_one_of_type and job.definitions_by_name.get(name) is definition:
        yield from (reference for reference in _plain_references(job) if reference.name == name)


def _plain_references(job: Job) -> Iterator[Reference]:
    for role in job.task_roles:
        yield from role.prerequisites
    for one in job.definitions:
        yield from (requirement.reference for requirement in one.requirements)
