"""Rules about the hosts of an MPI program and their slots.

Facts: openpai-runtime, src/plugins/ssh/sshd.sh; Open MPI, mpirun(1); Horovod, docs/running.rst.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.findings.fixes import choice_fixes, number_fix
from pai_lsp.job.parts import whole_number
from pai_lsp.platform.launchers import HOROVOD, hosts_of
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.mpi_launches import launches, launches_on_hosts, role_and_index, slots_of
from pai_lsp.rules.resources.job_lifecycle import beyond_instances
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR)
def mpi_unknown_host(job: Job) -> Iterator[Finding]:
    """Unknown host of an MPI program.

    The hosts of a job are named `ROLE-INDEX`, with the role's name in lower case and without `_`. ssh knows no other
    name, so the launcher fails. Only names next to hosts of the job, or similar to one of them, are reported.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh.

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H wroker-0,worker-1 --allow-run-as-root hostname
              #                 ^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
    """
    names = tuple(converted_role_name(role.name) for role in job.task_roles)
    for launch in launches_on_hosts(job):
        for host in launch.hosts:
            parts = role_and_index(host)
            if parts is None or parts[0] in names:
                continue
            written, index = parts
            converted = converted_role_name(written)
            near = (converted,) if converted in names else nearest(written, names)
            if not near and not launch.reached_roles:
                continue
            span = launch.span(host.span)
            fixes = choice_fixes(span, (f"{name}-{index}" for name in near))
            if converted in names:
                message = f"the host is named '{converted}-{index}', in lower case and without '_'; the launcher fails"
            else:
                message = f"no task role is named '{written}', so the launcher fails{did_you_mean(written, names)}"
            yield Finding(span, message, fixes)


@rule(Severity.ERROR)
def mpi_host_index_out_of_range(job: Job) -> Iterator[Finding]:
    """Host index out of range in an MPI program.

    Task indices are 0 to `instances` - 1. ssh knows no other host, so the launcher fails.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh.

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-1,worker-2 --allow-run-as-root hostname
              #                          ^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
    """
    for launch in launches_on_hosts(job):
        for host in launch.hosts:
            role, parts = launch.role_of(host), role_and_index(host)
            fault = beyond_instances(role, parts[1]) if role and parts else None
            if fault is not None:
                message, related = fault
                yield Finding(launch.span(host.span), message, related=related)


@rule(Severity.WARNING)
def mpi_slots_mismatch(job: Job) -> Iterator[Finding]:
    """More MPI processes than slots.

    A host without `:N` has one slot. The launcher fails: "There are not enough slots available in the system".
    Source: Open MPI, mpirun(1), "Specifying Host Nodes"; Horovod, docs/running.rst.

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 8 -H worker-0:2,worker-1:2 --allow-run-as-root hostname
              #            ^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 8 -H worker-0:4,worker-1:4 --allow-run-as-root hostname
    """
    for launch in launches_on_hosts(job):
        processes, span = launch.line.processes, launch.count_span
        if processes is None or span is None or processes <= launch.slots or launch.line.oversubscribes:
            continue
        if any(host.slots is not None for host in launch.hosts) and not launch.is_hydra:
            fixes = (number_fix(span, launch.slots),) if launch.line.arguments.programs == 1 else ()
            message = f"{processes} processes exceed the {launch.slots} slots of these hosts, so the launcher fails"
            related = Related(launch.span(launch.hosts[0].span), "the hosts")
            yield Finding(span, message, fixes, (related,))


@rule(Severity.INFORMATION)
def mpi_unused_slots(job: Job) -> Iterator[Finding]:
    """Fewer MPI processes than slots.

    The remaining slots, and their GPUs, are not used.
    Source: Open MPI, mpirun(1), "Specifying Number of Processes".

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 4 -H worker-0:4,worker-1:4 --allow-run-as-root hostname
              #            ^ information

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 8 -H worker-0:4,worker-1:4 --allow-run-as-root hostname
    """
    for launch in launches_on_hosts(job):
        processes, span = launch.line.processes, launch.count_span
        if processes is None or span is None or processes >= launch.slots:
            continue
        if launch.reached_roles and all(host.slots is not None for host in launch.hosts):
            message = f"{launch.slots - processes} of the {launch.slots} slots of these hosts are not used"
            yield Finding(span, message)


@rule(Severity.WARNING)
def mpi_slots_exceed_gpu(job: Job) -> Iterator[Finding]:
    """More MPI slots than GPUs.

    With one process per slot, several processes share a GPU, or the program fails because it finds none.
    Source: Horovod, docs/running.rst ("the number of GPUs on each server").

        taskRoles:
          worker:
            instances: 2
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - mpirun -np 8 -H worker-0:4,worker-1:4 --allow-run-as-root python train.py
              #                          ^ warning
              #                                     ^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 4}
            commands:
              - mpirun -np 8 -H worker-0:4,worker-1:4 --allow-run-as-root python train.py
    """
    for launch in launches_on_hosts(job):
        for host in launch.hosts:
            role = launch.role_of(host)
            entry = role.resources.entry("gpu") if role and role.resources else None
            number = whole_number(entry.value) if entry else None
            if role is None or entry is None or number is None or not 0 < number < slots_of(host):
                continue
            gpus = "1 GPU" if number == 1 else f"{number} GPUs"
            related = (Related(entry.value.span, "the role's GPUs"),)
            yield Finding(
                launch.span(host.slots_span),
                f"more slots than GPUs: a task of '{role.name}' has {gpus}",
                related=related,
            )


@rule(Severity.WARNING)
def mpi_too_many_processes(job: Job) -> Iterator[Finding]:
    """More MPI processes than slots on this task.

    Without a list of hosts there are as many slots as processors: "There are not enough slots available".
    Source: Open MPI, mpirun(1), `--oversubscribe`.

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 8, memoryMB: 8192, gpu: 0}
            commands:
              - mpirun --allow-run-as-root -np 64 python train.py
              #                            ^^^^^^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 8, memoryMB: 8192, gpu: 0}
            commands:
              - mpirun --allow-run-as-root -np 8 python train.py
    """
    for launch in launches(job):
        arguments, count, processes = launch.line.arguments, launch.count, launch.line.processes
        if launch.line.implementation == HOROVOD or launch.line.host_lists or launch.line.host_files:
            continue
        if count is None or processes is None or launch.line.oversubscribes or launch.is_hydra:
            continue
        if arguments.has("-use-hwthread-cpus"):
            continue
        cpu, gpu = launch.role.amount("cpu"), launch.role.amount("gpu")
        if cpu is not None and processes > max(cpu, gpu or 0):
            message = f"{processes} processes, but the task has {cpu} processors"
            yield Finding(launch.span(Span(count.span.start, count.end)), message)


@rule(Severity.WARNING)
def mpi_foreign_host(job: Job) -> Iterator[Finding]:
    """Host that is not a task of the job.

    Tasks reach each other as `ROLE-INDEX`, with the ssh plugin. ssh does not know other names: the launcher stops.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh; rest-server, models/v2/job/k8s.js.

        taskRoles:
          worker:
            commands:
              - mpirun --allow-run-as-root -np 2 -H node1,node2 python train.py
              #                                     ^^^^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0,worker-1 python train.py
    """
    task = f"{converted_role_name(job.task_roles[0].name)}-0" if job.task_roles else "worker-0"
    for launch in launches(job):
        text = launch.use.place.script.text
        if "/etc/hosts" in text or "ssh_config" in text:
            continue
        for option in launch.line.host_lists:
            first = next(iter(hosts_of(option, text) or ()), None)
            if first and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", first.name) and first.name != "localhost":
                message = f"no task is reached as '{first.name}'; tasks are 'ROLE-INDEX', such as '{task}'"
                yield Finding(launch.span(first.span), message)


RULES = (
    mpi_unknown_host,
    mpi_host_index_out_of_range,
    mpi_slots_mismatch,
    mpi_unused_slots,
    mpi_slots_exceed_gpu,
    mpi_too_many_processes,
    mpi_foreign_host,
)
