"""Logs as tasks write them: which error decides, which line is quoted, and what is no failure."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from pai_lsp.cli.main import main
from pai_lsp.cluster.log_reading import read_log
from pai_lsp.cluster.why import Sureness, failure, failure_text
from pai_lsp.document import Document

if TYPE_CHECKING:
    from pathlib import Path

TRACEBACK = """\
Traceback (most recent call last):
  File "/code/train.py", line 31, in <module>
    main()
  File "/opt/env/lib/python3.10/site-packages/pkg/step.py", line 7, in run
    raise {0}
{1}
"""
OUT_OF_MEMORY = TRACEBACK.format(
    "OutOfMemoryError", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate"
)
KEY_ERROR = TRACEBACK.format("KeyError", "KeyError: 'label'")
STEPS = [f"epoch 1 step {step} loss: 0.{step}\n" for step in range(5)]
PROGRESS = "".join(STEPS)
NO_PROGRAM = "user.sh: line 30: nvcc: command not found\n"
ELASTIC = """\
ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 1 (pid: 77) of binary: /bin/python
Traceback (most recent call last):
  File "/opt/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
Root Cause (first observed failure):
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 77)
============================================================
"""
MPIRUN = """\
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
"""
RULE = "-" * 74 + "\n"
WATCHDOG = "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8) ran for 600020 milliseconds\n"
CHAINED = (
    TRACEBACK.format("HTTPError", "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://hub.example")
    + "\nThe above exception was the direct cause of the following exception:\n\n"
    + TRACEBACK.format("OSError", "OSError: cannot load the model")
)  # fmt: skip

GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/code/a.py", line 5, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/code/a.py", line 2, in f
    |     open(name)
    | FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'
    +------------------------------------
"""
# A traceback as rich and IPython draw it, and one whose beginning is cut off.
BOXED = """\
╭──────────────── Traceback (most recent call last) ────────────────╮
│ /code/train.py:12 in <module>                                     │
│                                                                   │
│ ❱ 12 main()                                                       │
│ /opt/env/lib/python3.10/site-packages/pkg/step.py:7 in            │
│ run                                                               │
│                                                                   │
│ ❱  7 │   │   return self.rods[name]                               │
╰───────────────────────────────────────────────────────────────────╯
KeyError: 'label'
"""
NOTEBOOK = """\
---------------------------------------------------------------------------
KeyError                                  Traceback (most recent call last)
Cell In[3], line 1
----> 1 step(row)

File /code/train.py:12, in step(row)
     11 def step(row):
---> 12     return row["label"]

KeyError: 'label'
"""
CUT = KEY_ERROR.partition("\n")[2]
# pdsh, as DeepSpeed calls it, puts the name of the host in front.
NAMED = "".join(f"gpu-{rank}: {line}\n" for line in KEY_ERROR.splitlines() for rank in (1, 2))
HANDLED = (
    TRACEBACK.format("JSONDecodeError", "json.decoder.JSONDecodeError: Expecting value")
    + "\nDuring handling of the above exception, another exception occurred:\n\n"
    + TRACEBACK.format("open(name)", "FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'")
)

