"""Prerequisites that share a name get names of their own, with every reference that surely means one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.job_sections import free_prerequisite_name
from pai_lsp.ide.refactorings.refactoring import RefactoringKind, ready, together
from pai_lsp.job.definition import Origin
from pai_lsp.job.symbols import rename_prerequisite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.ide.refactorings.refactoring import Refactoring
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.source.text import Span, TextEdit


def duplicate_names(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a prerequisite whose name another one has too, where a quick fix does not do the same."""
    job = document.job
    here = next((one for one in job.prerequisites if one.name and one.node.span.touches(span.start)), None)
    same = [one for one in job.prerequisites if here is not None and one.name == here.name]
    if here is None or len(same) < 2 or document.is_catalog:
        return
    edits = together(job.syntax, _edits(job, same))
    offered = {fix.edits for one in document.diagnostics for fix in one.fixes if one.span.overlaps(here.name_span)}
    if edits not in offered:
        yield ready(f"Give each prerequisite '{here.name}' a name of its own", RefactoringKind.QUICK_FIX, edits)


def _edits(job: Job, same: list[Definition]) -> Iterator[TextEdit]:
    kept = _kept(job, same)
    taken: set[str] = set()
    for definition in same:
        if definition is kept:
            continue
        name = free_prerequisite_name(job, definition.name, taken)
        taken.add(name)
        yield from rename_prerequisite(job, definition, name)


def _kept(job: Job, same: list[Definition]) -> Definition:
    """The one that keeps the name: the first of the type that plain references mean, else the first of all."""
    name = same[0].name
    listed = [reference.name for role in job.task_roles for reference in role.prerequisites]
    listed += [
        link.reference.name
        for definition in job.definitions
        if definition.origin is Origin.JOB
        for link in job.require_graph.links(definition)
    ]
    if name not in listed:
        return same[0]
    return next(one for one in same if one.type == same[-1].type)
