"""A task role of the first protocol as one of the second.

Sources: pai 0.14, docs/job_tutorial.md and src/rest-server/src/config/job.js; docs/protocol.md for today's keys.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.frozen import dataclass
from pai_lsp.ide.refactorings.written_lines import (
    Line,
    Written,
    written_list,
    written_mapping,
    written_node,
    written_scalar,
)
from pai_lsp.nodes import Mapping, Scalar, Sequence
from pai_lsp.scalar import server_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.nodes import Entry, Node

    Key = tuple[str, Written, int | None]

_NOT_IN_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_RESOURCES = (("cpu", "cpuNumber", 1), ("memoryMB", "memoryMB", 100), ("gpu", "gpuNumber", 0))
_AFTER_IMAGE = ("prerequisites", "data", "script", "output")


@dataclass(frozen=True, slots=True)
class FormerSurroundings:
    """What the job gives to its task roles.

    image: the name of its prerequisite; empty for none.
    folders: the fields that name prerequisites, with the name and the command that exports its address.
    exports: further commands that export variables.
    is_mixed: whether the job has keys of both protocols, so that what is not said means what it means today.
    """

    image: str
    folders: tuple[tuple[str, str, str], ...]
    exports: tuple[str, ...]
    is_mixed: bool


def task_role(role: Mapping, surroundings: FormerSurroundings, count: int) -> Written:
    """The role with today's keys; `count` is the number of task roles in the job."""
    return written_mapping(_keys(role, surroundings, count))


def _keys(role: Mapping, surroundings: FormerSurroundings, count: int) -> Iterator[Key]:
    instances = role.entry("taskNumber") or role.entry("instances")
    yield "instances", written_scalar(_number(instances, 1)), _at(instances)
    yield from _completion(role, 1 if surroundings.is_mixed else count)
    if entry := role.entry("taskRetryCount"):
        yield entry.name, written_node(entry.value), _at(entry)
    image = role.entry("dockerImage")
    if image is not None:
        yield image.name, written_node(image.value), _at(image)
    elif surroundings.image:
        yield "dockerImage", written_scalar(surroundings.image), None
    for name in _AFTER_IMAGE:
        given = next((one for field, one, _ in surroundings.folders if field == name), None)
        if entry := role.entry(name):
            yield name, written_node(entry.value), _at(entry)
        elif given:
            yield name, written_scalar(given), None
    yield from _options(role)
    yield "resourcePerInstance", written_mapping(_resources(role)), _at(role.entry("resourcePerInstance"))
    yield "commands", written_list(_commands(role, surroundings)), _at(role.entry("commands"))


def _at(entry: Entry | None) -> int | None:
    return entry.key.span.start if entry else None


def _number(entry: Entry | None, otherwise: int) -> Any:
    """A whole number, be it in quotes; whatever else is written stays."""
    value = entry.value.value if entry and isinstance(entry.value, Scalar) else None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return int(value)
    if isinstance(value, float) and value == value // 1:
        return int(value)
    return otherwise if value is None else value


def _completion(role: Mapping, count: int) -> Iterator[Key]:
    """Null meant that no number of tasks ends the job, as -1 does today; nothing said meant null for successes.

    A job of one role ends the same either way.
    """
    present = role.get("completion")
    if isinstance(present, Mapping):
        yield "completion", written_node(present), _at(role.entry("completion"))
        return
    keys: list[Key] = []
    failed, succeeded = role.entry("minFailedTaskCount"), role.entry("minSucceededTaskCount")
    if failed is not None:
        keys.append(("minFailedInstances", written_scalar(_number(failed, -1)), _at(failed)))
    if succeeded is not None or count > 1:
        keys.append(("minSucceededInstances", written_scalar(_number(succeeded, -1)), _at(succeeded)))
    if keys:
        yield "completion", written_mapping(keys), None


def _options(role: Mapping) -> Iterator[Key]:
    present, memory = role.entry("extraContainerOptions"), role.entry("shmMB")
    keys: list[Key] = []
    if present is not None and isinstance(present.value, Mapping):
        kept = present.value.effective_entries()
        keys = [(one.name, written_node(one.value), _at(one)) for one in kept if one.name != "shmMB" or not memory]
    if memory is not None:
        keys.append(("shmMB", written_scalar(_number(memory, 64)), _at(memory)))
    if keys:
        yield "extraContainerOptions", written_mapping(keys), _at(present)


def _resources(role: Mapping) -> Iterator[Key]:
    present = role.get("resourcePerInstance")
    kept = present if isinstance(present, Mapping) else None
    for name, former, otherwise in _RESOURCES:
        entry = role.entry(former) or (kept.entry(name) if kept else None)
        yield name, written_scalar(_number(entry, otherwise)), _at(entry)
    ports = role.entry("portList")
    if ports is not None and isinstance(ports.value, Sequence) and ports.value.items:
        labels = dict(_label(item) for item in ports.value.items if isinstance(item, Mapping))
        yield "ports", written_mapping((name, one, at) for name, (one, at) in labels.items()), _at(ports)
    elif kept is not None and (entry := kept.entry("ports")):
        yield "ports", written_node(entry.value), _at(entry)


def _label(item: Mapping) -> tuple[str, tuple[Written, int]]:
    """A port's label with the number of ports; where they begin can not be chosen any more."""
    name = item.get("label")
    label = _NOT_IN_LABEL.sub("_", name.text if isinstance(name, Scalar) else "port") or "port"
    label = label if not label[0].isdigit() else f"_{label}"
    number = written_scalar(_number(item.entry("portNumber"), 1) or 1)
    begin = _number(item.entry("beginAt"), 0)
    if begin:
        first = number.lines[0]
        number = Written((Line(f"{first.text}  # began at {server_text(begin)}", first.at, holds_comment=False),))
    return label, (number, item.span.start)


def _commands(role: Mapping, surroundings: FormerSurroundings) -> Iterator[Written]:
    exports = (export for field, _, export in surroundings.folders if role.entry(field) is None)
    yield from map(written_scalar, (*exports, *surroundings.exports))
    entry = role.entry("command")
    present = role.get("commands")
    nodes: tuple[Node, ...] = present.items if isinstance(present, Sequence) else ()
    if entry is not None:
        nodes = (*(entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)), *nodes)
    for node in nodes:
        text = node.text if isinstance(node, Scalar) else None
        yield written_node(node) if text is None else written_scalar(text, node.span.start)
