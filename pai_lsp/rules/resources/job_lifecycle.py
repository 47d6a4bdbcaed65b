"""Rules about the course of a job: gang allocation and retries, completion policies, and emails about job states.

Gang allocation starts all tasks of a job together and never retries a single task. A job attempt fails once
`minFailedInstances` tasks of a role failed, and succeeds once `minSucceededInstances` of a role succeeded; otherwise it
ends when all tasks are done. Facts: rest-server, models/v2/job/k8s.js; frameworkcontroller,
pkg/apis/frameworkcontroller/v1/types.go and crd.go.

`beyond_instances` and `instances_place` are shared by other rules that count a task role's tasks.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Related, Severity, Stage, rule
from pai_lsp.findings.fixes import all_of, boolean_fixes, fix_of, near_name_fixes, number_fix
from pai_lsp.job.definition import key_name_span
from pai_lsp.job.parts import MOST_INSTANCES, whole_number
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.rules.prerequisites.extension import problems_of_expansion, uses_extended_protocol
from pai_lsp.rules.structure.structure_places import line_of_content
from pai_lsp.source.edits import remove_entry
from pai_lsp.source.nodes import Entry, Mapping, Scalar, plain_value
from pai_lsp.source.spelling import did_you_mean, plural
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED, about=("taskRetryCount",))
def task_retry_ignored(job: Job) -> Iterator[Finding]:
    """Task retries are ignored, because the job has gang allocation.

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
    gang = job.extras_entry("gangAllocation")
    for role in job.task_roles if job.has_gang_allocation else ():
        entry = role.field("taskRetryCount")
        if entry and whole_number(entry.value):
            fixes = fix_of("Disable gang allocation", _gang_off, job, gang)
            message = "'taskRetryCount' has no effect without 'extras.gangAllocation: false'"
            related = (Related(gang.value.span, "gang allocation is on"),) if gang else ()
            yield Finding(entry.key.span, f"{message}; 'jobRetryCount' retries the job", fixes, related)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("gangAllocation",))
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
    fixes = boolean_fixes(entry.value) if isinstance(entry.value, Scalar) else ()
    yield Finding(entry.place, "'gangAllocation' must be true or false; other values leave it on", fixes)


def _gang_off(job: Job, gang: Entry | None) -> TextEdit | None:
    if gang is not None:
        is_on = plain_value(gang.value) is True
        return TextEdit(gang.value.span, "false") if is_on else None
    if job.extras is not None and job.extras.entries:
        return insert_values(job.text, job.extras, {"gangAllocation": False})
    if job.root is not None and job.section("extras") is None:
        return insert_values(job.text, job.root, {"extras": {"gangAllocation": False}})
    return None


_INT_32 = 2**31 - 1


@rule(Severity.WARNING, stage=Stage.CLUSTER, about=("minFailedInstances",))
def min_failed_exceeds_instances(job: Job) -> Iterator[Finding]:
    """`minFailedInstances` is greater than the number of instances.

    The role can then never fail the job: even if all of its tasks fail, the job *succeeds*. If this is intended, write
    -1.
    Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go, CompletionPolicySpec.

        taskRoles:
          worker:
            instances: 2
            completion:
              minFailedInstances: 3
              #                   ^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            completion:
              minFailedInstances: -1
    """
    for role, entry, number in _exceeding(job, "minFailedInstances"):
        fixes = number_fix(entry.value.span, -1)
        yield Finding(entry.value.span, _never(role, number, "fail"), fixes, instances_place(role))


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED, about=("minSucceededInstances",))
def min_succeeded_exceeds_instances(job: Job) -> Iterator[Finding]:
    """`minSucceededInstances` is greater than the number of instances.

    The number is never reached, so the role alone never ends the job; the job runs until all of its tasks are done. If
    this is intended, write -1.
    Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go, CompletionPolicySpec.

        taskRoles:
          worker:
            instances: 2
            completion:
              minSucceededInstances: 3
              #                      ^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            completion:
              minSucceededInstances: 2
    """
    for role, entry, number in _exceeding(job, "minSucceededInstances"):
        fixes = number_fix(entry.value.span, role.instances, -1)
        yield Finding(entry.value.span, _never(role, number, "succeed"), fixes, instances_place(role))


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("completion",))
def completion_zero_or_null(job: Job) -> Iterator[Finding]:
    """A number of the completion policy is 0 or null.

    Both mean the default: 1 for `minFailedInstances`, all instances for `minSucceededInstances`. To mean "never", write
    -1.
    Source: rest-server, models/v2/job/k8s.js (`completion.minFailedInstances ? ... : 1`).

        taskRoles:
          worker:
            instances: 2
            completion:
              minFailedInstances: 0
              #                   ^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            completion:
              minFailedInstances: -1
    """
    for role in job.task_roles:
        for entry in role.completion_limits:
            value = entry.value.value if isinstance(entry.value, Scalar) else ""
            if isinstance(value, bool) or value not in {0, None}:
                continue
            default = "1" if entry.name == "minFailedInstances" else "all instances"
            written = "0" if value == 0 else "null"
            node = role.get("completion")
            never = "-1" if len(entry.value.span) else " -1"
            fixes = fix_of("Change to -1 (never)", TextEdit, entry.value.span, never)
            if isinstance(node, Mapping):
                fixes = all_of(fixes, fix_of("Remove it (same meaning)", remove_entry, job.text, node, entry))
            yield Finding(entry.place, f"{written} means the default, {default}; write -1 for never", fixes)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def completion_out_of_range(job: Job) -> Iterator[Finding]:
    """A number of the completion policy is below -1 or too large, or there are more than 10,000 instances.

    The rest-server accepts the job, but Kubernetes refuses the resulting framework: the job ends with exit code -1100,
    "CreateFrameworkPermanentFailed".
    Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/crd.go.

        taskRoles:
          worker:
            completion:
              minSucceededInstances: -2
              #                      ^^ error

    Good:

        taskRoles:
          worker:
            completion:
              minSucceededInstances: -1
    """
    for role in job.task_roles:
        for entry in role.completion_limits:
            number = whole_number(entry.value)
            if number is not None and number < -1:
                fixes = fix_of("Change to -1 (never)", TextEdit, entry.value.span, "-1")
                yield Finding(entry.value.span, f"'{entry.name}' must be at least 1, or -1 for never", fixes)
            elif number is not None and number > _INT_32:
                yield Finding(entry.value.span, f"'{entry.name}' must be at most {_INT_32}")
        instances = role.field("instances")
        number = whole_number(instances.value) if instances else None
        if instances is not None and number is not None and number > MOST_INSTANCES:
            yield Finding(instances.value.span, f"a task role can have at most {MOST_INSTANCES} instances")


