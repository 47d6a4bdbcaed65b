"""Every rule: listed, documented, its examples true, its fixture exact, its fixes effective."""

from __future__ import annotations

import pkgutil
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from budgets import IS_FAST, some
from marks import Mark, as_marks, before, examples, is_catalog, read_marks
from random_edits import assert_rules_not_asked_find_nothing

import pai_lsp.document
import pai_lsp.rules as rules_package
import pai_lsp.source.steps
from pai_lsp.document import IS_WANTED, CheckAbandoned, Document, check
from pai_lsp.findings.diagnostic import Finding, Fix, Order, Settings, Severity, rules_of
from pai_lsp.rules import BY_CODE, RULES, all_rules, families
from pai_lsp.source.comments import comments, written_comments
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import ProblemKind
from pai_lsp.source.steps import spend
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, apply_edits, overlapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.job.job import Job

FIXTURES = Path(__file__).parent / "rules"
FIXES = Path(__file__).parent / "fixes"
CODES = [rule.code for rule in RULES]
ALL_RULES = Settings(previews=True)
# Rules whose finding needs a file that is too large or too special for an example.
WITHOUT_EXAMPLE = {
    "too-large-to-read",
    "job-too-large",
    "unknown-marketplace-item",
    "locked-definition-changed",
    "broken-lock-file",
}
# Rules about characters that a docstring, which loses its tabs, cannot show, and the one about whole jobs.
WITHOUT_DOCUMENTED_EXAMPLE = WITHOUT_EXAMPLE | {"stray-tab", "unicode-line-end", "task-never-starts"}


def fixtures() -> list[Path]:
    return sorted(FIXTURES.glob("*.yaml"))


# The verbs of summaries. A summary that needs another one adds it here.
VERB = re.compile(
    r"accepts|acts|are|asks|becomes|begins|breaks|can|cannot|conflicts|contains|continued|could|"
    r"creates|differs|do|does|doubles|drops|ends|exceeds|expands|expects|finds|follows|gets|goes|"
    r"has|have|hides|ignores|inserts|is|joins|keep|listens|lists|looks|loses|makes|may|names|"
    r"needs|reaches|read|reads|recognize|refers|refuses|reinterprets|remain|removes|reports|"
    r"requests|require|requires|run|runs|sets|share|shares|shows|silences|skips|start|starts|"
    r"stops|supports|swallows|takes|use|uses|waits|wants|was|wins|writes"
)


def test_each_summary_is_a_sentence() -> None:
    """It has a verb besides those of its relative clauses: "A key is missing", not "Key that is missing"."""
    for rule in RULES:
        words = re.findall(r"[\w-]+", re.sub(r"`[^`]*`", "", rule.summary.lower()))
        verbs = [word for word in words if VERB.fullmatch(word)]
        relative = [word for word in words if word in {"that", "which", "who", "whose", "where"}]
        assert len(verbs) > len(relative), f"{rule.code}: {rule.summary}"


def test_documentation() -> None:
    for rule in RULES:
        assert rule.summary.endswith("."), f"the first line of '{rule.code}' is one sentence"
        assert re.search("Sources?:", rule.documentation) or rule.code == "unused-ignore", rule.code
        bad, good = examples(rule)
        assert (bad and good) or rule.code in WITHOUT_DOCUMENTED_EXAMPLE, rule.code


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_bad_examples_are_found_and_good_ones_are_silent(rule: Rule) -> None:
    bad, good = examples(rule)
    for example in [*bad, *good]:
        text, marks = read_marks(example, rule.code)
        assert bool(marks) == (example in bad), f"a bad example has marks, a good one has none:\n{example}"
        found = [d for d in Document(text, ALL_RULES, is_catalog=is_catalog(text)).diagnostics if d.code == rule.code]
        assert as_marks(text, found, with_messages=marks) == marks, text


def test_every_rule_is_listed_once() -> None:
    assert len(set(CODES)) == len(CODES)
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", code) for code in CODES)


