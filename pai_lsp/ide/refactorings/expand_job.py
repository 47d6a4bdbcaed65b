"""The whole job becomes the one that every released cluster runs, in place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.expand.write.released_job import expanded
from pai_lsp.ide.line_edits import line_edits
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    refuse_unknown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.text import Span, TextEdit

_NEEDED = frozenset({"needs-expansion", "refused-until-expanded"})


def expand_job(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on the job's own keys, and at a finding that asks for expansion."""
    root = document.job.root
    needed = [one.span for one in document.diagnostics if one.code in _NEEDED]
    if root is None or not needed:
        return
    is_at_key = any(entry.key.span.touches(span.start) for entry in root.entries)
    if is_at_key or any(one.overlaps(span) for one in needed):
        title, make = "Expand the job for submission", partial(_expanded, document)
        yield attempted(title, RefactoringKind.REWRITE, make, partial(refuse_unknown, document.job))


def _expanded(document: Document) -> tuple[TextEdit, ...]:
    found = expanded(document.job)
    if found.text is None:
        raise CanNotRefactorError(found.problems[0].message)
    return line_edits(document.text, found.text)
