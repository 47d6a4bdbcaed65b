"""Adds a place for the values of template variables that have none.

A single `require` entry has its quick fix; a task role's list can give no values, so an entry goes between.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.job_sections import definition_added, free_prerequisite_name
from pai_lsp.ide.refactorings.refactoring import RefactoringKind, attempted, ready, together
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_value, value_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.ide.refactorings.refactoring import Refactoring
    from pai_lsp.job.definition import Definition, Reference
    from pai_lsp.source.text import Span


def template_variables(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference in a task role's list to a definition that needs values."""
    job = document.job
    if document.is_catalog:
        return
    for role in job.task_roles:
        for reference in role.prerequisites:
            targets = job.resolve(reference.name).definitions
            wanting = [target for target in targets if target.template_variables]
            if wanting and reference.scalar.span.touches(span.start) and reference.scalar.span.touches(span.end):
                title = f"Fill the template variables of '{wanting[0].name}' in a prerequisite of the job"
                yield attempted(title, RefactoringKind.REWRITE, partial(_filled, document, reference, wanting))
    fillable = [one for one in document.diagnostics if one.code == "unfilled-template-variable" and one.fixes]
    here = next((one for one in job.definitions if one.node.span.touches(span.start)), None)
    inside = [one for one in fillable if here is not None and one.span.start in here.node.span]
    if here is not None and len(inside) > 1:
        edits = together(job.syntax, (edit for one in inside for edit in one.fixes[0].edits))
        title = f"Add all template variables that '{here.name}' must give"
        yield ready(title, RefactoringKind.QUICK_FIX, edits)


def _filled(document: Document, reference: Reference, wanting: list[Definition]) -> tuple[TextEdit, ...]:
    job = document.job
    names = dict.fromkeys(variable.name for target in wanting for variable in target.template_variables)
    name = free_prerequisite_name(job, wanting[0].name)
    value = {
        "type": wanting[0].type or "script",
        "name": name,
        "require": [{"name": reference.name, "template_variables": dict.fromkeys(names, "")}],
    }
    edits = (
        definition_added(job, "\n".join(value_lines(value)), flow_value(value)),
        TextEdit(reference.span, name),
    )
    return together(job.syntax, edits)
