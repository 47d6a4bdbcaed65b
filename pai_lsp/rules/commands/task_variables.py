"""Rules about the variables of task roles, tasks and ports: the one in the name must exist.

The commands of a task role run with `set -o nounset`: a variable that does not exist ends the task with exit code 1,
"unbound variable". A variable with a default (`${X:-}`), or one that the commands set themselves, is never reported.
Facts: schemas/environment.json; openpai-runtime, src/init.d/framework_parser.py; rest-server, runtime-env.js.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import change_fix
from pai_lsp.job.variable_places import Mention, declared_ports
from pai_lsp.rules.resources.job_lifecycle import beyond_instances
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.tree_edits import insert_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


@rule(Severity.ERROR)
def undeclared_port(job: Job) -> Iterator[Finding]:
    """Undeclared port in a variable.

    A role has the ports that it declares under `resourcePerInstance.ports`, and always `ssh` and `http`. Variables for
    other labels do not exist: the task ends there with "unbound variable".
    Source: openpai-runtime, src/init.d/framework_parser.py, generate_runtime_env; openpai, issue 4339.

        taskRoles:
          worker:
            instances: 1
            resourcePerInstance:
              ports:
                web: 1
            commands:
              - python serve.py --port $PAI_PORT_LIST_worker_0_wbe
              #                         ^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 1
            resourcePerInstance:
              ports:
                web: 1
            commands:
              - python serve.py --port $PAI_PORT_LIST_worker_0_web
    """
    for mention in _fatal_mentions(job):
        label = mention.parts.get("label")
        role = mention.named_role if "role" in mention.parts else mention.place.role
        labels = declared_ports(role) if role else None
        if label is None or role is None or labels is None or label in labels:
            continue
        related = (Related(role.name_span, "the task role"),)
        fixes = tuple(_rename(mention, label=near) for near in nearest(label, labels))
        message = f"'{role.name}' has no port '{label}', so this variable is not set{did_you_mean(label, labels)}"
        yield Finding(mention.span, message, fixes + _declare_port(job, role, label), related)


@rule(Severity.ERROR)
def env_unknown_role(job: Job) -> Iterator[Finding]:
    """Unknown task role in a variable.

    The variable does not exist: the task ends there with "unbound variable".
    Source: openpai-runtime, src/init.d/framework_parser.py; rest-server, models/v2/job/runtime-env.js.

        taskRoles:
          worker:
            commands:
              - ping -c 1 $PAI_HOST_IP_wroker_0
              #            ^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
    """
    for mention in _fatal_mentions(job):
        variable, spelt = mention.variable, mention.parts.get("role")
        if variable is None or spelt is None or mention.named_role is not None or mention.right_role_name is not None:
            continue
        names = tuple(mention.place.spellings.of(variable))
        fixes = tuple(_rename(mention, role=near) for near in nearest(spelt, names))
        yield Finding(
            mention.span,
            f"no task role is named '{spelt}', so this variable is not set{did_you_mean(spelt, names)}",
            fixes,
        )


@rule(Severity.ERROR)
def env_role_spelling(job: Job) -> Iterator[Finding]:
    """Wrong spelling of a task role in a variable.

    Variables from the runtime (`PAI_HOST_IP_`, `PAI_PORT_LIST_`, ...) contain the role's name in lower case and without
    `_`; those from the rest-server (`PAI_TASK_ROLE_TASK_COUNT_`, `PAI_RESOURCE_`, ...) contain it as it is written in
    the job. With the other spelling, the task ends there with "unbound variable".
    Source: rest-server, utils/name.js, convertName, and models/v2/job/runtime-env.js; framework_parser.py.

        taskRoles:
          ps_server:
            commands:
              - ping -c 1 $PAI_HOST_IP_ps_server_0
              #            ^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          ps_server:
            commands:
              - ping -c 1 $PAI_HOST_IP_psserver_0
    """
    for mention in _fatal_mentions(job):
        right = mention.right_role_name if mention.named_role is None else None
        if right is not None:
            fix = _rename(mention, safe=True, role=right)
            new = fix.edits[0].new_text
            yield Finding(
                mention.span, f"this variable is not set; here the task role is spelled '{right}': '{new}'", (fix,)
            )


@rule(Severity.ERROR)
def env_index_out_of_range(job: Job) -> Iterator[Finding]:
    """Task index out of range in a variable.

    Task indices are 0 to `instances` - 1. Other variables do not exist: the task ends there with "unbound variable".
    Source: openpai-runtime, src/init.d/framework_parser.py.

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_2
              #            ^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_1
    """
    for mention in _fatal_mentions(job):
        role, index = mention.named_role, mention.parts.get("index")
        fault = beyond_instances(role, int(index)) if role and index is not None else None
        if fault is not None:
            message, related = fault
            yield Finding(mention.span, message, related=related)


@rule(Severity.WARNING, about=("gangAllocation",))
def host_ip_without_gang(job: Job) -> Iterator[Finding]:
    """Address of another task in a job without gang allocation.

    With `gangAllocation: false` a task starts without waiting for the others. Addresses that are not yet known are not
    set: the task ends with "unbound variable", and lists of hosts are incomplete.
    Source: openpai-runtime, src/init.d/framework_parser.py ("current ip maybe None for non-gang-allocation").

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
              #            ^^^^^^^^^^^^^^^^^^^^ warning
        extras:
          gangAllocation: false

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
    """
    gang = job.extras_entry("gangAllocation")
    if gang is None or job.has_gang_allocation:
        return
    for mention in job.role_mentions:
        is_list = mention.name.endswith("_HOST_LIST") and mention.name.startswith("PAI_TASK_ROLE_")
        role = mention.named_role
        if role is None or not (is_list or mention.name.startswith("PAI_HOST_IP_")):
            continue
        if role is mention.place.role and role.instances == 1:
            continue
        missing = (
            "this list does not contain tasks that have not started"
            if is_list
            else "this is not set until that task has started"
        )
        related = (Related(gang.value.span, "tasks do not wait for each other"),)
        yield Finding(mention.span, f"without gang allocation {missing}", related=related)


def _fatal_mentions(job: Job) -> Iterator[Mention]:
    """The mentions in scripts that surely stop at an unset variable."""
    return (mention for mention in job.role_mentions if not mention.place.script.allows_unset)


def _rename(mention: Mention, *, safe: bool = False, **changes: str) -> Fix:
    """Write the same variable of another role, or of another port."""
    name = mention.variable.name if mention.variable else mention.name
    for part, value in (mention.parts | changes).items():
        name = name.replace(f"{{{part}}}", value)
    return change_fix(mention.span, name, safe=safe)


def _declare_port(job: Job, role: TaskRole, label: str) -> tuple[Fix, ...]:
    resources = role.resources
    if resources is None or not resources.entries:
        return ()
    ports = resources.get("ports")
    if isinstance(ports, Mapping) and ports.entries:
        edit = insert_values(job.text, ports, {label: 1})
    elif ports is None:
        edit = insert_values(job.text, resources, {"ports": {label: 1}})
    else:
        return ()
    return (Fix(f"Declare the port '{label}'", (edit,)),)


RULES = (undeclared_port, env_unknown_role, env_role_spelling, env_index_out_of_range, host_ip_without_gang)
