"""Rules about the hosts of an MPI program and their slots.

Facts: openpai-runtime, src/plugins/ssh/sshd.sh; Open MPI, mpirun(1); Horovod, docs/running.rst.
"""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Finding, Related, RuleStatus, Severity, rule
from pai_lsp.findings.fixes import choice_fixes, number_fix
from pai_lsp.job.parts import whole_number
from pai_lsp.platform.programs import HOROVOD, OPERATOR_HOST_FILE
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import insert_fix
from pai_lsp.rules.commands.mpi import (
    MPI,
    Launch,
    launches,
    launches_on_hosts,
    only_waits,
    role_and_index,
)
from pai_lsp.rules.resources.job_lifecycle import beyond_instances
from pai_lsp.source.spelling import did_you_mean, nearest, plural
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR, about=(MPI,), former=("mpi-foreign-host",))
def mpi_unknown_host(job: Job) -> Iterator[Finding]:
    """An MPI program names a host that does not exist.

    The hosts of a job are named `ROLE-INDEX`, with the role's name in lower case and without `_`. ssh knows no other
    name, so the launcher fails. Addresses and names with a domain are not checked, nor are jobs that write
    `/etc/hosts` or the configuration of ssh.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh; rest-server, models/v2/job/k8s.js.

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
    example = f"{names[0]}-0" if names else "worker-0"
    for launch in launches_on_hosts(job):
        foreign = False
        for host in launch.hosts:
            parts = role_and_index(host)
            if parts is not None and parts[0] in names:
                continue
            written, index = parts or (host.name, "0")
            converted = converted_role_name(written)
            near = (converted,) if converted in names else nearest(written, names)
            span = launch.use.span(host.span)
            fixes = choice_fixes(span, (f"{name}-{index}" for name in near if parts))
            if parts and converted in names:
                message = f"the host is named '{converted}-{index}', in lower case and without '_'; the launcher fails"
            elif parts and (near or launch.reached_roles):
                message = f"no task role is named '{written}', so the launcher fails{did_you_mean(written, names)}"
            elif foreign or not _is_short_name(host.name) or _resolves_names(launch):
                continue
            else:
                foreign = True  # the others of the list are likely of the same kind
                message = f"no task has the host name '{host.name}'; the names are 'ROLE-INDEX', such as '{example}'"
            yield Finding(span, message, fixes)


def _is_short_name(name: str) -> bool:
    """Whether a host is written without a domain and is not an address."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) is not None and name != "localhost"


def _resolves_names(launch: Launch) -> bool:
    """Whether the commands may teach ssh other names."""
    signs = ("/etc/hosts", "ssh_config", ".ssh/config", "sshConfig", "HOSTALIASES")
    return any(map(launch.use.place.mentions, signs))


@rule(Severity.ERROR, about=(MPI,))
def mpi_host_index_out_of_range(job: Job) -> Iterator[Finding]:
    """An MPI program names a host with an index that is out of range.

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
                yield Finding(launch.use.span(host.span), message, related=related)


@rule(Severity.WARNING, about=(MPI,))
def mpi_slots_mismatch(job: Job) -> Iterator[Finding]:
    """There are more MPI processes than slots.

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
        is_refused = launch.line.implementation == HOROVOD and any(host.slots is None for host in launch.hosts)
        if not launch.is_hydra and not is_refused:
            fixes = number_fix(span, launch.slots) if launch.line.arguments.programs == 1 else ()
            message = f"{processes} processes exceed the {launch.slots} slots of these hosts, so the launcher fails"
            yield Finding(span, message, fixes, (Related(launch.use.span(launch.hosts[0].span), "the hosts"),))


