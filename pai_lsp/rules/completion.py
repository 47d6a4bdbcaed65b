"""Rules about how a job ends: completion policies, retries, and roles that never finish.

A job attempt fails once `minFailedInstances` tasks of a role failed, and succeeds once `minSucceededInstances` of a
role succeeded; else when all tasks are done, whatever became of them.
Facts: rest-server, models/v2/job/k8s.js; frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go and crd.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.definition import name_span
from pai_lsp.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.edits import insert_entry, remove_entry
from pai_lsp.fixes import fix_of
from pai_lsp.job_parts import whole_number
from pai_lsp.syntax import Entry, Mapping, Scalar
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole

_LIMITS = ("minFailedInstances", "minSucceededInstances")
_MOST_INSTANCES = 10_000
# What people write for a boolean, besides YAML's own `true` and `false` (as js-yaml reads them).
_TRUE, _FALSE = frozenset({"true", "yes", "on", "y", "1"}), frozenset({"false", "no", "off", "n", "0"})


@rule(Severity.WARNING)
def task_retry_ignored(job: Job) -> Iterator[Finding]:
    """A task role asks for retries of its tasks, which a job with gang allocation does not make.

    `taskRetryCount` only counts when `extras.gangAllocation` is `false`; otherwise a failed task fails the job, and
    `jobRetryCount` says how often the whole job is tried again.
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
        fixes = (Fix("Switch gang allocation off", (edit,)),) if (edit := _gang_off(job, gang)) else ()
        message = "tasks are only retried with 'extras.gangAllocation: false'; 'jobRetryCount' retries the whole job"
        related = (Related(gang.value.span, "gang allocation is on"),) if gang else ()
        yield Finding(entry.key.span, message, fixes, related)


@rule(Severity.WARNING)
def gang_allocation_not_boolean(job: Job) -> Iterator[Finding]:
    """`gangAllocation` is neither `true` nor `false`.

    Only the boolean `false` switches gang allocation off: `"false"`, `no` and `0` leave it on. And only the boolean
    `true` counts for the checks of a cluster with HiveD.
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
    yield Finding(entry.place, "this is no boolean, so gang allocation stays on; expected true or false", fixes)


@rule(Severity.WARNING)
def min_failed_exceeds_instances(job: Job) -> Iterator[Finding]:
    """More failed tasks are needed to fail the job than the task role has.

    The role's failures then never fail the job: when all of its tasks have failed, the job has *succeeded*. Where that
    is meant, -1 says so.
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
        message = f"'{role.name}' has {_instances(role)}, so {number} can never fail; write -1 if that is meant"
        fix = Fix("Change to -1", (TextEdit(entry.value.span, "-1"),))
        yield Finding(entry.value.span, message, (fix,), _instances_related(role))


@rule(Severity.WARNING)
def min_succeeded_exceeds_instances(job: Job) -> Iterator[Finding]:
    """More succeeded tasks are needed to end the job than the task role has.

    The number is never reached, so the role alone never makes the job succeed; the job goes on until all of its tasks
    are done. Where that is meant, -1 says so.
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
        message = f"'{role.name}' has {_instances(role)}, so {number} can never succeed"
        numbers = (role.instances, -1)
        fixes = tuple(Fix(f"Change to {meant}", (TextEdit(entry.value.span, str(meant)),)) for meant in numbers)
        yield Finding(entry.value.span, message, fixes, _instances_related(role))


@rule(Severity.WARNING)
def completion_zero_or_null(job: Job) -> Iterator[Finding]:
    """A number of the completion policy is 0 or null.

    Both mean the default, not "none" and not "never": 1 for `minFailedInstances`, all instances for
    `minSucceededInstances`. "Never" is -1.
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
        for entry in _completion(role):
            if (
                not isinstance(entry.value, Scalar)
                or isinstance(entry.value.value, bool)
                or entry.value.value not in {0, None}
            ):
                continue
            default = "1" if entry.name == "minFailedInstances" else "all instances"
            written = "0" if entry.value.value == 0 else "null"
            node = role.get("completion")
            removal = remove_entry(job.text, node, entry) if isinstance(node, Mapping) else ()
            never = TextEdit(entry.value.span, "-1" if len(entry.value.span) else " -1")
            fixes = (
                Fix("Change to -1, which means never", (never,)),
                *fix_of("Remove it, which means the same", removal),
            )
            yield Finding(entry.place, f"{written} means the default here, {default}; 'never' is -1", fixes)


