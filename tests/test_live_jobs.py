"""`jobs`, `logs`, `why NAME` and `submit --follow` against a cluster on this machine, as good or bad as one can be."""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from live_cluster_server import (
    CONFIG,
    FAILED,
    LOG,
    NO_CELL,
    PENDING,
    RUNNING,
    SUCCEEDED,
    WAITING,
    LiveCluster,
    answering,
    job,
    task,
)
from loopback import dripping, half, limits_for, marketplace, never

from pai_lsp.cli.commands import live_cluster
from pai_lsp.cli.main import main
from pai_lsp.cluster import live_jobs, rest_server, waiting
from pai_lsp.cluster.cluster_access import ClusterAccess
from pai_lsp.cluster.live_failure import live_failure
from pai_lsp.cluster.live_jobs import LiveJob, LiveTask, TaskLog, job_named, own_jobs, patiently
from pai_lsp.cluster.rest_server import ClusterConnection, ClusterError
from pai_lsp.cluster.waiting import waits_for
from pai_lsp.web.fetching import FetchFailure, HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from loopback import Marketplace, Reaction

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "ubuntu:22.04"}
  - {name: greet, type: script, callbacks: [{event: taskStarts, commands: [echo hello]}]}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    prerequisites: [greet]
    commands:
      - echo start
      - python train.py
    resourcePerInstance: {gpu: 2, cpu: 1, memoryMB: 1024}
secrets: {word: paper-and-glue}
defaults: {virtualCluster: vc1}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration folder; the current folder is beside it, and nobody waits."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    monkeypatch.setenv("PAI_TOKEN", "t0ken")
    monkeypatch.setattr(live_cluster, "pause", lambda: None)
    (tmp_path / "pai-lsp").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "pai-lsp"


@contextmanager
def serving(home: Path, reaction: Reaction, more: str = "") -> Iterator[Marketplace]:
    with marketplace(reaction) as server:
        text = f"lab: {{url: '{server.url}/rest-server', token_env: PAI_TOKEN{more}}}\n"
        (home / "clusters.yaml").write_text(text, encoding="utf-8")
        yield server


