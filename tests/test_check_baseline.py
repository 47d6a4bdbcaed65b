"""`check --baseline`: findings that are accepted, in the command line and in the editor."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pai_lsp.cli.main import main
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.lsp.client import Client
from pai_lsp.lsp.documents import ACCEPTED, FileContext, OpenDocument
from pai_lsp.project.projects import Projects

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "python:3.12"}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 0}
    commands: [python train.py]
"""
OLD = JOB.replace("  worker:", "  worker:\n    prerequisites: [absent]\n    nonsense: 1")
FILE = "known.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobs").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


def counts() -> dict[str, Any]:
    files: dict[str, Any] = json.loads(Path(FILE).read_text(encoding="utf-8"))["files"]
    return files


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    status = main(["check", "--format", "concise", *arguments])
    output, errors = capsys.readouterr()
    codes = [line.split("[", 1)[1].split("]", 1)[0] for line in output.splitlines() if "[" in line]
    return status, codes, errors


def test_a_baseline_is_read_by_people(capsys: pytest.CaptureFixture[str]) -> None:
    write("jobs/größe.pai.yaml", OLD)
    accept(capsys)
    assert (
        Path(FILE)
        .read_text(encoding="utf-8")
        .startswith('{\n "version": 1,\n "files": {\n  "jobs/größe.pai.yaml": {\n')
    )


def accept(capsys: pytest.CaptureFixture[str]) -> None:
    status, codes, _ = run(capsys, "--baseline", FILE, "--update-baseline")
    assert (status, codes) == (0, [])


def test_what_is_found_first_is_accepted_also_on_other_lines(capsys: pytest.CaptureFixture[str]) -> None:
    write("jobs/a.pai.yaml", OLD)
    accept(capsys)
    assert counts() == {"jobs/a.pai.yaml": {"unknown-key": 1, "unknown-prerequisite": 1}}
    write("jobs/a.pai.yaml", f"# moved\n\n{OLD}")
    assert run(capsys, "--baseline", FILE) == (0, [], "")
    assert run(capsys, "--baseline", FILE, "jobs/a.pai.yaml") == (0, [], "")
    assert run(capsys)[0] == 1
    main(["check", "--baseline", FILE])
    assert capsys.readouterr().out == "all good: 1 file checked; 2 findings accepted by the baseline\n"


def test_what_is_new_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    write("jobs/a.pai.yaml", OLD)
    accept(capsys)
    write("jobs/a.pai.yaml", OLD.replace("[absent]", "[absent, missing]"))
    write("jobs/b.pai.yaml", OLD)
    status, codes, _ = run(capsys, "--baseline", FILE)
    assert status == 1
    assert sorted(codes) == ["unknown-key", *["unknown-prerequisite"] * 3]
    status, codes, errors = run(capsys, "--baseline", FILE, "--update-baseline")
    assert (status, codes) == (1, [])
    assert "jobs/b.pai.yaml: not accepted: unknown-key, unknown-prerequisite\n" in errors
    assert counts() == {"jobs/a.pai.yaml": {"unknown-key": 1, "unknown-prerequisite": 1}}


def test_an_update_only_lowers(capsys: pytest.CaptureFixture[str]) -> None:
    write("jobs/a.pai.yaml", OLD)
    write("jobs/b.pai.yaml", OLD)
    write("jobs/c.pai.yaml", OLD)
    accept(capsys)
    write("jobs/a.pai.yaml", OLD.replace("    nonsense: 1\n", ""))
    Path("jobs/b.pai.yaml").unlink()
    status, _, errors = run(capsys, "--baseline", FILE, "--update-baseline", "jobs/a.pai.yaml")
    assert (status, errors) == (0, f"{FILE}: 3 findings accepted (3 fewer)\n")
    c = {"unknown-key": 1, "unknown-prerequisite": 1}
    assert counts() == {"jobs/a.pai.yaml": {"unknown-prerequisite": 1}, "jobs/c.pai.yaml": c}
    write("jobs/a.pai.yaml", OLD)
    assert run(capsys, "--baseline", FILE)[1] == ["unknown-key"]


def test_the_configuration_names_one_for_everybody(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    write("jobs/a.pai.yaml", OLD)
    accept(capsys)
    write(".pai-lsp.yaml", f"baseline: {FILE}\n")
    assert run(capsys, "jobs") == (0, [], "")
    status = main(["check", "--format", "sarif"])
    assert (status, json.loads(capsys.readouterr().out)["runs"][0]["results"]) == (0, [])
    path = str(folder / "jobs" / "a.pai.yaml")
    settings = Projects(lambda _: None, str).settings_of(path).settings
    document = OpenDocument("file:///a", 1, "openpai-job", OLD, path, Client(), FileContext(settings))
    assert {
        (one.code, one.severity) for one in document.diagnostics if one.code in {"unknown-key", "unknown-prerequisite"}
    } == {
        ("unknown-key", Severity.HINT),
        ("unknown-prerequisite", Severity.HINT),
    }
    without = FileContext(settings, switched_off=frozenset({ACCEPTED}))
    document = OpenDocument("file:///a", 1, "openpai-job", OLD, path, Client(), without)
    assert not {one.code for one in document.diagnostics} & {"unknown-key", "unknown-prerequisite"}
    write(".pai-lsp.yaml", "baseline: absent.json\n")
    status, codes, _ = run(capsys, "jobs")
    assert (status, codes.count("invalid-configuration")) == (1, 1)
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.json")
        write(".pai-lsp.yaml", "baseline: pipe.json\n")
        assert "invalid-configuration" in run(capsys, "jobs")[1]
    write(".pai-lsp.yaml", "baseline: ../known.json\n")
    (folder / ".git").mkdir()
    assert "invalid-configuration" in run(capsys, "jobs")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--update-baseline"], "--update-baseline needs --baseline FILE"),
        (["--baseline", FILE], f"--baseline: {FILE}: "),
        (["--baseline", "bad.json"], "--baseline: bad.json: this is not a baseline; delete it"),
        (["--baseline", FILE, "--update-baseline", "--select", "secrets"], "leave out --select"),
        (["--baseline", FILE, "--update-baseline", "-"], "standard input has no place in a baseline"),
    ],
)
@pytest.mark.parametrize(
    "content", ['{"version": 2, "files": {}}', "[]", '{"version": 1, "files": {"a": {"b": "c"}}}', "{"]
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, content: str) -> None:
    write("bad.json", content)
    status, codes, errors = run(capsys, *arguments)
    assert (status, codes) == (2, [])
    assert message in errors