LOGS = [
    # the end weighs more than the beginning, and an epilogue is not the cause
    (KEY_ERROR + ELASTIC, "python-error", "KeyError: 'label'"),
    (OUT_OF_MEMORY + ELASTIC, "gpu-memory", "torch.cuda.OutOfMemoryError"),
    (KEY_ERROR + MPIRUN, "python-error", "KeyError: 'label'"),
    (WATCHDOG + KEY_ERROR, "python-error", "KeyError: 'label'"),
    (OUT_OF_MEMORY + KEY_ERROR, "gpu-memory", "torch.cuda.OutOfMemoryError"),
    (OUT_OF_MEMORY + "shutting down worker pool\n" * 70 + KEY_ERROR, "python-error", "KeyError: 'label'"),
    (KEY_ERROR + PROGRESS + OUT_OF_MEMORY, "gpu-memory", "torch.cuda.OutOfMemoryError"),
    (OUT_OF_MEMORY + PROGRESS + KEY_ERROR, "python-error", "KeyError: 'label'"),
    # other processes write a few lines after a traceback; more of them, or one after a message, and the run went on
    (OUT_OF_MEMORY + "".join(STEPS[:2]) + NO_PROGRAM, "gpu-memory", "torch.cuda.OutOfMemoryError"),
    (OUT_OF_MEMORY + "".join(STEPS[:3]) + NO_PROGRAM, "command-not-found", "user.sh: line 30: nvcc"),
    (NO_PROGRAM + STEPS[0] + "dial tcp 10.0.0.1:80: connect: Connection refused\n", "network", "dial tcp 10.0.0.1:80"),
    (ELASTIC, "child-failed", "ERROR:torch.distributed.elastic"),
    (WATCHDOG, "collective-timeout", "[Rank 0] Watchdog"),
    # what the launcher does to the other processes is no cause, and a name of a variable is no level of a message
    ("W0101 api.py:1028] Sending process 7 closing signal SIGTERM\n" + ELASTIC, "child-failed", "W0101 api.py:1028]"),
    (
        "[rank0]: RuntimeError: NCCL Error 2: unhandled system error (run with NCCL_DEBUG=INFO for details)\n"
        "W0101 api.py:858] Sending process 7 closing signal SIGTERM\n" + ELASTIC,
        "nccl-network", "RuntimeError: NCCL Error 2",
    ),
    # chained exceptions: the first cause
    (CHAINED, "hub-access", "requests.exceptions.HTTPError: 401"),
    (HANDLED, "file-not-found", "FileNotFoundError"),  # that one was handled, and this ended the program
    # a retry that succeeded
    ("dial tcp 10.0.0.1:80: connect: Connection refused\n" + PROGRESS + KEY_ERROR, "python-error", "KeyError"),
    # processes with prefixes
    (
        "".join(f"[1,{rank}]<stderr>:{line}\n" for rank in (0, 1) for line in KEY_ERROR.splitlines()) + MPIRUN,
        "python-error", "KeyError: 'label'",
    ),
    ("[rank2]: " + "\n[rank2]: ".join(OUT_OF_MEMORY.splitlines()) + "\n" + WATCHDOG, "gpu-memory", "torch.cuda"),
    ("#6 4.9 E: Unable to locate package libfoo\n#6 ERROR: executor failed running\n", "package-install", "E: Unable"),
    # a group of exceptions, and code that keeps its indentation after a time
    (GROUP, "file-not-found", "FileNotFoundError"),
    ("".join(f"2026-03-04T08:00:00.1Z {line}\n" for line in KEY_ERROR.splitlines()), "python-error", "KeyError"),
    (BOXED, "python-error", "KeyError: 'label'"),
    (NOTEBOOK, "python-error", "KeyError: 'label'"),
    ("loading shards\n" + CUT + ELASTIC, "python-error", "KeyError: 'label'"),
    ("gpu-1: loading shards\n" + NAMED, "python-error", "KeyError: 'label'"),
    (WATCHDOG + "terminate called after throwing an instance of 'c10::Error'\n", "collective-timeout", "[Rank 0]"),
    # one message of several lines
    (
        TRACEBACK.format("DistBackendError", "torch.distributed.DistBackendError: NCCL error in: init.cpp:1")
        + "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
        + "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000\n",
        "gpu-shared", "Duplicate GPU detected",
    ),
    # package managers: no network is not a wrong name
    (
        "".join(
            f"WARNING: Retrying (Retry(total={left}, connect=None)) after connection broken by 'NewConnectionError"
            "(': Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'\n"
            for left in (2, 1, 0)
        )
        + "ERROR: Could not find a version that satisfies the requirement x (from versions: none)\n"
        + "ERROR: No matching distribution found for x\n",
        "network", "WARNING: Retrying (Retry(",
    ),
    ("\x1b[31muser.sh: line 30: nvcc: command not found\x1b[0m\n", "command-not-found", "user.sh: line 30: nvcc"),
    (PROGRESS + "Killed\n", "host-memory", "Killed"),
    # an abort is how a watchdog ends a process; the launcher's report of it is not the cause
    (WATCHDOG + "E1206 api.py:869] failed (exitcode: -6) local_rank: 1\n", "collective-timeout", "[Rank 0] Watchdog"),
    ("E1206 api.py:869] failed (exitcode: -6) local_rank: 1\n", "program-crash", "E1206 api.py:869]"),
    # the message of an exception says more than its name; the file of the last frame tells bare exceptions apart
    (
        TRACEBACK.format("_connect()", 'db.OperationalError: connection to "10.0.0.1" failed: Connection refused'),
        "network", "db.OperationalError",
    ),
    (TRACEBACK.replace("pkg/step.py", "pkg/serialization.py").format("load", "EOFError"), "file-damaged", "EOFError"),
    (
        "fatal: unable to access 'https://git.example/x/': server certificate verification failed.\n",
        "certificate", "fatal: unable to access",
    ),
    ("10%|#   | 1/10\r20%|##  | 2/10\nBus error (core dumped)\n", "shared-memory", "Bus error"),
]  # fmt: skip


