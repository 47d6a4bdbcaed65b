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

_EXTRACT, _INLINE = RefactoringKind.EXTRACT, RefactoringKind.INLINE
_REWRITE, _QUICK_FIX = RefactoringKind.REWRITE, RefactoringKind.QUICK_FIX

# In the order in which they are shown, with the kinds that each has.
OFFERS: tuple[tuple[Offer, frozenset[RefactoringKind]], ...] = (
    (conversion, frozenset({_REWRITE})),
    (missing_keys, frozenset({_QUICK_FIX})),
    (extract_prerequisite, frozenset({_EXTRACT})),
    (parameter_from_text, frozenset({_EXTRACT})),
    (secret_from_text, frozenset({_EXTRACT})),
    (template_variables, frozenset({_REWRITE, _QUICK_FIX})),
    (inline_prerequisites, frozenset({_INLINE})),
    (import_prerequisites, frozenset({_INLINE})),
    (expand_job, frozenset({_REWRITE})),
    (mpijob_conversion, frozenset({_REWRITE})),
)


def refactorings(
    document: Document, span: Span, kinds: Collection[RefactoringKind] = tuple(RefactoringKind)
) -> list[Refactoring]:
    """All refactorings of some kinds for a selection, or for the place of an empty selection."""
    wanted = [offer for offer, has in OFFERS if not has.isdisjoint(kinds)]
    if document.is_catalog:  # it runs nothing
        wanted = [offer for offer in wanted if offer is missing_keys]
    return [found for offer in wanted for found in offer(document, span) if found.kind in kinds]


__all__ = ["OFFERS", "Refactoring", "RefactoringKind", "conversion", "made", "mpijob_conversion", "refactorings"]
