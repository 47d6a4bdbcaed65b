"""Code lenses: the lines above definitions."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.ide.hints_and_lenses import Lens, LensKind, lenses

JOB = """\
protocolVersion: 2
name: 训练😀
prerequisites:
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6
  - type: script
    name: install
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: []
  - {name: mnist, type: data, require: [install], plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}
  - name: plain
    type: data
    uri: [https://example.com/a.zip]
  - type: script
taskRoles:
  master:
    dockerImage: image
    data: plain
    prerequisites: [install, mnist]
  worker:
    instances: 3
    dockerImage: image
    prerequisites: [mnist]
deployments:
  - taskRoles: {}
    name: prod
  - name: spare
    taskRoles: {}
defaults: {deployment: prod}
"""

SHOWN = """\
4: 2 references | image of 4 tasks
7: 2 references | runs on 4 tasks
11: 2 references | runs on 4 tasks
12: 1 reference
17: preview what runs
21: preview what runs
26: 1 reference
28: 0 references
"""


def found(text: str) -> list[tuple[int, Lens]]:
    document = Document(text)
    return [(document.lines.line_of(lens.span.start) + 1, lens) for lens in lenses(document)]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_the_lenses_of_a_job(end: str) -> None:
    lines: dict[int, list[str]] = {}
    for line, lens in found(JOB.replace("\n", end)):
        lines.setdefault(line, []).append(lens.title)
    assert "".join(f"{line}: {' | '.join(titles)}\n" for line, titles in lines.items()) == SHOWN


def test_a_count_leads_to_the_places() -> None:
    shown = {line: lens for line, lens in found(JOB) if lens.kind is LensKind.REFERENCES}
    places = [JOB[: span.start].count("\n") + 1 for span in shown[4].references]
    assert places == [18, 23]
    assert [JOB[span.start : span.end] for span in shown[4].references] == ["image", "image"]
    assert shown[28].references == ()


def test_a_preview_is_of_its_role() -> None:
    assert [lens.role for _, lens in found(JOB) if lens.kind is LensKind.PREVIEW] == ["master", "worker"]


@pytest.mark.parametrize("end", range(0, len(JOB), 37))
def test_half_typed_jobs(end: int) -> None:
    text = JOB[:end] + "\n  ["
    assert all(0 <= lens.span.start <= lens.span.end <= len(text) for _, lens in found(text))