@pytest.mark.parametrize(("log", "cause", "evidence"), LOGS)
def test_the_error_that_ended_the_run_decides(log: str, cause: str, evidence: str) -> None:
    found = failure(log)
    assert found.cause.name == cause
    assert found.evidence is not None
    assert found.evidence.text.startswith(evidence)
    assert evidence[:12] in log.split("\n")[found.evidence.number - 1]


def test_in_the_message_of_an_exception_that_has_a_cause_a_weaker_word_changes_nothing() -> None:
    found = failure(f"{OUT_OF_MEMORY}error of the reader: Broken pipe\n", None, 1)
    assert found.evidence is not None
    assert (found.cause.name, found.evidence.number) == ("gpu-memory", 6)


IN_LIBRARY, IN_PROGRAM = TRACEBACK, TRACEBACK.replace("/opt/env/lib/python3.10/site-packages", "/code")
# Exceptions that are errors of the program: in its code and values.
OF_PROGRAM = [
    IN_PROGRAM.format("ValueError(path)", "ValueError: the file /data/a.bin has 3 columns"),
    IN_PROGRAM.replace("raise {0}", "assert ready").format("", "AssertionError"),
    IN_PROGRAM.format("StorageError()", "code.StorageError"),
    IN_LIBRARY.format("KeyError(key)", "KeyError: '/data/a.bin'"),
    IN_LIBRARY.format("RuntimeError", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x11 and 10x3)"),
    IN_LIBRARY.format("ValueError", "ValueError: Input X contains NaN."),
    IN_LIBRARY.format("MergeError", "pandas.errors.MergeError: Merge keys are not unique in either dataset"),
    IN_LIBRARY.format("RuntimeError", "RuntimeError: Cannot re-initialize CUDA in forked subprocess."),
    IN_LIBRARY.format("RuntimeError", "RuntimeError:\nUnknown builtin op: aten::fancy."),
    IN_LIBRARY.format("RuntimeError", "RuntimeError: bias must be of size 4 (check failed at ../src/nn/conv.cpp:81)"),
]
# Exceptions that tell of something outside of it, or nothing: their lines are worth reading, but no answer.
OF_OUTSIDE = [
    IN_LIBRARY.format("EOFError", "EOFError"),
    IN_LIBRARY.format("LookupError", "LookupError:\n*****\n  Resource x is absent, use the Downloader, or download it"),
    IN_LIBRARY.format("NoSuchKernel", "jupyter_client.kernelspec.NoSuchKernel: No such kernel named x"),
    IN_LIBRARY.replace("raise {0}", "assert backend is not None").format("", "AssertionError"),
    IN_LIBRARY.format("ValueError", "ValueError: cannot make sense of ./model: it has no type"),
    IN_LIBRARY.format("TrainerError", "pkg.errors.TrainerError: the run is not good"),
    IN_LIBRARY.format("RuntimeError", "RuntimeError: the pump is off. Check the messages above for the reason"),
    IN_LIBRARY.format("RuntimeError", "RuntimeError: the worker process with rank 3 died"),
    IN_LIBRARY.format("RuntimeError", "RuntimeError: got nothing from tcp://10.0.0.3:29500"),
    IN_PROGRAM.replace("raise {0}", "array.store(out)").format("", "OSError: 100 wanted and 13 stored"),
    IN_PROGRAM.replace("raise {0}", "client.wait()").format("", "pkg.errors.HandshakeTimeout: 30 s"),
]


