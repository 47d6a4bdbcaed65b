"""What `expand` refuses, `check` reports on the same words; and what `check` reports of that kind, `expand` refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from budgets import generated_cases, some
from expansion import marketplace
from hypothesis import example, given
from hypothesis import strategies as st
from job_text import HEAD, SMALL
from random_edits import edited, job_texts
from test_expand_round_trip import ANSWERED, document_of, jobs

from pai_lsp.document import Document, check_expanded
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.nodes import Mapping

if TYPE_CHECKING:
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.source.text import Span

TEXTS = job_texts()

# What makes a job impossible to expand, and has a rule of its own.
CODES = {
    "unresolved-this",
    "undeclared-template-variable",
    "unfilled-template-variable",
    "unknown-prerequisite",
    "unknown-required-prerequisite",
    "unknown-marketplace-item",
    "prerequisite-cycle",
    "invalid-event",
    "storage-conflict",
    "cannot-be-expressed",
}

# Not an error as long as the job is not expanded: a plugin that no cluster has does nothing until then, and one whose
# failure is ignored only does not run its callbacks.
REASONS = {"marketplace-not-asked", "prerequisite-without-effect", "callback-incomplete"}

# Those that `expand` finds before it looks at how the definitions go together.
FOUND_FIRST = {"unresolved-this", "undeclared-template-variable", "unfilled-template-variable", "invalid-event"}


def assert_agreed(document: Document) -> None:
    result = expanded(document.job)
    problems = result.problems if result.run is None else ()
    found = [one for one in document.diagnostics if one.code not in ANSWERED]
    reasons = [one for one in found if one.severity is Severity.ERROR or one.code in REASONS]
    places = [span for one in reasons for span in (one.span, *(related.span for related in one.related))]
    lines = {document.lines.line_of(span.start) for span in places}
    # What has no rule of its own is reported where the file has no other error.
    reported = {"cannot-be-expanded"} if any(one.severity is Severity.ERROR for one in found) else set()
    unreported = (one for one in problems if one.code not in reported and not any(map(one.span.overlaps, places)))
    silent = [one for one in unreported if one.code not in CODES or not _may_be_defined(document, one.span)]
    is_extended = ANSWERED.intersection(one.code for one in document.diagnostics)
    assert not is_extended or [one for one in silent if document.lines.line_of(one.span.start) not in lines] == []
    assert result.text is not None or reasons
    is_refused = bool(problems) or result.text is None
    assert is_refused or not {"cannot-be-expanded", "cannot-be-expressed"}.intersection(one.code for one in found)
    assert_same_words(document)


def assert_same_words(document: Document) -> None:
    result = expanded(document.job)
    refused = {_words(one) for one in result.problems if one.code in CODES and not _may_be_defined(document, one.span)}
    found = {_words(one) for one in document.diagnostics if one.code in CODES}
    # What only the values of variables decide has the words of expansion, at the same place.
    expansion = {_words(one)[1] for one in document.diagnostics if one.code == "cannot-be-expanded"}
    alone = sorted(one for one in refused - found if one[1] not in expansion)
    assert not alone, f"expand alone refuses {alone}"
    run = {one for one in found if _is_run(document, one[1])}
    remaining = Document(result.text or "", path="a.pai.yaml", lookup=document.lookup) if run else None
    is_reported = (
        result.problems or not remaining or {one[0] for one in run} <= {one.code for one in remaining.diagnostics}
    )
    assert is_reported, f"check alone reports {sorted(run)}"
    first = {one for one in run if one[0] in FOUND_FIRST}
    has_others = any(one.code not in CODES for one in result.problems)
    assert first <= refused or has_others, f"check alone reports {sorted(first - refused)}"


def _words(one: Diagnostic) -> tuple[str, Span]:
    return one.code, one.span


def _may_be_defined(document: Document, span: Span) -> bool:
    """Whether a mistake in the definitions, which is reported itself, may hide the definition of the name there."""
    name = document.text[span.start : span.end].strip("'\"")
    written, meant = document.job, document.job.as_meant
    is_misread = name in meant.definitions_by_name and name not in written.definitions_by_name
    return is_misread or written.may_define(name) or meant.may_define(name)


def _is_run(document: Document, span: Span) -> bool:
    """Whether a place is in a task role, or in a definition that some task role runs."""
    job = document.job
    holder = next((one for one in job.definitions if _holds(one.node.span, span)), None)
    if holder is None:
        section = job.section("taskRoles")
        return section is not None and isinstance(section.value, Mapping) and _holds(section.value.span, span)
    return bool(job.roles_running(holder))


def _holds(whole: Span, part: Span) -> bool:
    return whole.start <= part.start and part.end <= whole.end


@pytest.mark.parametrize("path", some(jobs(), 6), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_on_every_job_of_the_tests(path: Path) -> None:
    document = document_of(path)
    # What only the author's word keeps silent, and what no reader can go on after.
    if "pai-lsp: ignore" not in document.text and not document.job.syntax.problems:
        assert_agreed(document)


def other_texts() -> dict[str, str]:
    """What the fixtures of fixes, refactorings, typing and hiding begin with."""
    folders = (Path(__file__).parent / name for name in ("fixes", "hidden", "refactorings", "typed"))
    files = sorted(path for folder in folders for path in folder.glob("*.yaml"))
    texts = {f"{path.parent.name}-{path.stem}": path.read_bytes().decode().split("=====\n")[0] for path in files}
    return {name: text.partition("-----\n")[2].replace("$0", "") or text for name, text in texts.items()}


def assert_agreed_on_text(text: str) -> None:
    document = Document(text, path="a.pai.yaml", lookup=marketplace())
    if "pai-lsp: ignore" not in text and not document.job.syntax.problems:
        assert_agreed(document)


OTHERS = other_texts()


@pytest.mark.parametrize("text", some(OTHERS.values()), ids=some(OTHERS))
def test_on_every_other_fixture(text: str) -> None:
    assert_agreed_on_text(text)


@pytest.mark.slow
@generated_cases(150)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 2**32))
@example("typo.pai.yaml", 18419)
def test_on_edited_jobs(name: str, seed: int) -> None:
    assert_agreed_on_text(edited(TEXTS[name], seed))


ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    prerequisites: [one, two]
    commands: [echo run]
"""
PATHS = (
    "this.server.host", "this.server.port", "this.server", "this.parameters.server.host", "this.none", "this.list[1]",
    "this.list[5]", "this.list.0", "this.list", "this.list.x", "this.text", "this.text.x", "this.null", "this.null.x",
    "this.empty", "this.name", "this. text", "this .text", "this.text ", "this.", "this", "this[0]", "this.parameters",
    "this.parameters[0]", "this..text", "this.{{ v }}", "this.far", "this.far.deep", "thisx", "that.text",
)  # fmt: skip
KEYS = {
    "server": "{host: a, '0': b}",
    "list": "[x, 2]",
    "text": "words",
    "null": "null",
    "empty": '""',
    "far": "{deep: down}",
    "plugin": "cmd",
    "template_variables": "[]",
    "uri": "https://example.com/<% this.text %>",
}
REQUIRED = ("two", "no-such-name", "one", "marketplace://name/cache", "marketplace://name/nothing")


