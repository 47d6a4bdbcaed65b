"""Rules about gang allocation, which starts all tasks of a job together and never retries a single task.

Facts: rest-server, models/v2/job/k8s.js; frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.job.definition import name_span
from pai_lsp.job.parts import whole_number
from pai_lsp.source.nodes import Entry, Scalar
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import insert_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

# Words that people write for a boolean, in addition to `true` and `false`, the only ones for js-yaml.
_TRUE, _FALSE = frozenset({"true", "yes", "on", "y", "1"}), frozenset({"false", "no", "off", "n", "0"})


@rule(Severity.WARNING)
def task_retry_ignored(job: Job) -> Iterator[Finding]:
    """Task retries in a job with gang allocation.

    `taskRetryCount` only has an effect if `extras.gangAllocation` is `false`; otherwise a failed task fails the job,
    and `jobRetryCount` is the number of retries of the whole job.
    Source: rest-server, models/v2/job/k8s.js (`gangAllocation === false`); openpai, issues 5004 and 3781.

        taskRoles:
          worker:
            taskRetryCount: 3
            #^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            taskRetryCount: 3
        extras:
          gangAllocation: false
    """
    if not job.has_gang_allocation:
        return
    gang = job.extras_entry("gangAllocation")
    for role in job.task_roles:
        entry = role.field("taskRetryCount")
        count = whole_number(entry.value) if entry else None
        if entry is None or count is None or count == 0:
            continue
        fixes = (Fix("Disable gang allocation", (edit,)),) if (edit := _gang_off(job, gang)) else ()
        message = (
            "'taskRetryCount' has no effect without 'extras.gangAllocation: false'; 'jobRetryCount' retries the job"
        )
        related = (Related(gang.value.span, "gang allocation is on"),) if gang else ()
        yield Finding(entry.key.span, message, fixes, related)


@rule(Severity.WARNING)
def gang_allocation_not_boolean(job: Job) -> Iterator[Finding]:
    """`gangAllocation` is neither `true` nor `false`.

    Only the boolean `false` disables gang allocation: `"false"`, `no` and `0` leave it on. The checks of a cluster with
    HiveD only accept the boolean `true`.
    Source: rest-server, models/v2/job/k8s.js (`=== false`), middlewares/v2/hived.js (`=== true`).

        extras:
          gangAllocation: "false"
          #               ^^^^^^^ warning

    Good:

        extras:
          gangAllocation: false
    """
    entry = job.extras_entry("gangAllocation")
    if entry is None or (isinstance(entry.value, Scalar) and isinstance(entry.value.value, bool)):
        return
    written = entry.value.text.strip().lower() if isinstance(entry.value, Scalar) else ""
    meant = "true" if written in _TRUE else "false" if written in _FALSE else None
    fixes = (Fix(f"Change to {meant}", (TextEdit(entry.value.span, meant),), safe=True),) if meant else ()
    yield Finding(entry.place, "'gangAllocation' must be true or false; other values leave it on", fixes)


def _gang_off(job: Job, gang: Entry | None) -> TextEdit | None:
    if gang is not None:
        return (
            TextEdit(name_span(gang.value), "false")
            if isinstance(gang.value, Scalar) and gang.value.value is True
            else None
        )
    if job.extras is not None and job.extras.entries:
        return insert_values(job.text, job.extras, {"gangAllocation": False})
    if job.root is not None and job.section("extras") is None and not job.root.is_flow:
        return insert_values(job.text, job.root, {"extras": {"gangAllocation": False}})
    return None


RULES = (
    task_retry_ignored,
    gang_allocation_not_boolean,
)
