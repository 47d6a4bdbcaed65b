"""A cluster on this machine as its user sees it: a rest-server and the server of the logs behind one proxy.

The forms of all answers were taken from the rest-server of microsoft/pai a95d942 with its database, and from its
log-manager: the names of keys, the states, the YAML of the diagnostics, addresses of logs with a key that expires.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from pai_lsp.cluster import live_jobs
from pai_lsp.cluster.cluster_access import ClusterAccess
from pai_lsp.cluster.rest_server import ClusterConnection
from pai_lsp.web.fetching import FetchFailure, HttpAnswer

if TYPE_CHECKING:
    from loopback import Request

CONFIG = {
    "protocolVersion": 2,
    "name": "train",
    "type": "job",
    "prerequisites": [{"name": "image", "type": "dockerimage", "uri": "ubuntu:22.04"}],
    "taskRoles": {
        "worker": {
            "instances": 2,
            "dockerImage": "image",
            "commands": ["echo start", "python train.py"],
            "resourcePerInstance": {"gpu": 2, "cpu": 1, "memoryMB": 1024},
        }
    },
    "secrets": "******",
    "defaults": {"virtualCluster": "vc1"},
}
LOG = b"""\
start
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    import torchx
ModuleNotFoundError: No module named 'torchx'
"""
DIAGNOSTICS = """\
PodFailed matched:
name: d3f30064-worker-0
containers:
  - name: app
    reason: Error
    code: 255
    message: |-
      [PAI_RUNTIME_ERROR_START]
      exitcode: 255
      originUserExitCode: 1
      [PAI_RUNTIME_ERROR_END]