@pytest.mark.parametrize("log", OF_PROGRAM)
def test_an_exception_of_the_program_is_the_cause(log: str) -> None:
    assert failure(log, None, 1).cause.name == "python-error"


@pytest.mark.parametrize("log", OF_OUTSIDE)
def test_an_exception_about_something_else_is_only_worth_reading(log: str) -> None:
    found = failure(log + ELASTIC, None, 1)
    assert found.cause.name == "program-error"
    assert found.worth_reading[0].text in log
    assert failure(log).cause.name == "not-known"


NO_WORKING_FOLDER = RULE + "mpirun was unable to start the application\nWorking directory: /absent\n" + RULE
SHELL = "user.sh: line 30: 41 "


@pytest.mark.parametrize(
    ("log", "code", "cause"),
    [
        # an exit code above 128 is that of a signal if something reports one, or nothing speaks against it
        (NO_WORKING_FOLDER, 135, "file-not-found"),
        (NO_WORKING_FOLDER + SHELL + "Bus error   ./a\n", 135, "shared-memory"),
        ("the launcher failed: no such reactor\n", 135, "program-error"),
        (PROGRESS, 135, "shared-memory"),
        # a program that aborts has mostly said why
        ("F1127 client.h:80] fatal errors\n" + SHELL + "Aborted   python a.py\n", 134, "program-error"),
        (SHELL + "Aborted   python a.py\n", 134, "program-crash"),
        (SHELL + "Segmentation fault   python a.py\n", 139, "program-crash"),
        # a line that says that something failed, and the next one why
        (
            "Err:3 https://archive.example/u jammy InRelease\n  The following signatures were invalid: BADSIG 00AA\n",
            100, "package-keys",
        ),
        # a shell's own codes say more than that a file is absent
        ("env: 'trainer': No such file or directory\n", 127, "command-not-found"),
        ("bash: scripts/run.sh: No such file or directory\n", 127, "file-not-found"),
        ("Command exited with non-zero status 127\n", 127, "command-not-found"),
    ],
)  # fmt: skip
def test_the_code_counts_as_far_as_the_log_agrees(log: str, code: int, cause: str) -> None:
    assert failure(log, None, code).cause.name == cause


@pytest.mark.parametrize(
    ("code", "of_itself", "reported"),
    [
        (132, True, "program-crash"),
        (134, True, "program-crash"),
        (135, True, "shared-memory"),
        (136, True, "program-crash"),
        (139, True, "program-crash"),
        (130, False, "stopped"),
        (137, False, "host-memory"),
        (141, False, "broken-pipe"),
        (143, False, "stopped"),
    ],
)
def test_a_program_may_end_with_the_code_of_a_signal_that_it_brings_on_itself(
    code: int, of_itself: bool, reported: str
) -> None:
    assert failure(KEY_ERROR, None, code).cause.name == ("python-error" if of_itself else reported)
    assert failure(KEY_ERROR + SHELL + "Aborted   python a.py\n", None, code).cause.name == reported


