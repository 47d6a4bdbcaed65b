"""Well-known programs in commands: options, subcommands, the variables of NCCL; what the words of MPI launchers mean.

The facts are in `schemas/programs.json`, each entry with its source; the launchers, one row each, in
`schemas/launchers.json`. The table is read when a command line of such a program is met for the first time. Open MPI
and Hydra, the launcher of MPICH and Intel MPI, have the same programs (mpirun, mpiexec) and other options.
"""

from __future__ import annotations

from functools import cache

from pai_lsp.embedded.command_lines import Arguments, Program, command_lines, parsed
from pai_lsp.platform.tables import table
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from pai_lsp.embedded.command_lines import CommandLine, Option
    from pai_lsp.embedded.shell_script import Script, Word


# Among so many words is a subcommand.
_MOST_WORDS = 3


@cache
def programs_table() -> dict[str, Any]:
    """The whole table."""
    found: dict[str, Any] = table("programs.json")
    return found


@cache
def program(name: str) -> Program | None:
    """The options of a program, or of a subcommand such as `pip install`; None where they are not known."""
    entry = programs_table()["programs"].get(name)
    if entry is None:
        return None
    options = {one: (tuple(names.split()), takes) for names, takes in entry["options"].items() for one in names.split()}
    launch = {meaning: tuple(names) for meaning, names in entry.get("launch", {}).items()}
    only = {one: owner for owner, names in entry.get("only", {}).items() for one in names}
    return Program(entry["style"], entry["rest"], options, entry.get("partial", False), launch, only)


def program_of(line: CommandLine) -> tuple[str, int] | None:
    """The name in the table of what a command line runs, and the number of words before its arguments.

    A subcommand may come after options: `pip -q install`.
    """
    known, name = programs_table()["programs"], line.program
    if name in known:
        return name, 0
    words = line.arguments[: _MOST_WORDS + 1] if name in _with_subcommands() else ()
    for number in range(len(words[:_MOST_WORDS])):
        for count in (2, 1):  # `conda env create`, `conda create`
            part = words[number : number + count]
            found = " ".join([name, *(one.text for one in part)])
            if len(part) == count and all(one.is_literal for one in part) and found in known:
                return found, number + count
    return None


@cache
def _with_subcommands() -> frozenset[str]:
    return frozenset(name.partition(" ")[0] for name in programs_table()["programs"] if " " in name)


@cache
def option_help(name: str) -> Mapping[str, str]:
    """What options of a program do, by their first names in the table."""
    found: dict[str, str] = table("program_help.json")["programs"].get(name, {})
    return found


def nccl_help() -> Mapping[str, str]:
    """What variables of NCCL do."""
    found: dict[str, str] = table("program_help.json")["nccl"]
    return found


@cache
def subcommands(name: str) -> tuple[str, ...]:
    """The subcommands of a program; empty where they are not known."""
    return tuple(programs_table()["commands"].get(name, {}).get("names", ()))


@cache
def nccl_variables() -> frozenset[str]:
    """The variables that NCCL, or PyTorch for it, reads."""
    return frozenset(programs_table()["nccl"]["names"])


@cache
def nccl_variables_of_others() -> frozenset[str]:
    """Variables with NCCL's prefix that its tests and network plugins read; those of other plugins are not known."""
    return frozenset(programs_table()["nccl"]["others"])


