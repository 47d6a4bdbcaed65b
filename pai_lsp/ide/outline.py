"""The outline of a job or an MPIJob, what can be folded, and what to select when a selection grows.

The outline has prerequisites, task roles with their resources, and parameters; of an MPIJob: its pods. Folded are the
value of a key, an item of a list, and a block of comment lines. A selection grows from the word to the template, the
line of a command, the value, and the entry.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.ide.cursor import Cursor
from pai_lsp.ide.known_values import job_resources, role_resources, short
from pai_lsp.job.definition import TYPED_FIELDS, Definition, key_name_span, name_span, scalars
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence, items_of, scalar_text, value_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.ide.cursor import Location
    from pai_lsp.job.hidden import Hidden
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import Deployment, PluginEntry, TaskRole

_NO_NAME = "(no name)"
# Keys that every job has, always with the same value.
_LEFT_OUT = frozenset({"protocolVersion", "type"})


class OutlineKind(Enum):
    """The kind of an item; the values are LSP's names of kinds that editors have a fitting icon for."""

    SECTION = "Namespace"
    PREREQUISITE = "Package"
    CALLBACK = "Event"
    COMMAND = "String"
    TASK_ROLE = "Class"
    FIELD = "Property"
    PARAMETER = "Variable"
    SECRET = "Key"  # noqa: S105 - LSP's word
    DEPLOYMENT = "Module"
    PLUGIN = "Interface"


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """One thing: `span` is all of it, `name_span` (inside of it) what to select; `name` is never empty."""

    name: str
    kind: OutlineKind
    span: Span
    name_span: Span
    detail: str = ""
    children: tuple[OutlineItem, ...] = ()


def outline(document: Document) -> tuple[OutlineItem, ...]:
    """The items of the file, in the order of the text; of secrets only their names."""
    if document.is_mpijob:
        return tuple(_manifests(document))
    return tuple(_without(document.job.hidden, item) for item in _items(document.job))


def _items(job: Job) -> tuple[OutlineItem, ...]:
    if job.is_catalog:
        return _ordered(_definition(definition) for definition in job.definitions)
    entries = job.root.entries if job.root else ()
    return _ordered(_section(job, entry) for entry in entries if not entry.is_merge and entry.name not in _LEFT_OUT)


def _manifests(document: Document) -> Iterator[OutlineItem]:
    """The MPIJobs of the file."""
    from pai_lsp.mpijob.manifest import manifests  # noqa: PLC0415 - most files are jobs of OpenPAI

    for manifest in manifests(document.syntax):
        node, name, spec = manifest.root.node, manifest.get("metadata.name"), manifest.get("spec")
        entries = spec.node.entries if spec and isinstance(spec.node, Mapping) else ()
        children = [_manifest_key(entry) for entry in entries if not entry.is_merge]
        shown, at = (str(name.plain), name.node.span) if name else ("", None)
        yield _nested(shown, OutlineKind.DEPLOYMENT, node.span, at, "MPIJob", children)


def _manifest_key(entry: Entry) -> OutlineItem:
    value = entry.value
    if not isinstance(value, Mapping):
        return _field(entry)
    if entry.name == "mpiReplicaSpecs":
        return _item(entry, OutlineKind.SECTION, "", map(_pods, value.entries))
    return _item(entry, OutlineKind.SECTION, "", map(_field, value.entries))


def _pods(entry: Entry) -> OutlineItem:
    """A kind of pod, with its number and its containers."""
    value = entry.value
    if not isinstance(value, Mapping):
        return _field(entry)
    items = items_of(value_at(value_at(value.get("template"), "spec"), "containers"))
    own = [_field(one) for one in value.entries if isinstance(one.value, Scalar)]
    number = value.get("replicas")
    detail = f"{number.text} pod{'' if number.text == '1' else 's'}" if isinstance(number, Scalar) else ""
    containers = [_container(one) for one in items if isinstance(one, Mapping)]
    return _item(entry, OutlineKind.TASK_ROLE, detail, [*own, *containers])


def _container(node: Mapping) -> OutlineItem:
    name, image = node.get("name"), node.get("image")
    at = name.span if isinstance(name, Scalar) else None
    fields = [_item(one, OutlineKind.FIELD) for one in node.entries if one.name not in {"name", "image"}]
    detail = short(scalar_text(image))
    return _nested(scalar_text(name), OutlineKind.PREREQUISITE, node.span, at, detail, fields)


def _without(hidden: Hidden, item: OutlineItem) -> OutlineItem:
    """An item without the secrets in names, values and commands."""
    children = tuple(_without(hidden, child) for child in item.children)
    return replace(item, name=hidden.without(item.name), detail=hidden.without(item.detail), children=children)


