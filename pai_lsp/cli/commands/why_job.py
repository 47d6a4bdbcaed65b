"""`pai-lsp why` for a job on a cluster: what its log and diagnostics say, and the line of the submitted file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, write_answer
from pai_lsp.cli.commands import live_cluster
from pai_lsp.cli.commands.job_file import job_file
from pai_lsp.cli.report.results import CheckedFile
from pai_lsp.cluster.live_failure import failed_attempt, live_failure
from pai_lsp.cluster.live_jobs import job_named, submitted_config
from pai_lsp.cluster.profile import ProfileError
from pai_lsp.cluster.waiting import waits_for
from pai_lsp.cluster.why import NO_FAILURE, NOT_KNOWN, failure_answer, failure_text
from pai_lsp.document import Document
from pai_lsp.expansion.released_job import ExpandedJob, expanded
from pai_lsp.project.targets import run_projects
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import replace
from pai_lsp.source.text import LineIndex, Span, visible

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from pai_lsp.cluster.live_jobs import LiveJob
    from pai_lsp.cluster.rest_server import ClusterConnection
    from pai_lsp.job.job import Job


def explain_job(arguments: argparse.Namespace, name: str | None) -> int:
    """Explain why the job of the arguments failed on a cluster, or what it waits for; returns the exit status."""
    with live_cluster.clusters_known():
        cluster = live_cluster.connected("why", name)
        user = live_cluster.user_of("why", cluster)
        job = job_named(cluster, *live_cluster.owner_and_name(user, arguments.text))
        return explain_live(cluster, job, arguments.job, form=arguments.format, role=arguments.role)


def explain_live(
    cluster: ClusterConnection,
    job: LiveJob,
    written: tuple[str, Job] | str | None,
    *,
    form: str = "text",
    role: str | None = None,
) -> int:
    """Print why a job failed, or what it waits for; returns the exit status.

    written: the file that was submitted, with what it holds or without; None looks for it in the current folder.

    Raises:
        ClusterError: if the cluster does not answer, or refuses.
    """
    attempt = failed_attempt(cluster, job)
    if attempt is None or attempt.state == "SUCCEEDED":
        return _no_failure(cluster, job, form)
    config = submitted_config(cluster, job)
    path, source, sent = (*written, expanded(written[1])) if isinstance(written, tuple) else _written(written, config)
    known = sent.job or Document(json.dumps(config, indent=1)).job
    answer = live_failure(cluster, attempt, known, role)
    found, task, line = answer.found, answer.task, ""
    if found.line is not None:
        text = known.text.splitlines()[found.line - 1]
        line = text.strip().rstrip(",").strip('"')
        at = LineIndex(known.text).line_start(found.line - 1) + len(text) - len(text.lstrip())
        place = sent.places.span(Span(at, at)).start
        found = replace(found, line=None if source is None else LineIndex(source.text).line_of(place) + 1)
    is_other = source is not None and _without_secrets(known.plain) != _without_secrets(config)
    notes = [
        answer.note,
        f"'{path}' differs from the job that was submitted" if is_other else "",
        "" if attempt is job else f"this was attempt {attempt.attempt}; the job goes on: {job.state}",
    ]
    shown = source or known
    text = failure_text(found, shown, visible(path or ""))
    if source is None and line:
        text += f"\nin the submitted job: {visible(known.hidden.without(line))}\n"
    text += "" if task is None else f"\ntask {task.index} of '{visible(task.role)}'\n"
    text += "".join(f"note: {visible(one)}\n" for one in notes if one)
    fields = {
        **failure_answer(found, shown),
        "job": job.name,
        "state": job.state,
        "role": None if task is None else task.role,
        "task": None if task is None else task.index,
        "file": path,
        "submitted": known.hidden.without(line) or None,
        "notes": [one for one in notes if one],
    }
    write_answer(fields, text, form)
    return FINDINGS if found.cause.name == NOT_KNOWN else 0


def _no_failure(cluster: ClusterConnection, job: LiveJob, form: str) -> int:
    """What a job that has not failed does or waits for."""
    waits = waits_for(cluster, job)
    text = f"'{job.name}' has not failed: {job.state}\n" + "".join(f"{visible(line)}\n" for line in waits)
    write_answer({"cause": NO_FAILURE, "job": job.name, "state": job.state, "waitsFor": waits}, text, form)
    return 0


def _written(path: str | None, config: dict[str, Any]) -> tuple[str | None, Job | None, ExpandedJob]:
    """The file that was submitted: the named one, else of those here with the job's name the one that is equal.

    With the job that it becomes, of which the cluster knows the lines.
    """
    found: list[tuple[str, Job, ExpandedJob]] = []
    projects = run_projects()
    names = [path] if path is not None else sorted(str(one) for one in Path().glob("*.pai.y*ml"))
    for name in names:
        document = job_file(name, projects)
        if isinstance(document, CheckedFile):
            if path is not None:
                raise ProfileError(f"{visible(path)}: {document.diagnostics[0].message}")
            continue
        if path is not None or as_mapping(document.job.plain).get("name") == config.get("name"):
            found.append((name, document.job, expanded(document.job)))
    wanted = _without_secrets(config)
    equal = (one for one in found if one[2].job is not None and _without_secrets(one[2].job.plain) == wanted)
    return next(equal, found[0] if found else (None, None, ExpandedJob(None)))


def _without_secrets(plain: object) -> dict[str, Any]:
    return {key: value for key, value in as_mapping(plain).items() if key != "secrets"}
