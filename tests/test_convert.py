"""Our places and edits in the client's units, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from pai_lsp.findings.diagnostic import Diagnostic, DiagnosticTag, Related, Severity
from pai_lsp.lsp.client import Client
from pai_lsp.lsp.convert import Places, changed_text, lsp_diagnostic, path_of, workspace_edit
from pai_lsp.source.frozen import replace
from pai_lsp.source.text import ColumnUnit, LineIndex, Span, TextEdit

UNITS = list(ColumnUnit)

# Letters of one to four bytes, and everything that somebody takes for a line end.
TEXTS = st.text(alphabet="ab: \n\r\t漢é😀\u2028\u0085\x0b\x0c\x1c", max_size=40)

EVERYTHING = Client(
    lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(
            publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(
                related_information=True,
                code_description_support=True,
                tag_support=lsp.ClientDiagnosticsTagOptions(
                    [lsp.DiagnosticTag.Unnecessary, lsp.DiagnosticTag.Deprecated]
                ),
            )
        ),
        workspace=lsp.WorkspaceClientCapabilities(
            workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True)
        ),
    )
)


def places(text: str, unit: ColumnUnit = ColumnUnit.UTF16) -> Places:
    return Places(LineIndex(text), unit)


def encoded(text: str, unit: ColumnUnit) -> bytes:
    return text.encode({"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[unit.value])


WIDTH = {ColumnUnit.UTF8: 1, ColumnUnit.UTF16: 2, ColumnUnit.CODE_POINT: 4}


@pytest.mark.parametrize("unit", UNITS)
def test_columns_count_what_the_client_counts(unit: ColumnUnit) -> None:
    text = "ok: 1\r\n漢字😀é: x\rlast"
    at = text.index("x")
    position = places(text, unit).position(at)
    expected = len(encoded("漢字😀é: ", unit)) // WIDTH[unit]
    assert position == lsp.Position(1, expected)
    assert places(text, unit).offset(position) == at


@given(TEXTS, st.sampled_from(UNITS), st.data())
def test_places_there_and_back(text: str, unit: ColumnUnit, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    here = places(text, unit)
    back = here.offset(here.position(offset))
    # A client cannot name the place between CR and LF.
    assert back == offset or text[offset - 1 : offset + 1] == "\r\n"


@given(TEXTS, st.integers(0, 50), st.integers(0, 50), st.sampled_from(UNITS))
def test_any_position_is_a_place_in_the_text(text: str, line: int, column: int, unit: ColumnUnit) -> None:
    assert 0 <= places(text, unit).offset(lsp.Position(line, column)) <= len(text)


def test_a_column_within_a_character_is_the_place_after_it() -> None:
    assert places("😀b").offset(lsp.Position(0, 1)) == 1


def test_a_range_whose_ends_are_swapped() -> None:
    assert places("abc").span(lsp.Range(lsp.Position(0, 2), lsp.Position(0, 1))) == Span(1, 2)


class ClientText:
    """A text as a client keeps it: encoded, in lines that end as LSP defines, changed by line and column."""

    def __init__(self, text: str, unit: ColumnUnit) -> None:
        self.unit = unit
        self.text = text

    def line_starts(self) -> list[int]:
        starts, at = [0], 0
        while at < len(self.text):
            if self.text[at] == "\r" and self.text[at + 1 : at + 2] == "\n":
                at += 1
            at += 1
            if self.text[at - 1] in "\r\n":
                starts.append(at)
        return starts

    def position(self, offset: int) -> lsp.Position:
        starts = [start for start in self.line_starts() if start <= offset]
        return lsp.Position(
            len(starts) - 1, len(encoded(self.text[starts[-1] : offset], self.unit)) // WIDTH[self.unit]
        )

    def replace(self, start: int, end: int, new: str) -> lsp.TextDocumentContentChangePartial:
        change = lsp.TextDocumentContentChangePartial(lsp.Range(self.position(start), self.position(end)), new)
        self.text = self.text[:start] + new + self.text[end:]
        return change

    def splits_line_end(self, offset: int) -> bool:
        return self.text[max(offset - 1, 0) : offset + 1] == "\r\n"


@given(TEXTS, st.sampled_from(UNITS), st.data())
def test_changes_give_the_text_that_the_client_has(text: str, unit: ColumnUnit, data: st.DataObject) -> None:
    client = ClientText(text, unit)
    changes: list[lsp.TextDocumentContentChangeEvent] = []
    for _ in range(data.draw(st.integers(1, 5))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(client.text))] * 2)))
        if client.splits_line_end(start) or client.splits_line_end(end):
            continue
        changes.append(client.replace(start, end, data.draw(TEXTS)))
    assert changed_text(LineIndex(text), changes, unit) == client.text


@given(TEXTS, st.sampled_from(UNITS), st.data())
def test_changes_from_the_last_to_the_first(text: str, unit: ColumnUnit, data: st.DataObject) -> None:
    client = ClientText(text, unit)
    offsets = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)), reverse=True)
    changes = [client.replace(at, at, data.draw(TEXTS)) for at in offsets if not client.splits_line_end(at)]
    assert changed_text(LineIndex(text), changes, unit) == client.text


def test_a_whole_new_text_between_changes() -> None:
    start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    changes: list[lsp.TextDocumentContentChangeEvent] = [
        lsp.TextDocumentContentChangePartial(start, "lost"),
        lsp.TextDocumentContentChangeWholeDocument("b\n"),
        lsp.TextDocumentContentChangePartial(start, "a"),
    ]
    assert changed_text(LineIndex("x"), changes, ColumnUnit.UTF16) == "ab\n"


FINDING = Diagnostic(
    "unused-ignore",
    Severity.HINT,
    Span(2, 4),
    "there is nothing to ignore",
    related=(Related(Span(0, 1), "here"), Related(Span(0, 1), "there", "other.yaml"), Related(Span(0, 1), "?", "none")),
    tags=(DiagnosticTag.UNNECESSARY,),
)


def test_a_diagnostic_with_everything() -> None:
    other = {"other.yaml": ("file:///other.yaml", places("\n"))}
    shown = lsp_diagnostic(FINDING, "file:///a", places("ab\ncd"), EVERYTHING, other.get)
    assert shown.range == lsp.Range(lsp.Position(0, 2), lsp.Position(1, 1))
    assert (shown.code, shown.severity, shown.source) == ("unused-ignore", lsp.DiagnosticSeverity.Hint, "pai-lsp")
    assert shown.message == FINDING.message
    assert shown.code_description is None  # a rule has no page yet
    by_shellcheck = lsp_diagnostic(
        replace(FINDING, code="SC2034"), "file:///a", places("ab\ncd"), EVERYTHING, other.get
    )
    assert by_shellcheck.code_description == lsp.CodeDescription("https://www.shellcheck.net/wiki/SC2034")
    assert shown.tags == [lsp.DiagnosticTag.Unnecessary]
    assert shown.related_information is not None
    assert [(one.location.uri, one.message) for one in shown.related_information] == [
        ("file:///a", "here"),
        ("file:///other.yaml", "there"),
    ]
    assert shown.related_information[1].location.range.end == lsp.Position(1, 0)


def test_a_diagnostic_for_a_client_that_knows_little() -> None:
    shown = lsp_diagnostic(FINDING, "file:///a", places("ab\ncd"), Client())
    assert (shown.code_description, shown.tags, shown.related_information) == (None, None, None)


@pytest.mark.parametrize("severity", Severity)
def test_severities(severity: Severity) -> None:
    shown = lsp_diagnostic(Diagnostic("a", severity, Span(0, 0), "b"), "file:///a", places(""), Client())
    assert shown.severity is not None
    assert shown.severity.name.lower() == severity.label


def test_edits_with_and_without_versions() -> None:
    edits = (TextEdit(Span(3, 3), "x"), TextEdit(Span(0, 1), "y"))
    text_edits = [
        lsp.TextEdit(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 2)), "y"),
        lsp.TextEdit(lsp.Range(lsp.Position(1, 1), lsp.Position(1, 1)), "x"),
    ]
    old = workspace_edit(edits, "file:///a", 7, places("😀\nb"), Client())
    assert old == lsp.WorkspaceEdit(changes={"file:///a": text_edits})
    new = workspace_edit(edits, "file:///a", 7, places("😀\nb"), EVERYTHING)
    document = lsp.OptionalVersionedTextDocumentIdentifier("file:///a", 7)
    assert new == lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, text_edits)])


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.pai.yaml", "/a/b c.pai.yaml"),
        ("untitled:job.pai.yaml", "job.pai.yaml"),
        ("git:/a/b.yaml?ref=main", "/a/b.yaml"),
        ("http://[broken", "http://[broken"),
        ("", ""),
    ],
)
def test_paths(uri: str, path: str) -> None:
    assert path_of(uri) == path
