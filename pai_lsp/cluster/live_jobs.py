"""The user's jobs on a cluster: their states, tasks, events and logs, and what a job waits for.

Sources: microsoft/pai, src/rest-server/src/controllers/v2/job.js, models/v2/job/k8s.js and log.js.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from pai_lsp.cluster.rest_server import PIECE, ClusterError
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.foreign import as_list, as_mapping, as_text, as_whole
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pai_lsp.cluster.rest_server import ClusterConnection

# Source: models/v2/utils/frameworkConverter.js, convertState.
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
_MOST_JOBS = 100
_LOG, _ROTATED = "all", "all.1"
# With the log server `azure_storage`, there may be more older parts, and the log of the runtime has another name.
# Source: rest-server, models/v2/job/log.js, of OpenPAI and LTP.
_OLDER_PART, _PLATFORM_LOGS = re.compile(r"all\.(\d{1,3})"), ("runtime.log", "runtime")
# The address of a log is no longer valid. Source: microsoft/pai, src/log-manager/src/nginx/guard.lua.
_EXPIRED = 403
# What a past attempt calls the keys of a state. Source: models/v2/utils/frameworkConverter.js, convertToJobAttempt.
_PAST_KEYS = {
    "attemptId": "attemptIndex",
    "state": "state",
    "completedTime": "attemptCompletedTime",
    "appExitCode": "exitCode",
    "appExitDiagnostics": "appExitDiagnostics",
    "appExitTriggerMessage": "appExitTriggerMessage",
    "appExitTriggerTaskRoleName": "appExitTriggerTaskRoleName",
    "appExitTriggerTaskIndex": "appExitTriggerTaskIndex",
}
_ATTEMPT_OF_LOG = re.compile(r"/attempts/(\d+)/logs$")
_T = TypeVar("_T")
# After so many failed requests in a row, waiting ends.
_PATIENCE = 10


@dataclass(frozen=True, slots=True)
class LiveTask:
    """One task of a job. exit_code: as the platform reports it, None while it runs. attempt: its last one, from 0."""

    role: str
    index: int
    state: str
    exit_code: int | None
    diagnostics: str
    attempt: int
    retries: int
    node: str | None


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job as the cluster reports it; tasks, attempt and what ended it are those of the attempt that was asked for.

    submitted, completed: milliseconds since 1970. exit_code: as the platform reports it. diagnostics: of its end.
    culprit: the role and index of the task that ended it. tasks: None in a list of jobs, which has only `task_count`.
    """

    name: str
    user: str
    state: str
    sub_state: str
    virtual_cluster: str
    retries: int
    submitted: int | None
    completed: int | None
    exit_code: int | None
    attempt: int | None
    diagnostics: str
    trigger: str
    culprit: tuple[str, int] | None
    task_count: int | None
    gpus: int | None
    tasks: tuple[LiveTask, ...] | None

    @property
    def place(self) -> str:
        """The path of the job below `jobs/`."""
        return f"{quote(self.user, safe='')}~{quote(self.name, safe='')}"

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ENDED

    def task(self, role: str | None = None, index: int | None = None) -> LiveTask | None:
        """The task of a role and index; what is None is chosen: the culprit, else one that failed, else the first."""
        named = None if role is None else converted_role_name(role)
        tasks = [one for one in self.tasks or () if named in {None, one.role} and index in {None, one.index}]
        culprit = [one for one in tasks if (one.role, one.index) == self.culprit]
        failed = [one for one in tasks if one.exit_code not in {None, 0}]
        return next(iter((*culprit, *failed, *tasks)), None)


def own_jobs(cluster: ClusterConnection, user: str) -> tuple[LiveJob, ...]:
    """The jobs of a user, the newest first, up to 100.

    Raises:
        ClusterError: if the cluster does not answer, or refuses.
    """
    place = f"jobs?username={quote(user, safe='')}&order=submissionTime,DESC&limit={_MOST_JOBS}"
    return tuple(_job(as_mapping(one), as_mapping(one)) for one in as_list(cluster.value(place)))