OPEN_MPI = "Open MPI"
OPEN_MPI_5 = "Open MPI 5"
HYDRA = "Hydra"
HOROVOD = "horovodrun"
# Programs that start the processes of a distributed training on one host; the second is how torchrun was called before.
TORCH = ("torchrun", "torch.distributed.launch")
TRAINING = (*TORCH, "accelerate", "deepspeed")
# Names of the machine itself.
THIS_HOST = frozenset({"localhost", "127.0.0.1", "::1"})
# The variable with which the MPI operator of Kubernetes names its file of hosts.
OPERATOR_HOST_FILE = "OMPI_MCA_orte_default_hostfile"
# Programs that wait: a role that runs one of them may stay alive.
WAITING = frozenset({"sleep", "tail", "wait", "sshd", "read", "until", "nc", "ssh", "inotifywait"})
# Programs that end by themselves, soon.
PREPARING = frozenset(
    {
        "apt", "apt-get", "awk", "cat", "cd", "chmod", "chown", "conda", "cp", "curl", "date", "df", "dpkg", "echo",
        "env", "exit", "export", "free", "git", "grep", "gunzip", "gzip", "hostname", "id", "ldconfig", "ln", "ls",
        "mkdir", "mv", "nproc", "nvidia-smi", "pip", "printf", "pwd", "rm", "sed", "service", "set", "source", "tar",
        "test", "touch", "true", "ulimit", "uname", "unzip", "wget", "which", "whoami", "yum", "[", ".", ":",
    }
)  # fmt: skip
ALLOW_ROOT = "-allow-run-as-root"
_NUMBER = lazy_pattern(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, eq=False)
class LaunchHost:
    """A host of a list, as `worker-0:4`.

    slots: None where none are written; 1 then for Open MPI.
    span: its name; slots_span: its slots, or its name where it has none. In the text that the list is written in.
    """

    name: str
    slots: int | None
    span: Span
    slots_span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LaunchLine:
    """The words after a launcher.

    implementation: `OPEN_MPI`, `HYDRA` or `HOROVOD`.
    is_certain: whether no other implementation has this program and these options.
    """

    implementation: str
    is_certain: bool
    arguments: Arguments

    @property
    def counts(self) -> list[Option]:
        """The numbers of processes: the last one, or that of each program."""
        found = self._named("total")
        return found if self.arguments.programs > 1 else found[-1:]

    @property
    def processes(self) -> int | None:
        """How many processes start; None where no number is written, or 0, which means all slots."""
        values = [one.value or "" for one in self.counts]
        return sum(map(int, values)) or None if values and all(map(_NUMBER.fullmatch, values)) else None

    @property
    def host_lists(self) -> list[Option]:
        """The lists of hosts."""
        return self._named("hosts")

    @property
    def host_files(self) -> list[Option]:
        """The files and programs that name the hosts."""
        return self._named("host_files")

    @property
    def allows_root(self) -> bool:
        """Whether Open MPI may run as root by an option."""
        return self.arguments.has(ALLOW_ROOT)

    @property
    def oversubscribes(self) -> bool:
        """Whether more processes than slots are allowed."""
        is_written = any("oversubscribe" in (one.value or "").lower() for one in self.arguments.options)
        return is_written or self.arguments.has("-oversubscribe")

    def _named(self, meaning: str) -> list[Option]:
        known = program(self.implementation)
        names = known.launch[meaning] if known else ()
        return [one for one in self.arguments.options if one.name in names and one.value_span is not None]


@cache
def launchers() -> frozenset[str]:
    """The programs that start MPI programs."""
    return frozenset(_launchers_table()["programs"])


@cache
def _launchers_table() -> dict[str, Any]:
    """A small table of its own: every file with commands is compared with it."""
    found: dict[str, Any] = table("launchers.json")
    return found


def runs_launcher(scripts: Iterable[Script]) -> bool:
    """Whether one of the scripts runs a launcher."""
    return any(not launchers().isdisjoint(command_lines(script).by_program) for script in scripts)


def looks_like(implementation: str, texts: Iterable[str]) -> bool:
    """Whether scripts or the names of images show that `HYDRA` or `OPEN_MPI_5` is used."""
    signs = _launchers_table()["signs"][implementation]
    both = [(text, text.lower()) for text in texts]
    return any(sign in (lower if sign.islower() else text) for text, lower in both for sign in signs)


def launch_line(name: str, words: Sequence[Word], text: str, implementation: str | None = None) -> LaunchLine:
    """The words after the launcher `name`, as `parsed` takes them, read as its implementation does.

    implementation: which it is where that is known, else the options tell.
    """
    possible = _launchers_table()["programs"][name]
    if implementation in possible:
        possible = [implementation]
    read = [(one, _arguments(one, words, text)) for one in possible]
    fewest = min(len(arguments.unknown) for _, arguments in read)
    best, *others = [(one, arguments) for one, arguments in read if len(arguments.unknown) == fewest]
    return LaunchLine(best[0], not others, best[1])


def launch_of(line: CommandLine, implementation: str | None = None) -> LaunchLine:
    """What the launcher of a command line reads; places are those in its script."""
    return launch_line(line.program, line.arguments, line.script.text, implementation)


