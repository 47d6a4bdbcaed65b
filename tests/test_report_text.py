"""The report for people: the lines of a finding, with marks under exactly its characters."""

from __future__ import annotations

import pytest

from pai_lsp.cli.report import render, text_report
from pai_lsp.cli.report.results import CheckedFile, Results
from pai_lsp.cli.report.terminal import Terminal, lay_out, terminal_for
from pai_lsp.findings import diagnostic
from pai_lsp.findings.diagnostic import Diagnostic, Fix, Related, Severity
from pai_lsp.source.text import Span, TextEdit, cell_width, visible

JOB = """\
name: train
prerequisites:
  - name: justecho
    type: script
taskRoles:
  worker:
    prerequisites: [justecho_wrong]
"""


def span_of(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(start, start + len(part))


def finding(text: str, part: str, **more: object) -> Diagnostic:
    values = {"code": "some-rule", "severity": Severity.ERROR, "message": "not so", **more}
    return Diagnostic(span=span_of(text, part), **values)  # type: ignore[arg-type] # the test names the fields


def report(text: str, *diagnostics: Diagnostic, terminal: Terminal | None = None) -> str:
    return render("text", Results((CheckedFile("a.yaml", text, diagnostics),)), terminal or Terminal(), ())


def frame(text: str, span: Span, width: int = 160) -> list[str]:
    """The numbered lines of a finding's frame and the marks below them."""
    diagnostic = Diagnostic("some-rule", Severity.ERROR, span, "not so")
    lines = report(text, diagnostic, terminal=Terminal(width=width)).splitlines()
    return lines[3 : lines.index("", 3)]


def test_a_finding_with_a_related_place_and_fixes() -> None:
    found = finding(
        JOB,
        "justecho_wrong",
        message="no prerequisite is named 'justecho_wrong'; did you mean 'justecho'?",
        related=(Related(span_of(JOB, "justecho"), "'justecho' is defined here"),),
        fixes=(
            Fix("Change to 'justecho'", (TextEdit(span_of(JOB, "justecho_wrong"), "justecho"),), safe=True),
            Fix("Remove it", (TextEdit(span_of(JOB, "justecho_wrong"), ""),)),
        ),
    )
    assert report(JOB, found) == (
        "error[some-rule]: no prerequisite is named 'justecho_wrong'; did you mean 'justecho'?\n"
        "  --> a.yaml:7:21\n"
        "   |\n"
        " 6 |   worker:\n"
        " 7 |     prerequisites: [justecho_wrong]\n"
        "   |                     ^^^^^^^^^^^^^^\n"
        "   = note: 'justecho' is defined here\n"
        "  --> a.yaml:3:11\n"
        "   |\n"
        " 2 | prerequisites:\n"
        " 3 |   - name: justecho\n"
        "   |           --------\n"
        "   = fix: Change to 'justecho'\n"
        "   = suggestion: Remove it\n"
        "\n"
        "1 error in 1 file (1 checked); 1 can be fixed with --fix\n"
    )


def test_marks_stand_under_wide_characters() -> None:
    text = "name: 训练😀 train\n"
    assert frame(text, span_of(text, "训练")) == [" 1 | name: 训练😀 train", "   |       ^^^^"]
    assert frame(text, span_of(text, "😀")) == [" 1 | name: 训练😀 train", "   |           ^^"]
    assert frame(text, span_of(text, "train")) == [" 1 | name: 训练😀 train", "   |              ^^^^^"]


def test_combining_characters_take_no_cell() -> None:
    text = "name: e\u0301te\u0301 x\n"
    assert frame(text, span_of(text, "x"))[1] == "   |           ^"
    assert frame(text, Span(7, 8))[1] == "   |        ^"


def test_tabs_are_shown_as_blanks_up_to_the_next_stop() -> None:
    text = "a:\tb\tccccc\td\n"
    assert frame(text, span_of(text, "d")) == [" 1 | a:  b   ccccc   d", "   |                 ^"]
    assert frame(text, span_of(text, "\tcc")) == [" 1 | a:  b   ccccc   d", "   |      ^^^^^"]


def test_a_span_of_several_lines_is_marked_without_its_indentation() -> None:
    text = "a:\n  - one\n  - two\nb: 1\n"
    assert frame(text, span_of(text, "- one\n  - two")) == [
        " 1 | a:",
        " 2 |   - one",
        "   |   ^^^^^",
        " 3 |   - two",
        "   |   ^^^^^",
    ]


def test_an_empty_line_inside_a_span_has_no_mark() -> None:
    text = "a:\n\n  b\n"
    assert frame(text, Span(0, 7)) == [" 1 | a:", "   | ^^", " 2 |", " 3 |   b", "   |   ^"]


def test_a_place_between_carriage_return_and_line_feed_is_the_lines_end() -> None:
    assert frame("a:\r\nb\r\n", Span(3, 3)) == [" 1 | a:", "   |   ^"]


def test_a_long_span_that_begins_far_to_the_right() -> None:
    text = "a: " + "x" * 300 + "y" * 100 + "\nb: z\n"
    shown = frame(text, span_of(text, "y" * 100 + "\nb: z"), width=50)
    assert len(shown[0]) <= 50
    assert shown[0][shown[1].index("^")] == "y"
    assert shown[0][shown[1].index("^") - 1] == "x"
    assert not any("^" in line for line in shown[2:])


def test_the_middle_of_a_long_span_is_left_out() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 31))
    assert frame(text, Span(0, len(text))) == [
        " 1 | line 1",
        "   | ^^^^^^",
        " 2 | line 2",
        "   | ^^^^^^",
        "...",
        "30 | line 30",
        "   | ^^^^^^^",
    ]


