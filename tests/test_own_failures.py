"""A failure of pai-lsp or of the machine ends with status 3 and one line, never with the status of findings."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from budgets import some

from pai_lsp.cli.main import main
from pai_lsp.cli.subcommands import SUBCOMMANDS

ROOT = Path(__file__).parent.parent
BASH = shutil.which("bash")
EXIT = '{"jsonrpc":"2.0","method":"exit"}'
INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"processId":null,"rootUri":null}}'
)
MESSAGES = "".join(f"Content-Length: {len(message)}\r\n\r\n{message}" for message in (INITIALIZE, EXIT))
# What each command is called with to have something to print.
CALLS = {
    "check": "check good.pai.yaml",
    "expand": "expand marketplace-job.pai.yaml",
    "convert": "convert old.json",
    "graph": "graph marketplace-job.pai.yaml",
    "marketplace": "marketplace list",
    "fit": "fit --cluster lab.json good.pai.yaml",
    "run": "run --dry good.pai.yaml",
    "why": "why 137",
    "submit": "submit --help",
    "jobs": "jobs --help",
    "logs": "logs --help",
    "cluster": "cluster import services-configuration.yaml --name lab --output -",
    "trust": "trust --list",
    "shell": "shell < scripts.ndjson",
    "rules": "rules",
    "explain": "explain image-latest-tag",
    "schema": "schema",
    "server": "server",
    "mcp": "mcp --help",
    "completion": "completion bash",
}
FULL, CLOSED = "pai-lsp: no space left on device\n", "pai-lsp: standard output is closed\n"
needs_bash = pytest.mark.skipif(BASH is None or not Path("/dev/full").exists(), reason="needs bash and /dev/full")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The examples, and a job of protocol version 1."""
    copy = shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (copy / "old.json").write_text(
        '{"jobName": "a", "image": "ubuntu:20.04", "taskRoles": [{"name": "worker", "command": "echo"}]}'
    )
    (copy / "lab.json").write_text(
        '{"profileVersion": 1, "name": "lab", "platform": "openpai", "scheduler": "default"}'
    )
    (copy / "services-configuration.yaml").write_text("rest-server: {image-regex: ^a}\n")
    (copy / "scripts.ndjson").write_text('{"id": 1, "script": "ls"}\n')
    return copy


