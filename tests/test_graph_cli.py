"""`pai-lsp graph` from the command line: what it writes where, and how it ends."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: script, name: prepare, require: [tools]}
taskRoles:
  worker: {prerequisites: [prepare, "marketplace://name/digits"]}
"""
DIGITS = "name: digits\ntype: data\nplugin: cmd\nplugin_params: {callbacks: []}\nrequire: [tools]\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "marketplace").mkdir()
    (tmp_path / "marketplace" / "digits.yaml").write_text(DIGITS, encoding="utf-8")
    (tmp_path / "train.pai.yaml").write_text(JOB, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["graph", *arguments])
    output, errors = capsys.readouterr()
    return status, output, errors


def test_mermaid_unless_something_else_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "train.pai.yaml") == (
        0,
        """\
flowchart LR
  n0(["worker<br/>task role"])
  n1["prepare<br/>script"]
  n2[["digits<br/>data · cmd<br/>marketplace/digits.yaml"]]
  n3["tools<br/>not found"]
  n0 --> n1
  n0 --> n2
  n1 --> n3
  n2 --> n3
  classDef role stroke:#0969da,stroke-width:2px
  class n0 role
  classDef outside stroke:#8250df
  class n2 outside
  classDef missing stroke:#cf222e,color:#cf222e,stroke-dasharray:5 4
  class n3 missing
""",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        (("--output", "train.gv"), "digraph "),
        (("--output", "train.DOT"), "digraph "),
        (("--output", "train.mmd"), "flowchart "),
        (("--output", "train"), "flowchart "),
        (("--output", "train.txt", "--format", "mermaid"), "flowchart "),
        (("--output", "train.svg", "--format", "dot"), "digraph "),
    ],
)
def test_the_output_s_name_says_which_form(
    capsys: pytest.CaptureFixture[str], project: Path, arguments: tuple[str, ...], begin: str
) -> None:
    assert run(capsys, "train.pai.yaml", *arguments) == (0, "", "")
    assert (project / arguments[1]).read_text(encoding="utf-8").startswith(begin)


def test_an_output_of_unknown_form_is_refused(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    message = "unknown output format '.jpg'; use .mmd, .dot, .gv, .svg, .png, .pdf, or --format"
    assert run(capsys, "train.pai.yaml", "--output", "train.jpg") == (2, "", f"pai-lsp graph: {message}\n")
    assert not (project / "train.jpg").exists()


def a_dot(folder: Path, body: str) -> None:
    """A `dot` in a folder that reads its input, as Graphviz does, and then does what is given."""
    folder.mkdir(exist_ok=True)
    program = folder / "dot"
    program.write_text(f"#!{sys.executable}\nimport sys\ntext = sys.stdin.read()\n{body}\n", encoding="utf-8")
    program.chmod(0o755)


ECHO = "sys.stdout.write(f'{sys.argv[1:]} {text}')"
NO_PROGRAM = "svg needs Graphviz, but its program 'dot' is not on PATH; install graphviz, or use --format mermaid"
needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="a script is a program only where #! is known")


@needs_scripts
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_graphviz_draws_pictures(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    a_dot(project / "bin", ECHO)
    monkeypatch.setenv("PATH", str(project / "bin"))
    description = run(capsys, "train.pai.yaml", "--format", "dot")[1]
    drawn = f"['-T{form}'] {description}"
    assert run(capsys, "train.pai.yaml", "--output", f"train.{form}") == (0, "", "")
    assert (project / f"train.{form}").read_text(encoding="utf-8") == drawn
    assert run(capsys, "train.pai.yaml", "--format", form) == (0, drawn, "")


@needs_scripts
@pytest.mark.parametrize("path", ["", os.pathsep, ".", "bin"])
def test_a_program_in_the_current_folder_draws_nothing(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    a_dot(project, ECHO)
    a_dot(project / "bin", ECHO)
    monkeypatch.setenv("PATH", path)
    assert run(capsys, "train.pai.yaml", "--output", "train.svg") == (3, "", f"pai-lsp graph: {NO_PROGRAM}\n")
    assert not (project / "train.svg").exists()


@needs_scripts
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit('Format: \\x1b[31m\"pdf\" not recognized\\nUse one of')", 'Format: ␛[31m"pdf" not recognized'),
        ("sys.exit(7)", "exit status 7"),
    ],
)
def test_a_graphviz_that_fails_gives_its_reason(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    a_dot(project / "bin", body)
    monkeypatch.setenv("PATH", str(project / "bin"))
    expected = f"pai-lsp graph: Graphviz could not draw the graph: {message}\n"
    assert run(capsys, "train.pai.yaml", "--format", "pdf") == (3, "", expected)


@needs_scripts
def test_a_graphviz_without_an_end_is_ended(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waited(command: list[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    a_dot(project / "bin", ECHO)
    monkeypatch.setenv("PATH", str(project / "bin"))
    monkeypatch.setattr(subprocess, "run", waited)
    message = "Graphviz did not finish in 60 seconds; use --format mermaid"
    assert run(capsys, "train.pai.yaml", "--format", "svg") == (3, "", f"pai-lsp graph: {message}\n")


def test_a_file_of_definitions(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, _ = run(capsys, "marketplace/digits.yaml", "--format", "dot")
    assert status == 0
    assert output.count(" -> ") == 1


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    status, output, _ = run(capsys, "-")
    assert status == 0
    assert "marketplace/digits.yaml" in output


def test_a_broken_job_is_drawn_as_far_as_it_can_be_read(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    text = JOB.replace("prepare, ", "prepare, [") + "secrets: {token: hunter-2-hunter}\n"
    (project / "train.pai.yaml").write_text(text, encoding="utf-8")
    status, output, errors = run(capsys, "train.pai.yaml")
    assert status == 1
    assert "prepare<br/>script" in output
    assert errors.startswith("error[yaml-syntax]")
    assert "hunter" not in output + errors


@pytest.mark.parametrize("text", ["", "# Notes\n\nuse: this: that\n"])
def test_a_file_with_nothing_to_draw(capsys: pytest.CaptureFixture[str], project: Path, text: str) -> None:
    (project / "notes.yaml").write_text(text, encoding="utf-8")
    message = "pai-lsp graph: notes.yaml has no task roles or prerequisites to draw\n"
    assert run(capsys, "notes.yaml") == (1, "", message)


def test_what_can_not_be_read_or_written(capsys: pytest.CaptureFixture[str]) -> None:
    expected = (2, "", "pai-lsp graph: several jobs, or those of a folder, need --output FOLDER\n")
    assert run(capsys, ".") == expected
    status, output, errors = run(capsys, "train.pai.yaml", "--output", "no/such/folder.dot")
    assert (status, output) == (3, "")
    assert errors == "pai-lsp graph: no/such/folder.dot: no such file or directory\n"


def test_the_job_is_never_written_over(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    expected = (2, "", "pai-lsp graph: --output names the job itself\n")
    assert run(capsys, "train.pai.yaml", "--format", "dot", "--output", "./train.pai.yaml") == expected
    assert (project / "train.pai.yaml").read_text(encoding="utf-8") == JOB