def _section(job: Job, entry: Entry) -> OutlineItem:
    name, kind = entry.name, OutlineKind.SECTION
    if name == "taskRoles":
        total = job_resources(job)
        shown = ", ".join(filter(None, (plural(total.tasks, "task"), total.sentence()))) if job.task_roles else ""
        return _item(entry, kind, shown, map(_role, job.task_roles))
    if name == "extras":
        return _item(entry, kind, "", _extras(job, entry.value))
    if name == "prerequisites":
        children = [*map(_definition, job.prerequisites)]
    elif name == "parameters":
        children = [_item(one, OutlineKind.PARAMETER, _shown(one.value)) for one in job.parameters.values()]
    elif name == "secrets":
        children = [_item(one, OutlineKind.SECRET) for one in job.secrets.values()]
    elif name == "deployments":
        children = [*map(_deployment, job.deployments)]
    else:
        return _field(entry)
    return _item(entry, kind, _count(children), children)


def _definition(definition: Definition) -> OutlineItem:
    children = [
        OutlineItem(
            callback.event_name or _NO_NAME,
            OutlineKind.CALLBACK,
            callback.node.span,
            name_span(callback.event) if callback.event else _start(callback.node.span),
            plural(len(callback.commands), "command"),
            tuple(map(_command, callback.commands)),
        )
        for callback in definition.callbacks
    ]
    span, at = definition.node.span, definition.name_span
    return _nested(definition.name, OutlineKind.PREREQUISITE, span, at, definition.type, children)


def _role(role: TaskRole) -> OutlineItem:
    children = [_field(entry) for name in (*TYPED_FIELDS, "prerequisites") if (entry := role.field(name))]
    if commands := role.field("commands"):
        detail = plural(len(role.commands), "command")
        children.append(_item(commands, OutlineKind.FIELD, detail, map(_command, role.commands)))
    asked = role_resources(role)
    gpu = f"{asked.gpu} GPU" if asked.gpu is not None else ""
    shown = ", ".join(filter(None, (plural(asked.tasks, "task"), gpu)))
    return _item(role.entry, OutlineKind.TASK_ROLE, shown, children)


def _deployment(deployment: Deployment) -> OutlineItem:
    children = [_item(entry, OutlineKind.FIELD, _around(deployment, entry.name)) for entry in deployment.role_entries]
    at = name_span(deployment.name_scalar) if deployment.name_scalar else None
    return _nested(deployment.name, OutlineKind.DEPLOYMENT, deployment.node.span, at, "", children)


def _around(deployment: Deployment, role: str) -> str:
    counts = ((len(deployment.commands(role, f"{when}Commands")), when) for when in ("pre", "post"))
    return ", ".join(f"{number} {when}" for number, when in counts if number)


def _extras(job: Job, node: Node) -> Iterator[OutlineItem]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        if entry.name == RUNTIME_PLUGIN:
            yield _item(entry, OutlineKind.SECTION, _count(job.plugins), map(_plugin, job.plugins))
        elif entry.name == "reference_prerequisites":
            found = job.reference_prerequisites
            yield _item(entry, OutlineKind.SECTION, _count(found), map(_definition, found))
        elif not entry.is_merge:
            yield _field(entry)


def _plugin(plugin: PluginEntry) -> OutlineItem:
    at = name_span(plugin.plugin_scalar) if plugin.plugin_scalar else None
    roles = ", ".join(scalar.text for scalar in plugin.task_roles or ())
    return _nested(plugin.plugin, OutlineKind.PLUGIN, plugin.node.span, at, roles)


def _command(command: Scalar) -> OutlineItem:
    line = next((line.strip() for line in command.text.split("\n") if line.strip()), "")
    at = Span(command.span.start, min(command.span.end, command.span.start + len(line)))
    return OutlineItem(short(line) or _NO_NAME, OutlineKind.COMMAND, command.span, at)


def _field(entry: Entry) -> OutlineItem:
    return _item(entry, OutlineKind.FIELD, _shown(entry.value))


def _item(entry: Entry, kind: OutlineKind, detail: str = "", children: Iterable[OutlineItem] = ()) -> OutlineItem:
    return _nested(entry.name, kind, entry.span, key_name_span(entry), detail, children)


def _nested(
    name: str, kind: OutlineKind, span: Span, at: Span | None, detail: str, children: Iterable[OutlineItem] = ()
) -> OutlineItem:
    """An item with those of its children that are inside it: the content of an alias or a `<<` is elsewhere."""
    place = at if at is not None and span.holds(at) else _start(span)
    inside = (child for child in children if span.holds(child.span))
    return OutlineItem(name or _NO_NAME, kind, span, place, detail, _ordered(inside))


def _start(span: Span) -> Span:
    return Span(span.start, span.start)