def _exceeding(job: Job, name: str) -> Iterator[tuple[TaskRole, Entry, int]]:
    """The roles whose completion policy `name` is greater than their number of instances."""
    for role in job.task_roles:
        for entry in role.completion_limits:
            number = whole_number(entry.value) if entry.name == name and role.has_known_instances else None
            if number is not None and role.instances < number <= _INT_32:
                yield role, entry, number


def _never(role: TaskRole, number: int, what: str) -> str:
    has = f"'{role.name}' has {plural(role.instances, 'instance')}"
    return f"{has}, so {number} can never {what}; write -1 to turn this condition off"


def beyond_instances(role: TaskRole, index: int) -> tuple[str, tuple[Related, ...]] | None:
    """The message about a task index, from 0, that a role does not have, and its location; None if it may exist."""
    if index < role.instances or not role.has_known_instances:
        return None
    tasks = "one task, 0" if role.instances == 1 else f"tasks 0 to {role.instances - 1}"
    return f"'{role.name}' only has {tasks}, so this does not exist", instances_place(role)


def instances_place(role: TaskRole) -> tuple[Related, ...]:
    """The location of the role's `instances`, if any."""
    written = role.field("instances")
    return (Related(written.value.span, "the role's instances"),) if written else ()


# database-controller, src/common/framework.js, getRequestUpdate.
_STATES = ("running", "succeeded", "failed", "stopped", "retried")


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("jobStatusChangeNotification",))
def notification_unknown_key(job: Job) -> Iterator[Finding]:
    """A notification is for a state that does not exist.

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
            message = f"'{entry.name}' is not a notification state and has no effect{expected}"
            yield Finding(span, message, near_name_fixes(span, entry.name, free))


@rule(Severity.ERROR, stage=Stage.RUNTIME, is_last=True)
def task_never_starts(job: Job) -> Iterator[Finding]:
    """A task role never starts, for a reason that no other rule reports.

    The rest-server refuses the job, or the runtime fails while it prepares the task. `pai-lsp expand --as-is` shows the
    same; of a job that needs expansion, it is asked of the expanded job. Reported only if no other error says why the
    job does not start.
    Source: rest-server, src/middlewares/v2/protocol.js; openpai-runtime, src/init.d/initializer.py.
    """
    if job.root is None or job.syntax.problems:
        return
    if uses_extended_protocol(job):
        for problem in problems_of_expansion(job):
            if problem.code == "task-never-starts":
                yield Finding(problem.span, problem.message, related=problem.related)
        return
    if RUNTIME_PLUGIN not in job.text and "secrets" not in job.text:
        return  # the runtime has nothing to prepare, and other rules report what the rest-server refuses
    from pai_lsp.expansion.released_run import released_run  # noqa: PLC0415 - many jobs need none of it

    for stop in released_run(job).stops:
        span = stop.span if len(stop.span) else line_of_content(job.text)
        yield Finding(span, f"the task never starts: {stop.message}")