@dataclass(frozen=True, slots=True, eq=False)
class KnownLine:
    """A command line of a program whose options are known.

    name: of the program in the table; words: those before its arguments.
    """

    name: str
    program: Program
    words: int
    arguments: Arguments


def known_line(line: CommandLine) -> KnownLine | None:
    """A command line read by the table of its program; None if it is absent."""
    if line.program in launchers():
        read = launch_of(line)
        name, words = read.implementation, 0
    elif found := program_of(line):
        name, words = found
    else:
        return None
    known = program(name)
    return KnownLine(name, known, words, arguments_of(line, known, words)) if known else None


def arguments_of(line: CommandLine, known: Program, start: int = 0) -> Arguments:
    """The words of a command line from number `start` on, as a program reads them."""
    found = parsed(line.arguments[start:], known, line.script.text)
    found.is_open = found.is_open or line.is_open
    return found


def foreign_option(line: LaunchLine) -> tuple[str, Span] | None:
    """The first option that only the other MPI implementation has, or that Open MPI does not take with `=`."""
    for name, span in line.arguments.unknown:
        if "=" in name and line.implementation == HYDRA:
            continue
        if _has_option(name):
            return name, span
    return None


# What people write for launchers of MPI, and the option that all of them have for it.
_OF_OTHER_LAUNCHERS = {
    "nproc_per_node": "", "nproc-per-node": "", "num_processes": "-np", "num-processes": "-np", "num_proc": "-np",
    "num-proc": "-np", "nprocs": "-np", "nproc": "-np", "processes": "-np", "num_gpus": "", "num-gpus": "",
    "gpus": "", "num_nodes": "", "num-nodes": "", "nnodes": "", "node_rank": "", "master_addr": "", "master_port": "",
}  # fmt: skip


def option_of_no_launcher(line: LaunchLine) -> tuple[str, Span, str] | None:
    """The first option that neither Open MPI nor Hydra has and that is likely another launcher's, or misspelt.

    With it, what to write instead, or nothing. Other options may belong to an implementation that is not known here.
    """
    known = program(line.implementation)
    for name, span in line.arguments.unknown:
        bare = name.partition("=")[0].lstrip("-")
        if known is None or not bare.isascii() or _has_option(name):
            continue
        if bare in _OF_OTHER_LAUNCHERS:
            return name, span, _OF_OTHER_LAUNCHERS[bare]
        names = [one for one in known.options if len(one) > _SHORT]
        near = nearest(f"-{bare}", names, _NEAR) if len(bare) >= _SHORT else ()
        if near:
            return name, span, f"-{near[0]}" if name.startswith("--") else near[0]
    return None


# The minimum similarity of a misspelt option, and the minimum length of one that can be distinguished from others.
_NEAR = 0.85
_SHORT = 4


def _has_option(name: str) -> bool:
    """Whether an implementation of MPI has an option, however many dashes it is written with."""
    bare = f"-{name.partition('=')[0].lstrip('-')}"
    return any(one is not None and bare in one.options for one in (program(OPEN_MPI), program(HYDRA)))


def hosts_of(option: Option, line: CommandLine | None = None) -> tuple[LaunchHost, ...] | None:
    """The hosts of a list, with places in the script of `line`; None where bash makes it, or it has several parts."""
    if option.value is None or option.value_span is None:
        return None
    text = line.script.text if line is not None else ""
    start = text.find(option.value, option.value_span.start, option.value_span.end) if text else -1
    if text and start < 0:
        return None
    found: list[LaunchHost] = []
    for item in option.value.split(","):
        name, colon, slots = item.partition(":")
        span = Span(start, start + len(name)) if text else option.value_span
        slots_span = Span(span.end + 1, start + len(item)) if colon and text else span
        if colon and not _NUMBER.fullmatch(slots):
            return None
        if name:
            found.append(LaunchHost(name, number_of(slots) if colon else None, span, slots_span))
        start += len(item) + 1
    return tuple(found)


def _arguments(implementation: str, words: Sequence[Word], text: str) -> Arguments:
    known = program(implementation)
    return parsed(words, known, text) if known else Arguments()
