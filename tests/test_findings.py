"""What is said about the fixtures and examples of rules stays as it is recorded: messages, other places, and fixes."""

from __future__ import annotations

import pytest
from recorded_findings import read, recorded, texts

RECORD = read()
TEXTS = texts()


def test_nothing_is_recorded_about_a_text_that_is_gone() -> None:
    assert RECORD.keys() <= TEXTS.keys()


@pytest.mark.parametrize("title", TEXTS)
def test_what_is_said_is_what_is_recorded(title: str) -> None:
    assert recorded(TEXTS[title]) == RECORD.get(title, []), "python tests/recorded_findings.py writes the record"
