"""Rules about a task's resources: instances, cpu, memory, GPUs, shared memory and ports.

Facts: rest-server, config/v2/protocol.js and models/v2/job/k8s.js; Kubernetes' validation of a pod.
"""

from __future__ import annotations

import math
from itertools import chain

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of, number_fix
from pai_lsp.job.parts import MOST_COUNTED, whole_number
from pai_lsp.job.variable_places import RESERVED_PORTS
from pai_lsp.source.edits import line_end
from pai_lsp.source.nodes import Entry, Mapping, Scalar
from pai_lsp.source.text import Span, TextEdit, column
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

# Less is hardly enough for a shell; a smaller number is most likely meant in GB.
_PLAUSIBLE_MEMORY_MB = 64
# The platform shares 25000 port numbers among all tasks of a machine (rest-server, SCHEDULE_PORT_START and _END).
_PLAUSIBLE_PORT_COUNT = 100
_WELL_KNOWN_PORTS = {22: ("ssh", "sshd"), 80: ("http", "web"), 443: ("https",)}

_INT_32, _INT_64 = 2**31 - 1, 2**63 - 1


@rule(Severity.ERROR, stage=Stage.SERVER, former=("hived-needs-instances", "instances-required-by-hived"))
def instances_missing(job: Job) -> Iterator[Finding]:
    """A task role has no `instances`.

    The schema does not require it, but the rest-server sums up the GPUs of all instances, and the database refuses the
    sum without a number: status 500, `invalid input syntax for type integer: "NaN"`. With HiveD and gang allocation,
    OpenPAI answers "unacceptable kind of an object to dump [object Undefined]".
    Source: rest-server, models/v2/job/k8s.js (totalGpuNumber, podNumber); database-controller, sdk/index.js.

        taskRoles:
          worker:
          #^^^^^ error
            commands: [sleep 1]

    Good:

        taskRoles:
          worker:
            instances: 1
            commands: [sleep 1]
    """
    for role in job.task_roles:
        if role.node is None or not role.node.entries or role.field("instances") or role.node.entry("taskNumber"):
            continue
        message = f"'{role.name}' has no 'instances', so the server refuses the job with status 500"
        yield Finding(role.name_span, message, _instances_fix(job, role.node))


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def negative_resource(job: Job) -> Iterator[Finding]:
    """A resource request is negative.

    The rest-server accepts a negative number, but Kubernetes refuses the pod: the job ends with exit code -200,
    "PodCreationPermanentError".
    Source: rest-server, config/v2/protocol.js (no minimum); Kubernetes, validation of resource quantities.

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: -1
              #    ^^ error
              memoryMB: 1024
              gpu: 0

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 1
              memoryMB: 1024
              gpu: 0
    """
    for role in job.task_roles:
        for entry in _amounts(role):
            number = whole_number(entry.value)
            if number is not None and number < 0:
                yield Finding(entry.value.span, f"'{entry.name}' cannot be negative; Kubernetes refuses the task")


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def number_too_large(job: Job) -> Iterator[Finding]:
    """The rest-server accepts a number that Kubernetes refuses.

    `.inf` passes as an integer, and the task dies before it starts or Kubernetes refuses it. A resource request must be
    less than 2^63. A retry count must be at most 2147483647, and `taskRetryCount` at least -2, or the job ends with
    exit code -1100, "CreateFrameworkPermanentFailed". The GPUs of all tasks are at most 2147483647, or the rest-server
    refuses the job with status 500.
    Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/crd.go; Kubernetes, validation of resource quantities;
    database-controller, sdk/index.js (totalGpuNumber).

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: .inf
              #    ^^^^ error
              memoryMB: 1024
              gpu: 0

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 1
              memoryMB: 1024
              gpu: 0
    """
    retries = [] if job.has_gang_allocation else [role.field("taskRetryCount") for role in job.task_roles]
    yield from _unsuitable([job.section("jobRetryCount"), *retries], -2, _INT_32)
    # `completion_out_of_range` reports those that are finite.
    yield from _unsuitable([role.field("instances") for role in job.task_roles], -math.inf, math.inf)
    amounts = [(*_amounts(role), *role.port_labels) for role in job.task_roles]
    yield from _unsuitable(chain.from_iterable(amounts), -math.inf, _INT_64)
    yield from _too_many_gpus(job)


def _too_many_gpus(job: Job) -> Iterator[Finding]:
    """More GPUs in all than the server can count, at the role that asks for most of them."""
    gpus = [role.instances * (role.amount("gpu") or 0) for role in job.task_roles]
    total = sum(gpus)
    if total <= MOST_COUNTED:
        return
    role = job.task_roles[gpus.index(max(gpus))]
    if (role.amount("gpu") or 0) <= _INT_64:
        message = f"the job has {total} GPUs in all; the rest-server refuses more than {MOST_COUNTED} with status 500"
        yield Finding(role.requests[-1].value.span, message, consequence=Consequence.REFUSED)


def _amounts(role: TaskRole) -> tuple[Entry, ...]:
    return role.requests if role.shared_memory is None else (*role.requests, role.shared_memory)


