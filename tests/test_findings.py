"""What is said about the fixtures and examples of rules stays as it is recorded: messages, other places, and fixes."""

from __future__ import annotations

from collections import Counter

import pytest
from recorded_findings import read, recorded, texts

RECORD = read()
TEXTS = texts()


@pytest.mark.parametrize("title", [title for title in RECORD if title in TEXTS])
def test_what_is_said_is_what_is_recorded(title: str) -> None:
    missing = Counter(RECORD[title]) - Counter(recorded(TEXTS[title]))
    assert not missing, "python tests/recorded_findings.py writes the record"
