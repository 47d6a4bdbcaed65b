"""The launch lines of a job, with the tasks that their hosts are.

A list with a variable in it, or a file of hosts, is not checked.
Sources: openpai-runtime, src/plugins/ssh/sshd.sh (hosts are named `ROLE-INDEX`, the role's name as the runtime converts
it); Open MPI, mpirun(1); Horovod, docs/running.rst.
"""

from __future__ import annotations

from functools import cached_property

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.platform.programs import (
    HOROVOD,
    HYDRA,
    OPEN_MPI,
    PREPARING,
    WAITING,
    has_launcher,
    hosts_of,
    launch_line,
    launchers,
    looks_like_hydra,
)
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import programs_of, uses
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine, Option
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.platform.programs import LaunchHost, LaunchLine
    from pai_lsp.rules.commands.command_uses import CommandUse
    from pai_lsp.source.text import Span

# What a rule is about that looks at launches only.
MPI = "mpi"
_HOST = lazy_pattern(r"(?P<role>[A-Za-z0-9_]+)-(?P<index>[0-9]+)")


def role_and_index(host: LaunchHost) -> tuple[str, int] | None:
    """The role and the index in a host's name, if it has that form."""
    match = _HOST.fullmatch(host.name)
    return (match["role"], int(match["index"])) if match else None


@dataclass(frozen=True, eq=False)
class Launch:
    """One command that starts an MPI program; `hosts` is empty where it writes no list that can be read."""

    job: Job
    use: CommandUse
    role: TaskRole
    line: LaunchLine
    hosts: tuple[LaunchHost, ...]

    @cached_property
    def reached_roles(self) -> tuple[TaskRole, ...]:
        """The task roles that the hosts belong to, each once."""
        by_name = self.use.place.spellings.converted
        named = [parts[0] for host in self.hosts if (parts := role_and_index(host))]
        return tuple(by_name[name] for name in dict.fromkeys(named) if name in by_name)

    @property
    def count(self) -> Option | None:
        """The option for the number of processes."""
        return self.line.counts[-1] if self.line.counts else None

    @property
    def count_span(self) -> Span | None:
        """The place of the number of processes in the file; the last one where several programs are started."""
        return self.span(self.count.value_span) if self.count and self.count.value_span else None

    @property
    def line_as_assumed(self) -> LaunchLine:
        """The line, read as one of Open MPI where only a list of hosts speaks for MPICH and Intel MPI.

        Many write `-hosts` for `-H`; and images of OpenPAI have Open MPI.
        """
        is_sure = self.use.line.program not in {"mpirun", "mpiexec"} or self._names_hydra()
        if self.line.implementation != HYDRA or is_sure:
            return self.line
        line = launch_line(self.use.line.program, self.use.line.arguments, self.use.place.script.text, OPEN_MPI)
        return line if {name.lstrip("-") for name, _ in line.arguments.unknown} == {"hosts"} else self.line

    @property
    def slots(self) -> int:
        """The number of slots on all hosts."""
        return sum(slots_of(host) for host in self.hosts)

    @property
    def is_hydra(self) -> bool:
        """Whether it is the launcher of MPICH or Intel MPI, by its options, or by what its role installs and runs."""
        if self.line.is_certain or self.line.implementation == HOROVOD:
            return self.line.implementation == HYDRA
        return self._names_hydra()

    def _names_hydra(self) -> bool:
        """Whether the image or the commands name MPICH or Intel MPI."""
        return self.role in self.job.once(_roles_with_hydra)

    def role_of(self, host: LaunchHost) -> TaskRole | None:
        """The task role that a host belongs to."""
        parts = role_and_index(host)
        return next((role for role in self.reached_roles if parts and converted_role_name(role.name) == parts[0]), None)

    def span(self, span: Span) -> Span:
        """The place in the file of a place in the script."""
        return self.use.span(span)


def slots_of(host: LaunchHost) -> int:
    """The slots of a host; one where none are written."""
    return 1 if host.slots is None else host.slots


def may_launch(job: Job) -> bool:
    """Whether a script runs a launcher of MPI."""
    return has_launcher(job.text) and not launchers().isdisjoint(programs_of(job))


def launches(job: Job) -> Iterator[Launch]:
    """Every launch of the task roles."""
    return (Launch(job, *one) for one in job.once(_read_launches))


def _read_launches(job: Job) -> tuple[tuple[CommandUse, TaskRole, LaunchLine, tuple[LaunchHost, ...]], ...]:
    """The launches without the job, which keeps them."""
    found: list[tuple[CommandUse, TaskRole, LaunchLine, tuple[LaunchHost, ...]]] = []
    for use in uses(job, *sorted(launchers()), with_callbacks=False) if may_launch(job) else ():
        if use.role is not None:
            text = use.place.script.text
            line = launch_line(use.line.program, use.line.arguments, text)
            lists = line.host_lists
            hosts = hosts_of(lists[0], text) if len(lists) == 1 and not line.host_files else None
            found.append((use, use.role, line, hosts or ()))
    return tuple(found)


def _roles_with_hydra(job: Job) -> frozenset[TaskRole]:
    """The task roles whose image or commands name MPICH or Intel MPI."""

    def texts(role: TaskRole) -> tuple[str, str]:
        image = job.image_of(role)
        uri = image.node.get("uri") if image else None
        return job.scripts[role].text, uri.text if isinstance(uri, Scalar) else ""

    return frozenset(role for role in job.task_roles if looks_like_hydra(texts(role)))


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
    is_last = not script.text[last.span.end :].strip(" \t\n;")
    return last if is_last else None
