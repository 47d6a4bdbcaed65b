"""Offsets, columns and edits, in every unit an editor may count in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pai_lsp.source.text import (
    ColumnUnit,
    LineIndex,
    Place,
    Span,
    TextEdit,
    any_overlaps,
    apart,
    apply_edits,
    cells_of,
    end_of_line,
    next_line,
    one_line,
    overlapping,
    shortened,
    start_of_line,
    text_width,
    visible,
)

TEXT = st.text(alphabet="ab é语😀\n\r\u2028\x85", max_size=40)


def test_columns_count_in_the_clients_unit() -> None:
    index = LineIndex("a\n语😀b")
    assert [index.position(4, unit).column for unit in ColumnUnit] == [7, 3, 2]
    assert [index.offset(1, column, unit) for unit, column in zip(ColumnUnit, (7, 3, 2), strict=True)] == [4, 4, 4]


@pytest.mark.parametrize(
    ("character", "bytes_of_utf_8", "units_of_utf_16"),
    [("\x7f", 1, 1), ("\x80", 2, 1), ("\u0800", 3, 1), ("\uffff", 3, 1), ("\U00010000", 4, 2), ("\ud800", 3, 1)],
)
def test_how_wide_a_character_is(character: str, bytes_of_utf_8: int, units_of_utf_16: int) -> None:
    assert [text_width(f"a{character}", unit) for unit in ColumnUnit] == [1 + bytes_of_utf_8, 1 + units_of_utf_16, 2]


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


@pytest.mark.parametrize(
    ("other", "overlaps", "holds"),
    [
        ((0, 3), False, False),  # in front of it
        ((0, 4), True, False),
        ((3, 3), True, True),  # an empty one overlaps what it touches
        ((7, 7), True, True),
        ((2, 2), False, False),
        ((8, 8), False, False),
        ((3, 7), True, True),
        ((6, 7), True, True),
        ((6, 8), True, False),
        ((7, 9), False, False),
    ],
)
def test_spans(other: tuple[int, int], *, overlaps: bool, holds: bool) -> None:
    span, second = Span(3, 7), Span(*other)
    assert (span.overlaps(second), second.overlaps(span), span.holds(second)) == (overlaps, overlaps, holds)
    assert any_overlaps([Span(0, 1), span, Span(20, 30)], second) is (overlaps or second.overlaps(Span(0, 1)))


def test_offsets_in_a_span() -> None:
    offsets = range(2, 9)
    assert [at for at in offsets if at in Span(3, 7)] == [3, 4, 5, 6]
    assert [at for at in offsets if Span(3, 7).touches(at)] == [3, 4, 5, 6, 7]
    assert (len(Span(3, 7)), Span(3, 7).shifted(-2)) == (4, Span(1, 5))


def test_spans_that_overlap_are_one() -> None:
    spans = [Span(5, 9), Span(0, 2), Span(2, 3), Span(8, 12), Span(6, 7), Span(12, 12)]
    assert apart(spans) == [Span(0, 2), Span(2, 3), Span(5, 12)]


LINES = LineIndex("ab\r\n\ncd\re")


def test_lines_have_places() -> None:
    assert [LINES.line_start(line) for line in range(6)] == [0, 4, 5, 8, 9, 9]
    assert [LINES.line_span(line) for line in range(4)] == [Span(0, 2), Span(4, 4), Span(5, 7), Span(8, 9)]
    assert [LINES.line_text(line) for line in range(4)] == ["ab", "", "cd", "e"]
    assert [LINES.line_of(at) for at in range(-1, 11)] == [0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 3, 3]
    assert LINES.place(6) == Place(3, 2, 6)
    assert (LINES.place(-4), LINES.place(99)) == (Place(1, 1, 0), Place(4, 2, 9))


def test_a_span_line_by_line_has_no_empty_parts() -> None:
    assert LINES.parts(Span(1, 9)) == [Span(1, 2), Span(5, 7), Span(8, 9)]
    assert LINES.parts(Span(2, 5)) == []


def test_lines_around_an_offset() -> None:
    text = "ab\ncd"
    assert [(end_of_line(text, at), next_line(text, at)) for at in (0, 2, 3, 5)] == [(2, 3), (2, 3), (5, 5), (5, 5)]
    assert [start_of_line(text, at) for at in (0, 2, 3, 5)] == [0, 0, 3, 3]
    assert [start_of_line("\n\na", at) for at in range(4)] == [0, 1, 2, 2]


def test_the_first_place_that_two_edits_change() -> None:
    assert overlapping([TextEdit(Span(4, 6), ""), TextEdit(Span(0, 2), ""), TextEdit(Span(5, 7), "")]) == 5
    assert overlapping([TextEdit(Span(2, 4), ""), TextEdit(Span(0, 2), ""), TextEdit(Span(4, 4), "x")]) is None


def test_texts_are_shortened() -> None:
    assert (shortened("a" * 40), shortened("a" * 41)) == ("a" * 40, f"{'a' * 39}…")
    assert one_line(" a\n  b c ", 4) == "a b…"
    assert (one_line("a" * 40), one_line("a" * 41)) == ("a" * 40, f"{'a' * 39}…")


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("ab", 2),
        ("语b", 3),
        ("e\u0301", 1),
        ("\u200b", 0),
        ("\u1160", 0),
        ("\u11ff", 0),
        ("\u115f", 2),
        ("\u1200", 1),
        ("ｱ", 1),
    ],
)
def test_cells_of_a_terminal(text: str, cells: int) -> None:
    assert cells_of(text) == cells


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a b"),
        ("a\x1b\x7f\n", "a␛␡␊"),
        ("é语\u3000\xa0", "é语\u3000\xa0"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u202eb\x9b", "a\ufffdb\ufffd"),
    ],
)
def test_what_a_terminal_would_obey_is_a_sign(text: str, shown: str) -> None:
    assert visible(text) == shown