def test_an_empty_span_has_one_mark() -> None:
    assert frame("name:\n", Span(5, 5)) == [" 1 | name:", "   |      ^"]
    assert frame("name: x\n", Span(8, 8)) == [" 1 | name: x", " 2 |", "   | ^"]


def test_a_span_on_a_line_end_is_marked_after_the_line() -> None:
    assert frame("name: x\r\nb: 1\r\n", Span(7, 9)) == [" 1 | name: x", "   |        ^"]


def test_a_long_line_is_cut_around_the_span() -> None:
    text = "  - " + "echo " * 60 + "HERE " + "done " * 60 + "\n"
    lines = frame(text, span_of(text, "HERE"), width=60)
    assert all(len(line) <= 60 for line in lines)
    shown, marks = lines
    assert shown[5] == shown[-1] == "…"
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "HERE"


@pytest.mark.parametrize(
    ("start", "end", "shown", "marks"),
    [
        (0, 2, "10,11,12,13,14,15,16,17,18,19,20,21,22,…", (0, 2)),
        (3, 39, "10,11,12,13,14,15,16,17,18,19,20,21,22,…", (3, 39)),
        (39, 40, "…19,20,21,22,23,24,25,26,27,28,29,30,31…", (13, 14)),
        (40, 41, "…9,20,21,22,23,24,25,26,27,28,29,30,31,…", (13, 14)),
        (13, 60, "10,11,12,13,14,15,16,17,18,19,20,21,22,…", (13, 40)),
        (60, 62, "…26,27,28,29,30,31,32,33,34,35,36,37,38…", (13, 15)),
        (94, 96, "…7,38,39,40,41,42,43,44,45,46,47,48,49,", (13, 15)),
        (118, 120, "…7,38,39,40,41,42,43,44,45,46,47,48,49,", (37, 39)),
        (120, 120, "…7,38,39,40,41,42,43,44,45,46,47,48,49,", (39, 40)),
        (0, 120, "10,11,12,13,14,15,16,17,18,19,20,21,22,…", (0, 40)),
    ],
)
def test_forty_cells_of_a_line_of_120(start: int, end: int, shown: str, marks: tuple[int, int]) -> None:
    text = "".join(f"{number}," for number in range(10, 50)) + "\n"
    mark = " " * marks[0] + "^" * (marks[1] - marks[0])
    assert frame(text, Span(start, end), width=45) == [f" 1 | {shown}", f"   | {mark}"]


def test_a_long_line_of_wide_characters_is_cut_between_them() -> None:
    text = "a: " + "训" * 100 + "X" + "练" * 100 + "\n"
    shown, marks = frame(text, span_of(text, "X"), width=50)
    cells = lay_out(shown).cells
    assert cells[-1] <= 50
    assert cells[shown.index("X")] == marks.index("^")


def test_a_span_longer_than_the_line_width_is_marked_as_far_as_it_is_shown() -> None:
    text = "a: " + "x" * 300 + "\n"
    shown, marks = frame(text, Span(3, 303), width=50)
    assert marks.count("^") == shown.count("x") + shown.count("…")


def test_a_file_cannot_command_the_terminal() -> None:
    text = "name: \x1b[2Jx\u202ey\x07\n"
    found = finding(text, "x", message="bad \x1b[31m name \u202e")
    shown = report(text, found)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert " 1 | name: ␛[2Jx�y␇\n   |           ^\n" in shown


def test_a_related_place_in_another_file() -> None:
    found = finding(JOB, "justecho_wrong", related=(Related(Span(6, 10), "defined there", "market/b.yaml"),))
    file = CheckedFile("a.yaml", JOB, (found,), other_texts={"market/b.yaml": "name: here\n"})
    shown = render("text", Results((file,)), Terminal(), ())
    assert "   = note: defined there\n  --> market/b.yaml:1:7\n   |\n 1 | name: here\n   |       ----\n" in shown


