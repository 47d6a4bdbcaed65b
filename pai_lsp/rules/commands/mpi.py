"""Rules about MPI programs on several tasks, and the launch lines that they check, with the tasks that their hosts are.

The lines start `mpirun` or `horovodrun` with a list of hosts. A list with a variable in it, or a file of hosts, is not
checked. With the ssh plugin's `jobssh`, tasks can reach each other as `ROLE-INDEX`; without it these names do not
exist.
Sources: openpai-runtime, src/plugins/ssh/sshd.sh (hosts are named `ROLE-INDEX`, the role's name as the runtime converts
it); Open MPI, mpirun(1); Horovod, docs/running.rst.
"""

from __future__ import annotations

from functools import cached_property

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.findings.diagnostic import Finding, Related, RuleStatus, Severity, rule
from pai_lsp.job.parts import whole_number
from pai_lsp.platform.programs import (
    HOROVOD,
    HYDRA,
    OPEN_MPI,
    PREPARING,
    WAITING,
    foreign_option,
    hosts_of,
    launch_of,
    launchers,
    looks_like,
    option_of_no_launcher,
)
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import changed, image_address, insert_fix, programs_of, uses
from pai_lsp.rules.resources.job_lifecycle import instances_place
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, plain_value, value_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine, Option
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.uses import PluginUse
    from pai_lsp.platform.programs import LaunchHost, LaunchLine
    from pai_lsp.rules.commands.command_uses import CommandUse
    from pai_lsp.source.text import Span

# What a rule is about that looks at launches only.
MPI = "mpi"
_HOST = lazy_pattern(r"(?P<role>[A-Za-z0-9_]+)-(?P<index>[0-9]+)")


def role_and_index(host: LaunchHost) -> tuple[str, int] | None:
    """The role and the index in a host's name, if it has that form."""
    match = _HOST.fullmatch(host.name)
    return (match["role"], number_of(match["index"])) if match else None


@dataclass(frozen=True, eq=False)
class Launch:
    """One command that starts an MPI program.

    hosts: empty where it writes no list that can be read.
    names_hydra: whether the image or the commands of its role name MPICH or Intel MPI.
    """

    use: CommandUse
    role: TaskRole
    line: LaunchLine
    hosts: tuple[LaunchHost, ...]
    names_hydra: bool

    @cached_property
    def reached_roles(self) -> tuple[TaskRole, ...]:
        """The task roles that the hosts belong to, each once."""
        return tuple(dict.fromkeys(role for host in self.hosts if (role := self.role_of(host))))

    @property
    def count(self) -> Option | None:
        """The option for the number of processes."""
        return self.line.counts[-1] if self.line.counts else None

    @property
    def count_span(self) -> Span | None:
        """The place of the number of processes in the file; the last one where several programs are started."""
        return self.use.span(self.count.value_span) if self.count and self.count.value_span else None

    @property
    def line_as_assumed(self) -> LaunchLine:
        """The line, read as one of Open MPI where only a list of hosts speaks for MPICH and Intel MPI.

        Many write `-hosts` for `-H`; and images of OpenPAI have Open MPI.
        """
        is_sure = self.use.line.program not in {"mpirun", "mpiexec"} or self.names_hydra
        if self.line.implementation != HYDRA or is_sure:
            return self.line
        line = launch_of(self.use.line, OPEN_MPI)
        return line if {name.lstrip("-") for name, _ in line.arguments.unknown} == {"hosts"} else self.line

    @property
    def slots(self) -> int:
        """The number of slots on all hosts."""
        return sum(host.slots or 1 for host in self.hosts)

    @property
    def is_hydra(self) -> bool:
        """Whether it is the launcher of MPICH or Intel MPI, by its options, or by what its role installs and runs."""
        is_known = self.line.is_certain or self.line.implementation == HOROVOD
        return self.line.implementation == HYDRA if is_known else self.names_hydra

    def role_of(self, host: LaunchHost) -> TaskRole | None:
        """The task role that a host belongs to."""
        parts = role_and_index(host)
        return self.use.place.spellings.converted.get(parts[0]) if parts else None

    @property
    def name_span(self) -> Span:
        """The place of the launcher's name in the file."""
        return self.use.word(self.use.line.name)


def may_launch(job: Job) -> bool:
    """Whether a script runs a launcher of MPI."""
    return not launchers().isdisjoint(programs_of(job))


def launches(job: Job) -> list[Launch]:
    """Every launch of the task roles."""
    return job.once(_launches)


def _launches(job: Job) -> list[Launch]:
    found: list[Launch] = []
    hydra: dict[TaskRole, bool] = {}
    for use in uses(job, *sorted(launchers()), with_callbacks=False):
        if (role := use.role) is not None:
            line = launch_of(use.line)
            hosts = hosts_of(line.host_lists[0], use.line) if len(line.host_lists) == 1 and not line.host_files else ()
            if role not in hydra:
                hydra[role] = looks_like(HYDRA, (*use.place.lines.texts, image_address(job, role)))
            found.append(Launch(use, role, line, hosts or (), hydra[role]))
    return found


