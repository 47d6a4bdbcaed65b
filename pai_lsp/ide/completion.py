"""Completion: what can be typed at the cursor, the most useful first.

The place decides (see cursor.py); what is offered comes from the schema, from the job itself, and from the catalogue.
Nothing is offered in files that are no OpenPAI jobs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.addresses import MARKETPLACE
from pai_lsp.frozen import replace
from pai_lsp.ide import snippets
from pai_lsp.ide.completion_keys import complete_keys
from pai_lsp.ide.completion_text import complete_in_text
from pai_lsp.ide.completion_values import MOST_OFFERED, complete_items, complete_values
from pai_lsp.ide.cursor import Cursor, Spot, cursor
from pai_lsp.ide.suggestion import Kind, Suggestion, escaped
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.document import Document


_OPENING = re.compile(r"[\[{'\"]")


def complete(document: Document, offset: int) -> list[Suggestion]:
    """What can be inserted at `offset`, in the order to show it; accepting any of it leaves valid YAML."""
    here = cursor(document, offset)
    if here is None:
        return []
    found = complete_in_text(here)
    if found is None:
        if not here.path and here.spot is not Spot.KEY:
            found = [*snippets.whole_jobs(here), *complete_keys(here)]
        elif here.spot is Spot.KEY:
            found = complete_keys(here)
        elif here.spot is Spot.ITEM:
            found = complete_items(here)
        else:
            found = complete_values(here)
    found = _without_secrets(here, found)
    closing = _closing(document, here)
    first: dict[tuple[str, Kind], Suggestion] = {}
    for suggestion in found:
        first.setdefault((suggestion.label, suggestion.kind), suggestion)
    ordered = sorted(first.values(), key=lambda suggestion: suggestion.order)
    return [replace(_closed(suggestion, closing), order=number) for number, suggestion in enumerate(ordered)]


def is_all(suggestions: Iterable[Suggestion]) -> bool:
    """Whether nothing else can be suggested; of a large catalogue there is more once more is typed."""
    return sum(one.label.startswith(f"{MARKETPLACE}://") for one in suggestions) < MOST_OFFERED


def _without_secrets(cursor: Cursor, found: list[Suggestion]) -> list[Suggestion]:
    """The suggestions without secrets in their details and documentation; those that would insert one are left out."""
    hidden = cursor.job.hidden
    return [
        replace(one, detail=hidden.without(one.detail), documentation=hidden.without(one.documentation))
        for one in found
        if not hidden.shows(one.label) and not hidden.shows(one.edit.new_text)
    ]


def _closing(document: Document, cursor: Cursor) -> str:
    """The bracket or quote that is missing at the end of the cursor's line; empty for none, or when more follows."""
    behind = cursor.replace.end + len(cursor.line_behind)
    # The text is only read a second time where its line could have something open.
    if cursor.line_behind.strip() or not _OPENING.search(cursor.line_before):
        return ""
    return "".join(
        problem.mend[1].new_text
        for problem in document.syntax.problems
        if problem.mend
        and problem.mend[1].new_text in {"]", "}", "'", '"'}
        and cursor.replace.start - 1 <= problem.mend[1].span.start <= behind
    )


def _closed(suggestion: Suggestion, closing: str) -> Suggestion:
    if not closing or suggestion.kind is Kind.SNIPPET:
        return suggestion
    edit = TextEdit(suggestion.edit.span, suggestion.edit.new_text + closing)
    snippet = suggestion.snippet + escaped(closing) if suggestion.snippet is not None else None
    return replace(suggestion, edit=edit, snippet=snippet)
