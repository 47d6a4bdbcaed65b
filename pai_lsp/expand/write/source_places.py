"""Carries places in an expanded job back to the text that its author wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from pai_lsp.expand.effective import Prerequisite
    from pai_lsp.source.text import TextEdit


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """The way from the expanded text to the source.

    edits: what was changed in the source, in order.
    origins: the definitions that were added to the expanded text, each with the prerequisite that it comes from.
    """

    edits: tuple[TextEdit, ...] = ()
    origins: tuple[tuple[Span, Prerequisite], ...] = ()

    def origin(self, span: Span) -> Prerequisite | None:
        """The prerequisite that a place in the expanded text comes from, if its definition was added there."""
        return next((one for part, one in self.origins if part.start <= span.start < part.end), None)

    def span(self, span: Span) -> Span:
        """The place in the source; for text that expansion has written, what it has replaced, or where it was added."""
        origin = self.origin(span)
        if origin is not None:
            return origin.entry.reference.span
        start = self._offset(span.start, is_end=False)
        return Span(start, max(start, self._offset(span.end, is_end=True)))

    def _offset(self, offset: int, *, is_end: bool) -> int:
        added = 0
        for edit in self.edits:
            start = edit.span.start + added
            if offset < start or (is_end and offset == start):
                break
            if offset < start + len(edit.new_text):
                return edit.span.end if is_end else edit.span.start
            added += len(edit.new_text) - len(edit.span)
        return offset - added
