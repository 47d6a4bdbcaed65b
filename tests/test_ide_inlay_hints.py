"""Inlay hints: the text as an editor shows it, hints in double brackets."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.ide.hints_and_lenses import HintKind, inlay_hints
from pai_lsp.source.text import Span

JOB = """\
protocolVersion: 2
name: "训练😀"
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: openpai/standard:python_3.6}
  - {type: data, name: dataset, uri: [/data/a], plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}
  - {type: data, name: other, uri: [/data/b]}
  - name: install
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: ["echo <% $parameters.rate %> <% $parameters.text %>"]}]
  - name: mnist
    type: script
    require: [install]
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: ["ls <% $data.uri[0] %>"]}]
parameters:
  rate: 0.1
  text: 漢字
  list: [a, b]
  empty: ""
  long: a text that is so long that it would hide the rest of the line
  password: hunter2hunter2
secrets:
  token: very-secret
taskRoles:
  master:
    instances: 2
    dockerImage: image
    data: dataset
    prerequisites: [mnist, dataset]
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands:
      - echo "語😀 <% $parameters.rate %> <% $parameters.list %> <% $parameters.list[1] %>"
      - echo <% $secrets.token %> <% $parameters.password %> <% $parameters.long %> <% $parameters.empty %>
      - |
        echo <% $data.uri[0] %>
        echo <% $parameters.nothing %>
        # <% $parameters.rate %>
  worker :
    dockerImage: image
    data: other
    prerequisites:
      - 'mnist'
      - install
      - mnist
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: ["ls <% $data.uri[0] %>"]
"""

SHOWN = """\
    callbacks: [{event: taskStarts, commands: ["echo <% $parameters.rate %> <% $parameters.text %>⟦= 漢字⟧"]}]
taskRoles:⟦3 tasks, in all 4 GPU, 9 CPU, 16.5 GiB⟧
  master:⟦2 tasks, in all 4 GPU, 8 CPU, 16 GiB⟧
    prerequisites: [⟦2.⟧mnist, ⟦3.⟧dataset]
      - echo "語😀 <% $parameters.rate %>⟦= 0.1⟧ <% $parameters.list %>⟦= a,b⟧ <% $parameters.list[1] %>⟦= b⟧"
        echo <% $data.uri[0] %>⟦= /data/a⟧
  worker :⟦1 task: 0 GPU, 1 CPU, 512 MiB⟧
      - ⟦2.⟧'mnist'
      - ⟦1.⟧install
    commands: ["ls <% $data.uri[0] %>⟦= /data/b⟧"]
"""


def shown(document: Document, span: Span | None = None, kinds: frozenset[HintKind] = frozenset(HintKind)) -> str:
    """The lines that have hints, with them."""
    text = document.text
    for hint in reversed(inlay_hints(document, span or Span(0, len(text)), kinds)):
        text = f"{text[: hint.offset]}⟦{hint.label}⟧{text[hint.offset :]}"
    return "".join(line for line in text.splitlines(keepends=True) if "⟦" in line)


def test_the_hints_of_a_job() -> None:
    assert shown(Document(JOB)) == SHOWN


def test_with_the_other_line_end() -> None:
    assert shown(Document(JOB.replace("\n", "\r\n"))) == SHOWN.replace("\n", "\r\n")


@pytest.mark.parametrize(("kind", "mark"), [("templateValues", "="), ("runOrder", ".⟧"), ("resources", "GPU")])
def test_each_kind_by_itself(kind: str, mark: str) -> None:
    lines = shown(Document(JOB), kinds=frozenset({HintKind(kind)})).splitlines()
    wanted = [line for line in SHOWN.splitlines() if mark in line]
    assert lines
    assert lines == wanted
    assert shown(Document(JOB), kinds=frozenset()) == ""


def test_only_the_range_that_is_asked_for() -> None:
    start = JOB.index("  worker :")
    assert shown(Document(JOB), Span(start, start + 20)) == SHOWN.splitlines(keepends=True)[6]


def test_a_number_tells_what_runs_before() -> None:
    hints = inlay_hints(Document(JOB), Span(0, len(JOB)), frozenset({HintKind.RUN_ORDER}))
    assert [hint.tooltip for hint in hints][:2] == ["1. install\n2. mnist", "1. install\n2. mnist\n3. dataset"]


def test_a_single_prerequisite_has_no_order() -> None:
    text = JOB.replace("[mnist, dataset]", "[install]")
    assert "[install]" not in shown(Document(text))


def test_prerequisites_that_require_each_other_have_no_order() -> None:
    text = JOB.replace("type: script\n    plugin", "type: script\n    require: [mnist]\n    plugin", 1)
    assert "." not in shown(Document(text), kinds=frozenset({HintKind.RUN_ORDER}))


def test_no_secret_is_shown() -> None:
    labels = repr(inlay_hints(Document(JOB), Span(0, len(JOB))))
    assert "very-secret" not in labels
    assert "hunter2" not in labels


@pytest.mark.parametrize("end", range(0, len(JOB), 97))
def test_half_typed_jobs(end: int) -> None:
    text = JOB[:end] + "\n  ["
    assert all(0 <= hint.offset <= len(text) for hint in inlay_hints(Document(text), Span(0, len(text))))