def run(line: str, folder: Path, *, given: str = MESSAGES, unbuffered: str = "") -> tuple[int, str, str]:
    """The status, the output and the messages of a shell's line."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(
        [BASH or "bash", "--norc", "-c", line.replace("pai-lsp", f'"{sys.executable}" -W error -m pai_lsp', 1)],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_every_command_is_called() -> None:
    assert set(CALLS) == {one.name for one in SUBCOMMANDS}


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("name", some(CALLS))
def test_a_full_disk(name: str, folder: Path) -> None:
    assert run(f"pai-lsp {CALLS[name]} > /dev/full", folder) == (3, "", FULL)


@pytest.mark.slow
@needs_bash
def test_a_full_disk_without_a_buffer(folder: Path) -> None:
    assert run("pai-lsp check good.pai.yaml > /dev/full", folder, unbuffered="1") == (3, "", FULL)


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("name", some(CALLS))
def test_a_closed_output(name: str, folder: Path) -> None:
    assert run(f"pai-lsp {CALLS[name]} >&-", folder) == (3, "", CLOSED)


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("name", some(CALLS))
def test_closed_messages_are_dropped(name: str, folder: Path) -> None:
    status, output, errors = run(f"pai-lsp {CALLS[name]} 2>&-", folder)
    assert (status, errors) == (1 if name == "server" else 0, "")  # the client has not asked it to shut down
    assert output


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("call", ["check -", "expand -", "graph -", "convert -", "server"])
def test_a_closed_input(call: str, folder: Path) -> None:
    assert run(f"pai-lsp {call} <&-", folder) == (3, "", "pai-lsp: standard input is closed\n")


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize(
    ("line", "status", "errors"),
    [
        ("pai-lsp --help > /dev/full", 3, FULL),
        ("pai-lsp check --help >&-", 3, CLOSED),
        ("pai-lsp check --format sarif typo.pai.yaml > /dev/full || [ $? -eq 1 ]", 1, FULL),
        ("pai-lsp expand typo.pai.yaml 2> /dev/full", 3, ""),
        ("pai-lsp chekc 2> /dev/full", 3, ""),
        ("pai-lsp check typo.pai.yaml > /dev/full 2>&1", 3, ""),
        ("pai-lsp expand good.pai.yaml --output new.yaml <&- >&- 2>&-", 0, ""),
    ],
)
def test_other_ways(line: str, status: int, errors: str, folder: Path) -> None:
    assert run(line, folder) == (status, "", errors)


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("call", ["--help", "--version", "check --help", "marketplace list --help"])
def test_help_that_cannot_be_written(call: str, folder: Path) -> None:
    assert run(f"pai-lsp {call} > /dev/full", folder, unbuffered="1") == (3, "", FULL)


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("call", ["check", "check {}/good.pai.yaml", "marketplace list", "marketplace lock"])
def test_a_current_directory_that_was_deleted(call: str, folder: Path) -> None:
    gone = "mkdir gone; cd gone; rmdir ../gone; "
    errors = "pai-lsp: the current directory does not exist\n"
    assert run(f"{gone}pai-lsp {call.format(folder)}", folder)[::2] == (3, errors)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "out of memory"),
        (ModuleNotFoundError("No module named 'pygls'"), "the installation is incomplete: No module named 'pygls'"),
        (PermissionError(13, "Permission denied", "/etc/x\x1b.yaml"), r"'/etc/x\x1b.yaml': permission denied"),
        (BlockingIOError(11, "Resource temporarily unavailable"), "resource temporarily unavailable"),
    ],
)
def test_words_for_what_the_machine_lacks(
    error: Exception, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_arguments: object) -> int:
        raise error

    monkeypatch.setattr("pai_lsp.cli.commands.reference.list_rules", fail)
    assert (main(["rules"]), *capsys.readouterr()) == (3, "", f"pai-lsp: {message}\n")


def test_a_fault_of_ours_is_reported_with_its_place_and_nothing_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pai_lsp.cli.commands.reference.terminal_for", {"hunter2": 1}.__getitem__)
    status = main(["explain", "image-latest-tag"])
    output, errors = capsys.readouterr()
    assert (status, output) == (3, "")
    assert errors.startswith("pai-lsp: TypeError in pai_lsp.cli.commands.reference, line ")
    assert errors.endswith("; this is a bug in pai-lsp; please report it\n")
    assert errors.count("\n") == 1
    assert "hunter2" not in errors


def test_an_interrupt_is_no_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("pai_lsp.cli.commands.reference.list_rules", interrupted)
    assert (main(["rules"]), *capsys.readouterr()) == (130, "", "")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["check", ""], "PATH"),
        (["check", "--fix", ""], "PATH"),
        (["check", "good.pai.yaml", ""], "PATH"),
        (["check", "-", "--stdin-filename", ""], "--stdin-filename"),
        (["expand", ""], "JOB"),
        (["expand", "good.pai.yaml", "--output", ""], "-o/--output"),
        (["graph", ""], "JOB"),
        (["graph", "good.pai.yaml", "--output", ""], "-o/--output"),
        (["convert", ""], "JOB"),
        (["convert", "old.json", "--output", ""], "-o/--output"),
        (["marketplace", "lock", ""], "PATH"),
        (["marketplace", "list", "--folder", ""], "--folder"),
    ],
)
def test_an_empty_path_is_refused(
    arguments: list[str],
    name: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    status = main(arguments)
    output, errors = capsys.readouterr()
    assert (status, output) == (2, "")
    assert f": {name}: the path is empty; is a variable of the shell not set?\n" in errors
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("command", ["check", "expand", "graph", "convert", "marketplace lock"])
def test_a_file_that_does_not_exist_is_wrong_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = (2, "", f"pai-lsp {command}: no such file or folder: nonexist\n")
    assert (main([*command.split(), "nonexist"]), *capsys.readouterr()) == expected


@pytest.mark.parametrize(("error", "status"), [(BrokenPipeError, 141), (KeyboardInterrupt, 130)])
def test_the_status_of_a_run_that_is_cut_short(
    error: type[BaseException], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Output(io.StringIO):
        def write(self, _text: str) -> int:
            raise error

    monkeypatch.setattr(sys, "stdout", Output())
    assert main(["rules"]) == status
