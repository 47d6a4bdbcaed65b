"""What an MPIJob runs: the words of `command` and `args`, scripts in them, MPI launchers; its pods, slots and users.

Source: Kubernetes, "Define a Command and Arguments for a Container".
"""

from __future__ import annotations

from functools import lru_cache

from pai_lsp.embedded.command_lines import MODULES, command_lines, quoted_words
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_script import Word
from pai_lsp.findings.diagnostic import Finding, Fix, Fixes, Severity, later
from pai_lsp.mpijob.manifest import GPU, OTHER_OPERATOR, Manifest, Value
from pai_lsp.platform.programs import HYDRA, OPEN_MPI, LaunchLine, launch_line, launchers
from pai_lsp.source.content import mapped
from pai_lsp.source.foreign import whole_number
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.tree_edits import items_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine, CommandLines
    from pai_lsp.platform.programs import LaunchLine
    from pai_lsp.source.nodes import Node

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})


@dataclass(frozen=True, slots=True)
class ContainerWord:
    """A word of a command: `text` is None where a shell or Kubernetes makes it; `field` is its path.

    node: the item of the list that it is; None for a word of a script.
    """

    text: str | None
    span: Span
    field: str
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a container, as `CommandLine` reads it; `is_script` if a shell runs it.

    program: without folder, `python` for a module that is not a launcher.
    is_other_user: whether another user than that of the container may run it, as by `sudo -u`.
    """

    program: str
    name: ContainerWord
    arguments: tuple[ContainerWord, ...]
    is_other_user: bool = False
    is_script: bool = False

    def launch(self, implementation: str | None = None) -> LaunchLine:
        """What a launcher reads, with places in the file."""
        words = [Word(word.text or "", word.span, word.text is not None) for word in self.arguments]
        return launch_line(self.program, words, "", implementation)

    def field_of(self, span: Span) -> str:
        """The path of the word at a place."""
        return next((word.field for word in self.arguments if word.span == span), self.name.field)


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A container with its path, `spec…containers[0]`, and what it runs.

    words: `command` and `args`; None if neither is written. script: the word that holds a shell script.
    """

    value: Value
    path: str
    words: tuple[ContainerWord, ...]
    has_command: bool
    script: ContainerWord | None
    lines: CommandLines
    commands: tuple[Command, ...]

    @property
    def launchers(self) -> list[Command]:
        """The MPI launchers."""
        return [command for command in self.commands if command.program in launchers()]

    @later
    def insert_fix(self, command: Command, source: str, *words: str) -> Fixes:
        """Add words after the program of a command."""
        title = f"Add '{' '.join(words)}'"
        if command.name.node is None:
            at = command.name.span.end
            is_clear = source[command.name.span.start : at] == (command.name.text or "")
            return (Fix(title, (TextEdit(Span(at, at), f" {' '.join(words)}"),)),) if is_clear else ()
        for key in ("command", "args"):
            value = self.value.get(key)
            items = value.node.items if value is not None and isinstance(value.node, Sequence) else ()
            for number, item in enumerate(items):
                if item is command.name.node and value is not None and isinstance(value.node, Sequence):
                    return (Fix(title, items_after(source, value.node, words, number)),)
        return ()

    @property
    def place(self) -> ContainerWord | None:
        """Where to point for the whole: the script, else `command`, else `args`."""
        if self.script is not None:
            return self.script
        key = "command" if self.has_command else "args"
        value = self.value.get(key)
        return ContainerWord(None, value.span, f"{self.path}.{key}") if value is not None else None

    def mentions(self, part: str) -> bool:
        """Whether a variable's name, or a word of a command, has a text."""
        return self.lines.mentions(part) or any(part in name for _, name, _ in self.environment())

    def environment(self) -> Iterator[tuple[int, str, Value]]:
        """The variables: index, name and entry."""
        for number, entry in enumerate(self.value.items("env")):
            name = entry.get("name")
            if name is not None and name.kind == "string":
                yield number, name.content, entry

    def gpus(self) -> tuple[int, Span, str] | None:
        """The GPUs that it asks for, where, and the path of the field."""
        for group in ("limits", "requests"):
            value = self.value.get("resources", group, GPU)
            number = None if value is None else whole_number(str(value.content))
            if value is not None and number is not None:
                return number, value.span, f"{self.path}.resources.{group}.{GPU}"
        return None


@lru_cache(maxsize=8)
def containers(manifest: Manifest, pod: str) -> tuple[Container, ...]:
    """The containers of the pod specification at a path."""
    source, items = manifest.syntax.text, manifest.root.items(*pod.split("."), "containers")
    found = (_container(item, f"{pod}.containers[{number}]", source) for number, item in enumerate(items))
    return tuple(one for one in found if one is not None)


def _container(value: Value, path: str, source: str) -> Container | None:
    if value.kind != "object":
        return None
    words = (*_words(value, path, "command"), *_words(value, path, "args"))
    has_command = bool(_words(value, path, "command"))
    lines = command_lines(read_script(quoted_words([word.text for word in words])))
    if not words or words[0].text is None:
        return Container(value, path, words, has_command, None, lines, ())
    line = lines.all[0]
    number = len(words) - len(line.arguments)
    arguments = words[number:]
    at = next((n for n, word in enumerate(arguments) if _is_script_option(word)), None)
    if line.program in SHELLS and at is not None and at + 1 < len(arguments):
        script = arguments[at + 1]
        lines = command_lines(read_script(script.text or ""))
        return Container(value, path, words, has_command, script, lines, tuple(_script_commands(script, lines, source)))
    command = Command(_program(line), words[number - 1], arguments, line.is_other_user)
    return Container(value, path, words, has_command, None, lines, (command,))


