"""Fixes are computed when they are shown or applied, not when their finding is made."""

from __future__ import annotations

import pickle
from pathlib import Path
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD

import pai_lsp.document
import pai_lsp.job.symbols
from pai_lsp.document import Document, _found_alone, check
from pai_lsp.findings.diagnostic import Finding, Fix, Rule, later
from pai_lsp.findings.fixes import ApplicableFixes
from pai_lsp.rules import BY_CODE
from pai_lsp.rules.text.characters import invisible_character
from pai_lsp.source.frozen import replace
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job

SAME = HEAD + "  - {type: script, name: same}\n" * 500


def test_no_finding_computes_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    rename = pai_lsp.job.symbols.rename_prerequisite

    def counted(job: Job, definition: Definition, new_name: str) -> tuple[TextEdit, ...]:
        names.append(new_name)
        return rename(job, definition, new_name)

    monkeypatch.setattr(pai_lsp.job.symbols, "rename_prerequisite", counted)
    found = [one for one in Document(SAME).diagnostics if one.code == "duplicate-prerequisite"]
    assert len(found) == 499
    assert names == []
    assert [fix.title for fix in found[-1].fixes] == ["Rename this one to 'same_2'"]
    assert apply_edits(SAME, found[-1].fixes[0].edits).endswith("name: same}\n  - {type: script, name: same_2}\n")
    assert names == ["same_2"]


def test_findings_are_compared_without_their_fixes() -> None:
    text = HEAD + "  - {type: script, name: same}\n" * 2
    assert Document(text).diagnostics == Document(text).diagnostics
    fixed = Finding(Span(0, 1), "a", (Fix("b", (TextEdit(Span(0, 1), "c"),)),))
    assert fixed == Finding(Span(0, 1), "a")
    assert fixed != Finding(Span(0, 1), "b")


def test_the_places_of_one_mistake_share_their_fixes() -> None:
    text = HEAD.replace(": ", ":\u200b ")
    found = [one for one in _found_alone(invisible_character, Document(text), lambda *_: None) if one.fixes]
    assert len(found) > 5
    assert len({id(one.fixes) for one in found}) == 1


TEXTS = [path for folder in ("rules", "fixes") for path in sorted(Path(__file__).with_name(folder).glob("*.yaml"))]


@pytest.mark.repository
@pytest.mark.parametrize("made", [Fix, TextEdit])
def test_no_rule_makes_a_fix_or_an_edit_of_one(made: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts that all rules find something in; the expansion and repaired texts have edits of their own."""
    for _ in range(9):
        made(Span(0, 0), "")
    init: Any = made.__init__  # type: ignore[misc] # the compiled one, which stays
    makers: set[str] = set()

    def noted(self: object, *arguments: object, **named: object) -> None:
        modules = [frame.f_globals["__name__"] for frame, _ in walk_stack(None)]
        if not any(name.startswith(("pai_lsp.expansion.", "pai_lsp.source.recovery")) for name in modules):
            makers.update(name for name in modules if name.startswith(("pai_lsp.rules.", "pai_lsp.mpijob.")))
        init(self, *arguments, **named)

    monkeypatch.setattr(made, "__init__", noted)
    found = [one for path in TEXTS for one in Document(path.read_text(encoding="utf-8")).diagnostics]
    assert makers == set()
    assert sum(len(one.fixes) for one in found) > len(TEXTS)  # they are made now
    assert makers


def test_a_fix_that_fails_is_reported_with_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    @later
    def failing() -> tuple[Fix, ...]:
        raise ValueError

    def found(job: Job) -> Iterator[Finding]:
        yield Finding(job.definitions[0].name_span, "found", failing())

    broken = replace(BY_CODE["duplicate-prerequisite"], check=found)
    monkeypatch.setattr(pai_lsp.document, "RULES", (broken,))
    faults: list[tuple[Rule, str]] = []
    (one,) = check(Document(SAME), lambda rule, error: faults.append((rule, type(error).__name__)))
    assert faults == []
    assert tuple(one.fixes) == ()
    assert faults == [(broken, "ValueError")]


def test_findings_with_later_fixes_can_be_sent_to_another_process() -> None:
    fixes = later(lambda: [Fix("a", ())])()
    finding = Finding(Span(0, 1), "found", fixes)
    assert pickle.loads(pickle.dumps(finding)).fixes == (Fix("a", ()),)  # noqa: S301 - just made
    assert finding == Finding(Span(0, 1), "found")
    assert hash(finding) == hash(Finding(Span(0, 1), "found"))


@pytest.mark.parametrize(
    ("taken", "new_text", "is_applicable"),
    [
        ("&a b", "c", False),
        ("&a b", "&a c", True),
        ("&a b", "&ab c", False),
        ("&a b, *a", "c", False),
        ("&a b, *a, *a", "c", True),
        ("*a, *a", "c", True),
    ],
)
def test_an_anchor_stays_as_long_as_its_aliases(taken: str, new_text: str, *, is_applicable: bool) -> None:
    text = "x: [&a b, *a, *a]\n"
    start = text.index(taken)
    fix = Fix("change", (TextEdit(Span(start, start + len(taken)), new_text),))
    assert list(ApplicableFixes(parse(text)).of([fix])) == ([fix] if is_applicable else [])