def test_a_code_says_more_than_an_exception_without_a_cause() -> None:
    assert failure(OF_OUTSIDE[0], None, 124).cause.name == "time-limit"
    assert failure("code: 224\n" + OF_OUTSIDE[0]).cause.name == "gpu-driver"
    rule = "FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole\ncode: 255\n"
    assert failure(rule + OF_OUTSIDE[0]).cause.name == "job-failed-by-rule"
    assert failure(rule + KEY_ERROR).cause.name == "python-error"


IN_FRONT = [
    "num_workers=8, shared memory 64M",
    "Test: out of memory handling passed",
    "connection refused, retrying in 5 s",
    "WARNING: CUDA out of memory, trying a smaller batch; retrying",
    "0 errors, 0 failed",
    "No module named 'apex', falling back to the slower norm",
    "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.",
    "W dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.7'; dlerror: cannot open shared object file",
    "debconf: unable to initialize frontend: Dialog",
    "Killed old session (none)",
]


@pytest.mark.parametrize("line", IN_FRONT)
def test_a_harmless_line_in_front_changes_nothing(line: str) -> None:
    for log, cause, _ in LOGS:
        assert failure(f"{line}\n{log}").cause.name == cause
    assert failure(f"{line}\nall done\n").cause.name in {"no-failure", "not-known"}


HARMLESS = [
    PROGRESS,
    PROGRESS + "Training finished\n",
    "W0101 00:00:00 warning: something is deprecated\n" + PROGRESS,
    "Connection refused\nConnection refused\n" + PROGRESS + "Saved the model\n",
    KEY_ERROR + PROGRESS + "Training complete!\n",
    "10 passed, 0 failed\n",
    "Warning  FailedMount  MountVolume.SetUp failed for volume 'x': timed out\nNormal  Started  Started container a\n",
    "Successfully installed torch-2.1.0\n",
    "CUDA not available, using CPU\ndevice: cpu\n",
    "1 passed, 1 skipped, 1 xfailed in 0.02s\n",
    "test_apex SKIPPED (No module named 'apex')\n1 passed, 1 skipped in 0.02s\n",
    "java.lang.IllegalStateException: cache miss\n\tat A.main(A.java:1)\n42\n",
    "KeyError: cannot read 'x'\n    at Object.<anonymous> (/code/a.js:1:7)\n",
    "TypeError: cannot read 'x'\n    at [eval]:1:10\n42\n",
    "SyntaxError: Unexpected token '}', \"{\"a\":}\n\" is not valid JSON\n    at JSON.parse (<anonymous>)\n42\n",
    "Expecting:\n    Traceback (most recent call last):\n    ValueError: no\nok\nResults(failed=0, attempted=1)\n",
    "[OSError('Connection reset by peer')]\n",
    "[0, ConnectionError('peer 1 refused'), 2]\n",
    "Troubleshooting\n  RuntimeError: CUDA out of memory  - reduce the batch\n",
    (
        "curl: (22) The requested URL returned error: 503\nWarning: Problem : HTTP error. Will retry in 1 seconds.\n"
        "100     5  100     5    0     0   2707      0 --:--:-- --:--:-- --:--:--  5000\n"
    ),
    (
        RULE + "WARNING: No preset parameters were found for the device. The job will abort if none is found later.\n"
        "Default device parameters will be used, which may result in lower performance.\n" + RULE + "rank 0 of 2\n"
    ),
]  # fmt: skip
# What is an error if the run failed, and nothing if it went on: without an exit code nobody knows.
DOUBTFUL = [
    (KEY_ERROR + "the defaults are in use\nwrote 3 files\n", "python-error", "KeyError"),
    ("ERROR app: cache lookup failed\n" + KEY_ERROR + "INFO app: a fresh cache\n", "python-error", "KeyError"),
    ("Exception in thread Thread-1 (f):\n" + KEY_ERROR + "accuracy 0.9\n", "python-error", "KeyError"),
    (
        "[W 2026-03-04 08:00:00,1] Trial 1 failed\n" + KEY_ERROR + "[I 2026-03-04 08:00:01,1] Trial 2\n4\n",
        "python-error",
        "KeyError",
    ),
    ("Exception ignored in: <function A.__del__ at 0x7f>\n" + KEY_ERROR + "[12 rows]\n", "python-error", "KeyError"),
    ("user.sh: line 1: nvidia-smi: command not found\nno GPU tools here\n", "command-not-found", "user.sh"),
    ("curl: (7) Failed to connect to 127.0.0.1\nthe service begins\nready\n", "network", "curl: (7)"),
    ("a\nmake: *** [Makefile:5: b] Error 1\nc\nbuilt what was possible\n", "child-failed", "make: ***"),
    ("rm: cannot remove '/tmp/x': No such file or directory\n0\n", "file-not-found", "rm: cannot"),
]


