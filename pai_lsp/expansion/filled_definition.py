"""What a definition brings into a job: its values and commands with everything filled, and the storages it needs.

The extended protocol fills `{{ variable }}` and `<% this.key %>`, once: what is put in is not read again. Also the
problems that keep a job from being expanded: diagnostics, always errors, with the code of a rule if one fits.

Sources: docs/protocol.md, "Template variables", "Order" and "Events"; of a plugin's parameters: openpai-runtime,
src/plugins/cmd/init.py; of the forms of storages: openpai, issues 5345 (`requireStorages`, the plugin `pvc_storage`)
and 5145 (type `storage`).
"""

from __future__ import annotations

import posixpath

from pai_lsp.embedded.template import MISSING, filled
from pai_lsp.findings.diagnostic import Diagnostic, Related, Severity
from pai_lsp.job.definition import SIMPLE_KEYS, STORAGE_PLUGINS, name_span
from pai_lsp.job.require_graph import (
    CALLBACK_FORM,
    CALLBACK_NEEDS_COMMANDS,
    CALLBACK_NEEDS_EVENT,
    CALLBACKS_FORM,
    EVENT_FORM,
    command_is_no_text,
    mounted_already,
    no_event,
)
from pai_lsp.job.this_lookup import looked_up, this_tags, with_required
from pai_lsp.platform.tables import events
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Node, Scalar, Sequence, plain_value
from pai_lsp.source.scalar import server_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeAlias

    from pai_lsp.embedded.template import TemplateTag
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import ExpansionStep
    from pai_lsp.platform.tables import Moment
    from pai_lsp.source.text import Span

    Report: TypeAlias = Callable[[str, Span, str], None]


# Something is wrong or unknown.
CANNOT_BE_EXPANDED = "cannot-be-expanded"
# Everything is known, but a released cluster has no form for it.
CANNOT_BE_EXPRESSED = "cannot-be-expressed"
# It is unknown what a reference means.
NOT_LOOKED_UP = "marketplace-not-asked"
BROKEN_LOCK_FILE = "broken-lock-file"


def problem(code: str, span: Span, message: str, *related: Related) -> Diagnostic:
    """One problem."""
    return Diagnostic(code, Severity.ERROR, span, message, related=related)


@dataclass(frozen=True, slots=True, eq=False)
class CommandItem:
    """One command of a callback: its text with variables filled, and the scalar it is written as."""

    text: str
    scalar: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Commands:
    """The commands of one callback, or of `preCommands` or `postCommands`.

    callback: the callback's mapping; None for the other two.
    place: the list of the items, or the single text in its place.
    """

    moment: Moment
    items: tuple[CommandItem, ...]
    callback: Mapping | None
    place: Node


def read_commands(
    holder: Mapping, step: ExpansionStep | None, where: Span | None, report: Report
) -> Iterator[Commands]:
    """The commands in a plugin's parameters.

    step: fills what the extended protocol fills; None for a plugin of `extras`, in which nothing is filled.
    where: the place in the job that leads to a definition in another file; None for the job's own.
    """
    for name, moment in SIMPLE_KEYS.items():
        if (node := holder.get(name)) is not None:
            yield Commands(moment, _items(node, step, where, report), None, node)
    callbacks = holder.get("callbacks")
    if callbacks is not None and not isinstance(callbacks, Sequence):
        report(CANNOT_BE_EXPANDED, where or callbacks.span, CALLBACKS_FORM)
    for callback in callbacks.items if isinstance(callbacks, Sequence) else ():
        entry = callback.entry("event") if isinstance(callback, Mapping) else None
        event = entry.value if entry else None
        node = callback.get("commands") if isinstance(callback, Mapping) else None
        if not isinstance(callback, Mapping) or entry is None or not isinstance(event, Scalar) or node is None:
            is_form = isinstance(callback, Mapping)
            missing = CALLBACK_NEEDS_EVENT if event is None else CALLBACK_NEEDS_COMMANDS if node is None else EVENT_FORM
            report(CANNOT_BE_EXPANDED, where or callback.span, missing if is_form else CALLBACK_FORM)
            continue
        known = events().get(event.text)
        if known is None:
            report("invalid-event", where or (name_span(event) if event.text else entry.place), no_event(event.text))
            continue
        yield Commands(known.moment, _items(node, step, where, report), callback, node)


def items_at(commands: tuple[Commands, ...], moment: Moment) -> tuple[CommandItem, ...]:
    """The items of all commands that run at one moment."""
    return tuple(item for one in commands if one.moment is moment for item in one.items)


def ignores_failure(node: Mapping, step: ExpansionStep | None = None) -> bool:
    """Whether the commands of a prerequisite or plugin entry may fail, by its `failurePolicy`.

    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands.
    """
    policy = node.get("failurePolicy")
    if not isinstance(policy, Scalar):
        return False
    return (step_text(policy.text, step) if step else policy.text).lower() == "ignore"


def _items(node: Node, step: ExpansionStep | None, where: Span | None, report: Report) -> tuple[CommandItem, ...]:
    """The items of a list of commands; a single text counts as a list of one, and null is not a command."""
    if isinstance(node, Mapping):
        report(CANNOT_BE_EXPANDED, where or node.span, "'commands' must be a list of strings, not a mapping")
        return ()
    found: list[CommandItem] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        if not isinstance(item, Scalar):
            kind = "mapping" if isinstance(item, Mapping) else "list"
            report(CANNOT_BE_EXPANDED, where or item.span, command_is_no_text(kind))
        elif item.value is not None:
            found.append(CommandItem(step_text(item.text, step) if step else item.text, item))
    return tuple(found)


