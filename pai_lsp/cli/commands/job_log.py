"""`pai-lsp logs`: the log of a task of a job on a cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import failed, json_text
from pai_lsp.cli.commands import live_cluster
from pai_lsp.cluster.live_jobs import ENDED, TaskLog, job_named, patiently
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.project.targets import run_projects
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.cluster.live_jobs import LiveJob, LiveTask
    from pai_lsp.cluster.rest_server import ClusterConnection


def run(arguments: argparse.Namespace) -> int:
    """Print a log."""
    if arguments.follow and arguments.format == "json":
        return failed("logs", "--follow prints text only")
    with live_cluster.clusters_known():
        cluster = live_cluster.connected("logs", live_cluster.cluster_name(arguments.cluster, run_projects()))
        user = live_cluster.user_of("logs", cluster)
        return _print(cluster, live_cluster.owner_and_name(user, arguments.name), arguments)


def _print(cluster: ClusterConnection, named: tuple[str, str], arguments: argparse.Namespace) -> int:
    def read() -> LiveJob:
        return job_named(cluster, *named)

    job, pause = read(), live_cluster.pause
    while (task := _task(job, arguments)) is None or (log := _log(cluster, job, task, arguments)) is None:
        pause()
        job = patiently(read, pause)
    has_ended = not arguments.follow

    def goes_on() -> bool:
        nonlocal has_ended
        if has_ended:
            return False
        pause()
        has_ended = _has_ended(patiently(read, pause), task)
        return True

    if arguments.format == "json":
        text = b"".join(log.pieces(goes_on)).decode("utf-8", "replace")
        answer = {"job": job.name, "role": task.role, "task": task.index, "attempt": task.attempt, "text": text}
        sys.stdout.write(json_text(answer))
        return 0
    if len(job.tasks or ()) > 1:
        sys.stderr.write(f"pai-lsp logs: task {task.index} of '{visible(task.role)}', {task.state}\n")
        sys.stderr.flush()
    for piece in log.pieces(goes_on):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return 0


def _task(job: LiveJob, arguments: argparse.Namespace) -> LiveTask | None:
    """The task to show; None if it does not exist yet, and is waited for."""
    task = job.task(arguments.role, arguments.task)
    if task is None and job.tasks:
        roles = ", ".join(dict.fromkeys(visible(one.role) for one in job.tasks))
        raise ClusterError(f"'{visible(job.name)}' has no such task; its task roles: {roles}", 404)
    if task is None and (job.has_ended or not arguments.follow):
        raise ClusterError(f"'{visible(job.name)}' has no tasks: {job.state}", 404)
    return task


def _log(cluster: ClusterConnection, job: LiveJob, task: LiveTask, arguments: argparse.Namespace) -> TaskLog | None:
    try:
        return TaskLog(cluster, job, task)
    except ClusterError as error:
        is_waited_for = arguments.follow and not _has_ended(job, task) and (error.status == 404 or error.is_passing)
        if not is_waited_for:
            raise
        return None


def _has_ended(job: LiveJob, task: LiveTask) -> bool:
    """Whether nothing more is written into the log of this attempt of a task."""
    now = job.task(task.role, task.index)
    return job.has_ended or now is None or now.attempt != task.attempt or now.state in ENDED
