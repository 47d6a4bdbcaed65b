"""What is said about the fixtures and examples of rules stays as it is recorded: messages, other places, and fixes."""

from __future__ import annotations

import pytest
from recorded_findings import read, recorded, texts

RECORD = read()
TEXTS = texts()


@pytest.mark.parametrize("title", [title for title in RECORD if title in TEXTS])
def test_what_is_said_is_what_is_recorded(title: str) -> None:
    found = iter(recorded(TEXTS[title]))
    missing = [one for one in RECORD[title] if one not in found]  # in this order
    assert missing[:1] == [], "python tests/recorded_findings.py writes the record"
