"""The name at a cursor is the same, however much of the job is looked at to find it."""

from __future__ import annotations

from pathlib import Path

import pytest
from budgets import budget, some, stride

from pai_lsp.document import Document
from pai_lsp.ide.cursor import Cursor
from pai_lsp.ide.navigation import places_of
from pai_lsp.job.symbols import SymbolKind, occurrence_at

TESTS = Path(__file__).parent
FILES = sorted([*(TESTS / "rules").glob("*.yaml"), *(TESTS.parent / "examples").glob("*.yaml")])

# Names in every place that has any.
JOB = """\
prerequisites:
  - {type: dockerimage, name: image}
  - name: prepare
    require: [other, {name: other, template_variables: {path: /a}}]
    plugin: cmd
    callbacks: [{event: taskStarts, commands: [echo <% $parameters.rate %>]}]
  - {name: other, plugin: cmd, template_variables: [{name: path}, more], callbacks: [{commands: ["ls {{ path }}"]}]}
parameters: {rate: 1}
secrets: {token: 1}
taskRoles:
  worker:
    dockerImage: image
    data: "prepare"
    prerequisites: ['prepare', other]
    resourcePerInstance: {ports: {sync: 1}}
    commands: [echo $PAI_PORT_LIST_worker_0_sync worker-0 <% $secrets.token %>]
deployments: [{name: prod, taskRoles: {worker: {preCommands: [echo]}}}]
defaults: {deployment: prod}
extras:
  hivedScheduler: {taskRoles: {worker: {skuNum: 1}}}
  com.microsoft.pai.runtimeplugin: [{plugin: ssh, taskroles: [worker]}]
"""


def assert_the_same(text: str, step: int) -> None:
    whole = Document(text)
    for offset in range(0, len(text) + 1, step):
        found = Cursor(Document(text), offset).name
        assert found == occurrence_at(whole.occurrences, offset), f"at {offset}: {text[offset - 20 : offset + 20]!r}"
        if found is not None:
            places = [one for one in whole.occurrences if one.symbol == found.symbol]
            assert places_of(Document(text), found.symbol) == places


def test_at_every_place_of_a_job() -> None:
    assert_the_same(JOB, stride(1))
    kinds = {one.symbol.kind for one in Document(JOB).occurrences}
    assert kinds == {*SymbolKind} - {SymbolKind.ANCHOR}


def test_with_anchors() -> None:
    assert_the_same(
        "x: &p {rate: 1}\nparameters: *p\ntaskRoles: {a: &r {commands: [<% $parameters.rate %>]}, b: *r}\n", 1
    )


@pytest.mark.parametrize("file", some(FILES, 1), ids=lambda file: file.stem)
def test_in_other_jobs(file: Path) -> None:
    text = file.read_bytes().decode("utf-8", "replace")
    assert_the_same(text, max(len(text) // budget(40), 1))


def test_places_of_a_template_variable() -> None:
    """Where it is declared, where a requirement gives it a value, and where it is filled in."""
    found = [one for one in Document(JOB).occurrences if one.symbol.name == "path"]
    lines = [JOB[: one.span.start].count("\n") + 1 for one in found]
    assert [(line, one.is_definition) for line, one in zip(lines, found, strict=True)] == [
        (4, False),
        (7, True),
        (7, False),
    ]
    assert len({one.symbol for one in found}) == 1
