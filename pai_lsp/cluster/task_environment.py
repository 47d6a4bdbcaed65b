"""The environment variables of a task before it has a node: the values that the job decides, and kinds of the others.

For editors, too: a value that the text does not decide, because a part is missing or wrong, is left out.
Sources: rest-server, models/v2/job/runtime-env.js; openpai-runtime, src/init.d/framework_parser.py;
frameworkcontroller, constants.go.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pai_lsp.cluster.job_stage import virtual_cluster_for_rights
from pai_lsp.job.variable_places import RESERVED_PORTS
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.scalar import server_text

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

# Of more tasks, the list of all of them is not made for an editor.
_MOST_TASKS = 200
# Variables that the controller sets, besides those whose values are known (frameworkcontroller, constants.go).
_CONTROLLER = (
    "FC_CONFIGMAP_NAME", "FC_POD_NAME", "FC_FRAMEWORK_UID", "FC_FRAMEWORK_ATTEMPT_ID",
    "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", "FC_CONFIGMAP_UID", "FC_TASKROLE_UID", "FC_TASK_UID", "FC_TASK_ATTEMPT_ID",
    "FC_TASK_ATTEMPT_INSTANCE_UID", "FC_POD_UID",
)  # fmt: skip


def port_counts(role: TaskRole) -> dict[str, int]:
    """How many ports each task of a role gets, by label."""
    found = {label.name: getattr(label.value, "value", 0) for label in role.port_labels}
    counts = {name: count if isinstance(count, int) else 0 for name, count in found.items()}
    return counts | {name: 1 for name in RESERVED_PORTS if name not in counts}


def task_environment(job: Job, role: TaskRole, index: int, user: str) -> tuple[dict[str, str], dict[str, str]]:
    """The variables of a task of a job that the rest-server accepts: known values, and kinds of the others.

    The kinds are those of `TaskPlan.later`.
    """
    known = known_environment(job, role, index, user)
    later = dict.fromkeys(_CONTROLLER, "controller") | {"PAI_WORK_DIR": "working-directory-of-image"}
    ports: dict[str, int] = {}
    for other in job.task_roles:
        name = converted_role_name(other.name)
        for number in range(other.instances):
            for label, count in port_counts(other).items():
                ports[f"PAI_PORT_LIST_{name}_{number}_{label}"] = count
                ports[f"PAI_{name}_{number}_{label}_PORT"] = count
            if job.has_gang_allocation:
                later[f"PAI_HOST_IP_{name}_{number}"] = "host-address"
    lists = [f"PAI_TASK_ROLE_{converted_role_name(other.name)}_HOST_LIST" for other in job.task_roles]
    own = ("PAI_CURRENT_CONTAINER_IP", "PAI_CONTAINER_HOST_IP")
    if job.has_gang_allocation:
        later |= dict.fromkeys(lists, "addresses-and-http-ports") | dict.fromkeys(own, "host-address")
    else:
        known |= dict.fromkeys(lists, "") | dict.fromkeys(own, "None")
    known["PAI_TASK_ROLE_INSTANCES"] = _instances(job)
    for label, count in port_counts(role).items():
        ports[f"PAI_CONTAINER_HOST_{label}_PORT_LIST"] = count
    kinds = {name: "port" if count == 1 else f"ports:{count}" if count > 0 else "" for name, count in ports.items()}
    later |= {variable: kind for variable, kind in kinds.items() if kind}
    known |= {variable: "" for variable, kind in kinds.items() if not kind}
    own_ports = ("PAI_CURRENT_CONTAINER_PORT", "PAI_CONTAINER_HOST_PORT", "PAI_CONTAINER_SSH_PORT")
    later |= dict.fromkeys(own_ports, "port") | {"PAI_CONTAINER_HOST_PORT_LIST": "labels-and-ports"}
    return known, later


def known_environment(
    job: Job, role: TaskRole | None, index: int | None = None, user: str | None = None
) -> dict[str, str]:
    """The variables whose values the job decides, apart from those that say that something is not known.

    role: of the task; None where it is not one role's. index: of the task; None for any of its tasks.
    user: the user's name; None if it is not known, and is then written as `<user>` where it is a part of a value.
    """
    plain = job.plain if isinstance(job.plain, dict) else {}
    roles = ",".join(one.name for one in job.task_roles)
    count, tasks = str(len(job.task_roles)), sum(one.instances for one in job.task_roles)
    framework = f"{user or '<user>'}~{server_text(plain.get('name'))}"
    found = {
        **dict.fromkeys(("PAI_JOB_NAME", "PAI_FRAMEWORK_NAME"), framework),
        "PAI_VIRTUAL_CLUSTER": server_text(virtual_cluster_for_rights(plain)),
        "PAI_DEFAULT_FS_URI": "",
        **dict.fromkeys(("PAI_TASK_ROLE_COUNT", "PAI_TASK_ROLES_NUM", "PAI_JOB_TASK_ROLE_COUNT"), count),
        **dict.fromkeys(("PAI_TASK_ROLE_LIST", "PAI_JOB_TASK_ROLE_LIST"), roles),
        **dict.fromkeys(("PAI_TASKS_NUM", "PAI_JOB_TASK_COUNT"), str(tasks)),
        "FC_FRAMEWORK_NAMESPACE": "default",
    }
    if tasks <= _MOST_TASKS:
        found["PAI_TASK_ROLE_INSTANCES"] = _instances(job)
    if user is not None:
        found |= {"PAI_USER_NAME": user, "PAI_USERNAME": user}
        found["FC_FRAMEWORK_NAME"] = hashlib.md5(framework.encode("utf-8")).hexdigest()  # noqa: S324 - the platform's own
    if role is not None:
        found |= {"PAI_CURRENT_TASK_ROLE_NAME": role.name, "FC_TASKROLE_NAME": converted_role_name(role.name)}
        if index is not None or role.instances == 1:
            names = ("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "PAI_TASK_INDEX", "FC_TASK_INDEX")
            found |= dict.fromkeys(names, str(index or 0))
    for one in job.task_roles:
        found |= _of_role(one, _values_of(plain, one))
    if role is not None and as_mapping(_values_of(plain, role).get("resourcePerInstance")).get("gpu") == 0:
        found["NVIDIA_VISIBLE_DEVICES"] = "none"
    return found


def _of_role(role: TaskRole, values: dict[str, Any]) -> dict[str, str]:
    """What every task knows about a role."""
    resources, completion = as_mapping(values.get("resourcePerInstance")), as_mapping(values.get("completion"))
    memory = as_mapping(values.get("extraContainerOptions")).get("shmMB") or 0
    numbers = (resources.get("gpu", 0), resources.get("cpu", "?"), resources.get("memoryMB", "?"), memory)
    least_failed = completion.get("minFailedInstances") or 1
    least_succeeded = completion.get("minSucceededInstances") or role.instances
    found = {
        f"PAI_TASK_ROLE_TASK_COUNT_{role.name}": str(role.instances),
        f"PAI_MIN_FAILED_TASK_COUNT_{role.name}": server_text(least_failed),
        f"PAI_MIN_SUCCEEDED_TASK_COUNT_{role.name}": server_text(least_succeeded),
    }
    return found | ({f"PAI_RESOURCE_{role.name}": ",".join(map(server_text, numbers))} if resources else {})


def _instances(job: Job) -> str:
    """All tasks, in the runtime's spelling."""
    return ",".join(
        f"{converted_role_name(role.name)}:{number}" for role in job.task_roles for number in range(role.instances)
    )


def _values_of(plain: dict[str, Any], role: TaskRole) -> dict[str, Any]:
    return as_mapping(as_mapping(plain.get("taskRoles")).get(role.name))
