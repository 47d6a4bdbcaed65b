"""Rules about the hosts of an MPI program and their slots.

Facts: openpai-runtime, src/plugins/ssh/sshd.sh; Open MPI, mpirun(1); Horovod, docs/running.rst.

`launches` finds the commands that start an MPI program with a list of hosts. A list with a variable in it, or a host
file, is not checked.
Sources: Open MPI, mpirun(1); Horovod, docs/running.rst; openpai-runtime, src/plugins/ssh/sshd.sh (hosts are named
`ROLE-INDEX`, the role's name as the runtime converts it).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.findings.fixes import choice_fixes, number_fix
from pai_lsp.job.parts import whole_number
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.resources.job_lifecycle import beyond_instances
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import SimpleCommand, Word
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.variable_places import ScriptPlace


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
    for launch in launches(job):
        for host in launch.hosts:
            role = launch.role_of(host)
            fault = beyond_instances(role, host.parts[1]) if role and host.parts else None
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
    for launch in launches(job):
        processes = launch.processes
        if processes is None or launch.count is None or processes <= launch.slots or _may_oversubscribe(launch):
            continue
        if any(host.has_slots for host in launch.hosts):
            fix = number_fix(launch.span(launch.count.span), launch.slots)
            message = f"{processes} processes exceed the {launch.slots} slots of these hosts, so the launcher fails"
            related = Related(launch.span(launch.hosts[0].span), "the hosts")
            yield Finding(launch.span(launch.count.span), message, (fix,), (related,))


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
    for launch in launches(job):
        processes = launch.processes
        if processes is None or launch.count is None or processes >= launch.slots:
            continue
        if launch.reached_roles and all(host.has_slots for host in launch.hosts):
            message = f"{launch.slots - processes} of the {launch.slots} slots of these hosts are not used"
            yield Finding(launch.span(launch.count.span), message)


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
    for launch in launches(job):
        for host in launch.hosts:
            role = launch.role_of(host)
            entry = role.resources.entry("gpu") if role and role.resources else None
            number = whole_number(entry.value) if entry else None
            if role is None or entry is None or number is None or not 0 < number < host.slots:
                continue
            gpus = "1 GPU" if number == 1 else f"{number} GPUs"
            related = (Related(entry.value.span, "the role's GPUs"),)
            yield Finding(
                launch.span(host.slots_span),
                f"more slots than GPUs: a task of '{role.name}' has {gpus}",
                related=related,
            )


def _may_oversubscribe(launch: Launch) -> bool:
    return any("oversubscribe" in option.lower() for option in launch.options)


_LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "prterun", "horovodrun"})
# A cheap test that most jobs have none of them.
_PARTS_OF_LAUNCHERS = ("mpirun", "mpiexec", "rterun", "horovodrun")
# Programs that start the program after them.
_STARTERS = frozenset({"sudo", "exec", "time", "nohup", "env", "timeout", "stdbuf", "numactl", "command"})
_COUNT = frozenset({"-np", "--np", "-n", "--n", "--num-proc", "-c"})
_HOSTS = frozenset({"-H", "-host", "--host", "-hosts", "--hosts"})
_HOST_FILES = frozenset({"-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f", "--host-discovery-script"})
_PROGRAM = lazy_pattern(r"(?:.*/)?(?:python[0-9.]*|bash|sh)|.*\.(?:py|sh)|\.{0,2}/.*")
_HOST = lazy_pattern(r"(?P<role>[A-Za-z0-9_]+)-(?P<index>[0-9]+)")
_NUMBER = lazy_pattern(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """One host in a list, as `worker-0:4`; `span` is its name in the script."""

    name: str
    slots: int
    span: Span
    slots_span: Span
    has_slots: bool

    @property
    def parts(self) -> tuple[str, int] | None:
        """The role and the index in its name, if it has that form."""
        match = _HOST.fullmatch(self.name)
        return (match["role"], int(match["index"])) if match else None


@dataclass(frozen=True, eq=False)
class Launch:
    """One command that starts an MPI program with a written list of hosts."""

    place: ScriptPlace
    role: TaskRole
    command: SimpleCommand
    launcher: Word
    count: Word | None
    hosts: tuple[Host, ...]

    @cached_property
    def options(self) -> frozenset[str]:
        """All words of the command."""
        return frozenset(word.text for word in self.command.words)

    @cached_property
    def reached_roles(self) -> tuple[TaskRole, ...]:
        """The task roles that the hosts belong to, each once."""
        by_name = self.place.spellings.converted
        named = [host.parts[0] for host in self.hosts if host.parts]
        return tuple(by_name[name] for name in dict.fromkeys(named) if name in by_name)

    @property
    def processes(self) -> int | None:
        """The number of processes, if it is written as a number."""
        return int(self.count.text) if self.count and _NUMBER.fullmatch(self.count.text) else None

    @property
    def slots(self) -> int:
        """The number of slots on all hosts."""
        return sum(host.slots for host in self.hosts)

    def role_of(self, host: Host) -> TaskRole | None:
        """The task role that a host belongs to."""
        name = host.parts[0] if host.parts else None
        return next((role for role in self.reached_roles if converted_role_name(role.name) == name), None)

    def span(self, span: Span) -> Span:
        """The place in the file of a place in the script."""
        return self.place.span(span)


def launches(job: Job) -> Iterator[Launch]:
    """Every such command of the task roles."""
    if not any(part in job.text for part in _PARTS_OF_LAUNCHERS):
        return
    for place in job.role_scripts:
        role = place.role
        found = (_launch(place, role, command) for command in place.script.commands if role is not None)
        yield from (launch for launch in found if launch is not None)


def _launch(place: ScriptPlace, role: TaskRole, command: SimpleCommand) -> Launch | None:
    start = _launcher(command.words)
    if start is None:
        return None
    count: Word | None = None
    hosts: tuple[Host, ...] | None = None
    words = command.words[start + 1 :]
    for index, word in enumerate(words):
        value = words[index + 1] if index + 1 < len(words) else None
        if word.text in _HOST_FILES:
            return None
        if word.text in _COUNT and value is not None and count is None:
            count = value
        elif word.text in _HOSTS and value is not None:
            if hosts is not None or not value.is_literal:
                return None
            hosts = _hosts(place.script.text, value)
        elif not word.text.startswith("-") and _PROGRAM.fullmatch(word.text) and (hosts is not None or index > 0):
            break
    return Launch(place, role, command, command.words[start], count, hosts) if hosts else None


def _launcher(words: tuple[Word, ...]) -> int | None:
    """The index of the launcher among the words, after programs that only start it."""
    for index, word in enumerate(words):
        name = word.text.rpartition("/")[2]
        if name in _LAUNCHERS:
            return index
        is_argument = index > 0 and (word.text.startswith("-") or "=" in word.text or name.isdigit())
        if name not in _STARTERS and not is_argument:
            return None
    return None


def _hosts(text: str, word: Word) -> tuple[Host, ...]:
    """The hosts in a word; empty if the word is written in several parts."""
    written = text[word.span.start : word.span.end]
    at = written.find(word.text)
    if at < 0:
        return ()
    start = word.span.start + at
    found: list[Host] = []
    for item in word.text.split(","):
        name, colon, slots = item.partition(":")
        span = Span(start, start + len(name))
        slots_span = Span(span.end + 1, start + len(item)) if colon else span
        if name and (not colon or _NUMBER.fullmatch(slots)):
            found.append(Host(name, int(slots) if colon else 1, span, slots_span, bool(colon)))
        elif item:
            return ()
        start += len(item) + 1
    return tuple(found)


RULES = (
    mpi_unknown_host,
    mpi_host_index_out_of_range,
    mpi_slots_mismatch,
    mpi_unused_slots,
    mpi_slots_exceed_gpu,
)
