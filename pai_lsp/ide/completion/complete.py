"""Completion: what can be typed at the point, the most useful first.

The place decides (see cursor.py); what is offered comes from the schema, from the job itself, and from the catalog.
MPIJobs have keys and values of their own. Nothing is offered in other files.
"""

from __future__ import annotations

from pai_lsp.ide.completion import snippets
from pai_lsp.ide.completion.completion_keys import complete_keys
from pai_lsp.ide.completion.completion_manifest import complete_manifest
from pai_lsp.ide.completion.completion_text import complete_in_text
from pai_lsp.ide.completion.completion_values import (
    MOST_OFFERED,
    complete_collections,
    complete_items,
    complete_scalars,
)
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped
from pai_lsp.ide.cursor import Cursor, InsertionPoint, Spot
from pai_lsp.job.lookup import MARKETPLACE
from pai_lsp.source.frozen import replace
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.document import Document


_IN_TEXT = frozenset({SuggestionKind.PARAMETER, SuggestionKind.VARIABLE})
_OPENING = lazy_pattern(r"[\[{'\"]")
# What a line may end with whose value, item or key comes on the next one.
_CONTINUED = (":", ",", "[", "{")


def complete(document: Document, offset: int, *, is_asked: bool = True) -> list[Suggestion]:
    """What can be inserted at `offset`, in the order to show it; accepting any of it leaves valid YAML.

    Editors accept a suggestion with Enter, which also ends a line. So nothing is offered at the end of a word that is
    complete, and where a line may end nothing is offered that was not asked for.

    is_asked: whether someone asks for suggestions or types a word, and not just a character after which editors ask.
    """
    here = Cursor(document, offset).insertion_point
    if here is None:
        return []
    is_begun = is_asked or bool(here.prefix)
    found = _found(here, is_begun=is_begun)
    if _is_complete(here, found):
        return []
    found = _without_secrets(here, found)
    closing = _closing(document, here)
    first: dict[tuple[str, SuggestionKind], Suggestion] = {}
    for suggestion in found:
        first.setdefault((suggestion.label, suggestion.kind), suggestion)
    ordered = _shorter_first(sorted(first.values(), key=lambda suggestion: suggestion.order))
    return [replace(_closed(suggestion, closing), order=number) for number, suggestion in enumerate(ordered)]


def is_all(suggestions: Sequence[Suggestion]) -> bool:
    """Whether a longer word has no other suggestions than those of these that it fits.

    Of a large catalog there are more, and what is offered after `$` in a command is decided by the letters that follow.
    """
    if any(one.kind in _IN_TEXT for one in suggestions):
        return False
    return sum(one.label.startswith(f"{MARKETPLACE}://") for one in suggestions) < MOST_OFFERED


def _found(point: InsertionPoint, *, is_begun: bool) -> list[Suggestion]:
    if point.document.is_mpijob:
        return [] if not is_begun and _may_end(point) else complete_manifest(point)
    found = complete_in_text(point)
    if found is not None:
        return found
    if point.spot is Spot.VALUE and point.path and (scalars := complete_scalars(point)):
        return scalars
    if not is_begun and _may_end(point):
        return []
    if not point.path and point.spot is not Spot.KEY:
        return [*snippets.whole_jobs(point), *complete_keys(point)]
    if point.spot is Spot.KEY:
        return complete_keys(point)
    return complete_items(point) if point.spot is Spot.ITEM else complete_collections(point)


def _may_end(point: InsertionPoint) -> bool:
    """Whether the line of an empty word may be meant as it is: it is blank, or goes on below."""
    line = point.line_before.rstrip()
    return not point.line_after.strip() and (not line or line.endswith(_CONTINUED))


def _is_complete(point: InsertionPoint, found: list[Suggestion]) -> bool:
    """Whether the cursor is at the end of a word that is one of the suggestions; a key is only with its colon."""
    for suggestion in found:
        span = suggestion.edit.span
        typed = point.document_text[span.start : point.offset]
        written = suggestion.edit.new_text.partition("\n")[0]
        if typed and span.end == point.offset and typed in {written, *_words(suggestion)}:
            return True
    return False


def _words(suggestion: Suggestion) -> tuple[str, ...]:
    return () if suggestion.kind is SuggestionKind.KEY else (suggestion.label,)


def _shorter_first(ordered: list[Suggestion]) -> list[Suggestion]:
    """A name before those that begin with it: editors choose the first that fits what is typed."""
    places = {suggestion.label: place for place, suggestion in reversed([*enumerate(ordered)])}
    first = dict(places)
    for label, place in places.items():
        for length in range(1, len(label)):
            if (beginning := label[:length]) in places:
                first[beginning] = min(first[beginning], place)
    return sorted(ordered, key=lambda suggestion: (first[suggestion.label], len(suggestion.label)))


def _without_secrets(point: InsertionPoint, found: list[Suggestion]) -> list[Suggestion]:
    """The suggestions without secrets in their details and documentation; those that would insert one are left out."""
    hidden = point.job.hidden
    texts = (text for one in found for text in (one.label, one.edit.new_text, one.detail, one.documentation))
    if not hidden.changes("\n".join(texts)):
        return found
    return [
        replace(one, detail=hidden.without(one.detail), documentation=hidden.without(one.documentation))
        for one in found
        if not hidden.shows(one.label) and not hidden.shows(one.edit.new_text)
    ]


def _closing(document: Document, point: InsertionPoint) -> str:
    """The bracket or quote that is missing at the end of the cursor's line; empty for none, or when more follows."""
    end = point.replace.end + len(point.line_after)
    # The text is only read a second time where its line could have something open.
    if point.line_after.strip() or not _OPENING.search(point.line_before):
        return ""
    return "".join(
        problem.fix[1].new_text
        for problem in document.syntax.problems
        if problem.fix
        and problem.fix[1].new_text in {"]", "}", "'", '"'}
        and point.replace.start - 1 <= problem.fix[1].span.start <= end
    )


def _closed(suggestion: Suggestion, closing: str) -> Suggestion:
    if not closing or suggestion.kind is SuggestionKind.SNIPPET:
        return suggestion
    edit = TextEdit(suggestion.edit.span, suggestion.edit.new_text + closing)
    snippet = suggestion.snippet + escaped(closing) if suggestion.snippet is not None else None
    return replace(suggestion, edit=edit, snippet=snippet)
