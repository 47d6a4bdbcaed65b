"""What the page of the portal asks about a cluster. Nothing is requested here: the page does so, and asks again.

An answer is `{"request": …}`, what to ask the cluster next, or `{"answer": …}`. All answers of the cluster so far come
with the question, in their order, and the same code that makes the requests on the command line reads them. So there is
no second knowledge of the REST API, and the token is nowhere in Python: the page adds it.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pai_lsp.catalog.catalog import Catalog
from pai_lsp.catalog.remote_sources import NoItemsError, read_items
from pai_lsp.catalog.store import LoadedSource
from pai_lsp.cluster.cluster_access import ClusterAccess
from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.fit_answer import fit_lines
from pai_lsp.cluster.live_failure import failed_attempt, live_failure
from pai_lsp.cluster.live_jobs import job_named, submitted_config
from pai_lsp.cluster.profile import Profile, ProfileError, fault_in
from pai_lsp.cluster.profile_import import profile_of_cluster
from pai_lsp.cluster.rest_server import LIMITS, ClusterConnection, ClusterError
from pai_lsp.cluster.submission import NotSubmittedError, Submission, UnknownOutcomeError
from pai_lsp.cluster.why import failure_text
from pai_lsp.document import check_expanded
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.job.lookup import NoLookup
from pai_lsp.rules.structure.job_shape import MAX_BYTES
from pai_lsp.source.edits import add_to_section
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.text import apply_edits, visible
from pai_lsp.source.writing import entry_lines, value_lines
from pai_lsp.web.addresses import host_and_port
from pai_lsp.web.fetching import FetchFailure, HttpAnswer, answer_of

if TYPE_CHECKING:
    from typing import TypeAlias

    from pai_lsp.document import Document
    from pai_lsp.web.fetching import Limits

    Definitions: TypeAlias = dict[str | None, NoLookup | Catalog]


class _NotAskedYet(Exception):  # noqa: N818 - the page asks, and nothing failed
    """The cluster was not asked this yet."""


class _Answers:
    """Sends nothing: gives the answers that the page has brought, in their order."""

    def __init__(self, brought: list[dict[str, Any]]) -> None:
        self._brought = iter(brought)

    def __call__(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        *,
        limits: Limits,
        body: bytes = b"",
        ca_file: str | None = None,
    ) -> HttpAnswer | FetchFailure:
        del ca_file
        found = next(self._brought, None)
        if found is None:
            request = {"method": method, "url": url, "range": headers.get("Range"), "body": body.decode()}
            raise _NotAskedYet(request)
        if "failure" in found:
            return FetchFailure(found["failure"])
        content = found["body"].encode()
        return HttpAnswer(found["status"], found["headers"], content[: limits.size], len(content) > limits.size)


def cluster_answer(document: Document, asked: dict[str, Any], definitions: Definitions) -> dict[str, Any]:
    """The next request, or the answer to a question about a cluster; its `failure` is for people.

    `server`, `portal`: the addresses of the rest-server and of the portal. `answers`: those of the cluster.
    `marketplace`: the address of the marketplace's server; what it answers to `definitions` is kept in these.
    """
    access = ClusterAccess(
        asked["server"].rstrip("/"), platform=asked["platform"], portal=asked["portal"].rstrip("/"), allow_http=True
    )
    name = host_and_port(access.url)
    answers = _Answers(asked["answers"])
    cluster = ClusterConnection(name, access, None, answers)
    try:
        if asked["ask"] == "definitions":
            return {"answer": _read(definitions, answers, asked["marketplace"])}
        return {"answer": _ANSWERS[asked["ask"]](document, cluster, asked)}
    except _NotAskedYet as needed:
        return {"request": needed.args[0]}
    except (ClusterError, ProfileError, NotSubmittedError, UnknownOutcomeError) as error:
        return {"answer": {"failure": str(error)}}


def _profile(_: Document, cluster: ClusterConnection, __: dict[str, Any]) -> dict[str, Any]:
    """The user and the facts of the cluster."""
    user = cluster.user()
    profile = profile_of_cluster(cluster, user, datetime.now(timezone.utc))
    if fault := fault_in(profile):
        raise ProfileError(f"the answers do not describe a usable cluster: {fault}")
    return {"user": user, "profile": profile}


def _read(definitions: Definitions, answers: _Answers, url: str) -> dict[str, Any]:
    """Read the items of a marketplace; from now on, questions that name its address find them."""
    try:
        definitions[url] = Catalog(sources=(_items(answers, url),)).prepared()
    except NoItemsError as error:
        definitions[url] = NoLookup(f"{url}: {error}")
        return {"failure": str(error)}
    return {}


def _items(answers: _Answers, url: str) -> LoadedSource:
    answer = answers("GET", f"{url}/items", {}, limits=LIMITS)
    found = answer if isinstance(answer, FetchFailure) else answer_of(answer, LIMITS)
    if isinstance(found, FetchFailure):
        raise NoItemsError(found.note)
    texts, skipped = read_items(found.body, url)
    return LoadedSource(url, texts, skipped=skipped)


def _submission(document: Document, cluster: ClusterConnection, asked: dict[str, Any]) -> dict[str, Any]:
    """What would be sent, and what the cluster would make of it; nothing is requested."""
    ready = _ready(document, cluster, asked)
    if ready is None:
        return {"text": None, "lines": [], "errors": 0, "fit": [], "fits": None}
    found = expanded(document.job)
    errors = {
        (one.code, one.span)
        for one in (*found.problems, *check_expanded(document, found))
        if one.severity is Severity.ERROR
    }
    profile = document.settings.cluster
    fits = fit(ready.sent, profile) if isinstance(profile, Profile) else None
    return {
        "text": ready.sent.text,
        "lines": list(ready.summary()),
        "errors": len(errors),
        "fit": fit_lines(fits, profile, document.job.hidden) if fits and isinstance(profile, Profile) else [],
        "fits": fits.outcome in {"runs", "accepted"} if fits else None,
    }


def _sent(document: Document, cluster: ClusterConnection, asked: dict[str, Any]) -> dict[str, Any]:
    """Send the job; the address of its page."""
    ready = _ready(document, cluster, asked)
    if ready is None:
        raise NotSubmittedError("nothing was sent, because the job cannot be expanded")
    if len(ready.sent.text.encode()) > MAX_BYTES:
        raise NotSubmittedError(f"nothing was sent: the expanded job has more than {MAX_BYTES:,} bytes")
    note = ready.send()
    return {"name": ready.name, "page": ready.page, "note": note}


def _ready(document: Document, cluster: ClusterConnection, asked: dict[str, Any]) -> Submission | None:
    """The expanded job; the portal offers to edit it here again if it names the plugin.

    Source: microsoft/pai, src/webportal/src/app/job/job-view/fabric/job-detail/components/clone-button.jsx.
    """
    found = expanded(document.job)
    if found.text is None or found.job is None:
        return None
    job, plugin = found.job, asked["plugin"]
    extras = job.mapping("extras")
    if plugin and (extras is None or extras.get("submitFrom") is None):
        root = job.syntax.root if isinstance(job.syntax.root, Mapping) else None
        edit = add_to_section(job.text, root, "extras", "\n".join(entry_lines("submitFrom", plugin)))
        job = job if edit is None else replace(document, text=apply_edits(job.text, [edit])).job
    return Submission(document.job, job, cluster, asked["user"])


def _fits(document: Document, _: ClusterConnection, __: dict[str, Any]) -> dict[str, Any]:
    """Whether the job fits the cluster, in lines; none where there is no job or no profile."""
    profile = document.settings.cluster
    if not isinstance(profile, Profile) or not document.is_job:
        return {"lines": []}
    found = fit(expanded(document.job).job or document.job, profile)
    return {"lines": fit_lines(found, profile, document.job.hidden)}


def _submitted(document: Document, cluster: ClusterConnection, asked: dict[str, Any]) -> dict[str, Any]:
    """A job of the cluster as text, and why it failed; `line`, from 1, is the line of the text that failed."""
    job = job_named(cluster, asked["user"], asked["job"])
    config = submitted_config(cluster, job)
    has_secrets = isinstance(config.get("secrets"), str)  # the server hides them
    kept = {key: value for key, value in config.items() if key != "secrets" or not has_secrets}
    text = "".join(f"{line}\n" for line in value_lines(kept))
    written = replace(document, text=text).job
    attempt = failed_attempt(cluster, job)
    answer: dict[str, Any] = {"text": text, "state": job.state, "hasSecrets": has_secrets, "why": None, "line": None}
    if attempt is None or attempt.state == "SUCCEEDED":
        return answer
    failed = live_failure(cluster, attempt, written)
    task = "" if failed.task is None else f"\ntask {failed.task.index} of '{failed.task.role}'\n"
    note = f"\nnote: {failed.note}\n" if failed.note else ""
    why = failure_text(failed.found, written, visible(job.name)) + task + note
    cause = failed.found.cause
    return {
        **answer,
        "why": why,
        "line": failed.found.line,
        "cause": f"{cause.name}: {cause.explanation} {cause.fix}".strip(),
    }


_ANSWERS = {
    "profile": _profile,
    "fit": _fits,
    "submission": _submission,
    "submit": _sent,
    "submitted": _submitted,
}