def job_named(cluster: ClusterConnection, user: str, name: str, attempt: int | None = None) -> LiveJob:
    """A job of a user with its tasks, at its last attempt or an earlier one, from 0.

    Raises:
        ClusterError: if there is no such job, the cluster does not answer, or refuses.
    """
    path = f"jobs/{quote(user, safe='')}~{quote(name, safe='')}"
    try:
        answer = as_mapping(cluster.value(path if attempt is None else f"{path}/attempts/{attempt}"))
    except ClusterError as error:
        # LTP answers 500 for it: src/rest-server/src/controllers/v2/job.js, retrieveJobInfo.
        is_wrapped = error.status == 500 and "Failed to retrieve job" in str(error)
        if not is_wrapped and (error.status != 404 or "no rest-server" in str(error)):
            raise
        step = ", or it cannot be read" if is_wrapped else ""
        raise ClusterError(f"'{visible(user)}' has no job named '{visible(name)}'{step}", 404) from None
    status = as_mapping(answer.get("jobStatus"))
    if attempt is not None and as_whole(status.get("attemptId")) != attempt:
        # LTP answers attempt 0 with the last one: controllers/v2/job.js, retrieveJobInfo, takes 0 for no number.
        past = as_mapping(cluster.value(f"{path}/job-attempts/{attempt}"))
        status = {**status, **{key: past.get(name) for key, name in _PAST_KEYS.items()}}
        answer = {**answer, "taskRoles": past.get("taskRoles")}
    tasks = [
        _task(role, as_mapping(one))
        for role, found in as_mapping(answer.get("taskRoles")).items()
        for one in as_list(as_mapping(found).get("taskStatuses"))
    ]
    return _job(answer, status, tuple(tasks))


def _job(named: dict[str, Any], status: dict[str, Any], tasks: tuple[LiveTask, ...] | None = None) -> LiveJob:
    role, index = as_text(status.get("appExitTriggerTaskRoleName")), as_whole(status.get("appExitTriggerTaskIndex"))
    return LiveJob(
        name=as_text(named.get("name")) or "",
        user=as_text(status.get("username")) or "",
        state=as_text(status.get("state")) or "UNKNOWN",
        sub_state=as_text(status.get("subState")) or "",
        virtual_cluster=as_text(status.get("virtualCluster")) or "",
        retries=as_whole(status.get("retries")) or 0,
        submitted=as_whole(status.get("submissionTime")),
        completed=as_whole(status.get("completedTime")),
        exit_code=as_whole(status.get("appExitCode")),
        attempt=as_whole(status.get("attemptId")),
        diagnostics=as_text(status.get("appExitDiagnostics")) or "",
        trigger=as_text(status.get("appExitTriggerMessage")) or "",
        culprit=None if role is None or index is None else (role, index),
        task_count=len(tasks) if tasks else as_whole(status.get("totalTaskNumber")),
        gpus=as_whole(status.get("totalGpuNumber")),
        tasks=tasks,
    )


def _task(role: str, status: dict[str, Any]) -> LiveTask:
    return LiveTask(
        role,
        as_whole(status.get("taskIndex")) or 0,
        as_text(status.get("taskState")) or "UNKNOWN",
        as_whole(status.get("containerExitCode")),
        as_text(status.get("containerExitDiagnostics")) or "",
        _attempt(status),
        as_whole(status.get("retries")) or 0,
        as_text(status.get("containerNodeName")),
    )


def _attempt(status: dict[str, Any]) -> int:
    """The attempt of a task; in a past attempt of the job only the address of its log names it."""
    found = _ATTEMPT_OF_LOG.search(as_text(status.get("containerLog")) or "")
    return as_whole(status.get("attemptId")) or (int(found[1]) if found else 0)


def submitted_config(cluster: ClusterConnection, job: LiveJob) -> dict[str, Any]:
    """The job as it was submitted, as values; its secrets are hidden by the server, and its text is not kept.

    Raises:
        ClusterError: if the cluster does not answer, or refuses.
    """
    return as_mapping(cluster.value(f"jobs/{job.place}/config"))


# --- logs ---


