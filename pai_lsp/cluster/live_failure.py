"""Why a job on a cluster failed: its diagnostics and the end of its log, read as `why` reads pasted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cluster.live_jobs import TaskLog, job_named
from pai_lsp.cluster.log_reading import read_log
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.cluster.why import failure
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from pai_lsp.cluster.live_jobs import LiveJob, LiveTask
    from pai_lsp.cluster.rest_server import ClusterConnection
    from pai_lsp.cluster.why import Failure
    from pai_lsp.job.job import Job


@dataclass(frozen=True, slots=True)
class LiveFailure:
    """A failure on a cluster explained.

    task: the one whose log was read; None if it has none.
    note: what was not read, and why; empty if everything was.
    """

    found: Failure
    task: LiveTask | None
    note: str


def failed_attempt(cluster: ClusterConnection, job: LiveJob) -> LiveJob | None:
    """A job at the attempt to explain: the last one if it has ended, else the one before a retry; None without one.

    Raises:
        ClusterError: if the cluster does not answer, or refuses.
    """
    if job.has_ended:
        return job
    return job_named(cluster, job.user, job.name, job.attempt - 1) if job.attempt else None


def live_failure(cluster: ClusterConnection, job: LiveJob, written: Job | None, role: str | None = None) -> LiveFailure:
    """Why a job failed, at an attempt that has ended; the line is that of `written`.

    Raises:
        ClusterError: if the cluster does not answer.
    """
    task = job.task(role)
    text, platform_log, note = b"", b"", ""
    if task is not None:
        try:
            log = TaskLog(cluster, job, task)
            text, is_whole = log.end()
            note = "" if is_whole else "the beginning of the log was not read; its lines are counted from there"
            platform_log = log.of_platform()
        except ClusterError as error:
            if error.status is None or error.status == 401:
                raise
            note = f"the log was not read: {error}"
    code = job.exit_code if task is None or task.exit_code is None else task.exit_code
    message = (task.diagnostics if task is not None else "") or job.diagnostics
    diagnostics = f"{message}\ncontainerExitCode: {code}\n" if code is not None else message
    found = failure(
        read_log([text]),
        written,
        platform_log=platform_log.decode("utf-8", "replace"),
        role=task.role if task is not None else None,
        diagnostics=diagnostics,
    )
    return LiveFailure(found, task, note)
