"""`pai-lsp jobs`: the user's jobs on a cluster, one of them in full, and one until its end after `submit --follow`."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from datetime import datetime, timezone
from itertools import groupby
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed, json_text, table, write_answer
from pai_lsp.cli.commands import live_cluster
from pai_lsp.cluster.exit_code_text import explained_code
from pai_lsp.cluster.live_jobs import followed, job_named, own_jobs
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.cluster.waiting import waits_for
from pai_lsp.project.targets import run_projects
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pai_lsp.cluster.live_jobs import LiveJob, LiveTask
    from pai_lsp.cluster.rest_server import ClusterConnection
    from pai_lsp.job.job import Job

_MOST_TASKS = 20


def run(arguments: argparse.Namespace) -> int:
    """List the user's jobs, or show one."""
    with live_cluster.clusters_known():
        cluster = live_cluster.connected("jobs", live_cluster.cluster_name(arguments.cluster, run_projects()))
        user = live_cluster.user_of("jobs", cluster)
        if arguments.name is None:
            _list(own_jobs(cluster, user), arguments.format)
        else:
            _show(cluster, job_named(cluster, *live_cluster.owner_and_name(user, arguments.name)), arguments.format)
    return 0


def _list(jobs: tuple[LiveJob, ...], form: str) -> None:
    if form == "json":
        shown = [{key: value for key, value in _plain(job).items() if key not in _OF_ONE} for job in jobs]
        sys.stdout.write(json_text(shown))
        return
    rows: list[tuple[str, ...]] = [("job", "state", "tasks", "GPUs", "retries", "virtual cluster", "submitted (UTC)")]
    for job in jobs:
        counts = ("?" if one is None else str(one) for one in (job.task_count, job.gpus, job.retries))
        rows.append((job.name, job.state, *counts, job.virtual_cluster, _time(job.submitted)))
    sys.stdout.write(table(rows))


# What a list of jobs does not have.
_OF_ONE = frozenset({"attempt", "diagnostics", "trigger", "culprit", "tasks"})


def _plain(job: LiveJob) -> dict[str, Any]:
    """A job as JSON; the names are those of `LiveJob`, as JSON writes names."""

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {_camel(key): renamed(one) for key, one in value.items()}
        return [renamed(one) for one in value] if isinstance(value, (list, tuple)) else value

    plain: dict[str, Any] = renamed(asdict(job))
    return plain


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _show(cluster: ClusterConnection, job: LiveJob, form: str) -> None:
    waits = waits_for(cluster, job)
    page = cluster.access.page_of(job.user, job.name)
    text = "".join(f"{visible(line)}\n" for line in _lines(job, page, waits))
    write_answer({**_plain(job), "page": page, "waitsFor": waits}, text, form)


def _lines(job: LiveJob, page: str | None, waits: tuple[str, ...]) -> Iterator[str]:
    yield f"{job.name}  {job.state}  in virtual cluster '{job.virtual_cluster}', submitted {_time(job.submitted)} UTC"
    if page is not None:
        yield f"page     {page}"
    if job.retries:
        yield f"retries  {job.retries}"
    for role, tasks in groupby(job.tasks or (), key=lambda one: one.role):
        yield f"role     {role}: {_counted(tasks)}"
    shown = job.tasks or ()
    for task in shown[:_MOST_TASKS]:
        code = "" if task.exit_code is None else f", code {task.exit_code} {explained_code(task.exit_code).phrase}"
        node = "" if task.node is None else f", on {task.node}"
        retries = f", retries: {task.retries}" if task.retries else ""
        yield f"task     {task.role} {task.index}: {task.state}{code}{node}{retries}"
    if len(shown) > _MOST_TASKS:
        yield f"task     ... and {len(shown) - _MOST_TASKS} more"
    if job.exit_code is not None:
        by = "" if job.culprit is None else f" by task {job.culprit[1]} of '{job.culprit[0]}'"
        code = f"code {job.exit_code} {explained_code(job.exit_code).phrase}"
        yield f"ended    {_time(job.completed)} UTC with {code}{by}"
    if job.trigger:
        yield f"         {job.trigger}"
    yield from (f"waits    {line}" for line in waits)
    if job.state == "FAILED":
        yield f"         pai-lsp why {job.name} explains it"


def _counted(tasks: Iterable[LiveTask]) -> str:
    return ", ".join(f"{count} {state}" for state, count in Counter(one.state for one in tasks).items())


def _time(milliseconds: int | None) -> str:
    try:
        return datetime.fromtimestamp((milliseconds or 0) / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "?"


def follow_submitted(cluster: ClusterConnection, user: str, name: str, written: tuple[str, Job]) -> int:
    """Show how a job gets on until its end, and why it failed; returns the exit status.

    written: the file that was submitted, and what it holds.
    """
    printed: list[str] = []
    job: LiveJob | None = None
    try:
        for job in followed(lambda: job_named(cluster, user, name), live_cluster.pause):
            lines = [_progress(job), *(f"  {line}" for line in _waits(cluster, job))]
            sys.stderr.write("".join(f"{visible(line)}\n" for line in lines if line not in printed))
            sys.stderr.flush()
            printed = lines
    except ClusterError as error:
        return failed("submit", f"the job is no longer followed: {error}", FINDINGS)
    if job is None or job.state == "SUCCEEDED":
        return 0
    from pai_lsp.cli.commands.why_job import explain_live  # noqa: PLC0415 - only after a failure

    try:
        explain_live(cluster, job, written)
    except ClusterError as error:
        return failed("submit", f"the job has ended: {job.state}; it is not known why: {error}", FINDINGS)
    return FINDINGS


def _waits(cluster: ClusterConnection, job: LiveJob) -> tuple[str, ...]:
    try:
        return waits_for(cluster, job) if job.tasks else ()
    except ClusterError:  # the state matters, and is asked for again
        return ()


def _progress(job: LiveJob) -> str:
    tasks = _counted(job.tasks or ())
    retry = f", retry {job.retries}" if job.retries else ""
    return f"{job.state}{retry}{f': tasks {tasks}' if tasks else ''}"