def _is_script_option(word: ContainerWord) -> bool:
    text = word.text or ""
    return text.startswith("-") and not text.startswith("--") and text.endswith("c")


def _program(line: CommandLine) -> str:
    return "python" if line.is_module and line.program not in MODULES.values() else line.program


def _script_commands(script: ContainerWord, lines: CommandLines, source: str) -> Iterator[Command]:
    places = mapped(source, script.node) if isinstance(script.node, Scalar) else None

    def placed(word: Word) -> ContainerWord:
        span = places.span(word.span.start, word.span.end) if places is not None else script.span
        return ContainerWord(word.text if word.is_literal else None, span, script.field)

    for line in lines.all:
        words = tuple(map(placed, line.arguments))
        yield Command(_program(line), placed(line.name), words, line.is_other_user, is_script=True)


def _words(value: Value, path: str, key: str) -> tuple[ContainerWord, ...]:
    return tuple(
        ContainerWord(item.text, item.span, f"{path}.{key}[{number}]", item.node)
        for number, item in enumerate(value.items(key))
    )


REPLICAS = "spec.mpiReplicaSpecs"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The parts of a manifest that its operator runs.

    launcher, worker: paths of the pod specifications; workers: how many; slots: of one worker;
    implementation: OpenMPI, Intel or MPICH; works: whether the launcher runs processes too.
    """

    manifest: Manifest
    launcher: str
    worker: str
    workers: int
    slots: int
    implementation: str
    works: bool
    is_other: bool

    @property
    def capacity(self) -> int:
        """How many processes fit."""
        return self.slots * (self.workers + self.works)

    @property
    def launcher_containers(self) -> tuple[Container, ...]:
        """The launcher's containers."""
        return containers(self.manifest, self.launcher)

    @property
    def worker_containers(self) -> tuple[Container, ...]:
        """A worker's containers."""
        return containers(self.manifest, self.worker)

    @property
    def pods(self) -> tuple[tuple[str, str, tuple[Container, ...]], ...]:
        """Both pods: name, path and containers."""
        return (
            ("launcher", self.launcher, self.launcher_containers),
            ("worker", self.worker, self.worker_containers),
        )

    @property
    def starters(self) -> list[tuple[Command, LaunchLine]]:
        """The launchers in the first container, as they read their words."""
        known = OPEN_MPI if self.implementation == "OpenMPI" else HYDRA
        first = self.launcher_containers[:1]
        return [(command, command.launch(known)) for container in first for command in container.launchers]


@lru_cache(maxsize=4)
def layout(manifest: Manifest) -> Layout | None:
    """The parts of a manifest of v2beta1 or of the other operator; None for another one."""
    if manifest.version == OTHER_OPERATOR:
        workers = manifest.number("spec.numWorkers") or 1
        paths = "spec.launcherTemplate.spec", "spec.workerTemplate.spec"
        return Layout(manifest, *paths, workers, 1, "OpenMPI", works=False, is_other=True)
    if not manifest.is_served:
        return None
    written = manifest.get("spec.slotsPerWorker")
    # Of a wrong value nothing follows; -1 is less than any number of slots.
    slots = 1 if written is None else manifest.number("spec.slotsPerWorker")
    slots = -1 if slots is None else slots
    return Layout(
        manifest,
        f"{REPLICAS}.Launcher.template.spec",
        f"{REPLICAS}.Worker.template.spec",
        max(manifest.number(f"{REPLICAS}.Worker.replicas") or 0, 0),
        slots,
        manifest.text("spec.mpiImplementation") or "OpenMPI",
        works=manifest.flag("spec.runLauncherAsWorker"),
        is_other=False,
    )


def served_layout(manifest: Manifest) -> Layout | None:
    """The parts of a manifest of v2beta1; None for another one."""
    return layout(manifest) if manifest.is_served else None


def finding_at(
    manifest: Manifest, path: str, message: str, severity: Severity | None = None, fixes: Fixes = ()
) -> Finding:
    """A finding at a path; of a missing key, at the nearest parent."""
    return Finding(manifest.place(path), message, fixes, field=path, severity=severity)


def has_worker(found: Layout) -> bool:
    """Whether there are workers."""
    return found.is_other or found.manifest.get(f"{REPLICAS}.Worker") is not None


def all_containers(manifest: Manifest) -> list[Container]:
    """The containers of both pods."""
    found = layout(manifest)
    return [container for _, _, some in found.pods for container in some] if found else []


def user_of_launcher(found: Layout, container: Container) -> int | None:
    """The user that the launcher's container runs as, where the manifest names one."""
    own = container.value.get("securityContext", "runAsUser")
    pod = found.manifest.get(f"{found.launcher}.securityContext.runAsUser")
    value = own or pod
    return value.content if value is not None and value.kind == "integer" else None


def worker_gpus(manifest: Manifest) -> tuple[Layout, int, Span, str] | None:
    """The GPUs of each worker, with their place and its path."""
    found = served_layout(manifest)
    if found is None:
        return None
    for container in found.worker_containers[:1]:
        gpus = container.gpus()
        if gpus and gpus[0] > 0:
            return (found, *gpus)
    return None
