"""Copies definitions from outside the job into its prerequisites: as they are, or filled with all that they require."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.expand.write.code_edits import import_edits, into_job_edits
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    refuse_another_run,
    refuse_unknown,
    together,
)
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Reference
    from pai_lsp.source.text import Span, TextEdit


def import_prerequisites(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference: the definition with all that it requires for a role's list, the bare copy anywhere."""
    job = document.job
    if document.is_catalog:
        return
    for role in job.task_roles:
        for reference in role.prerequisites:
            if _is_at(reference, span) and _leads_out(document, reference):
                title = f"Import '{_short(reference)}' and what it requires into the job"
                find = partial(_imported, document, role.name, reference)
                yield attempted(title, RefactoringKind.INLINE, partial(_proven, document, find), find)
    references = [reference for role in job.task_roles for reference in role.prerequisites]
    references += [one.reference for definition in job.definitions for one in definition.requirements]
    for reference in references:
        if reference.is_address and _is_at(reference, span) and len(job.resolve(reference.name).definitions) == 1:
            title = f"Copy '{_short(reference)}' into the job"
            find = partial(_copied, document, reference)
            yield attempted(title, RefactoringKind.INLINE, partial(_proven, document, find), find)


def _is_at(reference: Reference, span: Span) -> bool:
    return reference.scalar.span.touches(span.start) and reference.scalar.span.touches(span.end)


def _leads_out(document: Document, reference: Reference) -> bool:
    """Whether a reference leads to another file, or to a definition that requires others: it can be imported."""
    targets = document.job.resolve(reference.name).definitions
    own = {id(definition.node) for definition in document.job.prerequisites}
    return any(id(target.node) not in own or target.requirements for target in targets)


def _short(reference: Reference) -> str:
    return reference.name.rsplit("/", 1)[-1] or reference.name


def _imported(document: Document, role_name: str, reference: Reference) -> tuple[TextEdit, ...]:
    refuse_unknown(document.job)
    return _there(document, into_job_edits(document.job, role_name, reference))


def _copied(document: Document, reference: Reference) -> tuple[TextEdit, ...]:
    refuse_unknown(document.job)
    return _there(document, import_edits(document.job, reference))


def _there(document: Document, edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...]:
    if not edits:
        raise CanNotRefactorError("other prerequisites need the same one; a copy would run beside it")
    return together(document.syntax, edits)


def _proven(document: Document, find: Callable[[], tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
    edits = find()
    refuse_another_run(document.job, apply_edits(document.text, edits))
    return edits