"""
ROLE = "worker"


def task(index: int, state: str, code: int | None = None, diagnostics: str | None = None) -> dict[str, Any]:
    return {
        "taskIndex": index,
        "taskState": state,
        "containerId": f"uid-{index}",
        "containerIp": "10.0.0.1",
        "containerNodeName": "node1",
        "containerExitCode": code,
        "containerExitDiagnostics": diagnostics,
        "retries": 0,
        "attemptId": 0,
    }


def job(state: str, sub_state: str, tasks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    roles = {ROLE: {"taskRoleStatus": {"name": ROLE}, "taskStatuses": tasks}} if tasks else {}
    status = {
        "username": "ann",
        "state": state,
        "subState": sub_state,
        "retries": 0,
        "attemptId": 0,
        "virtualCluster": "vc1",
        "submissionTime": 1795465056000,
        "completedTime": None,
        "appExitCode": None,
        **more,
    }
    return {"name": "train", "tags": [], "jobStatus": status, "taskRoles": roles}


def past_attempt(found: dict[str, Any]) -> dict[str, Any]:
    """An attempt of a job as the list of its attempts has it."""
    status = found["jobStatus"]
    tasks = [
        {"taskIndex": one["taskIndex"], "taskState": one["taskState"], "containerExitCode": one["containerExitCode"]}
        | {"containerLog": f"/api/v2/jobs/ann~train/attempts/0/taskRoles/{ROLE}/taskIndex/1/attempts/0/logs"}
        for one in found["taskRoles"][ROLE]["taskStatuses"]
    ]
    return {
        "attemptIndex": status["attemptId"],
        "state": "RUNNING",
        "exitCode": status["appExitCode"],
        **{key: value for key, value in status.items() if key.startswith("appExit") and key != "appExitCode"},
        "taskRoles": {ROLE: {"taskRoleStatus": {"name": ROLE}, "taskStatuses": tasks}},
    }


PENDING = job("WAITING", "AttemptCreationPending", [])
WAITING = job("WAITING", "AttemptPreparing", [task(0, "WAITING"), task(1, "WAITING")])
RUNNING = job("RUNNING", "AttemptRunning", [task(0, "RUNNING"), task(1, "RUNNING")])
SUCCEEDED = job("SUCCEEDED", "Completed", [task(0, "SUCCEEDED", 0), task(1, "SUCCEEDED", 0)], appExitCode=0)
FAILED = job(
    "FAILED",
    "Completed",
    [task(0, "STOPPED", -220), task(1, "FAILED", 255, DIAGNOSTICS)],
    appExitCode=255,
    completedTime=1795465566000,
    appExitDiagnostics=DIAGNOSTICS,
    appExitTriggerMessage="FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole",
    appExitTriggerTaskRoleName=ROLE,
    appExitTriggerTaskIndex=1,
)
NO_CELL = "0/4 nodes are available: Pod needs to wait, reason: insufficient capacity when scheduling in VC vc1"


@dataclass
class LiveCluster:
    """What the cluster has. Each request of the job takes the next of its states; the last one stays.

    log: the bytes of `all`; None before the task has started. key: the one with which logs can be read now.
    is_ltp: whether attempt 0 is answered with the last attempt, as by the rest-server of LTP 1.5 (branch dev, 681cd4e).
    azure: older parts, the newest first, with the names of the log server `azure_storage`.
    """

    states: list[dict[str, Any]] = field(default_factory=lambda: [FAILED])
    attempts: dict[int, dict[str, Any]] = field(default_factory=dict)
    log: bytes | None = LOG
    rotated: bytes | None = None
    azure: tuple[bytes, ...] = ()
    events: list[dict[str, Any]] = field(default_factory=list)
    gpus: tuple[int, int, int] = (38, 38, 0)
    user: str = "ann"
    token: str = "t0ken"  # noqa: S105 - of nobody
    key: str = "k1"
    faults: list[int] = field(default_factory=list)
    is_ltp: bool = False

    def __call__(self, request: Request) -> None:
        path = urlsplit(request.path).path
        if path.startswith("/log-manager/"):
            self.send_log(request, path.rpartition("/")[2])
        elif request.headers.get("authorization") != f"Bearer {self.token}":
            refuse(request, 401, "UnauthorizedUserError", "Your token is invalid.")
        elif self.faults and "tokens" not in path:
            request.send(self.faults.pop(0), b"<html>no</html>")
        else:
            self.answer(request, path.removeprefix("/rest-server/api/v2/"))

    def answer(self, request: Request, place: str) -> None:
        total, healthy, used = self.gpus
        amounts = {"resourcesTotal": {"gpu": total}, "resourcesGuaranteed": {"gpu": healthy}}
        simple: dict[str, Any] = {
            "tokens/check": {"username": self.user, "application": False},
            "virtual-clusters": {"vc1": {**amounts, "resourcesUsed": {"gpu": used}}},
            "jobs/ann~train/config": CONFIG,
            "jobs/ann~train/events": {"totalCount": len(self.events), "data": self.events},
        }
        if place in simple:
            send(request, simple[place])
        elif place == "jobs":
            state = self.states[0]["jobStatus"]
            send(request, [{**state, "name": "train", "totalTaskNumber": 2, "totalGpuNumber": 4}])
        elif place == "jobs/ann~train":
            send(request, self.states.pop(0) if len(self.states) > 1 else self.states[0])
        elif found := re.fullmatch(r"jobs/ann~train/attempts/(\d+)", place):
            send(request, self.states[0] if self.is_ltp and int(found[1]) == 0 else self.attempts[int(found[1])])
        elif self.is_ltp and (found := re.fullmatch(r"jobs/ann~train/job-attempts/(\d+)", place)):
            send(request, past_attempt(self.attempts[int(found[1])]))
        elif place.endswith("/logs") and self.log is not None:
            names = {"runtime.log": "runtime.log", "all": "user-all"}
            names |= {"all.1": "user-all.1"} if self.rotated is not None else {}
            if self.azure:
                names = {"all": "user-all", "runtime": "runtime.log"}
                names |= {f"all.{at}": f"user-all.{at}" for at in range(len(self.azure), 0, -1)}
            prefix = "/log-manager/10.0.0.1:9103/api/v1/logs"
            places = [{"name": name, "uri": f"{prefix}/{file}?token={self.key}"} for name, file in names.items()]
            send(request, {"locations": places})
        else:
            code = "NoTaskLogError" if place.endswith("/logs") else "NoJobError"
            refuse(request, 404, code, "is not found.")

    def send_log(self, request: Request, name: str) -> None:
        assert "authorization" not in request.headers
        if parse_qs(urlsplit(request.path).query)["token"] != [self.key]:
            request.send(403, b"")
            return
        parts = {"user-all": self.log, "user-all.1": self.rotated, "runtime.log": b"barrier passed\n"}
        text = (parts | {f"user-all.{at}": part for at, part in enumerate(self.azure, 1)})[name] or b""
        first, _, last = request.headers["range"].removeprefix("bytes=").partition("-")
        start = max(len(text) - int(last), 0) if first == "" else int(first)
        if start >= len(text):
            request.send(416, b"<html>", Content_Range=f"bytes */{len(text)}")
        else:
            request.send(206, text[start:], Content_Range=f"bytes {start}-{len(text) - 1}/{len(text)}")


def send(request: Request, value: Any) -> None:
    request.send(200, json.dumps(value, indent=4).encode(), Content_Type="application/json")


def refuse(request: Request, status: int, code: str, message: str) -> None:
    body = {"code": code, "message": message, "stack": ["at x"]}
    request.send(status, json.dumps(body).encode(), Content_Type="application/json")


def answering(answers: dict[str, Any]) -> ClusterConnection:
    """A cluster without a network: by the ends of addresses, values, bytes of a log, statuses and failures."""

    def send(_method: str, url: str, headers: dict[str, str], **_more: Any) -> HttpAnswer | FetchFailure:
        found: Any = next((value for place, value in answers.items() if url.endswith(place)), 404)
        if isinstance(found, list) and found and isinstance(found[0], tuple):
            (found,) = found.pop(0)
        if isinstance(found, FetchFailure):
            return found
        if isinstance(found, int):
            return HttpAnswer(found, {}, b'{"code": "NoJobError", "message": "is not found."}')
        if not isinstance(found, bytes):
            return HttpAnswer(200, {}, json.dumps(found).encode())
        first, _, last = headers["Range"].removeprefix("bytes=").partition("-")
        start = max(len(found) - int(last), 0) if first == "" else int(first)
        if start >= len(found):
            return HttpAnswer(416, {"content-range": f"bytes */{len(found)}"})
        return HttpAnswer(206, {"content-range": f"bytes {start}-9/9"}, found[start : start + vars(live_jobs)["PIECE"]])

    return ClusterConnection("lab", ClusterAccess("https://lab/rest-server"), None, send)
