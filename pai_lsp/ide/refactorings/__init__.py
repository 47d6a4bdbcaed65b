"""Changes of a job that its author asks for by name: what can be done at a place, and the reasons against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.conversions import conversion, mpijob_conversion
from pai_lsp.ide.refactorings.extract_prerequisite import extract_prerequisite
from pai_lsp.ide.refactorings.extract_value import parameter_from_text, secret_from_text
from pai_lsp.ide.refactorings.quick_fixes import missing_keys, template_variables
from pai_lsp.ide.refactorings.refactoring import Refactoring, RefactoringKind, made
from pai_lsp.ide.refactorings.resolve_references import expand_job, import_prerequisites, inline_prerequisites

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pai_lsp.document import Document
    from pai_lsp.source.text import Span

    Offer = Callable[[Document, Span], Iterable[Refactoring]]

# In the order in which they are shown.
_OFFERS: tuple[Offer, ...] = (
    conversion,
    missing_keys,
    extract_prerequisite,
    parameter_from_text,
    secret_from_text,
    template_variables,
    inline_prerequisites,
    import_prerequisites,
    expand_job,
    mpijob_conversion,
)


def refactorings(
    document: Document, span: Span, kinds: Collection[RefactoringKind] = tuple(RefactoringKind)
) -> list[Refactoring]:
    """All refactorings of some kinds for a selection, or for the place of an empty selection."""
    offers = (missing_keys,) if document.is_catalog else _OFFERS  # a catalog runs nothing
    return [found for offer in offers for found in offer(document, span) if found.kind in kinds]


__all__ = ["Refactoring", "RefactoringKind", "conversion", "made", "mpijob_conversion", "refactorings"]
