"""Work grows with the length of a text, not with its square: counted calls, for a share of the texts of the search.

`make bench-hostile` measures all of them, at the size that a cluster accepts.
"""

from __future__ import annotations

import pytest
from budgets import shared_places
from test_calls import calls

from benchmarks.hostile import Text, texts
from pai_lsp.document import Document

# Four times the text may cost so many times the calls, besides those that any text costs.
MOST_GROWTH = 5.0
SHORT, LONG = 3_000, 12_000
CHECKED = [text for text in texts() if text.kind in {"job", "manifest", "definitions"}]
TRIED = shared_places(CHECKED[3:], len(CHECKED) // 60)


def checked_calls(text: str, name: str) -> int:
    """How many functions a check calls."""
    return calls(lambda: Document(text, path=name).diagnostics)


@pytest.mark.parametrize("text", TRIED, ids=[text.name for text in TRIED])
def test_calls_grow_with_the_length(text: Text) -> None:
    name = "a.pai.yaml" if text.kind == "job" else "a.yaml"
    few, short, long = (text.of_length(length) for length in (1_000, SHORT + 1_000, LONG + 1_000))
    checked_calls(few, name)
    least = min(checked_calls(few, name), checked_calls(few, name))
    growth = (checked_calls(long, name) - least) / max(checked_calls(short, name) - least, 2_000)
    assert growth <= MOST_GROWTH * (len(long) - len(few)) / max(len(short) - len(few), 1) / 4, growth
