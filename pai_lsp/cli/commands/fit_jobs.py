"""`pai-lsp fit`: whether jobs fit a cluster, by its profile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pai_lsp.cli import FINDINGS, WRONG_USAGE, failed, json_text
from pai_lsp.cli.commands.job_file import job_file, named_jobs
from pai_lsp.cli.commands.live_cluster import clusters_known
from pai_lsp.cli.report.results import CheckedFile
from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.fit_answer import fit_answer, fit_lines
from pai_lsp.cluster.profile import Profile, own_profiles, profile_named
from pai_lsp.project.targets import run_projects
from pai_lsp.source.files import full_path
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Print what the cluster makes of each job."""
    projects = run_projects()
    jobs = named_jobs(arguments.jobs, projects)
    with clusters_known():
        named = profile_named(arguments.cluster) if arguments.cluster is not None else None
    answers: list[Any] = []
    is_good = True
    for path, _ in jobs:
        document = job_file(path, projects, named.platform.name if named else None)
        if isinstance(document, CheckedFile):
            message = document.diagnostics[0].message
            answer = {"job": path, "outcome": "refused", "stage": "protocol", "code": None, "message": message}
            text = f"{visible(path)}: refused\n  {message}"
            is_good = False
        else:
            profile = named or document.settings.cluster
            if not isinstance(profile, Profile):
                if projects.configuration_of(full_path(path)).cluster:  # the reason is printed
                    return WRONG_USAGE
                return failed("fit", f"{visible(path)}: {_no_cluster()}")
            found = fit(document.job, profile)
            hidden = document.job.hidden
            if arguments.format == "json":
                answer = {"job": path, **fit_answer(found, hidden)}
            else:
                title, *more = fit_lines(found, profile, hidden)
                text = "\n".join([f"{hidden.without(visible(path))}: {title}", *(f"  {line}" for line in more)])
            is_good &= found.outcome in {"runs", "accepted"}
        if arguments.format == "json":
            answers.append(answer)
        else:
            sys.stdout.write(f"{text}\n")
    if arguments.format == "json":
        sys.stdout.write(json_text(answers))
    return 0 if is_good else FINDINGS


def _no_cluster() -> str:
    known = ", ".join(name for name, _ in own_profiles()) or "none"
    return f"give --cluster NAME, or write 'cluster: NAME' into .pai-lsp.yaml; known clusters: {known}"