def _unsuitable(entries: Iterable[Entry | None], least: float, most: float) -> Iterator[Finding]:
    for entry in entries:
        value = entry.value.value if entry and isinstance(entry.value, Scalar) else None
        if type(value) is int and least <= value <= most:
            continue
        if entry is None or isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            continue
        if math.isinf(value):
            yield Finding(entry.value.span, f"'{entry.name}' must be a finite number")
        elif value > most:
            yield Finding(entry.value.span, f"'{entry.name}' must be at most {most}")
        elif value < least:
            yield Finding(entry.value.span, f"'{entry.name}' must be at least {least}")


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def resource_suspicious(job: Job) -> Iterator[Finding]:
    """A task requests too little cpu or memory.

    `memoryMB` is in MiB: with 16 MiB hardly any program starts. 0 reserves nothing, so the task may run on a machine
    with no free resources.
    Source: rest-server, models/v2/job/k8s.js (limits: cpu, memory in Mi).

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 4
              memoryMB: 16
              #         ^^ warning
              gpu: 1

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 4
              memoryMB: 16384
              gpu: 1
    """
    for role in job.task_roles:
        for entry in role.requests:
            number = whole_number(entry.value)
            if number == 0 and entry.name != "gpu":
                yield Finding(entry.value.span, f"'{entry.name}: 0' reserves nothing for the task")
            elif entry.name == "memoryMB" and number is not None and 0 < number < _PLAUSIBLE_MEMORY_MB:
                message = f"'memoryMB' is in MiB; {number} MiB is too little to start a container"
                title = f"Change to {number * 1024} ({number} GB)"
                fixes = fix_of(title, TextEdit, entry.value.span, str(number * 1024))
                yield Finding(entry.value.span, message, fixes)


@rule(Severity.WARNING, stage=Stage.CLUSTER, about=("shmMB",))
def shm_exceeds_memory(job: Job) -> Iterator[Finding]:
    """The shared memory is larger than the task's memory.

    Files in /dev/shm count as memory of the container, so the task is killed (exit code -1200) before the shared memory
    is full.
    Source: rest-server, models/v2/job/k8s.js (emptyDir, medium: Memory); Kubernetes, memory-backed volumes.

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 4
              memoryMB: 8192
              gpu: 1
            extraContainerOptions:
              shmMB: 16384
              #      ^^^^^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 4
              memoryMB: 32768
              gpu: 1
            extraContainerOptions:
              shmMB: 16384
    """
    for role in job.task_roles:
        shared = role.shared_memory
        memory = next((entry for entry in role.requests if entry.name == "memoryMB"), None)
        wanted = whole_number(shared.value) if shared else None
        available = whole_number(memory.value) if memory else None
        if shared and memory and wanted is not None and available is not None and _INT_64 >= wanted > available > 0:
            message = f"{wanted} MB of shared memory exceed the task's {available} MB of memory"
            yield Finding(shared.value.span, message, related=(Related(memory.value.span, "the task's memory"),))


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("ports",))
def reserved_port_count(job: Job) -> Iterator[Finding]:
    """The number of `ssh` or `http` ports is zero.

    Every task has these two ports, one each by default, and the runtime reads the first of each: with none, the init
    container dies with an IndexError.
    Source: rest-server, models/v2/job/k8s.js; openpai-runtime, src/init.d/framework_parser.py, generate_runtime_env.

        taskRoles:
          worker:
            resourcePerInstance:
              ports:
                http: 0
                #     ^ error

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              ports:
                http: 1
    """
    for role in job.task_roles:
        for entry in role.port_labels:
            count = whole_number(entry.value)
            if entry.name in RESERVED_PORTS and count is not None and count <= 0:
                message = f"'{entry.name}' needs at least one port, or the task dies before it starts"
                yield Finding(entry.value.span, message, number_fix(entry.value.span, 1))


@rule(Severity.WARNING, stage=Stage.CLUSTER, about=("ports",))
def port_count_looks_like_number(job: Job) -> Iterator[Finding]:
    """A port count looks like a port number.

    `ports` maps a label to the number of ports; the platform chooses the port numbers, and commands read them from
    `PAI_PORT_LIST_ROLE_INDEX_LABEL`. Thousands of ports per task also collide.
    Source: rest-server, models/v2/job/k8s.js; openpai-runtime, src/init.d/framework_parser.py; openpai, issue 4696.

        taskRoles:
          worker:
            resourcePerInstance:
              ports:
                web: 8080
                #    ^^^^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              ports:
                web: 1
    """
    for role in job.task_roles:
        for entry in role.port_labels:
            count = whole_number(entry.value)
            is_many = count is not None and _PLAUSIBLE_PORT_COUNT < count <= _INT_64
            if count is None or not (is_many or entry.name in _WELL_KNOWN_PORTS.get(count, ())):
                continue
            message = f"this requests {count} ports; the platform chooses the port numbers"
            yield Finding(entry.value.span, message, number_fix(entry.value.span, 1))


@later
def _instances_fix(job: Job, node: Mapping) -> Fixes:
    """Write `instances: 1` before the role's first key."""
    at = node.entries[0].key.span.start
    separator = ", " if node.is_flow else line_end(job.text) + " " * column(job.text, at)
    return fix_of("Add 'instances: 1'", TextEdit, Span(at, at), f"instances: 1{separator}", safe=True)
