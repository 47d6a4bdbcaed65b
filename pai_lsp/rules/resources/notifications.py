"""Rules about `extras.jobStatusChangeNotification`: the job states for which the user gets an email."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.job.definition import key_name_span
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

# database-controller, src/common/framework.js, getRequestUpdate.
_STATES = ("running", "succeeded", "failed", "stopped", "retried")


@rule(Severity.WARNING)
def notification_unknown_key(job: Job) -> Iterator[Finding]:
    """Unknown notification state.

    The states are `running`, `succeeded`, `failed`, `stopped` and `retried`; any other key is ignored.
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
    section = job.extras_entry("jobStatusChangeNotification")
    if section is None or not isinstance(section.value, Mapping):
        return
    free = [name for name in _STATES if section.value.entry(name) is None]
    for entry in section.value.effective_entries():
        if entry.name not in _STATES:
            span = key_name_span(entry)
            expected = did_you_mean(entry.name, free) or f"; expected one of {', '.join(_STATES)}"
            yield Finding(
                span,
                f"'{entry.name}' is not a notification state and has no effect{expected}",
                near_name_fixes(span, entry.name, free),
            )


RULES = (notification_unknown_key,)