@pytest.mark.parametrize("log", HARMLESS)
def test_a_harmless_log_is_not_called_a_failure(log: str) -> None:
    found = failure(log)
    assert found.cause.name in {"no-failure", "not-known"}
    assert found.evidence is None
    assert failure(log, None, 0).cause.name == "no-failure"


@pytest.mark.parametrize(("log", "cause", "evidence"), DOUBTFUL)
def test_an_error_after_which_a_run_may_have_gone_on_needs_a_code(log: str, cause: str, evidence: str) -> None:
    found = failure(log)
    assert found.cause.name == "not-known"
    assert any(line.text.startswith(evidence) for line in found.worth_reading)
    assert failure(log, None, 1).cause.name == cause
    ended = failure(log + ELASTIC)
    assert ended.cause.name in {cause, "child-failed"}


def test_what_is_not_known_names_lines_that_are_worth_reading() -> None:
    found = failure("start\n" * 30 + "the reactor is unable to cool\nscram\n")
    assert found.cause.name == "not-known"
    assert [(line.number, line.text) for line in found.worth_reading] == [(31, "the reactor is unable to cool")]
    assert "31: the reactor is unable to cool" in failure_text(found, None, "")


def test_names_and_the_place_in_the_program() -> None:
    found = failure(TRACEBACK.format("x", "ModuleNotFoundError: No module named 'apex'"))
    assert dict(found.names) == {"module": "apex", "at": "/code/train.py:31"}
    found = failure("[1,3]<stderr>:ssh: Could not resolve hostname worker-9: Name or service not known")
    assert dict(found.names) == {"host": "worker-9", "process": "1,3"}
    assert dict(failure(NAMED).names) == {"at": "/code/train.py:31", "process": "gpu-1"}
    assert dict(failure(BOXED).names)["at"] == dict(failure(NOTEBOOK).names)["at"] == "/code/train.py:12"


@pytest.mark.parametrize(
    ("log", "code", "sureness"),
    [
        (OUT_OF_MEMORY, 1, Sureness.CERTAIN),
        (KEY_ERROR, 1, Sureness.PROBABLE),
        (ELASTIC, 1, Sureness.POSSIBLE),
        (OUT_OF_MEMORY + PROGRESS, 1, Sureness.POSSIBLE),
        ("", 137, Sureness.PROBABLE),
        ("", 1, Sureness.POSSIBLE),
    ],
)
def test_how_sure_an_answer_is(log: str, code: int, sureness: Sureness) -> None:
    assert failure(log, None, code).sureness is sureness


def test_a_signal_weighs_more_than_a_general_error() -> None:
    assert failure(KEY_ERROR, None, 137).cause.name == "host-memory"
    assert failure(OUT_OF_MEMORY, None, 137).cause.name == "gpu-memory"
    assert failure(WATCHDOG, None, 134).cause.name == "collective-timeout"


