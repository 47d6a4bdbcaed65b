"""The interface for programs: `pai_lsp.check`, `pai_lsp.fix` and `pai_lsp.expand`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pai_lsp

ROOT = Path(__file__).parent.parent

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
    found = {one.code: one.severity for one in pai_lsp.check(JOB, path=str(tmp_path / "train.yaml"), severity="hint")}
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
    with pytest.raises(pai_lsp.ExpansionError) as caught:
        pai_lsp.expand(EXTENDED.replace("require: [tools]", "require: [tool]").replace("gpu: ", "gqu: "))
    codes = [one.code for one in caught.value.diagnostics]
    assert codes == ["unknown-required-prerequisite", "unknown-key"]


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


def test_the_names_are_listed_before_they_are_loaded() -> None:
    assert {"check", "fix", "expand", "Diagnostic", "ExpansionError"} <= set(dir(pai_lsp))
    run = subprocess.run(
        [sys.executable, "-c", "import pai_lsp; help(pai_lsp)"], capture_output=True, text=True, check=True
    )
    assert "What `pai-lsp check` finds in the text of a job" in run.stdout


@pytest.mark.parametrize("function", [pai_lsp.check, pai_lsp.fix, pai_lsp.expand])
def test_a_text_of_the_wrong_type(function: Any) -> None:
    name = function.__name__
    with pytest.raises(
        TypeError, match=rf"^pai_lsp\.{name} takes the text of a job as str, not bytes; decode it first$"
    ):
        function(JOB.encode())
    with pytest.raises(TypeError, match=r"as str, not NoneType$"):
        function(None)


def test_severities() -> None:
    every = pai_lsp.check(JOB, severity="hint")
    assert {one.severity for one in pai_lsp.check(JOB)} <= {"error", "warning"}
    assert pai_lsp.check(JOB, severity="error") == [one for one in every if one.severity == "error"]
    with pytest.raises(ValueError, match="no severity is named 'eror'; did you mean 'error'"):
        pai_lsp.check(JOB, severity="eror")


def test_a_finding_is_a_plain_value() -> None:
    found = {one.code: one for one in pai_lsp.check(JOB)}["unknown-docker-image"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.code = "other"  # type: ignore[misc]
    row = found.to_dict()
    assert (row["code"], row["start_line"], row["end_column"]) == ("unknown-docker-image", 13, 23)
    assert all(value is None or isinstance(value, (str, int)) for value in row.values())
    assert json.loads(json.dumps(row)) == row
    assert dataclasses.replace(found, severity="hint").severity == "hint"


def test_related_places() -> None:
    twice = JOB.replace(
        "  - name: image\n", "  - name: image\n    type: dockerimage\n    uri: ubuntu:20.04\n  - name: image\n"
    )
    (found,) = [one for one in pai_lsp.check(twice) if one.code == "duplicate-prerequisite"]
    assert [(one.path, one.start.line if one.start else 0) for one in found.related] == [(None, 7)]


def test_fixes() -> None:
    assert pai_lsp.fix(JOB) == JOB.replace("imaje", "image")
    assert pai_lsp.fix(pai_lsp.fix(JOB)) == pai_lsp.fix(JOB)
    asks = JOB.replace("commands:\n", "commands:\n      - apt-get install git\n", 1)
    assert "      - apt-get install -y git\n" in pai_lsp.fix(asks), "of a warning"


def test_a_cluster(tmp_path: Path) -> None:
    profile = {
        "profileVersion": 1,
        "name": "lab",
        "platform": "openpai",
        "scheduler": "default",
        "user": {"virtualClusters": ["default"]},
    }
    (tmp_path / "lab.json").write_text(json.dumps(profile), encoding="utf-8")
    job = pai_lsp.fix(JOB.replace("训练", "train")) + "defaults: {virtualCluster: vision}\n"
    found = pai_lsp.check(job, cluster=str(tmp_path / "lab.json"))
    assert "virtual-cluster-not-allowed" in {one.code for one in found}
    with pytest.raises(ValueError, match="nolab"):
        pai_lsp.check(job, cluster="nolab")


@pytest.mark.parametrize("function", [pai_lsp.check, pai_lsp.fix, pai_lsp.expand])
def test_an_error_in_the_configuration(function: Any, tmp_path: Path) -> None:
    (tmp_path / ".pai-lsp.yaml").write_text("# ours\ncluster: nolab\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"\.pai-lsp\.yaml:2: no file and no profile is named 'nolab'"):
        function(JOB, path=str(tmp_path / "train.pai.yaml"))
    (tmp_path / ".pai-lsp.yaml").write_text("rules: {no-such-rule: off}\n", encoding="utf-8")
    assert function(EXTENDED, path=str(tmp_path / "train.pai.yaml")) == function(EXTENDED), "a warning"


def test_what_a_baseline_accepts_is_left_out(tmp_path: Path) -> None:
    accepted = {"train.pai.yaml": {"unknown-docker-image": 1}}
    (tmp_path / "old.json").write_text(json.dumps({"version": 1, "files": accepted}), encoding="utf-8")
    (tmp_path / ".pai-lsp.yaml").write_text("baseline: old.json\n", encoding="utf-8")
    codes = {one.code for one in pai_lsp.check(JOB)}
    left = {one.code for one in pai_lsp.check(JOB, path=str(tmp_path / "train.pai.yaml"))}
    assert left == codes - {"unknown-docker-image"}


@pytest.mark.parametrize(
    "text", [JOB, EXTENDED.replace("[tools]", "[tool]"), EXTENDED.replace("python train.py", "cd (")]
)
def test_the_errors_of_an_expansion_are_those_of_the_command_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "train.pai.yaml"
    path.write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pai_lsp", "expand", str(path)], capture_output=True, text=True, check=False
    )
    with pytest.raises(pai_lsp.ExpansionError) as caught:
        pai_lsp.expand(text)
    assert run.stderr.count("error[") == len(caught.value.diagnostics)
    assert all(f"error[{one.code}]: {one.message}" in run.stderr for one in caught.value.diagnostics)


def test_the_notebook_runs_and_prints_what_it_shows() -> None:
    notebook = json.loads((ROOT / "examples" / "python" / "jobs.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec("".join(cell["source"]), names)  # noqa: S102 - the cells of our own notebook
            assert printed.getvalue() == "".join("".join(output["text"]) for output in cell["outputs"])