def step_text(text: str, step: ExpansionStep) -> str:
    """A text of a step's definition with everything filled that can be."""
    parts: list[str] = []
    at = 0
    for tag in this_tags(step.definition, text):
        value = _this(tag, step)
        if value is not MISSING:
            parts += (_as_text(filled(text[at : tag.span.start], step.values)), server_text(value))
            at = tag.span.end
    return "".join([*parts, _as_text(filled(text[at:], step.values))])


def step_value(node: Node, step: ExpansionStep) -> Any:
    """A node of a step's definition as a plain value, its strings filled; a text that is one variable is its value."""
    if isinstance(node, Mapping):
        return {entry.name: step_value(entry.value, step) for entry in node.effective_entries()}
    if isinstance(node, Sequence):
        return [step_value(item, step) for item in node.items]
    if not node.is_string:
        return node.value
    return step_text(node.text, step) if this_tags(step.definition, node.text) else filled(node.text, step.values)


def is_filled(scalar: Scalar, step: ExpansionStep) -> bool:
    """Whether filling changes the scalar."""
    return ("{{" in scalar.text or "<%" in scalar.text) and scalar.is_string and step_value(scalar, step) != scalar.text


def _this(tag: TemplateTag, step: ExpansionStep) -> Any:
    """What a tag finds, with the variables of its definition filled."""
    steps = tuple(with_required(step, lambda one: one.required))
    answer = looked_up(tag, (one.definition for one in steps))
    if answer.node is None:
        return MISSING
    holder = next(one for one in steps if one.definition is answer.holder)
    return filled(plain_value(answer.node), holder.values)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else server_text(value)


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A storage that a prerequisite needs; `span` is its place, or the reference in the job that leads to its file."""

    name: str
    mount_path: str
    span: Span


def is_storage(definition: Definition) -> bool:
    """Whether a definition is a storage itself, and runs nothing."""
    plugin = definition.extended_plugin
    return plugin in STORAGE_PLUGINS or (definition.type == "storage" and plugin is None)


def needed_storages(step: ExpansionStep, where: Span | None, report: Report) -> Iterator[Storage]:
    """What a definition needs to be mounted; `where` is the place in the job of one in another file."""
    node = step.definition.node.get("requireStorages")
    for item in node.items if isinstance(node, Sequence) else ():
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(name, Scalar) or not name.text:
            report(CANNOT_BE_EXPANDED, where or item.span, "a storage needs a name")
            continue
        mount = item.get("mountPath")
        named = step_text(name.text, step)
        path = step_text(mount.text, step) if isinstance(mount, Scalar) and mount.text else f"/mnt/{named}"
        yield Storage(named, path, where or item.span)
    if is_storage(step.definition):
        yield _own_storage(step, where)


def _own_storage(step: ExpansionStep, where: Span | None) -> Storage:
    """The storage that a definition is."""
    definition = step.definition
    name = definition.parameter("config") or definition.parameter("name") or definition.node.entry("name")
    mount = definition.parameter("mountPath") or definition.parameter("mountPoint")
    named = step_text(name.value.text, step) if name and isinstance(name.value, Scalar) else definition.name
    path = step_text(mount.value.text, step) if mount and isinstance(mount.value, Scalar) else ""
    return Storage(named, path or f"/mnt/{named}", where or definition.name_span)


def merged_storages(job: Job, needed: Iterable[Storage]) -> tuple[tuple[Storage, ...], tuple[Diagnostic, ...]]:
    """The needed storages that the job does not mount yet, and the contradictions.

    One storage can be mounted at one path, and one path holds one storage.
    """
    by_name: dict[str, Storage] = {}
    by_path: dict[str, Storage] = {}
    new: list[Storage] = []
    problems: list[Diagnostic] = []
    for storage in mounted_storages(job):
        by_name.setdefault(storage.name, storage)
        by_path.setdefault(posixpath.normpath(storage.mount_path), storage)
    for storage in needed:
        path = posixpath.normpath(storage.mount_path)
        same_name, same_path = by_name.get(storage.name), by_path.get(path)
        if same_name is None and same_path is None:
            by_name[storage.name] = by_path[path] = storage
            new.append(storage)
        elif same_name is not None and posixpath.normpath(same_name.mount_path) != path:
            problems.append(_conflict(storage, same_name))
        elif same_name is None and same_path is not None:
            problems.append(_conflict(storage, same_path))
    return tuple(new), tuple(problems)


def _conflict(storage: Storage, other: Storage) -> Diagnostic:
    message = mounted_already(other.name, other.mount_path)
    related = (Related(other.span, "the other one"),) if other.span != storage.span else ()
    return problem("storage-conflict", storage.span, message, *related)


def mounted_storages(job: Job) -> Iterator[Storage]:
    """The entries of `extras.storages`. Source: rest-server, models/v2/job/k8s.js (the default path)."""
    node = job.extras.get("storages") if job.extras else None
    for item in node.items if isinstance(node, Sequence) else ():
        name = item.get("name") if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and isinstance(name, Scalar) and name.text:
            mount = item.get("mountPath")
            path = mount.text if isinstance(mount, Scalar) and mount.text else f"/mnt/{name.text}"
            yield Storage(name.text, path, item.span)
