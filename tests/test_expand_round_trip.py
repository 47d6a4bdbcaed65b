"""An expanded job is a released job: expanding it changes nothing, and nothing in it is wrong that was not before."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from budgets import some
from expansion import FOLDER, marketplace
from job_text import HEAD
from marks import is_catalog, read_marks

from pai_lsp.catalog.loading import load_catalog
from pai_lsp.catalog.setup import CatalogSetup, DirectorySource
from pai_lsp.catalog.store import Surroundings
from pai_lsp.document import Document
from pai_lsp.expansion.released_job import ExpandedJob, expanded
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.job.lookup import Lookup, NoLookup

TESTS = Path(__file__).parent
EXAMPLES = TESTS.parent / "examples"

# What expansion is the answer to.
ANSWERED = {"needs-expansion", "refused-until-expanded"}


def jobs() -> list[Path]:
    """Every job that the tests and the examples hold, those of other tests' fixtures with their marks."""
    folders = (EXAMPLES, TESTS / "rules", *(one for one in sorted(FOLDER.iterdir()) if one.is_dir()))
    found = [path for folder in folders for path in sorted(folder.glob("*.yaml"))]
    return [path for path in found if not is_catalog(path.read_bytes().decode())]


@cache
def document_of(path: Path) -> Document:
    text = path.read_bytes().decode()
    lookup: Lookup = NoLookup()
    if path.parent == EXAMPLES:
        setup = CatalogSetup(str(EXAMPLES), (DirectorySource(str(EXAMPLES / "marketplace")),))
        lookup = load_catalog(setup, Surroundings(environment={}))
    elif path.is_relative_to(FOLDER):
        text, lookup = text.partition("=====\n")[0], marketplace()
    else:
        text, _ = read_marks(text)
    return Document(text, path=path.name, lookup=lookup)


@cache
def expanded_job(path: Path, *, is_inline: bool) -> ExpandedJob:
    job = document_of(path).job
    return expanded(job, [role.name for role in job.task_roles] if is_inline else [])


@cache
def expanded_document(path: Path, *, is_inline: bool) -> Document:
    return Document(expanded_job(path, is_inline=is_inline).text or "", path=path.name)


def errors(document: Document) -> list[str]:
    found = (one for one in document.diagnostics if one.severity is Severity.ERROR)
    return [one.code for one in found if one.code not in ANSWERED]


@pytest.mark.slow
def test_there_are_jobs_to_try() -> None:
    documents = [document_of(path) for path in jobs()]
    sound = [one for one in documents if not errors(one)]
    changed = [one for one in sound if expanded(one.job).text not in {None, one.text}]
    assert len(sound) > 15
    assert len(changed) > 5


@pytest.mark.parametrize("is_inline", [False, True], ids=["", "inline"])
@pytest.mark.parametrize("path", some(jobs(), 2), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_expanding_twice_is_expanding_once(path: Path, is_inline: bool) -> None:
    inlined = [role.name for role in document_of(path).job.task_roles] if is_inline else []
    result = expanded_job(path, is_inline=is_inline)
    if result.text is None:
        assert result.problems
        return
    after = expanded_document(path, is_inline=is_inline)
    assert not ANSWERED.intersection(one.code for one in after.diagnostics)
    assert expanded(after.job, inlined).text == result.text


@pytest.mark.parametrize("is_inline", [False, True], ids=["", "inline"])
@pytest.mark.parametrize("path", some(jobs(), 4), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_job_without_an_error_becomes_one_without_an_error(path: Path, is_inline: bool) -> None:
    before = document_of(path)
    if errors(before) or "pai-lsp: ignore[" in before.text:
        return
    result = expanded_job(path, is_inline=is_inline)
    if result.text is None:
        known = {"alias-inside-itself"}
        unknown = [one.message for one in result.problems if one.code not in known]
        assert all("could not be looked up" in message for message in unknown)
        return
    assert errors(expanded_document(path, is_inline=is_inline)) == []
    needs_expansion = ANSWERED.intersection(one.code for one in before.diagnostics)
    assert is_inline or needs_expansion or result.text == before.text


def test_an_empty_key_of_the_extended_protocol_asks_for_nothing() -> None:
    text = (
        HEAD
        + """\
  - name: setup
    type: script
    require: []
    template_variables: []
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: [echo hello]}]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
    prerequisites: [setup]
    commands: [python train.py]
"""
    )
    document = Document(text, path="a.pai.yaml")
    assert not ANSWERED.intersection(one.code for one in document.diagnostics)
    assert expanded(document.job).text == text
