"""The command as a real process, and its work in several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.jobs import job as benchmark_job
from pai_lsp.cli.processes import LostItem

BAD = """\
protocolVersion: 2
name: train
type: job
prerequisites: []
taskRoles: {worker: {prerequisites: [nothing]}}
"""
WHOLE = """\
protocolVersion: 2
name: train
type: job
prerequisites: [{name: image, type: dockerimage, uri: "example/train:1.0"}]
taskRoles:
  worker:
    dockerImage: image
    prerequisites: [nothing]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hello]
"""
RULE = ("--select", "unknown-prerequisite")
pytestmark = pytest.mark.slow
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def pai_lsp(*arguments: str, folder: Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run the command with warnings as errors."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "NO_COLOR": "", "FORCE_COLOR": ""}
    return subprocess.run(
        [sys.executable, "-W", "error", *before, "-m", "pai_lsp", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_check_as_a_process(tmp_path: Path) -> None:
    (tmp_path / "a.pai.yaml").write_text(BAD)
    ended = pai_lsp("check", *RULE, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "  --> a.pai.yaml:5:38\n" in ended.stdout
    assert "\x1b" not in ended.stdout


@forks
def test_several_processes_say_the_same_as_one(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}.pai.yaml").write_text(BAD.replace("nothing", f"nothing{number}"))
    alone = pai_lsp("check", *RULE, "--jobs", "1", "--format", "json", folder=tmp_path)
    assert alone.stdout.count("unknown-prerequisite") == 40
    for jobs in ([], ["--jobs", "3"], ["--jobs", "99"]):
        together = pai_lsp("check", *RULE, *jobs, "--format", "json", folder=tmp_path)
        assert (together.returncode, together.stdout, together.stderr) == (1, alone.stdout, "")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.pai.yaml").write_text(
        BAD.replace("nothing", ", ".join(f"{number}{'x' * 1000}" for number in range(99)))
    )
    # Without a buffer, Python takes a write of which a part arrived for a whole one.
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-m", "pai_lsp", "check", *RULE]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_an_output_that_knows_only_ascii(tmp_path: Path) -> None:
    (tmp_path / "训.pai.yaml").write_text(BAD.replace("nothing", "训练"), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "pai_lsp", "check", *RULE, "--format", "concise"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stdout.startswith(b"\\u8bad.pai.yaml:5:38: error[unknown-prerequisite]")


def test_checking_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "a.pai.yaml").write_text(WHOLE)
    ended = pai_lsp("check", *RULE, "--format", "concise", folder=tmp_path, before=("-X", "importtime"))
    loaded = {line.rsplit("|", 1)[-1].strip() for line in ended.stderr.splitlines() if "import time:" in line}
    assert ended.returncode == 1
    assert "pai_lsp.cli.commands.check_one" in loaded
    heavy = {
        *(
            "pygls",
            "lsprotocol",
            "ruamel",
            "jsonschema",
            "httpx",
            "argcomplete",
            "rich",
            "asyncio",
            "multiprocessing",
            "subprocess",
        ),
        *("shutil", "tempfile", "pickle", "unicodedata", "pai_lsp.cli.processes", "pai_lsp.project.config_reader"),
        *("pai_lsp.safe_fixes", "pai_lsp.cli.report.json_formats", "pai_lsp.cli.report.text_report"),
    }
    assert loaded & heavy == set()


def test_a_valid_job_is_compared_with_no_similar_names(tmp_path: Path) -> None:
    (tmp_path / "a.pai.yaml").write_text(benchmark_job(50))
    ended = pai_lsp("check", folder=tmp_path, before=("-X", "importtime"))
    assert ended.returncode == 0
    assert "difflib" not in ended.stderr


# `mapped` itself; the functions must be ones that a fork can run.


def doubled(number: int) -> int:
    return number * 2


def doubled_or_dead(number: int) -> int:
    if number % 10 == 3:
        os.kill(os.getpid(), 9)
    if number % 10 == 7:
        os._exit(0)
    return number * 2


def slow(number: int) -> int:
    time.sleep(60)
    return number


def in_a_new_process(code: str) -> str:
    """Run code away from the threads of the test runner, which a fork must not meet."""
    preface = (
        # A script starts its background jobs with SIGINT ignored, and a test run that is one passes that on.
        "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from pai_lsp.cli.processes import mapped\nfrom test_cli_process import doubled, doubled_or_dead, slow\n"
    )
    folders = os.pathsep.join((str(Path(__file__).parent), str(Path(__file__).parent.parent)))
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", preface + code],
        env={**os.environ, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stderr == ""
    return ended.stdout


@forks
def test_every_item_is_answered_once() -> None:
    for processes in (1, 3, 50):
        shown = in_a_new_process(f"print(list(mapped(doubled, range(20), {processes})))")
        assert shown == f"{[number * 2 for number in range(20)]}\n"
    assert in_a_new_process("print(list(mapped(doubled, [], 4)))") == "[]\n"


@forks
def test_large_answers_arrive_whole() -> None:
    shown = in_a_new_process("print([len(text) for text in mapped(str.upper, ['x' * 3_000_000] * 3, 2)])")
    assert shown == "[3000000, 3000000, 3000000]\n"


@forks
def test_a_process_that_dies_loses_only_its_item() -> None:
    shown = in_a_new_process("print(list(mapped(doubled_or_dead, range(20), 2)))")
    killed, ended = LostItem("the process was ended by signal 9"), LostItem("the process ended too early")
    expected: list[object] = [number * 2 for number in range(20)]
    expected[3] = expected[13] = killed
    expected[7] = expected[17] = ended
    assert shown == f"{expected}\n"


@forks
@pytest.mark.parametrize("inherited", [signal.default_int_handler, signal.SIG_IGN], ids=["foreground", "background"])
def test_who_stops_asking_ends_the_processes(inherited: signal._HANDLER) -> None:
    code = "answers = mapped(slow, range(4), 2)\nimport threading\n"
    code += "threading.Timer(0.2, lambda: os.kill(os.getpid(), 2)).start()\n"
    code += "try:\n    next(answers)\nexcept KeyboardInterrupt:\n    print('stopped')\n"
    code += "try:\n    os.waitpid(-1, 0)\nexcept ChildProcessError:\n    print('nobody left')\n"
    before = signal.signal(signal.SIGINT, inherited)
    try:
        assert in_a_new_process(code) == "stopped\nnobody left\n"
    finally:
        signal.signal(signal.SIGINT, before)