def test_a_related_place_in_a_file_that_is_not_at_hand() -> None:
    found = finding(JOB, "justecho_wrong", related=(Related(Span(6, 10), "defined there", "marketplace://a/b"),))
    assert "   = note: defined there\n  --> marketplace://a/b\n" in report(JOB, found)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, "all good: 2 files checked\n"),
        ({Severity.ERROR: 3, Severity.WARNING: 1}, "3 errors, 1 warning in 1 file (2 checked)\n"),
        ({Severity.INFORMATION: 2, Severity.HINT: 1}, "2 information, 1 hint in 1 file (2 checked)\n"),
    ],
)
def test_summary(counts: dict[Severity, int], expected: str) -> None:
    diagnostics = tuple(
        Diagnostic(f"rule-{number}", severity, Span(0, 1), "not so")
        for severity, count in counts.items()
        for number in range(count)
    )
    results = Results((CheckedFile("a.yaml", "x", diagnostics), CheckedFile("b.yaml", "")))
    assert render("text", results, Terminal(), ()).endswith(expected)


def test_summary_of_what_is_hidden_and_what_was_fixed() -> None:
    results = Results((CheckedFile("a.yaml", "x", not_shown=2),), changed=1, verb="fixed")
    expected = "fixed 1 finding; all good: 1 file checked; 2 findings below the threshold, shown with --severity hint\n"
    assert render("text", results, Terminal(), ()) == expected
    assert render("text", Results(), Terminal(), ()) == "no job files found\n"


def test_colours_and_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostic, "RULE_PAGES", "https://pai-lsp.example/rules/")
    found = finding(JOB, "justecho_wrong")
    shown = report(JOB, found, terminal=Terminal(colour=True, links=True))
    assert "\x1b]8;;https://pai-lsp.example/rules/some-rule/\x1b\\" in shown
    assert "\x1b[1;31m^^^^^^^^^^^^^^\x1b[0m" in shown
    assert "\x1b" not in report(JOB, found)
    assert "\x1b]8" not in report(JOB, found, terminal=Terminal(colour=True))
    monkeypatch.setattr(diagnostic, "RULE_PAGES", "")
    assert "\x1b]8" not in report(JOB, found, terminal=Terminal(colour=True, links=True))


@pytest.mark.parametrize(
    ("choice", "environment", "is_terminal", "expected"),
    [
        ("auto", {}, True, (True, True)),
        ("auto", {}, False, (False, False)),
        ("auto", {"NO_COLOR": "1"}, True, (False, False)),
        ("auto", {"NO_COLOR": ""}, True, (True, True)),
        ("auto", {"FORCE_COLOR": "1"}, False, (True, False)),
        ("auto", {"FORCE_COLOR": "0"}, False, (False, False)),
        ("auto", {"FORCE_COLOR": "0"}, True, (True, True)),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, (False, False)),
        ("auto", {"TERM": "dumb"}, True, (False, False)),
        ("always", {"NO_COLOR": "1"}, False, (True, False)),
        ("never", {"FORCE_COLOR": "1"}, True, (False, False)),
    ],
)
def test_when_colours_are_used(
    choice: str, environment: dict[str, str], is_terminal: bool, expected: tuple[bool, bool]
) -> None:
    terminal = terminal_for(choice, environment, is_terminal=is_terminal, width=80)
    assert (terminal.colour, terminal.links) == expected


def test_width_of_the_terminal() -> None:
    assert terminal_for("auto", {}, is_terminal=True, width=90).width == 90
    assert terminal_for("auto", {}, is_terminal=False, width=90).width == 160
    assert terminal_for("auto", {}, is_terminal=True, width=0).width == 160


@pytest.mark.parametrize(
    ("character", "width"),
    [("a", 1), ("é", 1), ("训", 2), ("😀", 2), ("ｘ", 2), ("\u0301", 0), ("\u200b", 0), ("한", 2), ("\u1160", 0)],
)
def test_cells_of_a_character(character: str, width: int) -> None:
    assert cell_width(character) == width


def test_visible_keeps_ordinary_text() -> None:
    assert visible("näme 训练 😀\u200d") == "näme 训练 😀\u200d"
    assert visible("a\tb\x00\x7f\x9b") == "a␉b␀␡\ufffd"


def test_concise_is_one_line_a_finding() -> None:
    found = finding(JOB, "justecho_wrong", message="not\nso")
    results = Results((CheckedFile("a.yaml", JOB, (found,)), CheckedFile("b.yaml", "")))
    assert render("concise", results, Terminal(), ()) == "a.yaml:7:21: error[some-rule] not␊so\n"
    assert render("concise", Results((CheckedFile("b.yaml", ""),)), Terminal(), ()) == ""


def test_a_long_line_of_ascii_is_cut_without_looking_at_each_character(monkeypatch: pytest.MonkeyPatch) -> None:
    line = lay_out("0123456789" * 10_000)
    monkeypatch.setattr(text_report, "cell_width", None)
    assert text_report._cropped(line, 95, 106) == "…678901234…"


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [(0, 33, "é12345678字" * 3), (0, 30, "é12345678字é12345678字é123456…"), (0, 9, "é1234567…"), (5, 16, "…678字é123…"),
     (9, 20, "… é1234567…"), (22, 40, "…12345678字")],
)  # fmt: skip
def test_where_a_long_line_is_cut(left: int, right: int, shown: str) -> None:
    assert text_report._cropped(lay_out("é12345678字" * 3), left, right) == shown