def test_the_code_of_timeout_says_enough_without_a_log_that_complains() -> None:
    assert failure("training begins\n", None, 124).cause.name == "time-limit"
    assert failure(KEY_ERROR, None, 124).cause.name == "python-error"


def test_the_diagnostics_of_the_portal_name_more_than_the_trigger() -> None:
    text = """\
[Exit Trigger Info]
ExitTriggerMessage: FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole
[Exit Spec]
code: 1
[Exit Diagnostics]
containers:
  - name: app
    message: >
      standard_init_linux.go:228: exec user process caused: no such file or
      directory
    code: 1
"""
    assert failure(text).cause.name == "image-without-bash"


DIAGNOSTICS = """\
[Exit Trigger Info]
ExitTriggerMessage: FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole
[Exit Spec]
code: {0}
[Exit Diagnostics]
[PAI_RUNTIME_ERROR_START]
exitCode: {0}
originUserExitCode: {1}
[PAI_RUNTIME_ERROR_END]
"""


@pytest.mark.parametrize(
    ("log", "codes", "cause"),
    [
        (KEY_ERROR, (255, 1), "python-error"),
        (PROGRESS, (137, 137), "host-memory"),
        (OUT_OF_MEMORY, (255, 1), "gpu-memory"),
    ],
)
def test_the_diagnostics_and_the_log_are_read_together(log: str, codes: tuple[int, int], cause: str) -> None:
    found = failure(log, diagnostics=DIAGNOSTICS.format(*codes))
    assert (found.code, found.cause.name) == (codes[0], cause)


def test_diagnostics_that_name_the_cause_need_no_log() -> None:
    pod = 'PodFailed matched: {"containers": [{"name": "app", "reason": "OOMKilled", "code": 137}]}'
    found = failure(KEY_ERROR, diagnostics=pod)
    assert (found.code, found.cause.name) == (-1200, "host-memory")


@pytest.mark.parametrize(
    "value", ["[" * 3_000, "[" * 900 + "]" * 900, '["a"]', "9" * 5_000, "5", "null", "true", '"\\ud800"', '{"a": 1}']
)
@pytest.mark.parametrize(
    "pod",
    [
        '{"reason": VALUE, "containers": [{"reason": "Error", "code": 3}]}',
        '{"containers": [{"name": VALUE, "reason": "OOMKilled"}]}',
        '{"containers": [{"reason": VALUE, "code": VALUE}]}',
        '{"containers": [{"reason": "ContainerCannotRun", "code": VALUE, "message": VALUE}]}',
        '{"containers": VALUE}',
        "VALUE",
    ],
)
def test_any_value_in_what_is_reported_about_a_pod(pod: str, value: str) -> None:
    failure(KEY_ERROR, diagnostics=f"PodFailed matched: {pod.replace('VALUE', value)}\n")


def test_a_long_log_is_read_at_its_errors_and_its_end() -> None:
    """Numbers of lines count from the beginning; the middle is not kept."""
    line = b"2026-01-01 00:00:00,000 INFO epoch 1 step 7 loss: 0.1234 lr: 0.001\n"
    pieces = [line * 20_000, KEY_ERROR.encode(), *[line * 20_000] * 5, b"user.sh: line 30: nvcc: command not found\n"]
    log = read_log(pieces)
    assert len(log.lines) < 20_000
    assert len(log.end) <= 10 * 1024 * 1024
    found = failure(log, None, 127)
    assert (found.cause.name, found.code) == ("command-not-found", 220)
    assert found.evidence is not None
    assert found.evidence.number == 6 * 20_000 + KEY_ERROR.count("\n") + 1
    assert any(one.text == "KeyError: 'label'" for one in log.lines)


