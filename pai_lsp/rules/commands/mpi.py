"""Rules about MPI programs that run on several tasks, started with `mpirun` or `horovodrun` and a list of hosts.

Each task with the ssh plugin's `jobssh` knows the others as `ROLE-INDEX`; those names exist nowhere else.
Facts: openpai-runtime, src/plugins/ssh; Open MPI, mpirun(1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.mpi_hosts import Launch, launches
from pai_lsp.rules.resources.completion_policy import instances_place
from pai_lsp.source.nodes import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.uses import PluginUse

# Programs that wait, in one way or another: a role whose commands hold one may well stay alive.
_WAITING = frozenset({"sleep", "tail", "wait", "sshd", "/usr/sbin/sshd", "read", "until", "nc", "ssh", "inotifywait"})


@rule(Severity.WARNING)
def mpi_without_ssh(job: Job) -> Iterator[Finding]:
    """An MPI program is to run on other tasks, and there is no ssh between the tasks.

    The launcher reaches its hosts by ssh. The runtime plugin `ssh` with `jobssh: true` sets that up, and it must act
    for the launching role and for all that it reaches.
    Source: openpai-runtime, src/plugins/ssh/init.py and README.md.

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
              # ^^^^^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for launch in _distributed(job):
        reached = {role.name for use in _connecting(job) for role in job.roles_of(use)}
        missing = [role.name for role in (launch.role, *launch.reached_roles) if role.name not in reached]
        if missing and not _brings_its_own_shell(launch):
            names = " and ".join(f"'{name}'" for name in dict.fromkeys(missing))
            message = f"the hosts are reached by ssh, and {names} has no ssh plugin with 'jobssh: true'"
            yield Finding(launch.span(launch.launcher.span), message)


@rule(Severity.INFORMATION)
def mpi_without_barrier(job: Job) -> Iterator[Finding]:
    """An MPI program starts without waiting until the other tasks can be reached.

    All tasks start at about the same time, and installing and starting ssh takes longer in one than in another. With
    `sshbarrier: true` the launching task waits until every task answers.
    Source: openpai-runtime, src/plugins/ssh/sshbarrier.sh.

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
              # ^^^^^^ information
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true, sshbarrier: true}
    """
    for launch in _distributed(job):
        uses = [use for use in _connecting(job) if launch.role in job.roles_of(use)]
        if not uses or any(_may_be_on(use, "sshbarrier") for use in uses):
            continue
        commands = launch.place.script.commands
        before = commands[: commands.index(launch.command)]
        if not any(command.name in _WAITING or command.keyword in {"while", "until"} for command in before):
            message = "nothing waits until the other tasks can be reached; 'sshbarrier: true' does"
            related = (Related(uses[0].name_span, "the ssh plugin"),)
            yield Finding(launch.span(launch.launcher.span), message, related=related)


@rule(Severity.WARNING)
def mpi_launcher_instances(job: Job) -> Iterator[Finding]:
    """Every instance of a task role starts the same MPI program on all hosts.

    The commands run in each instance. One that starts a program on several tasks should do so in one of them only: give
    the launching role one instance, or ask for the task's index.
    Source: rest-server, models/v2/job/k8s.js (one command for all tasks of a role).

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
              # ^^^^^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - if [ $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX -eq 0 ]; then
              - mpirun -np 2 -H worker-0,worker-1 --allow-run-as-root hostname
              - else sleep infinity; fi
    """
    for launch in _distributed(job):
        script = launch.place.script
        asks = any("INDEX" in use.name or "HOST" in use.name for use in script.uses)
        if launch.role.instances > 1 and not asks:
            message = f"each of the {launch.role.instances} instances of '{launch.role.name}' starts this on all hosts"
            yield Finding(launch.span(launch.launcher.span), message, related=instances_place(launch.role))


@rule(Severity.WARNING)
def mpi_infiniband_partial(job: Job) -> Iterator[Finding]:
    """Only some of the task roles that an MPI program runs on have InfiniBand.

    The processes then talk over the slow network, or fail to find the device on some hosts.
    Source: rest-server, models/v2/job/k8s.js (`rdma/hca`); openpai, docs/manual/cluster-user, the InfiniBand example.

        taskRoles:
          master:
            instances: 1
            extraContainerOptions: {infiniband: true}
            commands:
              - mpirun -np 2 -H master-0,worker-0 --allow-run-as-root hostname
              #                          ^^^^^^^^ warning
          worker:
            instances: 1
            commands: [sleep infinity]

    Good:

        taskRoles:
          master:
            instances: 1
            extraContainerOptions: {infiniband: true}
            commands:
              - mpirun -np 2 -H master-0,worker-0 --allow-run-as-root hostname
          worker:
            instances: 1
            extraContainerOptions: {infiniband: true}
            commands: [sleep infinity]
    """
    for launch in launches(job):
        having = {role.name for role in launch.reached_roles if _has_infiniband(role)}
        if not having:
            continue
        for role in launch.reached_roles:
            if role.name not in having:
                host = next(host for host in launch.hosts if launch.role_of(host) is role)
                yield Finding(
                    launch.span(host.span), f"'{role.name}' has no InfiniBand, and others of these hosts have"
                )


def _distributed(job: Job) -> Iterator[Launch]:
    """The launches that reach tasks of the job besides the launching one."""
    for launch in launches(job):
        names = {host.name for host in launch.hosts if launch.role_of(host)}
        own = f"{converted_role_name(launch.role.name)}-0"
        if names and (len(names) > 1 or launch.role.instances > 1 or own not in names):
            yield launch


def _brings_its_own_shell(launch: Launch) -> bool:
    """Whether the commands start ssh themselves, or make the launcher use something else."""
    text = launch.place.script.text
    return any(word in text for word in ("sshd", "service ssh", "rsh_agent", "plm_rsh", "-launcher", "--launcher"))


def _connecting(job: Job) -> Iterator[PluginUse]:
    """The ssh plugins that let tasks reach each other."""
    return (use for use in job.uses_of_plugin("ssh") if _may_be_on(use, "jobssh"))


def _may_be_on(use: PluginUse, name: str) -> bool:
    """Whether a switch is on, or is filled in later."""
    entry = use.entry(name)
    return use.is_on(name) or (entry is not None and isinstance(entry.value, Scalar) and "<%" in entry.value.text)


def _has_infiniband(role: TaskRole) -> bool:
    options = role.get("extraContainerOptions")
    node = options.get("infiniband") if isinstance(options, Mapping) else None
    return isinstance(node, Scalar) and node.value is True


RULES = (mpi_without_ssh, mpi_without_barrier, mpi_launcher_instances, mpi_infiniband_partial)
