"""Rules about the list of hosts that an MPI program is started on, and the slots that they have for it.

Facts: openpai-runtime, src/plugins/ssh/sshd.sh; Open MPI, mpirun(1); Horovod, docs/running.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Related, Severity, rule
from pai_lsp.fixes import choice_fixes, number_fix
from pai_lsp.job_parts import whole_number
from pai_lsp.platform import converted_role_name
from pai_lsp.rules.instances import beyond_instances
from pai_lsp.rules.mpi_launches import Launch, launches
from pai_lsp.spelling import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job


@rule(Severity.ERROR)
def mpi_unknown_host(job: Job) -> Iterator[Finding]:
    """A host in the list for an MPI program belongs to no task role.

    The tasks of a job know each other as `ROLE-INDEX`, with the role's name in lower case and without `_`. No other
    name is known to ssh, so that the launcher fails. Only names are reported that stand among hosts of the job, or that
    look like one of them.
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
    for launch in launches(job):
        for host in launch.hosts:
            if host.parts is None or host.parts[0] in names:
                continue
            written, index = host.parts
            converted = converted_role_name(written)
            near = (converted,) if converted in names else nearest(written, names)
            if not near and not launch.reached_roles:
                continue
            span = launch.span(host.span)
            fixes = choice_fixes(span, (f"{name}-{index}" for name in near))
            if converted in names:
                message = f"the host is called '{converted}-{index}': lower case, and without '_'"
            else:
                message = f"no task role is called '{written}'{did_you_mean(written, names)}"
            yield Finding(span, message, fixes)


@rule(Severity.ERROR)
def mpi_host_index_out_of_range(job: Job) -> Iterator[Finding]:
    """A host in the list for an MPI program is a task that its role does not have.

    Tasks count from 0 to `instances` - 1; ssh knows no other host, so that the launcher fails.
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
    for launch in launches(job):
        for host in launch.hosts:
            role = launch.role_of(host)
            fault = beyond_instances(role, host.parts[1]) if role and host.parts else None
            if fault is not None:
                message, related = fault
                yield Finding(launch.span(host.span), message, related=related)


@rule(Severity.WARNING)
def mpi_slots_mismatch(job: Job) -> Iterator[Finding]:
    """An MPI program asks for more processes than its hosts have slots.

    A host without `:N` has one slot. The launcher refuses: "There are not enough slots available in the system".
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
    for launch in launches(job):
        processes = launch.processes
        if processes is None or launch.count is None or processes <= launch.slots or _may_oversubscribe(launch):
            continue
        if any(host.has_slots for host in launch.hosts):
            fix = number_fix(launch.span(launch.count.span), launch.slots)
            message = f"{processes} processes do not fit into the {launch.slots} slots of these hosts"
            related = Related(launch.span(launch.hosts[0].span), "the hosts")
            yield Finding(launch.span(launch.count.span), message, (fix,), (related,))


@rule(Severity.INFORMATION)
def mpi_unused_slots(job: Job) -> Iterator[Finding]:
    """An MPI program asks for fewer processes than its hosts have slots.

    The rest of the slots, and the GPUs they stand for, are not used.
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
    for launch in launches(job):
        processes = launch.processes
        if processes is None or launch.count is None or processes >= launch.slots:
            continue
        if launch.reached_roles and all(host.has_slots for host in launch.hosts):
            message = f"{launch.slots - processes} of the {launch.slots} slots of these hosts stay unused"
            yield Finding(launch.span(launch.count.span), message)


@rule(Severity.WARNING)
def mpi_slots_exceed_gpu(job: Job) -> Iterator[Finding]:
    """A host has more slots than its task has GPUs.

    With one process per slot, several share a GPU, or the program fails for want of one.
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
    for launch in launches(job):
        for host in launch.hosts:
            role = launch.role_of(host)
            entry = role.resources.entry("gpu") if role and role.resources else None
            number = whole_number(entry.value) if entry else None
            if role is None or entry is None or number is None or not 0 < number < host.slots:
                continue
            gpus = "1 GPU" if number == 1 else f"{number} GPUs"
            related = (Related(entry.value.span, "the role's GPUs"),)
            yield Finding(launch.span(host.slots_span), f"a task of '{role.name}' has {gpus}", related=related)


def _may_oversubscribe(launch: Launch) -> bool:
    return any("oversubscribe" in option.lower() for option in launch.options)


RULES = (mpi_unknown_host, mpi_host_index_out_of_range, mpi_slots_mismatch, mpi_unused_slots, mpi_slots_exceed_gpu)