def launches_on_hosts(job: Job) -> Iterator[Launch]:
    """The launches that write a list of hosts."""
    return (launch for launch in launches(job) if launch.hosts)


def only_waits(job: Job, role: TaskRole) -> bool:
    """Whether a task role does nothing but prepare itself and wait, such as with `sleep infinity`."""
    programs = [line.program for line in command_lines(job.scripts[role]).all]
    return bool(programs) and programs[-1] in WAITING and PREPARING.union(WAITING).issuperset(programs)


def ending_command(job: Job, role: TaskRole) -> CommandLine | None:
    """The last command of a task role that surely ends by itself; None where anything in it may last."""
    script = job.scripts[role]
    lines = command_lines(script).all
    if not lines or not PREPARING.issuperset(line.program for line in lines):
        return None
    last = lines[-1]
    return last if script.is_last(last.words[-1]) else None


@rule(Severity.WARNING, about=(MPI,))
def mpi_without_ssh(job: Job) -> Iterator[Finding]:
    """An MPI program uses several tasks, without ssh between them.

    The launcher connects to its hosts by ssh. The runtime plugin `ssh` with `jobssh: true` sets this up; it must be
    enabled for the launching role and for all roles that it reaches.
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
            verb = "have" if len(set(missing)) > 1 else "has"
            message = f"the launcher needs ssh, but {names} {verb} no ssh plugin with 'jobssh: true'"
            yield Finding(launch.name_span, message)


@rule(Severity.INFORMATION, about=(MPI,))
def mpi_without_barrier(job: Job) -> Iterator[Finding]:
    """An MPI program does not wait for the other tasks.

    All tasks start at about the same time, but some take longer to install and start ssh. With `sshbarrier: true` the
    launching task waits until every task responds.
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
        commands = launch.use.place.script.commands
        command = launch.use.line.step.command
        before = commands[: commands.index(command)] if command else ()
        names = {command.name.rpartition("/")[2] for command in before}
        if not names & WAITING and not any(command.keyword in {"while", "until"} for command in before):
            message = "this may start before the other tasks can be reached; add 'sshbarrier: true'"
            yield Finding(launch.name_span, message, related=(Related(uses[0].name_span, "the ssh plugin"),))


@rule(Severity.WARNING, about=(MPI,))
def mpi_launcher_instances(job: Job) -> Iterator[Finding]:
    """Every instance of a task role starts the MPI program.

    The commands run in each instance, so every instance starts the program on all hosts. Give the launching role one
    instance, or check the task's index.
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
        asks = any("INDEX" in use.name or "HOST" in use.name for use in launch.use.place.script.uses)
        if launch.role.instances > 1 and not asks:
            message = f"each of the {launch.role.instances} instances of '{launch.role.name}' starts this on all hosts"
            yield Finding(launch.name_span, message, related=instances_place(launch.role))


@rule(Severity.WARNING, about=(MPI,))
def mpi_infiniband_partial(job: Job) -> Iterator[Finding]:
    """Only some of the task roles of an MPI program have InfiniBand.

    The processes then use the slow network, or do not find the device on some hosts.
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
    for launch in launches_on_hosts(job):
        options = {role.name: role.get("extraContainerOptions") for role in launch.reached_roles}
        having = {name for name, node in options.items() if plain_value(value_at(node, "infiniband")) is True}
        for role in launch.reached_roles if having else ():
            if role.name not in having:
                host = next(host for host in launch.hosts if launch.role_of(host) is role)
                message = f"'{role.name}' has no InfiniBand, but other hosts in this list have it"
                yield Finding(launch.use.span(host.span), message)


@rule(Severity.WARNING, about=(MPI,), former=("mpi-as-root",))
def mpi_run_as_root(job: Job) -> Iterator[Finding]:
    """Root starts Open MPI's launcher without `--allow-run-as-root`.

    Containers run as root, and Open MPI refuses that: the command stops with code 1. MPICH and Intel MPI have no such
    option; a line with their options, or a task role whose commands or image name them, is not reported.
    Source: Open MPI, mpirun(1), `--allow-run-as-root`; openpai-runtime, src/runtime.d/user.sh.

        taskRoles:
          worker:
            commands:
              - mpirun -np 2 python train.py
              # ^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - mpirun --allow-run-as-root -np 2 python train.py
    """
    for launch in launches(job):
        use, line = launch.use, launch.line
        if line.allows_root or use.place.lines.mentions("OMPI_ALLOW_RUN_AS_ROOT") or use.line.is_other_user:
            continue
        if line.implementation == HOROVOD or launch.is_hydra or line.arguments.has("-help", "-h", "-V"):
            continue
        if use.line.arguments and not line.arguments.is_open:
            fixes = insert_fix(use.place, use.line.name.span.end, " --allow-run-as-root")
            message = f"'{use.line.program}' refuses to run as root; add '--allow-run-as-root'"
            yield Finding(use.word(use.line.name), message, fixes)


