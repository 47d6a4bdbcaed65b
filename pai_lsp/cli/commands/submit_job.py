"""`pai-lsp submit`: expands a job, checks it for a cluster, shows a summary, asks, and sends it to the rest-server.

The address is the one in the user's own file of clusters.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed
from pai_lsp.cli.commands.job_file import job_of, need_agreement, show_findings
from pai_lsp.cli.commands.live_cluster import cluster_name, clusters_known, connected, user_of
from pai_lsp.cli.report.results import checked_file
from pai_lsp.cluster.profile import path_of_name, profile_named
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.cluster.submission import NotSubmittedError, Submission, UnknownOutcomeError
from pai_lsp.document import check_expanded
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import Severity, limited
from pai_lsp.project.targets import missing, run_projects
from pai_lsp.rules.structure.job_shape import MAX_BYTES
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.frozen import replace
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.document import Document
    from pai_lsp.expansion.released_job import ExpandedJob


def run(arguments: argparse.Namespace) -> int:
    """Submit a job."""
    if message := missing([arguments.job]):
        return failed("submit", message)
    projects = run_projects()
    cluster = cluster_name(arguments.cluster, projects, arguments.job)
    with clusters_known():
        live = connected("submit", cluster)
        profile = profile_named(live.name) if os.path.isfile(path_of_name(live.name)) else None
    platform = profile.platform.name if profile else live.access.platform
    document = job_of(arguments.job, projects, platform)
    document = replace(document, settings=replace(document.settings, cluster=profile))
    found = expanded(document.job)
    is_wrong = _show(document, found)
    if found.text is None or found.job is None:
        return failed("submit", "nothing was sent, because the job cannot be expanded", FINDINGS)
    if is_wrong and not arguments.force:
        return failed("submit", "nothing was sent, because the job has errors; --force sends it anyway", FINDINGS)
    if len(found.text.encode("utf-8")) > MAX_BYTES:
        return failed("submit", f"nothing was sent: the expanded job has more than {MAX_BYTES:,} bytes", FINDINGS)
    try:
        user = user_of("submit", live)
    except ClusterError as error:
        return failed("submit", f"nothing was sent: {error}", FINDINGS)
    ready = Submission(document.job, found.job, live, user)
    sys.stderr.writelines(f"{line}\n" for line in ready.summary())
    if profile is None:
        step = f"run pai-lsp cluster pull {live.name} first"
        sys.stderr.write(f"not checked for the cluster's SKUs and rights: {step}\n")
    if not arguments.yes:
        need_agreement("Submit this job?", "nothing was sent", arguments.job)
    return _submit(ready, arguments.job, is_followed=arguments.follow)


def _show(document: Document, found: ExpandedJob) -> bool:
    """Print the findings that matter; returns whether there are errors."""
    findings = list(found.problems) if found.text is None else [*found.problems, *check_expanded(document, found)]
    findings = [one for one in dict.fromkeys(findings) if one.severity <= Severity.WARNING]
    show_findings(checked_file(document, limited(sorted(findings, key=lambda one: one.span))))
    return any(one.severity is Severity.ERROR for one in findings)


def _submit(ready: Submission, path: str, *, is_followed: bool) -> int:
    try:
        if note := ready.send():
            sys.stderr.write(f"pai-lsp submit: {note}\n")
    except NotSubmittedError as error:
        return failed("submit", str(error), FINDINGS)
    except UnknownOutcomeError as error:
        return failed("submit", str(error), OWN_FAILURE)
    sys.stdout.write(f"{ready.page}\n" if ready.page else f"submitted: {visible(ready.name)}\n")
    if not is_followed:
        return 0
    from pai_lsp.cli.commands.job_states import follow_submitted  # noqa: PLC0415 - few want it

    sys.stdout.flush()
    return follow_submitted(ready.cluster, ready.user, ready.name, (path, ready.written))
