"""Rules about when a job ends, or never ends.

Facts: rest-server, models/v2/job/k8s.js; frameworkcontroller, pkg/apis/frameworkcontroller/v1/types.go.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.source.nodes import Mapping, entry_at
from pai_lsp.source.tree_edits import insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.text import Span

# How many other task roles a message names.
_MOST_NAMED = 5


@rule(Severity.INFORMATION)
def first_role_ends_job(job: Job) -> Iterator[Finding]:
    """The completion of a task role ends the job and stops the other roles.

    Without `minSucceededInstances`, a role ends the whole job as soon as all of its own tasks have succeeded, contrary
    to the documentation. That is right for the workers of a job whose servers never end, but not if another role still
    has work to do: set `minSucceededInstances: -1` in roles that must not end the job.
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
    scripts = [(role, job.scripts[role]) for role in job.task_roles]
    finite = [role for role, script in scripts if not script.is_empty and not script.endless_command]
    for role in finite if len(finite) > 1 else ():
        policy = role.get("completion")
        if role.node is None or entry_at(policy, "minSucceededInstances"):
            continue
        if policy is not None and not (isinstance(policy, Mapping) and policy.entries):
            continue
        limit: dict[str, object] = {"minSucceededInstances": -1}
        place, value = (role.node, {"completion": limit}) if policy is None else (policy, limit)
        fixes = fix_of("Add 'minSucceededInstances: -1'", insert_values, job.text, place, value)
        named = [f"'{other.name}'" for other in finite[: _MOST_NAMED + 1] if other is not role][:_MOST_NAMED]
        more = len(finite) - 1 - len(named)
        others = ", ".join(named) + (f" and {more} more task roles" if more else "")
        message = f"the job ends and kills {others} as soon as all tasks of '{role.name}' have succeeded"
        yield Finding(role.name_span, message, () if role.node.is_flow else fixes)


@rule(Severity.INFORMATION)
def job_never_completes(job: Job) -> Iterator[Finding]:
    """The job never ends.

    Every task role waits forever at its end, so the job occupies its machines until someone stops it. This can be
    intended for debugging.
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
    places: list[Span] = []
    for role in job.task_roles:
        if (command := job.scripts[role].endless_command) is None:
            return
        places.append(job.command_text(role).span(command.words[0].span.start, command.words[-1].span.end))
    for place in places[:1]:
        related = tuple(Related(other, "this task role also waits forever") for other in places[1:])
        message = "the job waits forever here and occupies its machines until it is stopped"
        yield Finding(place, message, related=related)