@rule(Severity.WARNING, about=(MPI,))
def mpi_worker_ends(job: Job) -> Iterator[Finding]:
    """A task role that an MPI program uses ends at once.

    The launcher starts its processes by ssh in the tasks of the other roles. When their commands end, the containers
    end, and ssh with them. End them with `sleep infinity`; the job ends with the launcher if its
    `minSucceededInstances` is 1.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh (sshd runs in the task's container).

        taskRoles:
          master:
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0:1,worker-1:1 python train.py
          worker:
            instances: 2
            commands: [pip install torch]
            #          ^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          master:
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0:1,worker-1:1 python train.py
          worker:
            instances: 2
            commands: [pip install torch, sleep infinity]
    """
    seen: set[str] = set()
    for launch in launches_on_hosts(job):
        for role in launch.reached_roles:
            last = ending_command(job, role) if role is not launch.role and role.name not in seen else None
            if last is not None:
                seen.add(role.name)
                message = f"'{role.name}' ends here, before the launcher can use it; add 'sleep infinity'"
                related = (Related(launch.name_span, "the launcher"),)
                yield Finding(job.command_text(role).span(last.span.start, last.span.end), message, related=related)


@rule(Severity.ERROR, about=(MPI,))
def mpi_option_unknown(job: Job) -> Iterator[Finding]:
    """The MPI launcher does not have an option.

    Open MPI, and MPICH and Intel MPI, name their options differently: hosts are `-H` for Open MPI and `-hosts` for the
    others, and `-np=4` is not read as `-np 4`. The launcher stops. Open MPI is assumed unless the program, the image or
    the commands name another.
    Source: Open MPI 4.1 and 5.0, MPICH 5.0 and Intel MPI 2021.19, each asked for each option.

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun --allow-run-as-root -np 2 --hosts worker-0,worker-1 python train.py
              #                                  ^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0,worker-1 python train.py
    """
    for launch in launches(job):
        line, stops = launch.line_as_assumed, f"so '{launch.use.line.program}' stops"
        if line.implementation == HOROVOD:
            continue
        if (foreign := foreign_option(line)) is not None:
            name, span = foreign
            owner = "Open MPI" if line.implementation == OPEN_MPI else "MPICH and Intel MPI"
            new = "-H" if name.lstrip("-") == "hosts" else None
            yield changed(launch.use.place, span, f"'{name}' is not an option of {owner}, {stops}", new)
        elif (missing := option_of_no_launcher(line)) is not None:
            name, span, better = missing
            message = f"no MPI has the option '{name}', {stops}" + (f"; use '{better}'" if better else "")
            yield changed(launch.use.place, span, message, better or None)


@rule(Severity.INFORMATION, about=(MPI,), status=RuleStatus.PREVIEW)
def mpi_launcher_gpu_unused(job: Job) -> Iterator[Finding]:
    """A launching task has GPUs, but runs no MPI process.

    Its name is not among the hosts, so its GPUs are reserved and stay unused.
    Source: Open MPI, mpirun(1), "Specifying Host Nodes".

        taskRoles:
          master:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            #                                                  ^ information
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0:2 python train.py
          worker:
            commands: [sleep infinity]

    Good:

        taskRoles:
          master:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 0}
            commands:
              - mpirun --allow-run-as-root -np 2 -H worker-0:2 python train.py
          worker:
            commands: [sleep infinity]
    """
    for role in job.task_roles:
        own = [launch for launch in launches(job) if launch.role is role]
        entry = role.resources.entry("gpu") if role.resources else None
        number = whole_number(entry.value) if entry else None
        if not own or entry is None or not number:
            continue
        programs = {line.program for line in command_lines(job.scripts[role]).all}
        is_idle = all(launch.reached_roles and role not in launch.reached_roles for launch in own)
        if is_idle and {*launchers(), *PREPARING, *WAITING}.issuperset(programs):
            message = f"'{role.name}' starts no process on its own tasks, so these GPUs stay unused"
            yield Finding(entry.value.span, message)


def _distributed(job: Job) -> Iterator[Launch]:
    """The launches that reach tasks other than the launching one."""
    for launch in launches_on_hosts(job):
        names = {host.name for host in launch.hosts if launch.role_of(host)}
        own = f"{converted_role_name(launch.role.name)}-0"
        if names and (len(names) > 1 or launch.role.instances > 1 or own not in names):
            yield launch


def _brings_its_own_shell(launch: Launch) -> bool:
    """Whether the commands start ssh themselves, or configure the launcher to use something else."""
    place = launch.use.place
    if any(line.texts[:1] == ("ssh",) for line in place.lines.by_program.get("service", ())):
        return True
    return any(place.mentions(word) for word in ("sshd", "rsh_agent", "plm_rsh", "-launcher", "--launcher"))


def _connecting(job: Job) -> Iterator[PluginUse]:
    """The ssh plugins that let tasks reach each other."""
    return (use for use in job.uses_of_plugin("ssh") if _may_be_on(use, "jobssh"))


def _may_be_on(use: PluginUse, name: str) -> bool:
    """Whether a switch is on, or its value is a template."""
    entry = use.entry(name)
    return use.is_on(name) or (entry is not None and isinstance(entry.value, Scalar) and "<%" in entry.value.text)
