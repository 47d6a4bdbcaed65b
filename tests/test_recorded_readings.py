"""Texts are read as `readings.txt` records it; `recorded_readings.py` describes the record and writes it again."""

from __future__ import annotations

import pytest
from recorded_readings import answer, sections

SECTIONS = sections()


@pytest.mark.parametrize("title", SECTIONS)
def test_a_text_is_read_as_recorded(title: str) -> None:
    text, recorded = SECTIONS[title]
    assert answer(title, text) == recorded
