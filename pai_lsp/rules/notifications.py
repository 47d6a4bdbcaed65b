"""Rules about `extras.jobStatusChangeNotification`: which changes of a job's state are mailed to its user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.definition import name_span
from pai_lsp.diagnostic import Finding, Severity, rule
from pai_lsp.fixes import near_name_fixes
from pai_lsp.spelling import did_you_mean
from pai_lsp.syntax import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job

# database-controller, src/common/framework.js, getRequestUpdate.
_STATES = ("running", "succeeded", "failed", "stopped", "retried")


@rule(Severity.WARNING)
def notification_unknown_key(job: Job) -> Iterator[Finding]:
    """A notification is asked for a state that nobody notifies of.

    A job can notify when it is `running`, `succeeded`, `failed`, `stopped` or `retried`; any other key is ignored.
    Source: database-controller, src/common/framework.js.

        extras:
          jobStatusChangeNotification:
            success: true
            #^^^^^^ warning

    Good:

        extras:
          jobStatusChangeNotification:
            succeeded: true
    """
    node = job.extras.get("jobStatusChangeNotification") if job.extras else None
    for entry in node.effective_entries() if isinstance(node, Mapping) else ():
        if entry.name not in _STATES:
            span = name_span(entry.key) if isinstance(entry.key, Scalar) else entry.key.span
            free = [name for name in _STATES if not (isinstance(node, Mapping) and node.entry(name))]
            expected = did_you_mean(entry.name, free) or f"; expected one of {', '.join(_STATES)}"
            yield Finding(span, f"nobody notifies of '{entry.name}'{expected}", near_name_fixes(span, entry.name, free))


RULES = (notification_unknown_key,)