def printed(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(list(words)) == status
    shown = capsys.readouterr()
    assert not any(secret in shown.out + shown.err for secret in ("t0ken", "k1", "paper-and-glue"))
    return shown.out, shown.err


def test_my_jobs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(home, LiveCluster()) as server:
        out, err = printed(capsys, "jobs")
        assert out == (
            "job    state   tasks  GPUs  retries  virtual cluster  submitted (UTC)\n"
            "train  FAILED  2      4     0        vc1              2026-11-23 20:17\n"
        )
        assert err == ""
        (found,) = json.loads(printed(capsys, "jobs", "--format", "json")[0])
        assert (found["name"], found["state"], found["taskCount"], found["submitted"]) == (
            "train",
            "FAILED",
            2,
            1795465056000,
        )
        assert server.requests[1].path == "/rest-server/api/v2/jobs?username=ann&order=submissionTime,DESC&limit=100"


def test_one_job(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(home, LiveCluster()) as server:
        out, _ = printed(capsys, "jobs", "train")
        page = f"{server.url}/job-detail.html?username=ann&jobName=train"
        assert out == (
            "train  FAILED  in virtual cluster 'vc1', submitted 2026-11-23 20:17 UTC\n"
            f"page     {page}\n"
            "role     worker: 1 STOPPED, 1 FAILED\n"
            "task     worker 0: STOPPED, code -220 FrameworkAttemptCompletion, on node1\n"
            "task     worker 1: FAILED, code 255 PAIRuntimeUnknownFailed, on node1\n"
            "ended    2026-11-23 20:26 UTC with code 255 PAIRuntimeUnknownFailed by task 1 of 'worker'\n"
            "         FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole\n"
            "         pai-lsp why train explains it\n"
        )
        found = json.loads(printed(capsys, "jobs", "train", "--format", "json")[0])
        assert (found["page"], found["culprit"], found["tasks"][1]["exitCode"]) == (page, ["worker", 1], 255)
        _, err = printed(capsys, "jobs", "other", status=1)
        assert err == "pai-lsp jobs: 'ann' has no job named 'other'\n"
        printed(capsys, "jobs", "ann~train")


def test_a_job_with_many_tasks(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [task(number, "RUNNING") for number in range(22)]
    tasks[0]["containerNodeName"], tasks[1]["retries"] = None, 3
    with serving(home, LiveCluster([job("RUNNING", "AttemptRunning", tasks, retries=2)]), ", portal: 'https://a'"):
        assert printed(capsys, "jobs", "train")[0].splitlines() == [
            "train  RUNNING  in virtual cluster 'vc1', submitted 2026-11-23 20:17 UTC",
            "page     https://a/job-detail.html?username=ann&jobName=train",
            "retries  2",
            "role     worker: 22 RUNNING",
            "task     worker 0: RUNNING",
            "task     worker 1: RUNNING, on node1, retries: 3",
            *(f"task     worker {number}: RUNNING, on node1" for number in range(2, 20)),
            "task     ... and 2 more",
        ]


def test_what_the_cluster_does_not_say(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waiting = job("WAITING", "AttemptPreparing", [task(0, "WAITING")], virtualCluster="vc9")
    with serving(home, LiveCluster([waiting])):
        lines = printed(capsys, "why", "train")[0].splitlines()
    assert lines == [
        "'train' has not failed: WAITING",
        "the cluster reports no problem of its pods",
        "the cluster does not say what virtual cluster 'vc9' has",
        "not known: the place in the queue and the free cells, which the cluster does not show to its users",
    ]


@pytest.mark.parametrize(
    ("gpus", "config", "parts"),
    [
        ((38, 38, 0), {}, ["GPUs: 4 asked for; virtual cluster 'vc1' has 38, and jobs use 0", "so many are free"]),
        ((38, 38, 36), {}, ["it waits for other jobs to end"]),
        ((38, 2, 0), {}, ["has 38, 36 of them on broken nodes, and jobs use 0", "or for the nodes"]),
        ((2, 2, 0), {}, ["it waits forever: it asks for more than its virtual cluster has"]),
        ((2, 2, 0), {"extras": {"hivedScheduler": {"jobPriorityClass": "oppo"}}}, ["its priority 'oppo'"]),
    ],
)
def test_what_a_job_waits_for(
    gpus: tuple[int, int, int],
    config: dict[str, Any],
    parts: list[str],
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for key, value in config.items():
        monkeypatch.setitem(CONFIG, key, value)
    event = {"reason": "FailedScheduling", "message": NO_CELL, "count": 3, "type": "Warning"}
    with serving(home, LiveCluster([WAITING], gpus=gpus, events=[event, {**event, "count": 1}])):
        for command in ("jobs", "why"):
            out, _ = printed(capsys, command, "train")
            assert out.count(f"FailedScheduling: {NO_CELL} (3 times)") == 1
            assert "waits-capacity: " in out
            assert "not known: the place in the queue" in out
            assert all(part in out for part in parts)
    with serving(home, LiveCluster([PENDING])):
        assert "waits    the platform has not created its pods yet\n" in printed(capsys, "jobs", "train")[0]


def test_a_log(home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    cluster = LiveCluster(rotated=b"earlier\n")
    with serving(home, cluster):
        assert main(["logs", "train"]) == 0
        shown = capsysbinary.readouterr()
        assert (shown.out, shown.err) == (b"earlier\n" + LOG, b"pai-lsp logs: task 1 of 'worker', FAILED\n")
        assert main(["logs", "train", "--role", "worker", "--task", "0", "--format", "json"]) == 0
        found = json.loads(capsysbinary.readouterr().out)
        assert (found["role"], found["task"], found["text"]) == ("worker", 0, "earlier\n" + LOG.decode())
        assert main(["logs", "train", "--task", "7"]) == 1
        assert b"'train' has no such task; its task roles: worker" in capsysbinary.readouterr().err
        cluster.log = None
        assert main(["logs", "train"]) == 1
        assert b"has no log: it has not started, or the log was removed" in capsysbinary.readouterr().err
        assert main(["logs", "train", "--follow", "--format", "json"]) == 2


def test_a_log_in_many_parts(home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    parts = tuple(b"part %d\n" % at for at in range(11, 0, -1))
    with serving(home, LiveCluster(azure=parts)):
        assert main(["logs", "train"]) == 0
        whole = capsysbinary.readouterr().out
        assert whole == b"".join(reversed(parts)) + LOG
        cluster = rest_server.connection("lab")
        found = job_named(cluster, "ann", "train")
        log = TaskLog(cluster, found, (found.tasks or ())[1])
        assert log.end() == (whole, False)
        assert log.of_platform() == b"barrier passed\n"


def test_a_log_that_is_still_written(
    home: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task starts, writes, its log is moved away, the key to it expires, the cluster fails once, the task ends."""
    cluster = LiveCluster([PENDING, WAITING, WAITING, RUNNING, RUNNING, RUNNING, RUNNING, RUNNING, SUCCEEDED], log=None)
    steps: list[Callable[[], None]] = [
        lambda: None,
        lambda: None,
        lambda: setattr(cluster, "log", b"one\n"),
        lambda: setattr(cluster, "log", b"one\ntwo\n"),
        lambda: vars(cluster).update(rotated=b"one\ntwo\nthree\n", log=b"4\n"),
        lambda: setattr(cluster, "key", "k2"),
        lambda: cluster.faults.append(502),
        lambda: setattr(cluster, "log", b"4\nfive\n"),
    ]
    monkeypatch.setattr(live_cluster, "pause", lambda: steps.pop(0)() if steps else None)
    with serving(home, cluster):
        assert main(["logs", "train", "--task", "0", "--follow"]) == 0
    assert capsysbinary.readouterr().out == b"one\ntwo\nthree\n4\nfive\n"


def test_why_a_job_failed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(home, LiveCluster()):
        out, err = printed(capsys, "why", "train")
        assert err == ""
        assert out.startswith("python-import: ")
        assert "log line 5: ModuleNotFoundError: No module named 'torchx'\n" in out
        assert "in the submitted job: python train.py\n" in out
        assert "code 255 PAIRuntimeUnknownFailed" in out
        assert "task 1 of 'worker'\n" in out


def test_the_line_of_the_file_that_was_submitted(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = home.parent / "work"
    (work / "a.pai.yaml").write_text(JOB.replace("echo start", "echo begin"), encoding="utf-8")
    (work / "b.pai.yaml").write_text(JOB, encoding="utf-8")
    (work / "c.pai.yaml").write_text(JOB.replace("name: train", "name: other"), encoding="utf-8")
    assert main(["expand", "b.pai.yaml", "-o", "sent.yaml"]) == 0
    import yaml  # noqa: PLC0415 - only here

    sent = yaml.safe_load((work / "sent.yaml").read_text(encoding="utf-8")) | {"secrets": "******"}
    for key in ("prerequisites", "taskRoles"):
        monkeypatch.setitem(CONFIG, key, sent[key])
    line = JOB.splitlines().index("      - python train.py") + 1
    with serving(home, LiveCluster()):
        assert f"\nb.pai.yaml:{line}: - python train.py\n" in printed(capsys, "why", "train")[0]
        found = json.loads(printed(capsys, "why", "train", "--format", "json")[0])
        assert (found["file"], found["line"], found["cause"], found["notes"]) == (
            "b.pai.yaml",
            line,
            "python-import",
            [],
        )
        out, _ = printed(capsys, "why", "train", "--job", "a.pai.yaml", "--cluster", "lab")
        assert "note: 'a.pai.yaml' differs from the job that was submitted\n" in out
        assert "no such file" in printed(capsys, "why", "train", "--job", "d.pai.yaml", "--cluster", "lab", status=2)[1]


def test_why_without_a_log_or_a_failure(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(home, LiveCluster(log=None)):
        out, _ = printed(capsys, "why", "train")
        assert "note: the log was not read: task 1 of 'worker' has no log" in out
        assert "code 255 PAIRuntimeUnknownFailed" in out
        assert "in the submitted job" not in out
    with serving(home, LiveCluster(log=LOG + b"x" * rest_server.PIECE + b"\n" + LOG)):
        assert "note: the beginning of the log was not read" in printed(capsys, "why", "train")[0]
    with serving(home, LiveCluster([SUCCEEDED])):
        assert printed(capsys, "why", "train")[0] == "'train' has not failed: SUCCEEDED\n"
    killed = json.loads(json.dumps(FAILED).replace("code: 255", "code: 137").replace(": 255", ": 137"))
    retried = job("RUNNING", "AttemptRunning", WAITING["taskRoles"]["worker"]["taskStatuses"], retries=1, attemptId=1)
    for is_ltp in (False, True):
        with serving(home, LiveCluster([retried], attempts={0: killed}, log=b"step 1\n", is_ltp=is_ltp)):
            out, _ = printed(capsys, "why", "train")
            assert out.startswith("host-memory: ")
            assert "note: this was attempt 0; the job goes on: RUNNING\n" in out


def test_a_cause_by_its_code_with_the_line_of_the_log_that_agrees(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = json.loads(json.dumps(FAILED).replace("code: 255", "code: 221").replace(": 255", ": 221"))
    log = b"step 1\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    with serving(home, LiveCluster([full], log=log)):
        out, _ = printed(capsys, "why", "train")
        assert out.startswith("gpu-memory: ")
        assert "log line 2: RuntimeError: CUDA out of memory" in out


def test_a_private_authority(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(home / "lab.pem"))
    with marketplace(LiveCluster(), context) as server:
        text = f"lab: {{url: '{server.url}/rest-server', token_env: PAI_TOKEN}}\n"
        (home / "clusters.yaml").write_text(text, encoding="utf-8")
        assert "the certificate is not trusted" in printed(capsys, "jobs", status=1)[1]
        (home / "clusters.yaml").write_text(text.replace("}", ", ca_file: lab.pem}"), encoding="utf-8")
        _, err = printed(capsys, "logs", "train", "--task", "0")
        assert err == "pai-lsp logs: task 0 of 'worker', STOPPED\n"
        (home / "clusters.yaml").write_text(text.replace("}", ", ca_file: other.pem}"), encoding="utf-8")
        assert "other.pem' cannot be read (FileNotFoundError)" in printed(capsys, "jobs", status=1)[1]


def test_a_job_that_ltp_does_not_have(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def react(request: Any) -> None:
        body = {"code": "UnknownError", "message": "Failed to retrieve job ann~train."}
        found = {"username": "ann"} if "tokens" in request.path else body
        request.send(200 if "tokens" in request.path else 500, json.dumps(found).encode())

    with serving(home, react, ", platform: ltp"):
        _, err = printed(capsys, "logs", "train", "--follow", status=1)
        assert "'ann' has no job named 'train', or it cannot be read" in err


@pytest.mark.parametrize("is_ltp", [False, True])
def test_a_job_that_is_followed_from_its_submission_to_its_end(
    is_ltp: bool, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.parent / "work" / "train.pai.yaml").write_text(JOB, encoding="utf-8")
    words = ("submit", "--cluster", "lab", "--yes", "--follow", "train.pai.yaml")
    cluster = LiveCluster([PENDING, WAITING, RUNNING, RUNNING, FAILED], is_ltp=is_ltp)
    again = {"retries": 1, "attemptId": 1}
    cluster.attempts = {0: FAILED, 1: FAILED | {"jobStatus": FAILED["jobStatus"] | again}}
    is_there = False

    def react(request: Any) -> None:
        nonlocal is_there
        if request.method == "POST":
            is_there = True
            request.send(202, b"{}")
        elif "jobs" in request.path and not is_there:
            request.send(404, b'{"code": "NoJobError"}')
        else:
            cluster(request)

    with serving(home, react):
        out, err = printed(capsys, *words, status=1)
        assert "python-import: " in out
        assert "\ntrain.pai.yaml:14: - python train.py\n" in out
        states = [line for line in err.splitlines() if line.partition(":")[0] in {"WAITING", "RUNNING", "FAILED"}]
        assert states == [
            "WAITING",
            "WAITING: tasks 2 WAITING",
            "RUNNING: tasks 2 RUNNING",
            "FAILED: tasks 1 STOPPED, 1 FAILED",
        ]
        is_there, cluster.states = False, [RUNNING, SUCCEEDED]
        printed(capsys, *words)
        retried = RUNNING | {"jobStatus": RUNNING["jobStatus"] | again}
        is_there, cluster.states = False, [RUNNING, retried, cluster.attempts[1]]
        out, err = printed(capsys, *words, status=1)
        assert "python-import: " in out
        assert "\nRUNNING, retry 1: tasks 2 RUNNING\nFAILED, retry 1: tasks 1 STOPPED, 1 FAILED\n" in err
        is_there, cluster.states = False, [RUNNING, RUNNING, RUNNING]
        monkeypatch.setattr(live_cluster, "pause", lambda: setattr(cluster, "token", "another"))
        _, err = printed(capsys, *words, status=1)
        assert "no longer followed: the server requires a valid access token (401)" in err
        assert "may have expired" in err


def test_a_job_that_is_deleted_and_a_cluster_that_fails_for_a_while(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home.parent / "work" / "train.pai.yaml").write_text(JOB, encoding="utf-8")
    answers = iter([404, 202, 200, 503, 502, 200, 404])

    def react(request: Any) -> None:
        if "tokens" in request.path:
            request.send(200, b'{"username": "ann"}')
            return
        status = next(answers)
        body = json.dumps(RUNNING) if status == 200 else '{"code": "NoJobError"}'
        request.send(status, body.encode())

    with serving(home, react):
        _, err = printed(capsys, "submit", "--cluster", "lab", "--yes", "--follow", "train.pai.yaml", status=1)
    assert "the job is no longer followed: 'ann' has no job named 'train'" in err
    assert err.count("RUNNING: tasks") == 1


@pytest.mark.parametrize(
    ("reaction", "part"),
    [
        (never, "the server did not answer in time"),
        (dripping, "the server did not answer in time"),
        (half, "the connection was lost"),
        (lambda request: request.send(200, b"<html>Sign in</html>"), "is not that of a rest-server"),
        (lambda request: request.send(200, b"[" * 100_000), "is not that of a rest-server"),
        (lambda request: request.send(200, b"[1]"), "the token does not say whose it is"),
        (lambda request: request.send(404, b""), "the token does not say whose it is"),
        (lambda request: request.send(302, b"", Location="/login"), "a redirect to '/login' is not followed"),
        (lambda request: request.send(500, b""), "the server failed (500)"),
        (lambda request: request.send(401, b"{}"), "the token may have expired or be revoked"),
    ],
)
def test_a_cluster_that_is_slow_or_broken(
    reaction: Reaction, part: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_server, "LIMITS", limits_for(reaction))
    with serving(home, reaction):
        for command in (["jobs"], ["logs", "train"], ["why", "--cluster", "lab", "train"]):
            _, err = printed(capsys, *command, status=1)
            assert part in err


@pytest.mark.parametrize("value", [[], {}, None, [None, 3, {"name": 5, "submissionTime": 10**30}], {"data": 3}, "x"])
def test_answers_of_another_form(value: Any, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def react(request: Any) -> None:
        found = {"username": "ann"} if "tokens" in request.path else value
        request.send(200, json.dumps(found).encode())

    with serving(home, react):
        for command in (["jobs"], ["jobs", "train"], ["logs", "train"], ["why", "train", "--cluster", "lab"]):
            assert main(command) in {0, 1}
            assert "bug" not in capsys.readouterr().err


def test_the_user_is_the_one_of_the_token(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(home, LiveCluster(), ", user: bob"):
        out, err = printed(capsys, "jobs", "train")
        assert "username=ann&" in out
        assert err == "pai-lsp jobs: the token belongs to 'ann', not to 'bob', the 'user' in clusters.yaml\n"


def test_a_server_that_does_not_check_tokens(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the token says whose it is: {"username": "ann"}."""
    token = "e30.eyJ1c2VybmFtZSI6ImFubiJ9.c2lnbg"  # noqa: S105 - of nobody
    monkeypatch.setenv("PAI_TOKEN", token)
    cluster = LiveCluster(token=token)
    with serving(home, lambda request: request.send(404, b"") if "tokens" in request.path else cluster(request)):
        assert "train" in printed(capsys, "jobs")[0]


def test_the_address_of_the_portal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def at_its_own_port(request: Any) -> None:
        request.path = f"/rest-server{request.path}"
        LiveCluster()(request)

    with marketplace(at_its_own_port) as server:
        text = f"lab: {{url: '{server.url}', token_env: PAI_TOKEN}}\n"
        (home / "clusters.yaml").write_text(text, encoding="utf-8")
        assert "page" not in printed(capsys, "jobs", "train")[0]
        assert "add 'portal' to 'lab'" in printed(capsys, "logs", "train", status=1)[1]
        text = text.replace("url:", "portal: 'https://pai.example.com/', url:")
        (home / "clusters.yaml").write_text(text, encoding="utf-8")
        assert "page     https://pai.example.com/job-detail.html?" in printed(capsys, "jobs", "train")[0]


def test_plain_http_only_if_the_users_own_file_allows_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "lab: {url: 'http://pai.example.com/rest-server', token_env: PAI_TOKEN}\n"
    (home / "clusters.yaml").write_text(text, encoding="utf-8")
    _, err = printed(capsys, "jobs", status=2)
    assert "'allow_http: true' in" in err
    (home / "clusters.yaml").write_text(text.replace("}", ", allow_http: true}"), encoding="utf-8")
    asked: list[str] = []

    def exchange(_: str, url: str, *__: Any, **___: Any) -> HttpAnswer:
        asked.append(url)
        found = {"username": "ann"} if "tokens" in url else []
        return HttpAnswer(200, {}, json.dumps(found).encode())

    monkeypatch.setattr(rest_server, "exchange", exchange)
    _, err = printed(capsys, "jobs")
    assert err.count("others on the network can read the token") == 1
    assert len(asked) == 2


def test_a_log_elsewhere_is_not_asked_for_over_http(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = LiveCluster()

    def react(request: Any) -> None:
        if request.path.endswith("/logs"):
            location = {"name": "all", "uri": "http://logs.example.com/x?key=k1"}
            request.send(200, json.dumps({"locations": [location]}).encode())
        else:
            cluster(request)

    with serving(home, react):
        assert "the log is at 'logs.example.com' over http" in printed(capsys, "logs", "train", status=1)[1]


LOST = FetchFailure("the connection was lost")
FREE = "so many are free; the job waits if no node, or no cell of its SKU type, has enough of them at once"
NO_LOG = "the log was not read: task 0 of 'worker' has no log: it has not started, or the log was removed"
BARE_TASK = LiveTask("worker", 0, "UNKNOWN", None, "", 0, 0, None)
BARE_JOB = LiveJob("", "", "UNKNOWN", "", "", 0, None, None, None, None, "", "", None, None, None, ())


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({}, BARE_JOB),
        ({"name": 5, "jobStatus": {"state": 5, "retries": True, "appExitTriggerTaskRoleName": "a"}}, BARE_JOB),
        ({"jobStatus": {"appExitTriggerTaskIndex": 1, "totalTaskNumber": 7}}, replace(BARE_JOB, task_count=7)),
        (
            {"taskRoles": {"worker": {"taskStatuses": [{"containerLog": 5}, 5]}, "other": 5}},
            replace(BARE_JOB, tasks=(BARE_TASK, BARE_TASK), task_count=2),
        ),
        (
            {"taskRoles": {"worker": {"taskStatuses": [{"containerLog": "/a/attempts/3/logs"}, {"attemptId": 2}]}}},
            replace(BARE_JOB, tasks=(replace(BARE_TASK, attempt=3), replace(BARE_TASK, attempt=2)), task_count=2),
        ),
    ],
)
def test_what_an_answer_does_not_say(answer: dict[str, Any], found: LiveJob) -> None:
    assert job_named(answering({"jobs/ann~train": answer}), "ann", "train") == found


def test_a_job_in_a_list_and_with_its_tasks() -> None:
    status = {**FAILED["jobStatus"], "name": "train", "totalTaskNumber": 2, "totalGpuNumber": 4, "retries": 3}
    (listed,) = own_jobs(answering({"limit=100": [status]}), "ann")
    diagnostics, trigger = status["appExitDiagnostics"], status["appExitTriggerMessage"]
    assert listed == LiveJob(
        "train", "ann", "FAILED", "Completed", "vc1", 3, 1795465056000, 1795465566000, 255, 0, diagnostics, trigger,
        ("worker", 1), 2, 4, None,
    )  # fmt: skip
    assert job_named(answering({"jobs/ann~train": FAILED}), "ann", "train").tasks == (
        LiveTask("worker", 0, "STOPPED", -220, "", 0, 0, "node1"),
        LiveTask("worker", 1, "FAILED", 255, diagnostics, 0, 0, "node1"),
    )
    assert listed.task() is None


@pytest.mark.parametrize(
    ("role", "index", "culprit", "found"),
    [
        (None, None, None, ("b", 1)),
        (None, None, ("b", 0), ("b", 0)),
        ("A", None, ("b", 0), ("a", 0)),
        (None, 0, None, ("a", 0)),
        ("b", 1, None, ("b", 1)),
        ("b", 2, None, None),
        ("c", None, None, None),
    ],
)
def test_the_task_that_is_meant(
    role: str | None, index: int | None, culprit: tuple[str, int] | None, found: tuple[str, int] | None
) -> None:
    tasks = (
        replace(BARE_TASK, role="a", exit_code=0),
        replace(BARE_TASK, role="b"),
        replace(BARE_TASK, role="b", index=1, exit_code=1),
    )
    chosen = replace(BARE_JOB, tasks=tasks, culprit=culprit).task(role, index)
    assert (None if chosen is None else (chosen.role, chosen.index)) == found


@pytest.mark.parametrize(
    ("status", "body", "message", "kept"),
    [
        (404, "NoJobError", "'a' has no job named 'b'", 404),
        (404, "", "no rest-server at 'https://lab/rest-server' (404); check 'url' in your file of clusters", 404),
        (500, "Failed to retrieve job", "'a' has no job named 'b', or it cannot be read", 404),
        (500, "x", "the server failed (500): 'x'", 500),
        (502, "Failed to retrieve job", "the server failed (502): 'Failed to retrieve job'", 502),
    ],
)
def test_no_such_job(status: int, body: str, message: str, kept: int) -> None:
    text = json.dumps({"code": body, "message": body}) if body else ""
    sent = ClusterConnection(
        "lab", ClusterAccess("https://lab/rest-server"), None, lambda *_, **__: HttpAnswer(status, {}, text.encode())
    )
    with pytest.raises(ClusterError) as error:
        job_named(sent, "a", "b")
    assert (str(error.value), error.value.status) == (message, kept)


def parts_of(**parts: bytes) -> dict[str, Any]:
    """The answers of a cluster with the parts of one log; `all_1` is the part `all.1`."""
    names = {name.replace("_", "."): text for name, text in parts.items()}
    places = [{"name": name, "uri": f"https://lab/{name}"} for name in names]
    return {**{f"lab/{name}": text for name, text in names.items()}, "/logs": {"locations": places}}


TASK = LiveTask("wor ker", 1, "RUNNING", None, "", 2, 0, None)


@pytest.mark.parametrize(
    ("parts", "end", "is_whole", "read"),
    [
        ({"all": b"1234567"}, b"1234567", True, b"1234567"),
        ({"all": b"12345678"}, b"12345678", True, b"12345678"),
        ({"all": b"123456789"}, b"23456789", False, b"123456789"),
        ({"all": b""}, b"", True, b""),
        ({"all": b"78", "all_1": b"3456", "all_2": b"12"}, b"12345678", False, b"12345678"),
        ({"all": b"78", "all_1": b"123456789"}, b"45678978", False, b"12345678978"),
        ({"all": b"78", "all_10": b"12", "all_2": b"34"}, b"123478", False, b"123478"),
        ({"all": b"x" * 17, "runtime_log": b"started up", "runtime": b"no"}, b"x" * 8, False, b"x" * 17),
    ],
)
def test_the_parts_of_a_log(
    parts: dict[str, bytes], end: bytes, *, is_whole: bool, read: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_jobs, "PIECE", 8)
    answers = parts_of(**parts)
    place = "jobs/ann~a%2Fb/attempts/{}/taskRoles/wor%20ker/taskIndex/1/attempts/2/logs"
    answers[place.format(0)] = answers.pop("/logs")
    owned = replace(BARE_JOB, user="ann", name="a/b")
    log = TaskLog(answering(answers), owned, TASK)
    assert log.end() == (end, is_whole)
    assert b"".join(log.pieces(lambda: False)) == read
    assert log.of_platform() == (b"arted up" if "runtime_log" in parts else b"")
    answers[place.format(7)] = answers.pop(place.format(0))
    assert TaskLog(answering(answers), replace(owned, attempt=7), TASK).end() == (end, is_whole)


def test_a_log_that_cannot_be_read() -> None:
    where = "task 1 of 'wor ker' has no log"
    for answers, message in (
        ({}, f"{where}: it has not started, or the log was removed"),
        ({"/logs": {"locations": [{"name": "a"}, {"name": "b"}]}}, f"{where} 'all', only: a, b"),
    ):
        with pytest.raises(ClusterError) as error:
            TaskLog(answering(answers), BARE_JOB, TASK)
        assert (str(error.value), error.value.status) == (message, 404)
    with pytest.raises(ClusterError, match="the server failed"):
        TaskLog(answering({"/logs": 500}), BARE_JOB, TASK)
    # A key that has expired is asked for again, once.
    expiring: dict[str, Any] = {**parts_of(all=b""), "lab/all": [(403,), (b"ab",), (403,), (403,)]}
    log = TaskLog(answering(expiring), BARE_JOB, TASK)
    assert log.end() == (b"ab", True)
    with pytest.raises(ClusterError, match="access is denied"):
        log.end()


@pytest.mark.parametrize(("failures", "pauses"), [(0, 0), (1, 1), (10, 10), (11, None)])
def test_patience(failures: int, pauses: int | None) -> None:
    left, paused = list(range(failures)), []

    def work() -> str:
        if left:
            left.pop()
            raise ClusterError("", 503)
        return "done"

    if pauses is None:
        with pytest.raises(ClusterError):
            patiently(work, lambda: paused.append(1))
    else:
        assert patiently(work, lambda: paused.append(1)) == "done"
        assert len(paused) == pauses


def test_only_what_may_pass_is_waited_for() -> None:
    def work() -> str:
        raise ClusterError("no", 401)

    with pytest.raises(ClusterError):
        patiently(work, pytest.fail)


@pytest.mark.parametrize(
    ("gpus", "instances", "lines"),
    [
        ((4, 4, 0), 2, ["GPUs: 4 asked for; virtual cluster 'vc1' has 4, and jobs use 0",
                        FREE]),
        ((3, 3, 0), 2, ["GPUs: 4 asked for; virtual cluster 'vc1' has 3, and jobs use 0",
                        "it waits forever: it asks for more than its virtual cluster has"]),
        ((8, 8, 5), 2, ["GPUs: 4 asked for; virtual cluster 'vc1' has 8, and jobs use 5",
                        "it waits for other jobs to end"]),
        ((8, 7, 4), 2, ["GPUs: 4 asked for; virtual cluster 'vc1' has 8, 1 of them on broken nodes, and jobs use 4",
                        "it waits for other jobs to end, or for the nodes"]),
        ((8, 8, 6), None, ["GPUs: 2 asked for; virtual cluster 'vc1' has 8, and jobs use 6",
                           FREE]),
        ((None, 8, 6), 2, ["the cluster does not say what virtual cluster 'vc1' has"]),
        ((8, None, 6), 2, ["the cluster does not say what virtual cluster 'vc1' has"]),
        ((8, 8, None), 2, ["the cluster does not say what virtual cluster 'vc1' has"]),
    ],
)  # fmt: skip
def test_what_it_waits_for_to_the_letter(gpus: tuple[int | None, ...], instances: int | None, lines: list[str]) -> None:
    keys = ("resourcesTotal", "resourcesGuaranteed", "resourcesUsed")
    config = {
        "taskRoles": {"worker": {"instances": instances, "resourcePerInstance": {"gpu": 2}}, "other": {"instances": 9}}
    }
    answers = {
        "/virtual-clusters": {"vc1": {key: {"gpu": number} for key, number in zip(keys, gpus, strict=True)}},
        "/config": config,
        "type=Warning": {"data": []},
        "jobs/ann~train": WAITING,
    }
    cluster = answering(answers)
    none, rest = "the cluster reports no problem of its pods", (*lines, waiting._UNKNOWN)
    assert waits_for(cluster, job_named(cluster, "ann", "train")) == (none, *rest)
    event = {"reason": "A", "message": "b"}
    answers["type=Warning"] = {
        "data": [{**event, "count": 2}, event, *({"reason": str(number)} for number in range(4))]
    }
    assert waits_for(cluster, job_named(cluster, "ann", "train")) == ("A: b (2 times)", "0: ", "1: ", *rest)
    answers["type=Warning"] = 403
    assert waits_for(cluster, job_named(cluster, "ann", "train")) == (none, *rest)
    answers["/virtual-clusters"] = LOST
    assert waits_for(cluster, job_named(cluster, "ann", "train"))[1].startswith("the cluster does not say")
    answers["type=Warning"] = LOST
    with pytest.raises(ClusterError):
        waits_for(cluster, job_named(cluster, "ann", "train"))


@pytest.mark.parametrize(
    ("sub_state", "tasks", "is_pending"),
    [
        ("AttemptCreationPending", [], True),
        ("AttemptCreationRequested", [], True),
        ("AttemptCreationRequested", [task(0, "WAITING")], False),
        ("AttemptPreparing", [], False),
    ],
)
def test_pods_that_are_not_there_yet(sub_state: str, tasks: list[dict[str, Any]], is_pending: bool) -> None:
    cluster = answering({"jobs/ann~train": job("WAITING", sub_state, tasks), "/config": {}, "type=Warning": {}})
    found = waits_for(cluster, job_named(cluster, "ann", "train"))
    assert (found == ("the platform has not created its pods yet",)) is is_pending
    assert waits_for(cluster, replace(BARE_JOB, state="RUNNING")) == ()


@pytest.mark.parametrize(
    ("task_code", "job_code", "logs", "code", "note"),
    [
        (
            1,
            2,
            None,
            1,
            NO_LOG,
        ),
        (
            None,
            2,
            None,
            2,
            NO_LOG,
        ),
        (None, None, b"a\n", None, ""),
        (137, 0, b"a\n" * 5, 137, "the beginning of the log was not read; its lines are counted from there"),
    ],
)
def test_the_code_and_the_note_of_a_failure(
    task_code: int | None,
    job_code: int | None,
    logs: bytes | None,
    code: int | None,
    note: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_jobs, "PIECE", 8)
    ended = replace(BARE_JOB, tasks=(replace(BARE_TASK, exit_code=task_code),), exit_code=job_code)
    found = live_failure(answering(parts_of(all=logs) if logs is not None else {}), ended, None)
    assert (found.found.code, found.note, found.task) == (code, note, (ended.tasks or ())[0])
    for answer in (401, LOST):
        with pytest.raises(ClusterError):
            live_failure(answering({"/logs": answer}), ended, None)
    alone = live_failure(answering({}), replace(ended, tasks=()), None)
    assert (alone.found.code, alone.note, alone.task) == (job_code, "", None)
