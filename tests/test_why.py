"""Why a task failed: causes and lines for what users paste."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pai_lsp.cli.main import main
from pai_lsp.cluster.exit_code_text import code_text, explained_code
from pai_lsp.cluster.failure_causes import causes
from pai_lsp.cluster.failure_report import container_code
from pai_lsp.cluster.why import CAUSES_OF_CODES, CAUSES_OF_COMMAND_CODES, failure
from pai_lsp.document import Document
from pai_lsp.platform.tables import command_codes, exit_codes

if TYPE_CHECKING:
    from pathlib import Path

# The lines that the table names carry a mark.
JOB = """\
protocolVersion: 2
name: failing
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: team/train:v1}  # image
  - {type: script, name: code, plugin: com.microsoft.pai.runtimeplugin.cmd}
taskRoles:
  worker:
    instances: 4  # instances
    completion: {minFailedInstances: 1}  # completion
    dockerImage: image
    resourcePerInstance:
      gpu: 1  # gpu
      cpu: 4  # cpu
      memoryMB: 8192  # memory
      ports: {ssh: 0}  # port
    commands:
      - apt-get install libfoo  # apt
      - pip install opencv-python  # pip
      - |
        for x in a b; do
          echo $x $NOTHING  # loop
        done
      - mpirun -np 2 ./a  # mpirun
      - grep word file  # grep
      - python train.py --epochs 3  # train
defaults:
  virtualCluster: ghost  # vc
extras:
  storages:
    - {name: data}  # storage
    - {name: data}  # again
  hivedScheduler:
    taskRoles:
      worker:
        pinnedCellId: cell  # pinned
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh  # ssh
      parameters:
        jobssh: true
        sshbarrier: true  # barrier
    - plugin: cmd
      parameters:
        preCommands:
          - echo "it's"  # quotes
