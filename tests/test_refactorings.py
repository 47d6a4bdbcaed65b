"""Refactorings: each gives exactly the expected text, keeps comments, breaks nothing, and the job runs what it ran.

A fixture is a title, a line of `-----`, a job in which `⟦ ⟧` hold the selection or `$0` is the cursor, a line of
`=====`, and the job afterwards. A title that ends with `[crlf]` means both jobs with the line ends of Windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from budgets import some
from expansion import marketplace

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings, Severity
from pai_lsp.ide.refactorings import Refactoring, made, refactorings
from pai_lsp.ide.refactorings.refactoring import what_runs
from pai_lsp.job.job import Job
from pai_lsp.source.comments import comments
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, apply_edits

FIXTURES = sorted((Path(__file__).parent / "refactorings").glob("*.yaml"))
# Their jobs run nothing yet.
BROKEN_BEFORE = {"conversion", "missing_keys", "template_variables"}
# A job that needs expansion has one of these findings.
EXTENDED = {"needs-expansion", "refused-until-expanded"}


@dataclass(frozen=True)
class Case:
    """A fixture as it is read."""

    title: str
    text: str
    span: Span
    after: str


def read_case(path: Path) -> Case:
    title, _, rest = path.read_text(encoding="utf-8").partition("\n-----\n")
    before, _, after = rest.partition("=====\n")
    if title.endswith(" [crlf]"):
        title = title.removesuffix(" [crlf]")
        before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
    text, span = read_selection(before)
    return Case(title, text, span, after)


def read_selection(marked: str) -> tuple[str, Span]:
    """The text without its marks, and what they hold."""
    if "$0" in marked:
        start = marked.index("$0")
        return marked.replace("$0", "", 1), Span(start, start)
    start, end = marked.index("⟦"), marked.index("⟧") - 1
    return marked.replace("⟦", "", 1).replace("⟧", "", 1), Span(start, end)


def document(text: str) -> Document:
    return Document(text, Settings(), "job.pai.yaml", marketplace())


def offered(text: str, span: Span, title: str) -> Refactoring:
    found = [one for one in refactorings(document(text), span) if one.title == title]
    assert len(found) == 1, [one.title for one in refactorings(document(text), span)]
    return made(found[0])


def edits_of(found: Refactoring) -> tuple[TextEdit, ...]:
    assert found.make is not None, found.disabled_reason
    return found.make()


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_text_afterwards(path: Path) -> None:
    case = read_case(path)
    edits = edits_of(offered(case.text, case.span, case.title))
    assert apply_edits(case.text, edits) == case.after


@pytest.mark.parametrize("path", some(FIXTURES), ids=lambda path: path.stem)
def test_nothing_is_broken(path: Path) -> None:
    case = read_case(path)
    before, after = document(case.text), document(case.after)
    assert after.syntax.problems == ()
    codes = {one.code for one in before.diagnostics}
    codes |= EXTENDED if codes & EXTENDED else set()
    worse = [one for one in after.diagnostics if one.severity <= Severity.WARNING and one.code not in codes]
    assert worse == []
    if not before.syntax.problems:
        kept = [one.text for one in comments(after.syntax)]
        assert [one.text for one in comments(before.syntax) if one.text not in kept] == []


# Callbacks that are moved to the end of the commands are run in tests/test_inlining.py.
SAME_LINES = [
    path
    for path in FIXTURES
    if path.stem.split(".")[0] not in BROKEN_BEFORE and "pai_lsp_commands" not in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", SAME_LINES, ids=lambda path: path.stem)
def test_the_job_runs_what_it_ran(path: Path) -> None:
    case = read_case(path)
    assert runs(case.after) == runs(case.text)


def runs(text: str) -> dict[str, list[str]]:
    """What runs, the secrets filled in, as no report ever shows it."""
    job = Job(parse(text), lookup=marketplace())
    found = what_runs(job)
    for name, entry in job.secrets.items():
        assert isinstance(entry.value, Scalar)
        tag, value = f"<% $secrets.{name} %>", entry.value.text
        found = {role: [line.replace(tag, value) for line in lines] for role, lines in found.items()}
    return found


# The finding that each refactoring fixes is gone afterwards.
MENDED = {
    "missing_keys": {"missing-key"},
    "conversion": {"v1-job", "v1-job-key", "missing-key", "type-mismatch", "unknown-key", "taskroles-not-mapping"},
    "expand_job": {"needs-expansion", "refused-until-expanded"},
    "template_variables": {"unfilled-template-variable"},
}


@pytest.mark.parametrize("path", some(FIXTURES, 4), ids=lambda path: path.stem)
def test_what_it_mends_is_mended(path: Path) -> None:
    gone = MENDED.get(path.stem.split(".")[0], set())
    before, after = (document(text) for text in (read_case(path).text, read_case(path).after))
    assert gone.isdisjoint(one.code for one in after.diagnostics)
    assert not gone or before.syntax.problems or not gone.isdisjoint(one.code for one in before.diagnostics)
