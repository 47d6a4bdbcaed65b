"""Offsets, columns and edits, in every unit an editor may count in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pai_lsp.source.text import ColumnUnit, LineIndex, Span, TextEdit, apply_edits

TEXT = st.text(alphabet="ab é语😀\n\r\u2028\x85", max_size=40)


def test_columns_count_in_the_clients_unit() -> None:
    index = LineIndex("a\n语😀b")
    assert [index.position(4, unit).column for unit in ColumnUnit] == [7, 3, 2]
    assert [index.offset(1, column, unit) for unit, column in zip(ColumnUnit, (7, 3, 2), strict=True)] == [4, 4, 4]


@pytest.mark.parametrize(
    ("text", "lines"), [("a\nb", 2), ("a\r\nb", 2), ("a\rb", 2), ("a\u2028b\x85c", 1), ("", 1), ("\n", 2)]
)
def test_lines_end_as_the_protocol_says(text: str, lines: int) -> None:
    assert len(LineIndex(text)) == lines


def test_places_outside_are_drawn_in() -> None:
    index = LineIndex("ab\ncd")
    assert (index.offset(0, 99), index.offset(9, 0), index.offset(-1, 5)) == (2, 5, 0)
    assert index.position(99).line == 1


@given(TEXT, st.integers(0, 40), st.sampled_from(ColumnUnit))
def test_positions_lead_back(text: str, offset: int, unit: ColumnUnit) -> None:
    offset = min(offset, len(text))
    index = LineIndex(text)
    position = index.position(offset, unit)
    back = index.offset(position.line, position.column, unit)
    assert back == offset or text[back:offset] in {"\r", "\n"}


def test_edits_mean_the_text_as_it_was() -> None:
    edits = [TextEdit(Span(4, 5), "E"), TextEdit(Span(0, 0), "> "), TextEdit(Span(1, 3), "")]
    assert apply_edits("abcde", edits) == "> adE"


def test_edits_of_the_same_place_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abc", [TextEdit(Span(0, 2), ""), TextEdit(Span(1, 3), "")])