@pytest.mark.parametrize("size", [1, 7, 999, 2**30])
def test_the_lines_that_are_kept_of_a_log_have_their_own_numbers(size: int) -> None:
    """Whatever the size of its pieces: those after errors, and the end."""
    lines = [f"ValueError: {n}" if n % 150 == 0 else f"line {n}" for n in range(60_000)]
    text = "\n".join(lines).encode()
    pieces = [text[start : start + size] for start in range(0, 400 * size, size)] + [text[400 * size :]]
    kept = {line.number: line.text for line in read_log(pieces).lines}
    assert all(lines[number - 1] == shown for number, shown in kept.items())
    passed = text[: text.rfind(b"\n", 0, len(text) - 384 * 1024)].count(b"\n") + 1
    errors = [number for number, line in enumerate(lines, 1) if line.startswith("ValueError") and number <= passed]
    around = {number for first in errors for number in range(first, first + 40)}
    assert 60 < len(errors) < 260
    assert kept.keys() == {*around, *range(passed + 1, len(lines) + 1)}


JOB = """\
protocolVersion: 2
name: failing
type: job
prerequisites: [{type: dockerimage, name: image, uri: team/train:v1}]
taskRoles:
  worker:
    dockerImage: image
    resourcePerInstance: {gpu: 1, cpu: 4, memoryMB: 8192}
    commands:
      - git clone https://git.example/team/code.git
      - cd code
      - mpirun -np 2 ./a
      - python train.py
secrets:
  token: hunter2hunter2
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("fatal: destination path 'code' already exists and is not an empty directory.", 10),
        ("There are not enough slots available in the system to satisfy the 2 slots", 12),
        (OUT_OF_MEMORY, 13),
        ("something else is FATAL here", None),
    ],
)
def test_the_line_of_the_job_is_one_that_the_message_fits(log: str, line: int | None) -> None:
    assert failure(log, Document(JOB).job, 1).line == line


def test_no_secret_is_quoted() -> None:
    job = Document(JOB).job
    found = failure("fatal: Authentication failed for 'https://x:hunter2hunter2@git.example/'", job, 128)
    assert found.cause.name == "git-login"
    assert "hunter2" not in failure_text(found, job, "job.pai.yaml")


def test_control_characters_of_a_log_reach_no_terminal() -> None:
    text = failure_text(failure("x\x1b]0;title\x07\x9b2J: error: unrecognized arguments: --a\x1b"), None, "")
    assert "wrong-option" in text
    assert not {"\x1b", "\x07", "\x9b"} & set(text)


@pytest.mark.parametrize(
    ("end", "sureness"),
    [("Killed", "probable"), ("exitcode  : -9 (pid: 3309)", "probable"), ("Reason: OOMKilled", "certain")],
)
def test_a_signal_only_suggests_its_usual_cause(end: str, sureness: str) -> None:
    found = failure(f"{PROGRESS}{end}\n")
    assert (found.cause.name, found.sureness.value) == ("host-memory", sureness)


def test_the_command_reads_a_file_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "user.pai.all"
    file.write_text((PROGRESS * 2000) + OUT_OF_MEMORY, encoding="utf-8")
    assert main(["why", "--format", "json", "--exit-code", "1", str(file)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["cause"], answer["sureness"], answer["code"]) == ("gpu-memory", "certain", 255)
    assert answer["evidence"]["line"] == 10_000 + OUT_OF_MEMORY.count("\n")
    assert answer["names"] == {"at": "/code/train.py:31"}
    with file.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["why", "-"]) == 0
    assert capsys.readouterr().out.startswith("gpu-memory: ")
    assert main(["why", str(tmp_path)]) == 2
    assert main(["why", "--platform-log", str(tmp_path / "absent"), str(file)]) == 2


def test_answers_to_the_letter() -> None:
    from recorded_failures import RECORD, recorded  # noqa: PLC0415 - it has the tables of this module

    assert recorded() == RECORD.read_text(encoding="utf-8"), "python tests/recorded_failures.py writes the record"
