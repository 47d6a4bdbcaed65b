"""What a pasted text reports about a failed task: the end of a log, the portal's diagnostics, an event, or an answer.

The shapes: the portal's summary (`[Exit Diagnostics]`, `code: N`), `PodFailed matched: {json}`, the block that the
runtime writes between `[PAI_RUNTIME_ERROR_START]` and `[PAI_RUNTIME_ERROR_END]`, the log of the first container
(`child process is X, exit code is N`), events of the scheduler, and plain ends of logs.
Sources: openpai-runtime, src/init and go/cmd/exithandler; rest-server, models/v2/job/k8s.js, generateExitDiagnostics.
"""

from __future__ import annotations

import json
import re

from pai_lsp.platform.tables import exit_codes
from pai_lsp.source.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The runtime searches the last part of the log only.
_SEARCHED = 10 * 1024 * 1024
_UNKNOWN_FAILURE = 255
_NEGATIVE_FALLBACK, _POSITIVE_FALLBACK = -8000, 256
_CHILD = re.compile(r"child process is (\w+), exit code is (\d+)")
_POD = re.compile(r"matched:\s*(\{.*\})", re.DOTALL)
_RUNTIME_BLOCK = re.compile(r"\[PAI_RUNTIME_ERROR_START\](.*?)\[PAI_RUNTIME_ERROR_END\]", re.DOTALL)
_CODE = re.compile(r"^\s*(?:code|containerExitCode|exitCode|exitcode|exit code)\s*[:=]\s*(-?\d+)\s*$", re.MULTILINE)
_ORIGINAL_CODE = re.compile(r"originUserExitCode:\s*(\d+)")
_ROLE = re.compile(r"task ?role(?: ?name)?['\"]?\s*[:=\[]\s*['\"]?([A-Za-z0-9_]+)", re.IGNORECASE)
_PASSED_ON = frozenset({130, 131, 132, 134, 135, 136, 137, 139, 141, 143})
# What the first container makes of the exit codes of its steps (openpai-runtime, src/init, exit_handler).
_INIT_CODES = {
    ("FRAMEWORK_BARRIER", 200): 250,
    ("FRAMEWORK_BARRIER", 201): 251,
    ("FRAMEWORK_BARRIER", 210): 252,
    ("PORT_CONFLICT_CHECKER", 10): 253,
}
# Reasons of pods and their codes (microsoft/pai src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml).
_POD_REASONS = {
    "evicted": -1000,
    "nodelost": -1001,
    "preempting": -1003,
    "deadlineexceeded": -1004,
    "forbidden": -1005,
    "unexpectedadmissionerror": -1006,
    "unknownreason": -1006,
    "invalidnodeinfo": -1006,
    "unexpectedpredicatefailuretype": -1006,
}
_START_CODES = {125: -1201, 126: -1202, 127: -1203, 128: -1204}
_NOT_FOUND = re.compile(r"not found|cannot find|no such", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailureReport:
    """What is known of a failure.

    code: as the portal shows it; None where the text does not say, as for an event.
    user_code: the exit code of the commands. child: the failed step of the first container.
    pod: what Kubernetes reports about the pod. role: the converted name of the task role that triggered the end.
    """

    text: str
    code: int | None = None
    user_code: int | None = None
    platform_log: str = ""
    child: str | None = None
    pod: Any = None
    role: str | None = None


def read_report(text: str, exit_code: int | None = None, platform_log: str = "") -> FailureReport:
    """What the text reports; `exit_code` and `platform_log` of the task where the reader has them."""
    role = match[1] if (match := _ROLE.search(text)) else None
    pod = _pod(text)
    if child := _CHILD.search(text):
        return FailureReport(text, _init_code(child[1], int(child[2])), None, platform_log, child[1], pod, role)
    if exit_code is not None:
        end = container_code(exit_code, text, platform_log)
        return FailureReport(text, end, exit_code, platform_log, None, pod, role)
    if pod is not None:
        return FailureReport(text, _pod_code(pod), _user_code(text), platform_log, None, pod, role)
    written = _CODE.search(text)
    code = int(written[1]) if written else None
    return FailureReport(text, code, _user_code(text), platform_log, None, None, role)


def container_code(exit_code: int, user_log: str, platform_log: str = "") -> int:
    """The code that the runtime gives a task whose commands ended with `exit_code`.

    The runtime takes the first code that matches; the code 128, which asks the GPU, cannot be known here.
    """
    if exit_code == 0:
        return 0
    searched = user_log[-_SEARCHED:]
    for code, known in exit_codes().items():
        for pattern in known.patterns:
            if (
                pattern.exit_code in {None, exit_code}
                and (pattern.user_log is None or re.search(pattern.user_log, searched))
                and (pattern.platform_log is None or re.search(pattern.platform_log, platform_log))
            ):
                return code
    return _UNKNOWN_FAILURE


def known_code(code: int) -> int:
    """The code of the table that describes `code`. Source: rest-server, models/v2/job/k8s.js, generateExitSpec."""
    if code in exit_codes():
        return code
    return _POSITIVE_FALLBACK if code > 0 else _NEGATIVE_FALLBACK


def _init_code(child: str, exit_code: int) -> int:
    if child == "DOCKER_IMAGE_CHECKER":
        return 254
    if exit_code in _PASSED_ON:
        return exit_code
    return _INIT_CODES.get((child, exit_code), 1)


def _user_code(text: str) -> int | None:
    if block := _RUNTIME_BLOCK.search(text):
        text = block[1]
    original = _ORIGINAL_CODE.search(text)
    return int(original[1]) if original else None


def _pod(text: str) -> Any:
    found = _POD.search(text)
    if not found:
        return None
    try:
        pod, _ = json.JSONDecoder().raw_decode(found[1])
    except ValueError:
        return None
    return pod if isinstance(pod, dict) else None


def _pod_code(pod: Any) -> int | None:
    """The code by the pod's reason, in the order of the exit specification."""
    reason = str(pod.get("reason", "")).lower()
    if reason in _POD_REASONS:
        return _POD_REASONS[reason]
    if re.fullmatch(r"outof\S+", reason):
        return -1002
    containers = [one for one in pod.get("containers") or () if isinstance(one, dict)]
    if killed := [one for one in containers if str(one.get("reason", "")).lower() == "oomkilled"]:
        return -1300 if any(str(one.get("name", "")).lower() == "init" for one in killed) else -1200
    for one in containers:
        if str(one.get("reason", "")).lower() == "containercannotrun":
            code = _START_CODES.get(one.get("code", 0))
            return -1203 if code == -1204 and _NOT_FOUND.search(str(one.get("message", ""))) else code
    codes = [one["code"] for one in containers if isinstance(one.get("code"), int) and one["code"] != 0]
    return codes[0] if codes else -300
