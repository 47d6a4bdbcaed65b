"""Sends an expanded job to a cluster, once, and finds out what became of it.

Where no answer comes, the cluster is asked whether it has the job, and nothing is sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cluster.live_jobs import job_named
from pai_lsp.cluster.rest_server import ClusterError, NoAnswerError
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import scalar_text, value_at
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import visible
from pai_lsp.web.fetching import GATEWAY_FAILURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.cluster.rest_server import ApiAnswer, ClusterConnection
    from pai_lsp.job.job import Job

_MOST_QUOTED = 500


class NotSubmittedError(Exception):
    """The cluster does not have the job; the message has the reason, and no secret of the job."""


class UnknownOutcomeError(Exception):
    """It is not known whether the cluster has the job; the message has the reason, and what to do."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job that is ready to be sent to a cluster.

    written: the author's job, whose secrets no message has. sent: the job that it becomes.
    """

    written: Job
    sent: Job
    cluster: ClusterConnection
    user: str

    @property
    def name(self) -> str:
        """The name of the job; empty without one."""
        plain = self.sent.plain
        return str(plain.get("name", "")) if isinstance(plain, dict) else ""

    def summary(self) -> Iterator[str]:
        """What is sent where, in lines, without the values of secrets."""
        job, clean = self.sent, self.written.hidden.without
        defaults = job.mapping("defaults")
        virtual_cluster = defaults.entry("virtualCluster") if defaults else None
        written = job.text[virtual_cluster.value.span.start : virtual_cluster.value.span.end] if virtual_cluster else ""
        yield f"job       {clean(visible(self.name))}"
        cluster = f"{self.cluster.name} ({self.cluster.access.url}) as '{visible(self.user)}'"
        yield f"cluster   {cluster}, virtual cluster {clean(visible(written)) or 'default'}"
        for role in job.task_roles:
            resources = ((key, scalar_text(value_at(role.resources, key))) for key in ("gpu", "cpu", "memoryMB"))
            parts = (f"{key} {text or '?'}" for key, text in resources)
            count = plural(role.instances, "task")
            yield clean(visible(f"role      {role.name}: {count}, each with {', '.join(parts)}"))
        secrets = job.mapping("secrets")
        if secrets is not None and secrets.entries:
            yield f"secrets   {len(secrets.entries)}, sent with the job"

    @property
    def page(self) -> str | None:
        """The address of the job's page in the portal; None where the portal's address is not known."""
        return self.cluster.access.page_of(self.user, self.name)

    def _is_there(self) -> bool | None:
        """Whether the cluster has a job of this name; None if that cannot be asked."""
        try:
            job_named(self.cluster, self.user, self.name)
        except ClusterError as error:
            return False if error.status == 404 else None
        return True

    def send(self) -> str:
        """Send the job; returns a note, which is empty unless the cluster has the job although it did not say so.

        Raises:
            NotSubmittedError: if the cluster does not have the job.
            UnknownOutcomeError: if that is not known.
        """
        taken = f"a job named '{visible(self.name)}' already exists; give the job another name"
        if self._is_there():
            raise NotSubmittedError(f"nothing was sent: {taken}")
        try:
            answer = self.cluster.send("POST", "jobs", self.sent.text)
        except NoAnswerError as error:
            if not error.was_sent:
                raise NotSubmittedError(f"the job was not submitted: {error}") from None
            return self._asked(str(error), has_ended=False)
        if 200 <= answer.status < 300:
            return "" if answer.value is not None else self._asked("the answer is not that of a rest-server")
        if answer.status >= 500:
            refusal = self.written.hidden.without(answer.refusal)
            return self._asked(refusal, has_ended=answer.status not in GATEWAY_FAILURES)
        reason = taken if answer.status == 409 else self._refusal(answer)
        raise NotSubmittedError(f"the job was not submitted: {reason}")

    def _asked(self, reason: str, *, has_ended: bool = True) -> str:
        """The answer does not say whether the cluster has the job: ask.

        has_ended: whether the cluster has ended its work on the request; if not, the job may come later.
        Source: microsoft/pai, src/rest-server/src/models/v2/job/k8s.js: `put` has no limit of time.
        """
        is_there = self._is_there()
        if is_there:
            return f"{reason}, but the cluster has the job"
        if is_there is False:
            if has_ended:
                raise NotSubmittedError(f"the job was not submitted: {reason}")
            reason = f"{reason}, and the cluster does not have the job yet"
        step = "look for the job in the portal before you submit it again"
        raise UnknownOutcomeError(f"it is not known whether the job was submitted: {reason}; {step}")

    def _refusal(self, answer: ApiAnswer) -> str:
        clean = self.written.hidden.without
        if answer.code and answer.status not in {401, 403, 413}:
            # The cluster's own message may quote the job.
            quoted = f": {clean(answer.message)[:_MOST_QUOTED]}" if answer.message else ""
            return f"the cluster refuses the job ({answer.status}){quoted}"
        return clean(answer.refusal)