def _ordered(items: Iterable[OutlineItem]) -> tuple[OutlineItem, ...]:
    return tuple(sorted(items, key=lambda item: item.span))


def _shown(node: Node) -> str:
    """A value in a few words: a scalar as written, the names in a list, how many keys there are else."""
    if isinstance(node, Scalar):
        return short(node.text.strip())
    if isinstance(node, Sequence):
        names = scalars(node)
        return short(", ".join(name.text for name in names)) if len(names) == len(node.items) else _count(node.items)
    return short(", ".join(entry.name for entry in node.entries))


def _count(things: tuple[object, ...] | list[OutlineItem]) -> str:
    return str(len(things)) if things else ""


_COMMENTS = lazy_pattern(r"(?:^[ \t]*#[^\r\n]*(?:\r\n|\n|\r))+^[ \t]*#[^\r\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fold:
    """From the end of the line in which `span` starts to its end; it has more than one line."""

    span: Span
    is_comment: bool = False


def folds(document: Document) -> list[Fold]:
    """What can be folded, by place; what begins in the same line comes once, as far as it goes."""
    found = [*(fold for root in document.syntax.documents for fold in _below(root)), *_comments(document)]
    lines = document.lines
    longest: dict[int, Fold] = {}
    for fold in found:
        first, last = lines.line_of(fold.span.start), lines.line_of(fold.span.end)
        if first < last and (first not in longest or longest[first].span.end < fold.span.end):
            longest[first] = fold
    return [fold for _, fold in sorted(longest.items())]


def _below(node: Node | None) -> Iterator[Fold]:
    if isinstance(node, Mapping):
        for entry in node.entries:
            # The content of an alias is elsewhere, and is folded there.
            if entry.value.span.start >= entry.key.span.start:
                yield Fold(entry.span)
                yield from _below(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            if node.span.start <= item.span.start:
                yield Fold(item.span)
                yield from _below(item)


def _comments(document: Document) -> Iterator[Fold]:
    """Comment lines below each other; a line in a block of text is not a comment, however it begins."""
    blocks = [scalar.span for scalar in document.syntax.scalars if scalar.is_block]
    for match in _COMMENTS.finditer(document.text):
        span = Span(match.start(), match.start() + len(match[0].rstrip("\r\n")))
        if not any(block.start < span.start and span.end <= block.end for block in blocks):
            yield Fold(span, is_comment=True)


_WORD = lazy_pattern(r"[\w-]+")


def selection_ranges(document: Document, offset: int) -> list[Span]:
    """The spans around an offset, the innermost first; each holds the one before it and is larger."""
    location = Cursor(document, offset).location
    around = [*_in_text(document, offset), *_in_tree(document, location, offset)] if location else []
    grown: list[Span] = []
    for span in sorted((*around, Span(0, len(document.text))), key=len):
        last = grown[-1] if grown else Span(offset, offset)
        if span.holds(last) and span != last:
            grown.append(span)
    return grown


def _in_text(document: Document, offset: int) -> Iterator[Span]:
    """The word at the offset, and the template with its content."""
    line = document.lines.line_span(document.lines.line_of(offset))
    for match in _WORD.finditer(document.text, line.start, line.end):
        if match.start() <= offset <= match.end():
            yield Span(*match.span())
    for use in document.job.template_uses:
        if use.span.touches(offset):
            yield use.content_span
            yield use.span


def _in_tree(document: Document, location: Location, offset: int) -> Iterator[Span]:
    """The line of a block, the scalar without and with its quotes, and every collection around it with its key."""
    node = location.node
    if isinstance(node, Scalar):
        if node.is_block:
            yield from _block_lines(document, node, offset)
        yield name_span(node)
    yield node.span
    inner = node
    for parent in reversed(location.parents):
        if isinstance(parent, Mapping):
            yield from (entry.span for entry in parent.entries if entry.value is inner or entry.key is inner)
        elif not parent.is_flow:
            yield _item_range(document, inner.span)
        yield parent.span
        inner = parent


def _item_range(document: Document, span: Span) -> Span:
    """An item of a block list with its dash."""
    start = document.lines.line_start(document.lines.line_of(span.start))
    dash = document.text.rfind("-", start, span.start)
    return Span(dash, span.end) if document.text[dash : span.start].strip() == "-" else span


def _block_lines(document: Document, node: Scalar, offset: int) -> Iterator[Span]:
    """The line of a block's text that the offset is in, and all its text."""
    text = mapped(document.text, node)
    if not text.text.strip():
        return
    whole = text.span(0, len(text.text.rstrip()))
    line = document.lines.line_span(document.lines.line_of(offset))
    written = document.text[line.start : line.end]
    start = line.start + len(written) - len(written.lstrip())
    if whole.start <= start and line.end <= whole.end:
        yield Span(start, line.end)
    yield whole