@rule(Severity.ERROR)
def completion_out_of_range(job: Job) -> Iterator[Finding]:
    """A number of the completion policy is below -1, or there are more than 10,000 instances.

    The rest-server takes the job, and Kubernetes refuses what is made of it: the job ends with exit code -1100,
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
        for entry in _completion(role):
            number = whole_number(entry.value)
            if number is not None and number < -1:
                fix = Fix("Change to -1, which means never", (TextEdit(entry.value.span, "-1"),))
                yield Finding(entry.value.span, f"'{entry.name}' is at least 1, or -1 for never", (fix,))
        instances = role.field("instances")
        number = whole_number(instances.value) if instances else None
        if instances is not None and number is not None and number > _MOST_INSTANCES:
            yield Finding(instances.value.span, f"a task role has at most {_MOST_INSTANCES} instances")


@rule(Severity.INFORMATION)
def first_role_ends_job(job: Job) -> Iterator[Finding]:
    """When this task role has finished, the job ends and the other roles are killed.

    Without `minSucceededInstances` a role ends the whole job as soon as all of its own tasks have succeeded, though the
    documentation says otherwise. That is right for the workers of a job whose servers wait for ever, and a surprise
    where another role still has work to do: give `minSucceededInstances: -1` to roles that must not end the job.
    Source: rest-server, models/v2/job/k8s.js (the default is `instances`); frameworkcontroller, types.go.

        taskRoles:
          prepare:
          #^^^^^^ information
            instances: 1
            commands: [python prepare.py]
          train:
            instances: 1
            completion:
              minSucceededInstances: 1
            commands: [python train.py]

    Good:

        taskRoles:
          prepare:
            instances: 1
            completion:
              minSucceededInstances: -1
            commands: [python prepare.py]
          train:
            instances: 1
            completion:
              minSucceededInstances: 1
            commands: [python train.py]
    """
    finite = [
        role
        for role in job.task_roles
        if role.node and (script := job.scripts[role]).text and not script.endless_command
    ]
    for role in finite if len(finite) > 1 else ():
        limit = next((entry for entry in _completion(role) if entry.name == "minSucceededInstances"), None)
        if limit is not None or role.node is None:
            continue
        completion = role.field("completion")
        if completion is None:
            edit = insert_entry(job.text, role.node, "completion:\n  minSucceededInstances: -1")
        elif isinstance(completion.value, Mapping) and completion.value.entries:
            edit = insert_entry(job.text, completion.value, "minSucceededInstances: -1")
        else:
            continue
        fixes = () if role.node.is_flow else (Fix("Add 'minSucceededInstances: -1'", (edit,)),)
        others = ", ".join(f"'{other.name}'" for other in finite if other is not role)
        message = f"once all of '{role.name}' has succeeded, the job ends and kills {others}"
        yield Finding(role.name_span, message, fixes)


@rule(Severity.INFORMATION)
def job_never_completes(job: Job) -> Iterator[Finding]:
    """Every task role ends up waiting for ever.

    The job then keeps its machines until somebody stops it. That may be wanted for a while of debugging.
    Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go (a job ends when its tasks do).

        taskRoles:
          worker:
            commands:
              - python train.py
              - sleep infinity
              # ^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py
    """
    waiting = [(role, job.scripts[role].endless_command) for role in job.task_roles]
    if not waiting or not all(command for _, command in waiting):
        return
    places = [
        job.command_text(role).span(command.words[0].span.start, command.words[-1].span.end)
        for role, command in waiting
        if command
    ]
    related = tuple(Related(place, "this role as well") for place in places[1:])
    yield Finding(places[0], "the job waits here for ever; it keeps its machines until it is stopped", related=related)


def _completion(role: TaskRole) -> tuple[Entry, ...]:
    """The numbers of the role's completion policy."""
    node = role.get("completion")
    return tuple(entry for name in _LIMITS if (entry := node.entry(name))) if isinstance(node, Mapping) else ()


def _exceeding(job: Job, name: str) -> Iterator[tuple[TaskRole, Entry, int]]:
    """The roles whose number of that name is more than their instances."""
    for role in job.task_roles:
        written = role.field("instances")
        if written is not None and (whole_number(written.value) or 0) < 1:
            continue
        for entry in _completion(role):
            number = whole_number(entry.value)
            if entry.name == name and number is not None and number > role.instances:
                yield role, entry, number


def _instances(role: TaskRole) -> str:
    return "1 instance" if role.instances == 1 else f"{role.instances} instances"


def _instances_related(role: TaskRole) -> tuple[Related, ...]:
    written = role.field("instances")
    return (Related(written.value.span, "the role's instances"),) if written else ()


def _gang_off(job: Job, gang: Entry | None) -> TextEdit | None:
    if gang is not None:
        return (
            TextEdit(name_span(gang.value), "false")
            if isinstance(gang.value, Scalar) and gang.value.value is True
            else None
        )
    if job.extras is not None and job.extras.entries:
        return insert_entry(job.text, job.extras, "gangAllocation: false")
    if job.root is not None and job.section("extras") is None and not job.root.is_flow:
        return insert_entry(job.text, job.root, "extras:\n  gangAllocation: false")
    return None


RULES = (
    task_retry_ignored,
    gang_allocation_not_boolean,
    min_failed_exceeds_instances,
    min_succeeded_exceeds_instances,
    completion_zero_or_null,
    completion_out_of_range,
    first_role_ends_job,
    job_never_completes,
)
