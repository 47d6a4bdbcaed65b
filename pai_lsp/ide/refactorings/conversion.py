"""A job of the first protocol becomes one of the second, in place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.edits import line_end
from pai_lsp.ide.line_edits import line_edits
from pai_lsp.ide.refactorings.former_job import converted
from pai_lsp.ide.refactorings.former_keys import is_former_job
from pai_lsp.ide.refactorings.refactoring import Refactoring, RefactoringKind, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.text import Span

_TITLE = "Convert to protocol version 2"


def conversion(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered anywhere in a job with keys of the first protocol."""
    del span
    if document.is_catalogue or not is_former_job(document.syntax):
        return
    if document.path is not None and document.path.endswith(".json"):
        reason = "a job of today is YAML; 'pai-lsp convert' writes it to another file"
        yield refused(_TITLE, RefactoringKind.REWRITE, reason)
        return
    found = converted(document.text)
    if found.text is None:
        yield refused(_TITLE, RefactoringKind.REWRITE, found.problem)
        return
    mark = "\ufeff" if document.text.startswith("\ufeff") else ""
    after = mark + found.text.replace("\n", line_end(document.text))
    yield Refactoring(_TITLE, RefactoringKind.REWRITE, partial(line_edits, document.text, after))
