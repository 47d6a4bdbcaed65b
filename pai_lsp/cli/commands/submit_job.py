"""`pai-lsp submit`: expands a job, checks it for a cluster, shows a summary, asks, and sends it to the rest-server.

The address is the one in the user's own file of clusters. A job is sent once: where no answer comes, the cluster is
asked whether it has the job, and nothing is sent again.
"""

from __future__ import annotations

import os
import sys

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import agreed, failed, job_of, show_findings
from pai_lsp.cli.commands.live_cluster import cluster_name, connected, user_of
from pai_lsp.cli.report.results import checked_file
from pai_lsp.cluster.live_jobs import job_named
from pai_lsp.cluster.profile import Profile, ProfileError, path_of_name, profile_named
from pai_lsp.cluster.rest_server import ClusterError, NoAnswerError
from pai_lsp.document import check_expanded
from pai_lsp.expansion.released_job import ExpandedJob, expanded
from pai_lsp.findings.diagnostic import Severity, limited
from pai_lsp.project.targets import missing, run_projects
from pai_lsp.rules.structure.job_shape import MAX_BYTES
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import scalar_text, value_at
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from pai_lsp.cluster.rest_server import ApiAnswer, ClusterConnection
    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Mapping


@dataclass(frozen=True, slots=True)
class _Submission:
    """A job that is ready to be sent to a cluster."""

    job: Job
    text: str
    name: str
    cluster: ClusterConnection
    user: str
    path: str
    is_followed: bool

    def has_job(self) -> bool | None:
        """Whether the cluster has a job of this name; None if that cannot be asked."""
        try:
            job_named(self.cluster, self.user, self.name)
        except ClusterError as error:
            return False if error.status == 404 else None
        return True


def run(arguments: argparse.Namespace) -> int:
    """Submit a job."""
    if message := missing([arguments.job]):
        return failed("submit", message, WRONG_USAGE)
    projects = run_projects()
    cluster = cluster_name(arguments.cluster, projects, arguments.job)
    try:
        live = connected("submit", cluster)
        profile = profile_named(live.name) if os.path.isfile(path_of_name(live.name)) else None
    except ProfileError as error:
        return failed("submit", str(error), WRONG_USAGE)
    platform = profile.platform.name if profile else live.access.platform
    document = job_of("submit", arguments.job, projects, platform)
    if isinstance(document, int):
        return document
    document = replace(document, settings=replace(document.settings, cluster=profile))
    found = expanded(document.job)
    is_wrong = _show(document, found)
    if found.text is None or found.job is None:
        return failed("submit", "nothing was sent, because the job cannot be expanded", FINDINGS)
    if is_wrong and not arguments.force:
        return failed("submit", "nothing was sent, because the job has errors; --force sends it anyway", FINDINGS)
    if len(found.text.encode("utf-8")) > MAX_BYTES:
        return failed("submit", f"nothing was sent: the expanded job has more than {MAX_BYTES:,} bytes", FINDINGS)
    name = str(found.job.plain.get("name", "")) if isinstance(found.job.plain, dict) else ""
    try:
        user = user_of("submit", live)
    except ClusterError as error:
        return failed("submit", f"nothing was sent: {error}", FINDINGS)
    ready = _Submission(document.job, found.text, name, live, user, arguments.job, arguments.follow)
    sys.stderr.write("\n".join(_summary(ready, found.job, profile)) + "\n")
    if not arguments.yes and not agreed("Submit this job?", arguments.job):
        step = "" if sys.stdin.isatty() else "; give --yes to submit without asking"
        return failed("submit", f"nothing was sent{step}", WRONG_USAGE)
    return _submit(ready)


def _show(document: Document, found: ExpandedJob) -> bool:
    """Print the findings that matter; returns whether there are errors."""
    findings = list(found.problems) if found.text is None else [*found.problems, *check_expanded(document, found)]
    findings = [one for one in dict.fromkeys(findings) if one.severity <= Severity.WARNING]
    show_findings(checked_file(document, limited(sorted(findings, key=lambda one: one.span))))
    return any(one.severity is Severity.ERROR for one in findings)