def test_rules_about_problems_of_syntax_are_asked_first() -> None:
    problems = {kind.value for kind in ProblemKind}
    assert [rule.code for rule in RULES if problems & {*rule.about} and not rule.is_about_reading] == []
    assert {rule.order for rule in RULES if rule.is_about_reading} == {Order.SYNTAX}


def test_every_module_with_rules_belongs_to_a_family() -> None:
    modules = [import_module(one.name) for one in pkgutil.walk_packages(rules_package.__path__, "pai_lsp.rules.")]
    about_jobs = {rule.code for name, rules in families().items() if name != "mpijob" for rule in rules}
    assert {rule.code for rule in rules_of(*modules)} == about_jobs - {"unused-ignore"}


def test_every_rule_has_a_fixture() -> None:
    marked = {mark.code for path in fixtures() for mark in fixture(path)[1]}
    assert set(CODES) - marked == WITHOUT_EXAMPLE


def test_every_former_code_has_one_rule_and_no_rule_of_its_own() -> None:
    former = Counter(code for rule in all_rules() for code in rule.former)
    assert {"mpi-as-root", "mpi-foreign-host"} <= former.keys()
    assert set(former.values()) == {1}
    assert not former.keys() & {rule.code for rule in all_rules()}


# A job without errors, so that `check` asks whether a rule that is off explains why it does not run.
_RUNS = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:latest"}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}
    commands: [python train.py]