@rule(Severity.INFORMATION, about=(MPI,), status=RuleStatus.PREVIEW)
def mpi_unused_slots(job: Job) -> Iterator[Finding]:
    """There are fewer MPI processes than slots.

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


@rule(Severity.WARNING, about=(MPI,))
def mpi_slots_exceed_gpu(job: Job) -> Iterator[Finding]:
    """There are more MPI slots than GPUs.

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
            if role is None or entry is None or number is None or not 0 < number < (host.slots or 1):
                continue
            message = f"more slots than GPUs: a task of '{role.name}' has {plural(number, 'GPU')}"
            related = (Related(entry.value.span, "the role's GPUs"),)
            yield Finding(launch.use.span(host.slots_span), message, related=related)


@rule(Severity.WARNING, about=(MPI,))
def mpi_too_many_processes(job: Job) -> Iterator[Finding]:
    """There are more MPI processes than processors of this task.

    Without a list of hosts there are as many slots as the machine has cores, and a task's `cpu` limits their time only:
    the processes share the task's processors, or the launcher stops, "There are not enough slots available".
    In an MPIJob the operator writes the slots, so that it surely stops: `mpijob-np-over-slots`.
    Source: Open MPI, mpirun(1), `--oversubscribe`; rest-server, models/v2/job/k8s.js (`limits`).

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
        if arguments.has("-use-hwthread-cpus") or arguments.unknown:
            continue
        cpu, gpu = launch.role.amount("cpu"), launch.role.amount("gpu")
        if cpu is not None and processes > max(cpu, gpu or 0):
            message = f"{processes} processes, but the task has {cpu} processors"
            yield Finding(launch.use.span(Span(count.span.start, count.end)), message)


@rule(Severity.ERROR, about=(MPI,))
def mpi_host_format(job: Job) -> Iterator[Finding]:
    """A host in a list for `horovodrun` has no slots.

    `horovodrun` needs the slots of each host, as in `worker-0:2`, and stops otherwise. mpirun counts one slot.
    Source: Horovod 0.28.1, runner/common/util/hosts.py, parse_hosts.

        taskRoles:
          worker:
            instances: 2
            commands:
              - horovodrun -np 2 -H worker-0,worker-1 python train.py
              #                     ^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - horovodrun -np 2 -H worker-0:1,worker-1:1 python train.py
    """
    for launch in launches_on_hosts(job):
        bare = next((host for host in launch.hosts if host.slots is None), None)
        if launch.line.implementation == HOROVOD and bare is not None:
            fixes = insert_fix(launch.use.place, bare.span.end, ":1")
            message = f"'horovodrun' needs the slots of each host, as in '{bare.name}:1'"
            yield Finding(launch.use.span(bare.span), message, fixes)


@rule(Severity.ERROR, about=(MPI,), status=RuleStatus.PREVIEW)
def mpi_hosts_twice(job: Job) -> Iterator[Finding]:
    """`horovodrun` has both a list of hosts and a file of hosts.

    It accepts only one of the two and stops: "not allowed with argument". mpirun picks the hosts of the list from the
    file.
    Source: Horovod 0.28.1, runner/launch.py, parse_args.

        taskRoles:
          worker:
            commands:
              - horovodrun -np 2 -H worker-0:2 --hostfile hosts python train.py
              #                                ^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - horovodrun -np 2 -H worker-0:2 python train.py
    """
    for launch in launches(job):
        if launch.line.implementation == HOROVOD and launch.line.host_lists and launch.line.host_files:
            option = max((launch.line.host_lists[0], launch.line.host_files[0]), key=lambda one: one.span.start)
            yield Finding(launch.use.span(option.span), "'horovodrun' takes either '-H' or a file of hosts, not both")


@rule(Severity.ERROR, about=(MPI,))
def mpi_hostfile_missing(job: Job) -> Iterator[Finding]:
    """Only the MPI operator of Kubernetes writes this file of hosts.

    `/etc/mpi/hostfile` and the variable `OMPI_MCA_orte_default_hostfile` exist in an MPIJob. OpenPAI has neither, so
    the launcher stops. Name the tasks with `-H`.
    Source: kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go; openpai-runtime, src/plugins/ssh/sshd.sh.

        taskRoles:
          worker:
            commands:
              - mpirun --allow-run-as-root -np 2 --hostfile /etc/mpi/hostfile python train.py
              #                                             ^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0:1,worker-1:1 python train.py
    """
    found = [(launch, span, name) for launch in launches(job) for span, name in _files_of_operator(launch)]
    for launch, span, name in found:
        # Where something else mentions it, that may write it.
        if job.text.count(name) <= sum(other == name for _, _, other in found):
            message = f"'{name}' exists only in an MPIJob, so the launcher stops; name the tasks with '-H'"
            yield Finding(launch.use.span(span), message)


def _files_of_operator(launch: Launch) -> Iterator[tuple[Span, str]]:
    """The files of hosts of the MPI operator: the place of each, and its path or the variable that has it."""
    for option in launch.line.host_files:
        if option.value_span is not None:
            written = launch.use.written(option.value_span)
            match = re.fullmatch(rf"[\"']?(?:\$\{{?({OPERATOR_HOST_FILE})\}}?|(/etc/mpi/[\w.-]+))[\"']?", written)
            if match is not None:
                yield option.value_span, match[1] or match[2]


@rule(Severity.WARNING, about=(MPI,))
def mpi_hosts_missing(job: Job) -> Iterator[Finding]:
    """An MPI launcher has no hosts, although other task roles wait for it.

    Without `-H` or a file of hosts, all processes run on the launching task, and the tasks that wait stay unused.
    Source: Open MPI, mpirun(1), "Specifying Host Nodes"; MPICH, mpiexec -help.

        taskRoles:
          master:
            commands:
              - mpirun --allow-run-as-root -np 4 python train.py
              # ^^^^^^ warning
          worker:
            instances: 2
            commands: [sleep infinity]

    Good:

        taskRoles:
          master:
            commands:
              - mpirun --allow-run-as-root -np 4 -H worker-0:2,worker-1:2 python train.py
          worker:
            instances: 2
            commands: [sleep infinity]
    """
    for launch in _starts_all_here(job, with_horovod=False):
        message = f"'{launch.use.line.program}' without hosts starts all processes here; the other tasks only wait"
        yield Finding(launch.name_span, message)


@rule(Severity.WARNING, about=(MPI,), status=RuleStatus.PREVIEW)
def mpi_horovodrun_local(job: Job) -> Iterator[Finding]:
    """`horovodrun` has no hosts, in a job with other tasks.

    It then starts all processes on the launching task. Write the tasks with `-H ROLE-INDEX:SLOTS`.
    Source: Horovod 0.28.1, runner/launch.py, _run (the default is `localhost`).

        taskRoles:
          master:
            commands:
              - horovodrun -np 4 python train.py
              # ^^^^^^^^^^ warning
          worker:
            instances: 2
            commands: [sleep infinity]

    Good:

        taskRoles:
          master:
            commands:
              - horovodrun -np 4 -H worker-0:2,worker-1:2 python train.py
          worker:
            instances: 2
            commands: [sleep infinity]
    """
    for launch in _starts_all_here(job, with_horovod=True):
        message = "'horovodrun' without hosts starts all processes here; the other tasks are not used"
        yield Finding(launch.name_span, message)


_HOSTS_ELSEWHERE = ("hostfile", "host_file", "rankfile", "HOST_FILE", "HOSTFILE", "openmpi-mca-params", "SLURM_")


def _is_alone(launch: Launch) -> bool:
    """Whether a launcher surely has no hosts but its own task."""
    line = launch.line
    if line.host_lists or line.host_files or line.arguments.is_open or line.arguments.unknown:
        return False
    return not any(map(launch.use.place.mentions, _HOSTS_ELSEWHERE))


def _starts_all_here(job: Job, *, with_horovod: bool) -> Iterator[Launch]:
    """The launches without hosts in jobs with other task roles, all of which only wait, for example for ssh."""
    for launch in launches(job):
        if (launch.line.implementation == HOROVOD) is with_horovod and _is_alone(launch):
            others = [role for role in job.task_roles if role is not launch.role]
            if others and all(only_waits(job, role) for role in others):
                yield launch