@st.composite
def generated(draw: st.DrawFn) -> str:
    """A job with two definitions, the first of which uses `this` and perhaps requires the second."""
    lines: list[str] = []
    path = draw(st.sampled_from(PATHS))
    shared = draw(st.booleans())
    for name in ("one", "two"):
        lines += [f"  - name: {name}", "    type: script"]
        for key in draw(st.sets(st.sampled_from(sorted(KEYS)), max_size=5)):
            lines.append(f"    '{key}': {KEYS[key]}")
        if name == "two" and shared:
            lines += ["    callbacks: *both"]
        elif name == "one":
            if required := draw(st.lists(st.sampled_from(REQUIRED), max_size=2, unique=True)):
                lines.append(f"    require: [{', '.join(required)}]")
            event = draw(st.sampled_from(["taskStarts", "taskFails", "taskEnds"]))
            text = f"echo <% {path} %> <% this.text %>"
            lines += [f"    callbacks: &both [{{event: {event}, commands: ['{text}']}}]"]
    return HEAD + "\n".join(lines) + "\n" + ROLE


# As written, the cluster refuses the address; expanded, it stops at what the runtime makes of `note`.
STOPPED_TWICE = (
    HEAD
    + """\
  - name: one
    type: script
    note: "it's \\"one\\""
    callbacks: [{event: taskStarts, commands: [echo one]}]
"""
    + ROLE.replace("[one, two]", "[one, 'marketplace://name/install_wget']")
)

# The plugin reads no `type` of a callback, so what the runtime makes of it harms nobody.
UNREAD_KEY = (
    HEAD
    + """\
  - name: one
    type: script
    callbacks: [{event: taskStarts, commands: [echo one], type: "a\\nb"}]
"""
    + ROLE.replace("[one, two]", "[one]")
)


@generated_cases(250)
@example(STOPPED_TWICE)
@example(UNREAD_KEY)
@given(generated())
def test_on_small_jobs(text: str) -> None:
    assert_agreed(Document(text, path="a.pai.yaml", lookup=marketplace()))


def test_a_job_that_needs_no_expansion_is_read_and_checked_once() -> None:
    document = Document(SMALL.replace("echo hi", "sudo echo hi"))
    found = expanded(document.job)
    assert found.text == document.text
    assert found.job is not None
    assert found.job.syntax is document.syntax
    assert [one.code for one in check_expanded(document, found)] == [one.code for one in document.diagnostics]
    assert document.diagnostics