"""
TRACEBACK = 'Traceback (most recent call last):\n  File "/code/train.py", line 3, in <module>\n'
START = "/usr/local/pai/runtime.d/user.sh: line"

LOGS = [
    (f"{START} 28: NOTHING: unbound variable", 1, "unset-variable", "loop"),
    ("/env/bin/activate: line 5: PS1: unbound variable", 1, "unset-variable", None),
    (f"{START} 25: $'\\r': command not found", 127, "carriage-return", "apt"),
    (f"{START} 33: syntax error: unexpected end of file", 2, "shell-syntax", "train"),
    (f"{START} 32: pyhton: command not found", 127, "command-not-found", "train"),
    ("mpirun has detected an attempt to run as root.", 1, "mpi-root", "mpirun"),
    ("E: Unable to locate package libfoo", 100, "package-install", "apt"),
    ("Do you want to continue? [Y/n] Abort.", 1, "needs-terminal", "pip"),
    ("ERROR: No matching distribution found for opencv-python", 1, "package-install", "pip"),
    ("ImportError: libGL.so.1: cannot open shared object file", 1, "python-import", "pip"),
    (f"{TRACEBACK}ModuleNotFoundError: No module named 'torch'", 1, "python-import", "train"),
    (f"{TRACEBACK}KeyError: 'x'", 1, "python-error", "train"),
    (f"{TRACEBACK}torch.cuda.OutOfMemoryError: CUDA out of memory.", 1, "gpu-memory", "train"),
    (f"{TRACEBACK}OSError: [Errno 28] No space left on device", 1, "disk-full", "train"),
    (f"{TRACEBACK}UnicodeDecodeError: 'ascii' codec can't decode byte", 1, "encoding", "train"),
    ("train.py: error: unrecognized arguments: --epochs 3", 2, "wrong-option", "train"),
    ("AssertionError: Torch not compiled with CUDA enabled", 1, "gpu-missing", "image"),
    ("CUDA driver version is insufficient for CUDA runtime version", 1, "gpu-driver", "image"),
    ("CUDA_ERROR_ECC_UNCORRECTABLE", 1, "gpu-hardware", None),
    ("RuntimeError: DataLoader worker is killed by signal: Bus error.", 1, "shared-memory", "train"),
    ("Killed", 137, "host-memory", "memory"),
    ("grep: file: No such file or directory", 2, "file-not-found", "grep"),
    ("", 1, "silent-failure", "grep"),
    ("", 143, "stopped", None),
    ("the loss is negative", 3, "program-error", None),
]


@pytest.mark.parametrize(("text", "code", "cause", "mark"), LOGS)
def test_the_end_of_a_log(text: str, code: int, cause: str, mark: str | None) -> None:
    found = failure(text, Document(JOB).job, code)
    assert (found.cause.name, found.line) == (cause, line_with(mark))


POD = 'PodFailed matched: {{"name": "x-worker-0", {}}}'
EVENTS = [
    (POD.format('"containers": [{"name": "app", "reason": "OOMKilled", "code": 137}]'), -1200, "host-memory", "memory"),
    (POD.format('"reason": "OutOfcpu", "containers": []'), -1002, "resources", "cpu"),
    (POD.format('"reason": "Evicted", "containers": []'), -1000, "evicted", None),
    (POD.format('"reason": "NodeLost", "containers": []'), -1001, "node-lost", None),
    (
        POD.format('"containers": [{"name": "app", "reason": "ContainerCannotRun", "code": 127}]'),
        -1203, "image-without-bash", "image",
    ),
    ("child process is FRAMEWORK_BARRIER, exit code is 201", 251, "gang-timeout", "instances"),
    ("Port 1 has conflict.\nchild process is PORT_CONFLICT_CHECKER, exit code is 10", 253, "port-conflict", None),
    ("x is invalid\nchild process is ENV_GENERATOR, exit code is 1", 1, "ports-zero", "port"),
    (
        "image team/train:v1 not found or user unauthorized\nchild process is DOCKER_IMAGE_CHECKER, exit code is 1",
        254, "image-not-found", "image",
    ),
    ("yaml.ParserError\nchild process is PLUGIN_INITIALIZER, exit code is 1", 1, "plugin-parameters", "quotes"),
    ("Back-off pulling image", None, "waits-image", "image"),
    ("Pod needs to wait, reason: insufficient capacity when scheduling in VC a", None, "waits-capacity", "instances"),
    ("User Error: VC ghost does not exists!", None, "waits-vc", "vc"),
    ("User Error: VC a does not have pinned cell cell", None, "waits-pinned", "pinned"),
    ('persistentvolumeclaim "data" not found', None, "waits-storage", "storage"),
    ('Pod "x" is invalid: spec.volumes[5].name: must be unique', None, "pod-refused", "again"),
    ("etcdserver: request is too large", None, "job-too-large", "loop"),
    ("Framework x is invalid: spec.taskRoles.taskNumber: too large", None, "job-refused-late", "instances"),
    (
        "FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole\ntaskRoleName: worker\ncode: 255",
        255, "job-failed-by-rule", "completion",
    ),
    ("Stop to complete current FrameworkAttempt", None, "other-role-ended", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "cause", "mark"), EVENTS)
def test_diagnostics_and_events(text: str, code: int | None, cause: str, mark: str | None) -> None:
    found = failure(text, Document(JOB).job)
    line = line_with(mark) if cause != "job-too-large" else line_with("train", before=6)
    assert (found.code, found.cause.name, found.line) == (code, cause, line)


def line_with(mark: str | None, before: int = 0) -> int | None:
    if mark is None:
        return None
    lines = JOB.splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}")) - before


@pytest.mark.parametrize(
    ("exit_code", "log", "code"),
    [
        (0, "", 0),
        (1, "", 255),
        (127, "bash: x: command not found", 220),
        (127, "bash: x: No such file or directory", 255),
        (139, "Segmentation fault", 139),
        (1, "Segmentation fault (core dumped)", 234),
        (1, "ModuleNotFoundError: x", 255),
        (1, "ImportError: x", 232),
        (1, "cuda runtime error (2) : out of memory", 255),
    ],
)
def test_the_code_that_the_runtime_gives(exit_code: int, log: str, code: int) -> None:
    assert container_code(exit_code, log.encode()) == code


@pytest.mark.parametrize(
    ("text", "code", "cause"),
    [
        ("", 126, "permission-denied"),
        ("", 127, "command-not-found"),
        ("fatal: could not read Username for 'https://git.example': No such device", 128, "git-login"),
        ("worker-0: Permission denied (publickey).", 255, "ssh-login"),
    ],
)
def test_a_code_of_the_commands_is_not_read_as_one_of_the_platform(text: str, code: int, cause: str) -> None:
    assert failure(text, None, code).cause.name == cause


@pytest.mark.parametrize(
    "log", ["", "all fine", "ERROR: retrying\nConnection refused\ndone", f"{TRACEBACK}KeyError: 'x'"]
)
def test_commands_that_end_with_0_did_not_fail(log: str) -> None:
    found = failure(log, Document(JOB).job, 0)
    assert (found.cause.name, found.code, found.line) == ("no-failure", 0, None)


@pytest.mark.parametrize("log", ["all fine", "epoch 1: loss 0.3", "batch job cancelled"])
def test_a_text_in_which_nothing_is_recognized_accuses_nobody(log: str) -> None:
    found = failure(log, Document(JOB).job)
    assert (found.cause.name, found.line) == ("not-known", None)


@pytest.mark.parametrize("code", [1, 2, 126, 127, 128])
def test_a_code_that_can_be_of_the_commands_is_read_as_theirs_first(code: int) -> None:
    text = code_text(code)
    assert text.startswith(f"{code} as the exit code of the commands\n\n{command_codes()[code].description}")
    assert f"\n{code} as the code of the platform: " in text


def test_codes_with_one_reading_and_with_the_platform_first() -> None:
    assert code_text(137).startswith("137 ContainerSigKillReceived (")
    assert " as the " not in code_text(137) + code_text(0) + code_text(-1200) + code_text(220) + code_text(99999)
    assert code_text(255).startswith("255 as the code of the platform: PAIRuntimeUnknownFailed (")


def test_the_two_kinds_of_codes_have_causes_of_their_own() -> None:
    assert set(CAUSES_OF_CODES) <= set(exit_codes())
    passed_on = {code for code in CAUSES_OF_COMMAND_CODES if code in exit_codes() and code != 0}
    assert all(any(one.exit_code == code for one in exit_codes()[code].patterns) for code in passed_on)
    assert set(CAUSES_OF_COMMAND_CODES) <= passed_on | set(command_codes()) | {0}
    assert list(command_codes()) == sorted(command_codes())
    assert all(one.source for one in command_codes().values())


def test_the_line_of_a_barrier_is_the_plugin_ssh() -> None:
    """The plugin `cmd` is written first, and the barrier is switched on by its default."""
    job = JOB.replace("        sshbarrier: true  # barrier\n", "")
    start, end = job.index("    - plugin: ssh"), job.index("    - plugin: cmd")
    job = job[:start] + job[end:] + job[start:end]
    found = failure("SSH barrier reaches max retry count", Document(job).job, 10)
    lines = job.splitlines()
    assert found.line == next(number for number, line in enumerate(lines, 1) if line.endswith("# ssh"))


def test_every_cause_of_a_code_is_known() -> None:
    assert set(CAUSES_OF_CODES.values()) | set(CAUSES_OF_COMMAND_CODES.values()) <= set(causes())


def test_a_code_outside_the_table() -> None:
    assert explained_code(42).phrase == "PAIRuntimeExitAbnormally"
    assert explained_code(-42).phrase == "ContainerUndefinedNegativeExitCode"


@pytest.mark.parametrize("text", ["137", "OOMKilled"])
def test_a_job_that_is_not_one_file(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jobs").mkdir()
    for name, message in (
        ("jobs", "--job: '{}' is a folder; give the job that failed"),
        ("absent.pai.yaml", "no such file or folder: {}"),
    ):
        path = str(tmp_path / name)
        assert main(["why", "--job", path, text]) == 2
        assert capsys.readouterr() == ("", f"pai-lsp why: {message.format(path)}\n")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.pai.yaml").write_text(JOB, encoding="utf-8")
    (tmp_path / "end.log").write_text("Killed\n", encoding="utf-8")
    options = ["--job", str(tmp_path / "job.pai.yaml"), "--exit-code", "137"]
    assert main(["why", *options, str(tmp_path / "end.log")]) == 0
    output = capsys.readouterr().out
    assert output.startswith("host-memory: ")
    assert f":{line_with('memory')}: memoryMB: 8192" in output
    assert main(["why", "--format", "json", "VC a does not exists!"]) == 0
    assert json.loads(capsys.readouterr().out)["cause"] == "waits-vc"
    assert main(["why", "no-such-file"]) == 2
    assert (
        capsys.readouterr().err == "pai-lsp why: 'no-such-file' is neither an exit code, a file nor a known message; "
        "for a job on a cluster, give --cluster\n"
    )
    assert main(["why"]) == 2
    assert capsys.readouterr().err.startswith("pai-lsp why: give an exit code, ")
    assert main(["why", "OOMKilled"]) == 0
    assert capsys.readouterr().out.startswith("host-memory: ")
    assert main(["why", "all is fine"]) == 1
    assert capsys.readouterr().out.startswith("not-known: ")
    assert main(["why", "--exit-code", "127"]) == main(["why", "--exit-code", "3"]) == 0
    output = capsys.readouterr().out
    assert "127 as the exit code of the commands\n\nA command was not found" in output
    assert "3 as the exit code of the commands\n\nThe program chose this number" in output
    assert main(["why", "--format", "json", "1"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["phrase"] == "PAIRuntimeExitAbnormally"
    assert answer["commands"]["description"].startswith("The general code for a failure")
    assert main(["why", " "]) == 2
    assert capsys.readouterr().err.startswith("pai-lsp why: the text is empty; ")
    assert main(["why", "137"]) == main(["explain", "137"]) == 0
    first, second = capsys.readouterr().out.split("137 ContainerSigKillReceived (retried without limit)\n")[1:]
    assert first == second
