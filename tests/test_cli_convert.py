"""`pai-lsp convert`: what it prints, writes and refuses."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli.main import main
from pai_lsp.document import Document

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

VERSION_1 = """\
// trains
{
  "jobName": "train",
  "image": "ubuntu:20.04",
  "taskRoles": [{"name": "Main", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 1024, "gpuNumber": 0,
                 "command": "echo $PAI_TASK_ROLE_TASK_COUNT_Main"}] // one
}
"""
CONVERTED = """\
# trains
protocolVersion: 2
name: train
type: job
prerequisites:
  - type: dockerimage
    name: docker_image_0
    uri: ubuntu:20.04
taskRoles:
  main:
    instances: 1
    dockerImage: docker_image_0
    resourcePerInstance:
      cpu: 1
      memoryMB: 1024
      gpu: 0
    commands:
      - echo $PAI_TASK_ROLE_TASK_COUNT_main  # one
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["convert", *arguments])
    output, errors = capsys.readouterr()
    return status, output, errors


def test_a_protocol_v1_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "train.json"
    job.write_text(VERSION_1, encoding="utf-8")
    assert run(capsys, str(job)) == (0, CONVERTED, "")
    assert Document(CONVERTED).diagnostics == ()


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VERSION_1.encode())))
    assert run(capsys, "-") == (0, CONVERTED, "")


def test_json_as_people_write_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tabs, commas at the end, and comments of several lines."""
    job = tmp_path / "train.json"
    text = VERSION_1.replace("// trains\n", "/* trains */\n").replace("  ", "\t").replace('_Main"}]', '_Main",},]')
    job.write_text(text.replace('"image"', '/* the\n\t * image */ "image"'), encoding="utf-8")
    status, output, errors = run(capsys, str(job))
    assert (status, errors) == (0, "")
    assert output == CONVERTED.replace("  - type", "  # the\n  # image\n  - type")


def test_the_result_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, output = tmp_path / "train.json", tmp_path / "train.pai.yaml"
    job.write_text(VERSION_1, encoding="utf-8")
    assert run(capsys, str(job), "--output", str(output)) == (0, "", "")
    assert output.read_text(encoding="utf-8") == CONVERTED
    output.write_text("old", encoding="utf-8")
    assert run(capsys, str(job), "-o", str(output)) == (0, "", "")
    assert output.read_text(encoding="utf-8") == CONVERTED
    assert run(capsys, str(job), "-o", "-") == (0, CONVERTED, "")
    assert run(capsys, str(job), "-o", str(job)) == (2, "", "pai-lsp convert: --output names the job itself\n")
    folder = "a folder; name the files to convert"
    assert run(capsys, str(tmp_path)) == (2, "", f"pai-lsp convert: {tmp_path} is {folder}\n")
    status, _, errors = run(capsys, str(job), "--output", str(tmp_path / "none" / "train.pai.yaml"))
    assert status == 3
    assert errors.endswith("no such file or directory\n")


def test_findings_in_the_new_job_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "train.json"
    job.write_text(VERSION_1.replace('  "image": "ubuntu:20.04",\n', ""), encoding="utf-8")
    status, output, errors = run(capsys, str(job))
    assert status == 0
    assert "dockerImage" not in output
    assert "missing-key" in errors


def test_jobs_with_odd_values_are_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.yaml"
    prerequisites = "prerequisites: [{type: dockerimage, uri: a}, x]\n"
    roles = "taskRoles: [{name: a_b, command: ls}, {name: a-b, command: [pwd, 1]}, {command: }, x]\n"
    job.write_text(f"jobName: 1\nimage: a\n{prerequisites}{roles}", encoding="utf-8")
    status, output, errors = run(capsys, str(job))
    assert (status, "Traceback" in errors) == (0, False)
    assert [role.name for role in Document(output).job.task_roles] == ["ab2", "ab", "role"]
    assert "dockerImage: docker_image_0" in output


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(CONVERTED, encoding="utf-8")
    assert run(capsys, str(job)) == (1, "", f"pai-lsp convert: {job}: this is not a job of protocol version 1\n")
    assert run(capsys, "--to", "mpijob", str(job))[2].startswith(f"pai-lsp convert: {job}: no task role runs mpirun")
    job.write_bytes(b"\xff\xfe\x00")
    assert run(capsys, str(job))[:2] == (1, "")
