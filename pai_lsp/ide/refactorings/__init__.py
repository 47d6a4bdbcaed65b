"""Changes of a job that its author asks for by name: what can be done at a place, and what stands against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.conversion import conversion
from pai_lsp.ide.refactorings.duplicate_names import duplicate_names
from pai_lsp.ide.refactorings.expand_job import expand_job
from pai_lsp.ide.refactorings.extract_prerequisite import extract_prerequisite
from pai_lsp.ide.refactorings.import_prerequisites import import_prerequisites
from pai_lsp.ide.refactorings.inline_prerequisites import inline_prerequisites
from pai_lsp.ide.refactorings.legacy_fields import legacy_field
from pai_lsp.ide.refactorings.missing_keys import missing_keys
from pai_lsp.ide.refactorings.parameter_from_text import parameter_from_text
from pai_lsp.ide.refactorings.refactoring import Refactoring, RefactoringKind
from pai_lsp.ide.refactorings.secret_from_text import secret_from_text
from pai_lsp.ide.refactorings.template_variables import template_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.document import Document
    from pai_lsp.text import Span

    Offer = Callable[[Document, Span], Iterable[Refactoring]]

# In the order in which they are shown.
OFFERS: tuple[Offer, ...] = (
    conversion,
    missing_keys,
    duplicate_names,
    extract_prerequisite,
    parameter_from_text,
    secret_from_text,
    legacy_field,
    template_variables,
    inline_prerequisites,
    import_prerequisites,
    expand_job,
)


def refactorings(document: Document, span: Span) -> list[Refactoring]:
    """Everything that can be done with what is selected, or stands at an empty selection."""
    return [found for offer in OFFERS for found in offer(document, span)]


__all__ = ["OFFERS", "Refactoring", "RefactoringKind", "refactorings"]