def _summary(ready: _Submission, job: Job, profile: Profile | None) -> Iterator[str]:
    """What is sent where, without the values of secrets."""
    defaults = job.mapping("defaults")
    virtual_cluster = defaults.entry("virtualCluster") if defaults else None
    written = job.text[virtual_cluster.value.span.start : virtual_cluster.value.span.end] if virtual_cluster else ""
    clean = ready.job.hidden.without
    yield f"job       {clean(visible(ready.name))}"
    cluster = f"{ready.cluster.name} ({ready.cluster.access.url}) as '{visible(ready.user)}'"
    yield f"cluster   {cluster}, virtual cluster {clean(visible(written)) or 'default'}"
    for role in job.task_roles:
        resources = role.resources
        parts = (f"{key} {_text(resources, key)}" for key in ("gpu", "cpu", "memoryMB"))
        count = plural(role.instances, "task")
        yield clean(visible(f"role      {role.name}: {count}, each with {', '.join(parts)}"))
    secrets = job.mapping("secrets")
    if secrets is not None and secrets.entries:
        yield f"secrets   {len(secrets.entries)}, sent with the job"
    if profile is None:
        yield f"not checked for the cluster's SKUs and rights: run pai-lsp cluster pull {ready.cluster.name} first"


def _text(mapping: Mapping | None, key: str) -> str:
    return scalar_text(value_at(mapping, key)) or "?"


def _submit(ready: _Submission) -> int:
    taken = f"a job named '{visible(ready.name)}' already exists; give the job another name"
    if ready.has_job():
        return failed("submit", f"nothing was sent: {taken}", FINDINGS)
    try:
        answer = ready.cluster.send("POST", "jobs", ready.text)
    except NoAnswerError as error:
        if not error.was_sent:
            return failed("submit", f"the job was not submitted: {error}", FINDINGS)
        return _unsure(ready, str(error))
    if 200 <= answer.status < 300:
        return _done(ready) if answer.is_json else _unsure(ready, "the answer is not that of a rest-server")
    if answer.status >= 500:
        return _unsure(ready, ready.job.hidden.without(answer.refusal))
    reason = taken if answer.status == 409 else _refusal(ready, answer)
    return failed("submit", f"the job was not submitted: {reason}", FINDINGS)


def _done(ready: _Submission) -> int:
    page = ready.cluster.access.page_of(ready.user, ready.name)
    sys.stdout.write(f"{page}\n" if page else f"submitted: {visible(ready.name)}\n")
    if not ready.is_followed:
        return 0
    from pai_lsp.cli.commands.job_states import follow_submitted  # noqa: PLC0415 - few want it

    sys.stdout.flush()
    return follow_submitted(ready.cluster, ready.user, ready.name, (ready.path, ready.job))


def _unsure(ready: _Submission, reason: str) -> int:
    """The answer does not say whether the cluster has the job: ask."""
    has_job = ready.has_job()
    if has_job:
        sys.stderr.write(f"pai-lsp submit: {reason}, but the cluster has the job\n")
        return _done(ready)
    if has_job is False:
        return failed("submit", f"the job was not submitted: {reason}", FINDINGS)
    step = "look for the job in the portal before you submit it again"
    return failed("submit", f"it is not known whether the job was submitted: {reason}; {step}", OWN_FAILURE)


def _refusal(ready: _Submission, answer: ApiAnswer) -> str:
    if answer.code and answer.status not in {401, 403, 413}:
        return f"the cluster refuses the job ({answer.status}){_quoted(ready, answer)}"
    return ready.job.hidden.without(answer.refusal)


def _quoted(ready: _Submission, answer: ApiAnswer) -> str:
    """The cluster's own message, which may quote the job."""
    return f": {ready.job.hidden.without(answer.message)[:500]}" if answer.message else ""
