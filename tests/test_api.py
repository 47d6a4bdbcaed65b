"""The interface for programs: `pai_lsp.check` and `pai_lsp.expand`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import pai_lsp

if TYPE_CHECKING:
    from pathlib import Path

JOB = """\
protocolVersion: 2
name: 训练
type: job
secrets:
  key: hunter2secret
prerequisites:
  - name: image
    type: dockerimage
    uri: ubuntu:22.04
taskRoles:
  worker:
    instances: 1
    dockerImage: imaje
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - echo hunter2secret
"""


def test_findings_with_their_places() -> None:
    found = {one.code: one for one in pai_lsp.check(JOB)}["unknown-docker-image"]
    start = JOB.index("imaje")
    assert (found.severity, found.fixable) == ("error", True)
    assert (found.start.line, found.start.column, found.start.offset) == (13, 18, start)
    assert (found.end.line, found.end.column, found.end.offset) == (13, 23, start + 5)
    assert found.message == "no dockerimage prerequisite is named 'imaje'; did you mean 'image'?"
    assert found.url is None  # the pages of rules are not published yet


def test_no_message_shows_a_secret() -> None:
    assert not [one for one in pai_lsp.check(JOB) if "hunter2secret" in one.message]


def test_the_configuration_of_the_place_where_the_job_would_be(tmp_path: Path) -> None:
    (tmp_path / ".pai-lsp.yaml").write_text("rules: {unknown-docker-image: hint}\n", encoding="utf-8")
    found = {one.code: one.severity for one in pai_lsp.check(JOB, path=str(tmp_path / "train.yaml"))}
    assert found["unknown-docker-image"] == "hint"


def test_platforms() -> None:
    inference = JOB.replace("type: job\n", "type: job\njobType: inference\n")
    assert "unknown-key" in {one.code for one in pai_lsp.check(inference, platform="openpai")}
    assert "unknown-key" not in {one.code for one in pai_lsp.check(inference, platform="ltp")}
    assert "unknown-key" in {one.code for one in pai_lsp.check(inference, platform="ltp/1.3")}
    assert "unknown-key" not in {one.code for one in pai_lsp.check(inference, platform="ltp/1.4")}
    with pytest.raises(ValueError, match="no platform is named 'slurm'; the platforms are openpai, ltp"):
        pai_lsp.check(JOB, platform="slurm")


EXTENDED = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - name: image
    type: dockerimage
    uri: ubuntu:22.04
  - name: tools
    type: script
    callbacks:
      - event: taskStarts
        commands: [pip install tools]
  - name: data
    type: script
    require: [tools]
    callbacks:
      - event: taskStarts
        commands: [download data]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [data]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - python train.py
"""


def test_expansion() -> None:
    expanded = pai_lsp.expand(EXTENDED)
    assert "    prerequisites: [tools, data]\n" in expanded
    assert "require" not in expanded
    assert [one for one in pai_lsp.check(expanded) if one.severity == "error"] == []
    inlined = pai_lsp.expand(EXTENDED, inline=True)
    assert inlined.index("pip install tools") < inlined.index("download data") < inlined.index("python train.py")
    assert inlined != expanded


def test_a_job_that_cannot_be_expanded() -> None:
    with pytest.raises(pai_lsp.ExpansionError, match=r"^line 15: ") as caught:
        pai_lsp.expand(EXTENDED.replace("require: [tools]", "require: [tool]"))
    assert [one.code for one in caught.value.diagnostics] == ["unknown-required-prerequisite"]


@pytest.mark.slow
def test_it_is_loaded_when_it_is_used() -> None:
    script = (
        "import sys, pai_lsp; print('pai_lsp.api' in sys.modules); pai_lsp.check; print('pai_lsp.api' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError):
        pai_lsp.no_such_name  # noqa: B018 - asking is the test


def test_a_file_of_definitions_is_read_as_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "marketplace").mkdir()
    text = "name: fetch\ntype: script\nplugin: com.microsoft.pai.runtimeplugin.cmd\ncallbacks:\n"
    text += '  - event: taskStart\n    commands: ["echo hi"]\n'
    path = tmp_path / "marketplace" / "fetch.yaml"
    assert [one.code for one in pai_lsp.check(text, path=str(path))] == ["invalid-event"]
    assert "missing-key" in [one.code for one in pai_lsp.check(text, path=str(tmp_path / "fetch.yaml"))]
