"""Rules about completion policies: how many failed or succeeded tasks of a role end the job.

A job attempt fails once `minFailedInstances` tasks of a role failed, and succeeds once `minSucceededInstances` of a
role succeeded; else when all tasks are done, whatever became of them.
Facts: rest-server, models/v2/job/k8s.js; frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go and crd.go.

What the rules that count a task role's tasks have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import fix_of, number_fix
from pai_lsp.job.parts import whole_number
from pai_lsp.source.edits import remove_entry
from pai_lsp.source.nodes import Entry, Mapping, Scalar
from pai_lsp.source.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


_LIMITS = ("minFailedInstances", "minSucceededInstances")
_MOST_INSTANCES = 10_000


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
        fix = number_fix(entry.value.span, -1)
        yield Finding(entry.value.span, message, (fix,), instances_place(role))


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
        fixes = (number_fix(entry.value.span, role.instances), number_fix(entry.value.span, -1))
        yield Finding(entry.value.span, message, fixes, instances_place(role))


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


def _completion(role: TaskRole) -> tuple[Entry, ...]:
    """The numbers of the role's completion policy."""
    node = role.get("completion")
    return tuple(entry for name in _LIMITS if (entry := node.entry(name))) if isinstance(node, Mapping) else ()


def _exceeding(job: Job, name: str) -> Iterator[tuple[TaskRole, Entry, int]]:
    """The roles whose number of that name is more than their instances."""
    for role in job.task_roles:
        for entry in _completion(role) if role.has_known_instances else ():
            number = whole_number(entry.value)
            if entry.name == name and number is not None and number > role.instances:
                yield role, entry, number


def _instances(role: TaskRole) -> str:
    return "1 instance" if role.instances == 1 else f"{role.instances} instances"


def beyond_instances(role: TaskRole, index: int) -> tuple[str, tuple[Related, ...]] | None:
    """The message about a task that a role does not have, counted from 0, and its place; None if it may have it."""
    if index < role.instances or not role.has_known_instances:
        return None
    tasks = "one task, 0" if role.instances == 1 else f"tasks 0 to {role.instances - 1}"
    return f"'{role.name}' has only {tasks}", instances_place(role)


def instances_place(role: TaskRole) -> tuple[Related, ...]:
    """Where the role says how many tasks it has, if it does."""
    written = role.field("instances")
    return (Related(written.value.span, "the role's instances"),) if written else ()


RULES = (
    min_failed_exceeds_instances,
    min_succeeded_exceeds_instances,
    completion_zero_or_null,
    completion_out_of_range,
)
