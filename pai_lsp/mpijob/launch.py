"""What an MPIJob runs: the words of `command` and `args`, scripts in them, MPI launchers; its pods, slots and users.

Source: Kubernetes, "Define a Command and Arguments for a Container".
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import MODULES, command_lines, quoted_words
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_script import Word
from pai_lsp.findings.diagnostic import Finding, Fix, Fixes, later
from pai_lsp.mpijob.manifest import GPU, OTHER_OPERATOR, SERVED, Manifest, Value
from pai_lsp.platform.programs import HYDRA, OPEN_MPI, LaunchLine, launch_line, launchers
from pai_lsp.source.content import mapped
from pai_lsp.source.foreign import as_whole, whole_number
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.tree_edits import items_after

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.embedded.command_lines import CommandLine, CommandLines
    from pai_lsp.findings.diagnostic import Severity
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
    """One command of a container, as `CommandLine` reads it.

    program: without folder, `python` for a module that is not a launcher.
    is_other_user: whether another user than that of the container may run it, as by `sudo -u`.
    """

    program: str
    name: ContainerWord
    arguments: tuple[ContainerWord, ...]
    is_other_user: bool = False

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

    @property
    def written(self) -> ContainerWord:
        """Where `command` is written, else `args`."""
        key = "command" if self.has_command else "args"
        return ContainerWord(None, (self.value.get(key) or self.value).span, f"{self.path}.{key}")

    @property
    def place(self) -> ContainerWord:
        """Where to point for the whole: the script, else `command`, else `args`."""
        return self.script or self.written

    def environment(self) -> Iterator[tuple[int, Value, Value]]:
        """The variables: index, name and entry."""
        for number, entry in enumerate(self.value.items("env")):
            name = entry.get("name")
            if name is not None and name.kind == "string":
                yield number, name, entry


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
    at = next((n for n, word in enumerate(arguments, 1) if re.fullmatch("-(?:[^-].*)?c", word.text or "")), len(words))
    if line.program in SHELLS and at < len(arguments):
        script = arguments[at]
        lines = command_lines(read_script(script.text or ""))
        return Container(value, path, words, has_command, script, lines, tuple(_script_commands(script, lines, source)))
    command = Command(_program(line), words[number - 1], arguments, line.is_other_user)
    return Container(value, path, words, has_command, None, lines, (command,))


def _program(line: CommandLine) -> str:
    return "python" if line.is_module and line.program not in MODULES.values() else line.program


def _script_commands(script: ContainerWord, lines: CommandLines, source: str) -> Iterator[Command]:
    places = mapped(source, script.node) if isinstance(script.node, Scalar) else None

    def placed(word: Word) -> ContainerWord:
        span = places.span(word.span.start, word.span.end) if places is not None else script.span
        return ContainerWord(word.text if word.is_literal else None, span, script.field)

    for line in lines.all:
        words = tuple(map(placed, line.arguments))
        yield Command(_program(line), placed(line.name), words, line.is_other_user)


def _words(value: Value, path: str, key: str) -> tuple[ContainerWord, ...]:
    return tuple(
        ContainerWord(item.text, item.span, f"{path}.{key}[{number}]", item.node)
        for number, item in enumerate(value.items(key))
    )


REPLICAS = "spec.mpiReplicaSpecs"


@dataclass(frozen=True, eq=False)
class PodLayout:
    """A kind of pod, by the path of its specification."""

    manifest: Manifest
    path: str

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Its containers, read by the first rule that asks, with its allowance of steps."""
        items, source = self.manifest.root.items(*self.path.split("."), "containers"), self.manifest.syntax.text
        found = (_container(one, f"{self.path}.containers[{at}]", source) for at, one in enumerate(items))
        return tuple(one for one in found if one is not None)

    @property
    def gpus(self) -> tuple[int, Span, str] | None:
        """The GPUs that the first container asks for, where, and the path of the field; None without any."""
        groups = [(one, group) for one in self.containers[:1] for group in ("limits", "requests")]
        for container, group in groups:
            value = container.value.get("resources", group, GPU)
            if value is not None and (number := whole_number(str(value.content))):
                return number, value.span, f"{container.path}.resources.{group}.{GPU}"
        return None