"""


@pytest.mark.parametrize("setting", ["on", "off", "ignored"])
def test_a_rule_that_fails_silences_no_other(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(job: Job) -> Iterator[Finding]:
        yield from ()
        raise ValueError(job.text)

    broken = replace(BY_CODE["unknown-prerequisite"], check=failing)
    rules = tuple(broken if rule.code == broken.code else rule for rule in RULES)
    monkeypatch.setattr(pai_lsp.document, "RULES", rules)
    monkeypatch.setattr(pai_lsp.document, "EXPLAINING", {rule.code: rule for rule in rules if rule.explains_stop})
    comment = f"# pai-lsp: ignore-file[{broken.code}]\n" if setting == "ignored" else ""
    document = Document(comment + _RUNS, Settings({broken.code: None} if setting == "off" else {}))
    faults: list[str] = []
    found = check(document, lambda rule, _: faults.append(rule.code))
    assert "image-latest-tag" in {one.code for one in found}
    assert faults == ([] if setting == "off" else [broken.code])


@pytest.mark.parametrize("count", [1, 30])
def test_a_rule_that_does_not_end_gives_up_and_the_others_go_on(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(job: Job) -> Iterator[Finding]:
        yield Finding(Span(5, 9), "found before")
        while True:
            assert [role.name for role in job.task_roles]

    def endless_in_lines(job: Job) -> Iterator[Finding]:
        yield from ()
        while True:
            Document(job.text).lines.line_of(5)

    monkeypatch.setattr(pai_lsp.source.steps, "FEW", 0)
    first, *others = (replace(rule, about=()) for rule in RULES if rule.code != "image-latest-tag")
    without_end = [replace(first, check=endless)]
    without_end += [replace(rule, check=endless_in_lines) for rule in others[: count - 1]]
    rules = (*without_end, BY_CODE["image-latest-tag"])
    monkeypatch.setattr(pai_lsp.document, "RULES", rules)
    monkeypatch.setattr(pai_lsp.document, "MOST_STEPS", 20_000)
    found = check(Document(_RUNS))
    gave_up = {one.code for one in found if f"the rule '{one.code}' gave up" in one.message}
    assert gave_up == {rule.code for rule in without_end}
    assert {one.severity for one in found if "gave up" in one.message} == {Severity.INFORMATION}
    assert [one.code for one in found if "gave up" not in one.message] == [first.code, "image-latest-tag"]


@pytest.mark.parametrize(
    ("steps", "gave_up"),
    [
        ((500, 250, 125), ()),
        ((501, 249, 125), (0,)),
        ((500, 251, 124), (1,)),
        ((0, 500, 251), (2,)),
        ((4, 498, 250), (2,)),
    ],
)
def test_a_rule_may_take_half_of_the_steps_that_are_left(
    steps: tuple[int, ...], gave_up: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def taking(number: int) -> Callable[[Job], Iterator[Finding]]:
        def check(job: Job) -> Iterator[Finding]:
            spend(number)
            yield Finding(Span(0, min(1, len(job.text))), "done")

        return check

    rules = [replace(rule, about=(), check=taking(number)) for rule, number in zip(RULES, steps, strict=False)]
    monkeypatch.setattr(pai_lsp.document, "RULES", tuple(rules))
    monkeypatch.setattr(pai_lsp.document, "MOST_STEPS", 1000)
    monkeypatch.setattr(pai_lsp.document, "_FEW_PASSES", 0)
    found = {one.code for one in check(Document(_RUNS)) if "gave up" in one.message}
    assert found == {rules[number].code for number in gave_up}


def test_rules_that_need_no_steps_leave_them_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def long(job: Job) -> Iterator[Finding]:
        for _ in range(20_000):
            assert [role.name for role in job.task_roles]
        yield Finding(Span(5, 9), "found in the end")

    monkeypatch.setattr(pai_lsp.source.steps, "FEW", 0)
    *others, last = (replace(rule, about=()) for rule in RULES if rule.code != "image-latest-tag")
    monkeypatch.setattr(pai_lsp.document, "RULES", (*others[:50], replace(last, check=long)))
    monkeypatch.setattr(pai_lsp.document, "MOST_STEPS", 200_000)
    assert [one.message for one in check(Document(_RUNS)) if one.code == last.code] == ["found in the end"]


def test_several_documents_are_not_reported_where_that_is_off() -> None:
    text = _RUNS.replace("taskRoles:", "---\ntaskRoles:", 1)
    assert "several-documents" in {one.code for one in check(Document(text))}
    assert "several-documents" not in {one.code for one in check(Document(text, Settings({"several-documents": None})))}


def test_a_check_that_nobody_waits_for_ends_at_the_next_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Job] = []

    def finds_nothing(job: Job) -> Iterator[Finding]:
        asked.append(job)
        yield from ()

    rules = tuple(replace(rule, about=(), check=finds_nothing) for rule in RULES[:9])
    monkeypatch.setattr(pai_lsp.document, "RULES", rules)
    before = IS_WANTED.set(lambda: len(asked) < 4)
    try:
        with pytest.raises(CheckAbandoned):
            check(Document(_RUNS))
    finally:
        IS_WANTED.reset(before)
    assert len(asked) == 4


@cache
def fixture(path: Path) -> tuple[Document, list[Mark]]:
    text, marks = read_marks(before(path))
    return Document(text, ALL_RULES, is_catalog=is_catalog(text)), marks


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.stem)
def test_findings_are_the_marks(path: Path) -> None:
    document, marks = fixture(path)
    assert as_marks(document.text, document.diagnostics, with_messages=marks) == marks
    assert_well_formed(document)
    assert_rules_not_asked_find_nothing(document)


MESSAGE = re.compile(r"^[^A-Z\s].*[^.\s]$|^(?:U\+|YAML|'|HiveD|OpenPAI|PAI_)", re.DOTALL)


def assert_well_formed(document: Document) -> None:
    for diagnostic in document.diagnostics:
        assert diagnostic.code in BY_CODE
        assert MESSAGE.match(diagnostic.message), diagnostic.message
        assert "\n" not in diagnostic.message
        assert not diagnostic.message.endswith("."), diagnostic.message
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(document.text)
        for related in diagnostic.related:
            assert 0 <= related.span.start <= related.span.end


def found_by(code: str, document: Document) -> int:
    """How many findings the rule has in the document, after removal of those at a syntax problem."""
    alone = (BY_CODE[code],) if code != "unused-ignore" else RULES
    with mock.patch.object(pai_lsp.document, "RULES", alone):
        return sum(diagnostic.code == code for diagnostic in document.diagnostics)


@pytest.mark.parametrize("path", some(fixtures(), 3), ids=lambda path: path.stem)
def test_fixes(path: Path) -> None:
    document, _ = fixture(path)
    counts = Counter(diagnostic.code for diagnostic in document.diagnostics)
    for diagnostic in document.diagnostics:
        for fix in diagnostic.fixes:
            after = replace(document, text=apply_edits(document.text, fix.edits))
            assert after.text != document.text, f"'{fix.title}' changes nothing"
            left = found_by(diagnostic.code, after)
            assert left < counts[diagnostic.code], f"'{fix.title}' leaves '{diagnostic.message}' in\n{after.text}"
            assert len(after.syntax.problems) <= len(document.syntax.problems), after.text


def with_comments(document: Document) -> str:
    """The text with a comment after every line that ends outside a scalar and has none yet."""
    syntax, text = document.syntax, document.text
    lines: list[str] = []
    end = 0
    for number, line in enumerate(text.split("\n")):
        start, end = end, end + len(line) + 1
        inside = any(
            one.span.start < end - 1 < one.span.end or one.span.start < start < one.span.end for one in syntax.scalars
        )
        is_free = line.strip() and "#" not in line and not inside and not line.endswith(("|", ">", "-", "\r"))
        lines.append(f"{line}  # comment {number}" if is_free else line)
    return "\n".join(lines)


def comments_of(text: str) -> Counter[str]:
    """The comments of a text with how often they occur; ruamel.yaml finds them, or we do where seconds count."""
    return Counter(comment.text for comment in comments(parse(text))) if IS_FAST else written_comments(text)


@pytest.mark.parametrize("path", some(fixtures(), 7), ids=lambda path: path.stem)
def test_no_fix_loses_a_comment(path: Path) -> None:
    text = with_comments(fixture(path)[0])
    document = Document(text, ALL_RULES, is_catalog=is_catalog(text))
    if document.syntax.problems:
        return  # comments are not known after a syntax error
    before = comments_of(text)
    for diagnostic in document.diagnostics:
        for fix in (
            diagnostic.fixes if diagnostic.code not in {"unused-ignore", "unicode-line-end", "unknown-platform"} else ()
        ):
            assert not before - comments_of(apply_edits(text, fix.edits)), f"'{fix.title}'"


def test_no_fix_removes_what_an_alias_repeats() -> None:
    parameters = "parameters:\n  lr: &rate 0.1\n  used: *rate\n"
    text = f"{parameters}taskRoles:\n  worker:\n    commands: [echo <% $parameters.used %>]\n"
    for written, titles in ((text, []), (text.replace("*rate", "0.1"), ["Remove 'lr'"])):
        (found,) = [one for one in Document(written).diagnostics if one.code == "unused-parameter"]
        assert [fix.title for fix in found.fixes] == titles


@pytest.mark.parametrize("path", sorted(FIXES.glob("*.yaml")), ids=lambda path: path.stem)
def test_fix_gives_exactly(path: Path) -> None:
    """`CODE.yaml` or `CODE.WHICH.yaml`: before, a line `=====`, after the first fix of the first finding of CODE."""
    before, after = path.read_bytes().decode().split("=====\n")
    code = path.stem.split(".")[0]
    diagnostic = next(d for d in Document(before).diagnostics if d.code == code)
    assert apply_edits(before, diagnostic.fixes[0].edits) == after


@pytest.mark.slow
def test_no_rule_builds_a_fix_whose_edits_overlap() -> None:
    for path in [*fixtures(), *sorted(FIXES.glob("*.yaml"))]:
        job = fixture(path)[0].job
        fixes = [fix for rule in RULES for finding in rule.check(job) for fix in finding.fixes]
        assert [fix for fix in fixes if overlapping(fix.edits) is not None] == []


def test_a_fix_whose_edits_overlap_is_not_offered() -> None:
    edits = (TextEdit(Span(0, 4), "x"), TextEdit(Span(2, 5), "y"))
    assert list(Document("name: train\n").applicable_fixes.of((Fix("Change it", edits),))) == []