class TaskLog:
    """The log of the last attempt of a task.

    Raises:
        ClusterError: here and by the methods: if the task has no log yet or any longer, the cluster does not answer,
            or refuses.
    """

    def __init__(self, cluster: ClusterConnection, job: LiveJob, task: LiveTask) -> None:
        self._cluster = cluster
        self._path = (
            f"jobs/{job.place}/attempts/{job.attempt or 0}/taskRoles/{quote(task.role, safe='')}"
            f"/taskIndex/{task.index}/attempts/{task.attempt}/logs"
        )
        self._where = f"task {task.index} of '{visible(task.role)}'"
        self._places = self._found()

    def _found(self) -> dict[str, str]:
        """The names and addresses of the parts; an address holds a key to the log and soon expires."""
        try:
            answer = as_mapping(self._cluster.value(self._path))
        except ClusterError as error:
            if error.status != 404:
                raise
            message = f"{self._where} has no log: it has not started, or the log was removed"
            raise ClusterError(message, 404) from None
        found = map(as_mapping, as_list(answer.get("locations")))
        places = {str(one.get("name")): as_text(one.get("uri")) or "" for one in found}
        if _LOG not in places:
            raise ClusterError(f"{self._where} has no log '{_LOG}', only: {', '.join(map(visible, places))}", 404)
        return places

    def _piece(self, name: str, byte_range: str) -> tuple[bytes, int | None]:
        try:
            return self._cluster.log_piece(self._places[name], byte_range)
        except ClusterError as error:
            if error.status != _EXPIRED:
                raise
        self._places = self._found()
        return self._cluster.log_piece(self._places[name], byte_range)

    def _after(self, name: str, at: int) -> tuple[bytes, int | None]:
        """What follows the first `at` bytes of a part, and the number of the first byte that was sent."""
        piece, number = self._piece(name, f"{at}-")
        return piece[at:] if number == 0 else piece, number  # some servers send no parts

    def end(self) -> tuple[bytes, bool]:
        """The end of the log, at most `PIECE` bytes, and whether that is all of it."""
        text, start = self._piece(_LOG, f"-{PIECE}")
        older = self._older()
        for name in older:
            if len(text) < PIECE:
                text = self._piece(name, f"-{PIECE - len(text)}")[0] + text
        return text, not older and start in {0, None}

    def _older(self) -> list[str]:
        """The names of the older parts, the newest first."""
        found = map(_OLDER_PART.fullmatch, self._places)
        return [one[0] for one in sorted(filter(None, found), key=lambda one: int(one[1]))]

    def of_platform(self) -> bytes:
        """The end of the log of the runtime; empty without one."""
        names = [name for name in _PLATFORM_LOGS if name in self._places]
        return self._piece(names[0], f"-{PIECE}")[0] if names else b""

    def pieces(self, goes_on: Callable[[], bool]) -> Iterator[bytes]:
        """The log from its beginning. At its end, `goes_on` waits, or returns that nothing more will be written.

        The platform keeps older parts of a long log, mostly one; what is written between two reads around that change
        can be missing.
        """
        for name in reversed(self._older()):
            yield from self._rest(name, 0)
        at = 0
        while True:
            piece, number = self._after(_LOG, at)
            if not piece and number is not None and number < at:  # shorter than before: a new part was begun
                self._places = self._found()
                if _ROTATED in self._places:
                    yield from self._rest(_ROTATED, at)
                at = 0
                continue
            if piece:
                at += len(piece)
                yield piece
            if len(piece) < PIECE and not goes_on():
                return

    def _rest(self, name: str, at: int) -> Iterator[bytes]:
        while True:
            piece, _ = self._after(name, at)
            if piece:
                yield piece
            if len(piece) < PIECE:
                return
            at += len(piece)


# --- until the end ---


def patiently(work: Callable[[], _T], pause: Callable[[], None]) -> _T:
    """What `work` gives; where the cluster only fails for the moment, it is tried again after a pause, ten times.

    Raises:
        ClusterError: if it does not pass.
    """
    for _ in range(_PATIENCE):
        try:
            return work()
        except ClusterError as error:
            if not error.is_passing:
                raise
        pause()
    return work()


def followed(read: Callable[[], LiveJob], pause: Callable[[], None]) -> Iterator[LiveJob]:
    """A job each time that it has changed, until it has ended.

    Raises:
        ClusterError: if the job no longer exists, the token is no longer valid, or the cluster does not answer.
    """
    before: LiveJob | None = None
    while True:
        job = patiently(read, pause)
        if job != before:
            yield job
        if job.has_ended:
            return
        before = job
        pause()