@dataclass(frozen=True, eq=False)
class Layout:
    """The parts of a manifest that its operator runs.

    workers: how many; slots: of one worker, -1 for a wrong value; implementation: OpenMPI, Intel or MPICH;
    works: whether the launcher runs processes too; is_other: whether the operator is that of batch.test.bdap.com.
    """

    manifest: Manifest
    launcher: PodLayout
    worker: PodLayout
    workers: int
    slots: int
    implementation: str
    works: bool
    is_other: bool

    @property
    def containers(self) -> tuple[Container, ...]:
        """The containers of both pods."""
        return self.launcher.containers + self.worker.containers

    @property
    def has_worker(self) -> bool:
        """Whether there are workers."""
        return self.is_other or self.manifest.get(f"{REPLICAS}.Worker") is not None

    @cached_property
    def starters(self) -> list[tuple[Command, LaunchLine]]:
        """The launchers in the first container, as they read their words."""
        known = OPEN_MPI if self.implementation == "OpenMPI" else HYDRA
        first = self.launcher.containers[:1]
        return [(command, command.launch(known)) for container in first for command in container.launchers]

    def security(self, key: str) -> Any:
        """A value of the security context of the launcher's first container, else of its pod."""
        own = (one.value.get("securityContext", key) for one in self.launcher.containers[:1])
        value = next(own, None) or self.manifest.get(f"{self.launcher.path}.securityContext.{key}")
        return None if value is None else value.content

    @property
    def user(self) -> int | None:
        """The user that the launcher runs as, where the manifest names one."""
        return as_whole(self.security("runAsUser"))

    def finding(self, path: str, message: str, severity: Severity | None = None, fixes: Fixes = ()) -> Finding:
        """A finding at a path; of a missing key, at the nearest parent."""
        return Finding(self.manifest.place(path), message, fixes, field=path, severity=severity)

    @later
    def insert_fix(self, command: Command, *words: str) -> Fixes:
        """Add words after the program of a command of the launcher's first container."""
        title, source = f"Add '{' '.join(words)}'", self.manifest.syntax.text
        if command.name.node is None:
            at = command.name.span.end
            is_clear = source[command.name.span.start : at] == command.name.text
            return (Fix(title, (TextEdit(Span(at, at), f" {' '.join(words)}"),)),) if is_clear else ()
        lists = map(self.launcher.containers[0].value.get, ("command", "args"))
        nodes = (one.node for one in lists if one is not None and isinstance(one.node, Sequence))
        places = ((node, number) for node in nodes for number, item in enumerate(node.items))
        node, number = next((node, number) for node, number in places if node.items[number] is command.name.node)
        return (Fix(title, items_after(source, node, words, number)),)


def layout_of(manifest: Manifest) -> Layout | None:
    """The parts of a manifest of v2beta1 or of the other operator; None for another one."""
    if manifest.version == OTHER_OPERATOR:
        launcher, worker = (PodLayout(manifest, f"spec.{name}Template.spec") for name in ("launcher", "worker"))
        workers = manifest.number("spec.numWorkers") or 1
        return Layout(manifest, launcher, worker, workers, 1, "OpenMPI", works=False, is_other=True)
    if manifest.version != SERVED or not manifest.has_schema:
        return None
    launcher, worker = (PodLayout(manifest, f"{REPLICAS}.{name}.template.spec") for name in ("Launcher", "Worker"))
    workers = max(manifest.number(f"{REPLICAS}.Worker.replicas") or 0, 0)
    slots = manifest.number("spec.slotsPerWorker") if manifest.get("spec.slotsPerWorker") else 1
    slots = -1 if slots is None else slots
    implementation, works = manifest.text("spec.mpiImplementation"), manifest.flag("spec.runLauncherAsWorker")
    return Layout(manifest, launcher, worker, workers, slots, implementation or "OpenMPI", works=works, is_other=False)
