"""The edits that give the parts of a job their released form, in place.

The parts are the job's definitions, the lists of `prerequisites` of its task roles, and the entries of `extras`; lines
that stay are not changed. pai_lsp/expansion/released_job.py puts the edits together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.expansion.effective import (
    CmdPluginEntry,
    Commands,
    EffectiveRole,
    Prerequisite,
    Storage,
    is_filled,
    step_value,
)
from pai_lsp.expansion.released_commands import surviving
from pai_lsp.expansion.released_form import EXTENDED_TYPES, is_extended, is_extended_event
from pai_lsp.job.definition import COMMAND_KEYS, EXTENDED_KEYS, STORAGE_PLUGINS, TEXT_KEYS
from pai_lsp.job.plugin_parameters import Damage, damages
from pai_lsp.platform.tables import (
    PLUGIN_PREFIX,
    ROLE_TYPES,
    RUNTIME_PLUGIN,
    EventForm,
    event_at,
    events,
    moments_with,
)
from pai_lsp.source.edits import cut_entry, insert_entry, line_span
from pai_lsp.source.nodes import (
    Mapping,
    Scalar,
    ScalarStyle,
    Sequence,
    items_of,
    plain_value,
    scalar_text,
    scalars_below,
    value_at,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, apply_edits, column
from pai_lsp.source.tree_edits import item_span, items_after, without_entries, without_items, without_lines
from pai_lsp.source.writing import entry_lines, flow_scalar, flow_value, indented, item_lines, scalar_line, value_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator
    from collections.abc import Mapping as MappingOf
    from collections.abc import Sequence as SequenceOf
    from typing import Any

    from pai_lsp.expansion.released_form import Items
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.require_graph import ExpansionStep
    from pai_lsp.source.nodes import Entry, Node


def origin_comment(prerequisite: Prerequisite) -> str:
    """The source of an added definition, and the values of its variables."""
    step = prerequisite.step
    origin = step.link.reference.name
    if prerequisite.is_own:
        origin = f"{prerequisite.definition.name} of {prerequisite.definition.origin.value}"
    with_values = ", ".join(f"{key}: {scalar_line(value)}" for key, value in step.values.items() if _is_short(value))
    return f"from {origin}" + (f" with {with_values}" if with_values else "")


def _is_short(value: Any) -> bool:
    return not isinstance(value, (dict, list)) and len(str(value)) <= 60 and str(value).isprintable()


def definition_edits(
    text: str, definition: Definition, prerequisite: Prerequisite | None, items: Items, plugins: Container[str]
) -> tuple[TextEdit, ...]:
    """What must change in a definition that stays in the job; nothing in one of the released protocol.

    prerequisite: the definition with the values of its variables; None when no task role needs it.
    plugins: the short names of the cluster's plugins.
    """
    node = definition.node
    if node.merged or any(entry.name == "plugin_params" for entry in definition.extended_entries):
        return _rewritten(text, definition, prerequisite, items)
    plugin = definition.extended_plugin
    # Empty ones ask for nothing: they go where something else has to be changed.
    gone = {*EXTENDED_KEYS} if is_extended(definition) else set()
    if definition.type == "dockerimage":
        gone |= {"plugin", "failurePolicy", "callbacks"}
    elif plugin in STORAGE_PLUGINS:
        gone.add("plugin")
    removed = [entry for entry in node.entries if entry.name in gone]
    kept_type = _kept_type(definition)
    edits: list[TextEdit] = []
    inserted: list[str] = []
    if (entry := node.own("type")) is None:
        inserted.append(f"type: {kept_type}")
    elif kept_type != definition.type:
        edits.append(TextEdit(entry.value.span, kept_type))
    is_short = plugin is not None and definition.runtime_plugin is None and "plugin" not in gone
    if is_short and (prerequisite or plugin in plugins):
        # Where no role needs the definition, an unknown plugin does nothing; with its full name, every task would die.
        full_name = flow_scalar(f"{PLUGIN_PREFIX}{plugin}")
        if definition.plugin_scalar is None:
            inserted.append(f"plugin: {full_name}")
        elif "." not in (plugin or ""):  # else it stays as written
            edits.append(TextEdit(definition.plugin_scalar.span, full_name))
    if definition.type != "dockerimage" and plugin == "cmd":
        commands = prerequisite.commands if prerequisite else ()
        found, emptied = callback_edits(text, node, commands, items)
        edits += found
        removed += emptied
    if inserted:
        edits.append(insert_entry(text, node, "\n".join(inserted), _after_name(node, removed)))
    edits += without_entries(text, node, removed)
    uri = node.own("uri")
    if kept_type == "data" and uri and isinstance(uri.value, Scalar) and uri.value.is_string and uri.value.text:
        value = step_value(uri.value, prerequisite.step) if prerequisite else uri.value.text
        edits.append(TextEdit(uri.value.span, flow_value(_as_list(value))))
        removed = [*removed, uri]
    edits += _filled_edits(definition, prerequisite, removed)
    return tuple(edits)


def _kept_type(definition: Definition) -> str:
    """The type of a definition on a released cluster, which knows none of the extended types."""
    return "script" if definition.type in EXTENDED_TYPES else definition.type


def _as_list(uri: Any) -> Any:
    """The `uri` of data, which a released cluster reads as a list. Source: rest-server, config/v2/protocol.js."""
    return [uri] if isinstance(uri, str) else uri


def callback_edits(
    text: str, holder: Mapping, commands: tuple[Commands, ...], items: Items
) -> tuple[list[TextEdit], list[Entry]]:
    """Edits of a `cmd` plugin's parameters, and the keys whose values become empty.

    Callbacks of events that no released cluster has are removed: the commands of the task role run them.
    """
    edits: list[TextEdit] = []
    for one in commands:
        if one.moment in moments_with(EventForm.CALLBACK) and one in items:
            edits += _command_edits(text, one, items[one])
    entry = holder.entry("callbacks")
    if entry is None or not isinstance(entry.value, Sequence):
        return edits, []
    removed: set[int] = set()
    for number, callback in enumerate(entry.value.items):
        event = value_at(callback, "event")
        if not isinstance(event, Scalar) or not is_extended_event(event.text):
            continue
        known = events()[event.text]
        if known.released_form is EventForm.CALLBACK:
            edits.append(TextEdit(event.span, event_at(known.moment)))
        else:
            removed.add(number)
    if removed and len(removed) == len(entry.value.items):
        return edits, [entry]
    return [*edits, *without_items(text, entry.value, removed)], []


def new_definition(prerequisite: Prerequisite, name: str, items: Items) -> dict[str, Any]:
    """The released form of a prerequisite whose definition is not in the job, as a plain value."""
    definition = prerequisite.definition
    kind = definition.type if definition.type in ROLE_TYPES else "script"
    plugin = prerequisite.plugin or ""
    found: dict[str, Any] = {"name": name, "type": kind}
    if plugin:
        found["plugin"] = plugin if "." in plugin else f"{PLUGIN_PREFIX}{plugin}"
    if (policy := definition.node.get("failurePolicy")) is not None:
        found["failurePolicy"] = step_value(policy, prerequisite.step)
    for entry in definition.parameters:
        if entry.name not in COMMAND_KEYS and (plugin != "cmd" or entry.name == "uri"):
            found[entry.name] = step_value(entry.value, prerequisite.step)
    if kind == "data" and "uri" in found:
        found["uri"] = _as_list(found["uri"])
    if plugin == "cmd":
        found["callbacks"] = [
            {"event": event_at(one.moment), "commands": list(items[one])}
            for one in prerequisite.commands
            if one.moment in moments_with(EventForm.CALLBACK) and one.items and one in items
        ]
    return found


def _rewritten(
    text: str, definition: Definition, prerequisite: Prerequisite | None, items: Items
) -> tuple[TextEdit, ...]:
    """The whole definition written anew, for forms that small edits cannot reach."""
    node = definition.node
    kept = {entry.name: entry.value for entry in node.effective_entries() if entry.name not in EXTENDED_KEYS}
    if prerequisite is None:
        value: dict[str, Any] = {key: plain_value(one) for key, one in kept.items() if key not in COMMAND_KEYS}
        value.pop("plugin", None)
    else:
        value = new_definition(prerequisite, definition.name, items)
        value |= {
            key: step_value(one, prerequisite.step)
            for key, one in kept.items()
            if key not in value and key not in COMMAND_KEYS
        }
    value["type"] = _kept_type(definition)
    if value["type"] == "data" and "uri" in value:
        value["uri"] = _as_list(value["uri"])
    # What its author wrote first stays first.
    ordered = {key: value[key] for key in (*kept, *value) if key in value}
    if node.is_flow:
        return (TextEdit(node.span, flow_value(ordered)),)
    pad = " " * column(text, node.span.start)
    first, *rest = value_lines(ordered)
    return (TextEdit(node.span, "\n".join([first, *indented(rest, pad)])),)


def _after_name(node: Mapping, removed: list[Entry]) -> Entry | None:
    """The key after which a new one is best written; None for the last."""
    gone = set(removed)
    for key in ("type", "name"):
        entry = node.own(key)
        if entry is not None and entry not in gone:
            return entry
    return None


def _filled_edits(
    definition: Definition, prerequisite: Prerequisite | None, removed: list[Entry]
) -> Iterator[TextEdit]:
    """Variables outside of commands, and quotes that would stop the runtime."""
    if prerequisite is None:
        return
    gone = set(removed)
    for entry in definition.node.entries:
        if entry in gone or (prerequisite.plugin == "cmd" and entry.name in COMMAND_KEYS):
            continue
        for scalar in scalars_below(entry.value):
            if is_filled(scalar, prerequisite.step):
                value = step_value(scalar, prerequisite.step)
                yield TextEdit(scalar.span, scalar_line(value) if scalar.is_block else flow_scalar(value))
            elif entry.name in TEXT_KEYS and prerequisite.plugin and Damage.QUOTES in damages(scalar.text):
                yield TextEdit(scalar.span, flow_scalar(scalar.text.replace('"', "'")))


def _command_edits(text: str, commands: Commands, items: tuple[str, ...]) -> Iterator[TextEdit]:
    """Write the items of one list of commands in their released form; unchanged if they have it already."""
    place = commands.place
    if isinstance(place, Scalar):
        is_missing = not len(place.span) and text[place.span.start - 1 : place.span.start] == ":"
        yield TextEdit(place.span, f"{' ' if is_missing else ''}{flow_value(list(items))}")
        return
    if not isinstance(place, Sequence):
        return
    written = commands.items
    if len(written) == len(place.items):
        # Item by item, as long as each comes to the same alone as among the others.
        parts = [surviving([item.text]) for item in written]
        if all(parts) and tuple(line for part in parts for line in part) == items:
            for item, part in zip(written, parts, strict=True):
                header = _FOLDED.match(text, item.scalar.span.start)
                if header and part == (item.scalar.text.removesuffix("\n"),) and part != (item.scalar.text,):
                    yield TextEdit(Span(header.start(), header.end()), f">{header[1]}-")
                elif part != (item.scalar.text,) or not isinstance(item.scalar.runtime_value, str):
                    yield TextEdit(item.scalar.span, _items_text(text, place, item.scalar, part))
            return
    yield TextEdit(place.span, _list_text(text, place, items))


# What brackets cannot be opened with: a comment, an anchor, an alias or a tag.
_KEPT = lazy_pattern(r"(?:^|[\s,\[\]{}])(?:#|[&*!][^\s,\[\]{}]+)", re.MULTILINE)
# The beginning of a folded block that keeps its last line end, and the width of its indentation.
_FOLDED = lazy_pattern(r">\+?([1-9]?)(?![-+0-9])")


def _items_text(text: str, sequence: Sequence, scalar: Scalar, parts: tuple[str, ...]) -> str:
    """Items in place of one, after its dash."""
    if sequence.is_flow:
        return ", ".join(map(flow_value, parts))
    if len(parts) == 1 and scalar.style in {ScalarStyle.SINGLE, ScalarStyle.DOUBLE} and "\n" not in parts[0]:
        return flow_value(parts[0])
    return _list_text(text, sequence, parts).removeprefix("- ")


def _list_text(text: str, sequence: Sequence, parts: tuple[str, ...]) -> str:
    """A list in the style and at the place of another, without the indentation of its first line."""
    if sequence.is_flow:
        return flow_value(list(parts))
    pad = " " * column(text, sequence.span.start)
    lines = [line for part in parts for line in item_lines(part)]
    return "\n".join([lines[0], *indented(lines[1:], pad)]) if lines else "[]"


def opened_lists(job: Job, edits: SequenceOf[TextEdit], roles: Iterable[TaskRole]) -> tuple[TextEdit, ...]:
    """The edits, with the brackets around commands opened where text of several lines is written into them.

    Brackets with comments, anchors or aliases stay, and what has no such text in it.
    """
    text, found = job.text, list(edits)
    for role in roles:
        holders = (job.section("taskRoles"), role.entry, role.field("commands"))
        entry = next((one for one in holders if one and not isinstance(one.value, Scalar) and one.value.is_flow), None)
        if entry is None or (job.root and job.root.is_flow):
            continue
        span = entry.value.span
        inside = [one for one in found if span.holds(one.span)]
        is_wanted = any("\\n" in one.new_text for one in inside)
        ends_line = not text[span.end : line_span(text, span).end].strip()
        if not is_wanted or not ends_line or _KEPT.search(text, span.start, span.end):
            continue
        moved = [TextEdit(one.span.shifted(-span.start), one.new_text) for one in inside]
        written = parse(apply_edits(text[span.start : span.end], moved))
        if written.problems or written.root is None:
            continue
        start = len(text[: span.start].rstrip())
        pad = " " * (column(text, entry.key.span.start) + 2)
        lines = "\n".join(indented(_opened(written.text, written.root), pad))
        found = [one for one in found if one not in inside]
        found.append(TextEdit(Span(start, span.end), f"\n{lines}"))
    return tuple(sorted(found))


def _opened(text: str, node: Node) -> list[str]:
    """A node in block style, but for the parts that are written on one line and hold no text of several lines."""
    if isinstance(node, Scalar) and _holds_lines(node):
        return value_lines(node.text)
    if isinstance(node, Scalar) or not _holds_lines(node):
        return [" ".join(text[node.span.start : node.span.end].split("\n"))]
    lines: list[str] = []
    if isinstance(node, Sequence):
        for item in node.items:
            first, *rest = _opened(text, item)
            lines += [f"- {first}", *(rest if isinstance(item, Scalar) else indented(rest, "  "))]
        return lines
    for entry in node.entries:
        key, inner = text[entry.key.span.start : entry.key.span.end], _opened(text, entry.value)
        is_open = not isinstance(entry.value, Scalar) and _holds_lines(entry.value)
        lines += [f"{key}:", *indented(inner, "  ")] if is_open else [f"{key}: {inner[0]}", *inner[1:]]
    return lines


def _holds_lines(node: Node) -> bool:
    return any(one.is_string and "\n" in one.text for one in scalars_below(node))


def plugin_edits(
    text: str, plugin: CmdPluginEntry, items: Items, task_roles: tuple[str, ...] = ()
) -> tuple[TextEdit, ...]:
    """What must change in an entry of the `cmd` plugin under `extras`.

    task_roles: the names of those that it must be limited to, if it is now for more.
    """
    holder = plugin.entry.parameters
    if not isinstance(holder, Mapping):
        return ()
    edits, emptied = callback_edits(text, holder, plugin.commands, items)
    edits += [TextEdit(entry.value.span, "[]") for entry in emptied]
    return (*edits, limited_to(text, plugin, task_roles)) if task_roles else tuple(edits)


def limited_to(text: str, plugin: CmdPluginEntry, task_roles: tuple[str, ...]) -> TextEdit:
    """Make an entry of the `cmd` plugin under `extras` act for these task roles only."""
    written, limit = flow_value(list(task_roles)), plugin.entry.node.own("taskroles")
    if limit is not None:
        return TextEdit(limit.value.span, written)
    return insert_entry(text, plugin.entry.node, f"taskroles: {written}", plugin.entry.node.own("plugin"))


def released_references(job: Job, role: EffectiveRole, listed: MappingOf[ExpansionStep, str]) -> dict[Scalar, str]:
    """Which name each reference that the role lists has in the released job, by its scalar.

    listed: by its step, the name of every prerequisite that the role is to list.
    """
    steps = {one.definition.node: one.step for one in role.prerequisites}
    released: dict[Scalar, str] = {}
    for reference in role.role.prerequisites:
        for target in job.require_graph.link(reference).targets:
            step = steps.get(target.node)
            # What is not listed itself gives its line to the last of what it requires.
            while step is not None and step not in listed:
                step = step.required[-1] if step.required else None
            if step is not None:
                released[reference.scalar] = listed[step]
    return released


def role_list_edits(
    text: str, role: TaskRole, names: tuple[str, ...], released: MappingOf[Any, str]
) -> tuple[TextEdit, ...]:
    """Edits that make the role list these names in this order, without changing the lines that stay.

    released: see `released_references`.
    """
    entry = role.field("prerequisites")
    if entry is None or role.node is None or not isinstance(entry.value, Sequence):
        return ()
    sequence = entry.value
    # What is listed twice runs twice on a cluster; the checker reports that, and it stays as it is.
    if tuple(dict.fromkeys(scalar_text(item) for item in sequence.items)) == names:
        return ()
    if not names:
        own = role.node.own("prerequisites")
        if own is entry and len(role.node.entries) > 1:
            return without_entries(text, role.node, [entry])
        return (TextEdit(sequence.span, "[]"),)
    if sequence.is_flow:
        return (TextEdit(sequence.span, f"[{', '.join(map(flow_scalar, names))}]"),)
    return _block_edits(text, sequence, names, released)


def _block_edits(
    text: str, sequence: Sequence, names: tuple[str, ...], released: MappingOf[Any, str]
) -> tuple[TextEdit, ...]:
    pad = " " * column(text, sequence.span.start)
    edits: list[TextEdit] = []
    places = {name: number for number, name in enumerate(names)}
    done = 0
    for number, item in enumerate(sequence.items):
        line = line_span(text, item_span(text, sequence, number))
        name = released.get(item, "")
        at = places.get(name, -1)
        if at < done:
            edits.append(TextEdit(line, ""))
            continue
        edits += _inserted(line.start, pad, names[done:at])
        if scalar_text(item) != name:
            edits.append(TextEdit(item.span, scalar_line(name)))
        done = at + 1
    end = line_span(text, item_span(text, sequence, len(sequence.items) - 1)).end
    last = _inserted(end, pad, names[done:])
    if last and end == len(text) and not text.endswith("\n"):
        last = [TextEdit(edit.span, "\n" + edit.new_text.removesuffix("\n")) for edit in last]
    return (*edits, *last)


def _inserted(at: int, pad: str, names: tuple[str, ...]) -> list[TextEdit]:
    return [TextEdit(Span(at, at), "".join(f"{pad}- {scalar_line(name)}\n" for name in names))] if names else []


def extras_edits(
    job: Job, storages: tuple[Storage, ...], removed: Collection[str], plugins: Collection[Node]
) -> tuple[TextEdit, ...]:
    """Remove keys and entries of plugins from `extras`, and add storages."""
    text, section, extras = job.text, job.section("extras"), job.extras
    values = [{"name": one.name, "mountPath": one.mount_path} for one in storages]
    if extras is not None and not extras.entries:
        return (TextEdit(extras.span, flow_value({"storages": values})),) if values else ()
    if extras is None or section is None:
        break_before = "" if text.endswith("\n") else "\n"
        lines = [f"{line}\n" for line in entry_lines("extras", {"storages": values})]
        return (TextEdit(Span(len(text), len(text)), break_before + "".join(lines)),) if values else ()
    gone = [entry for name in removed if (entry := extras.own(name))]
    edits: list[TextEdit] = []
    if plugins and (entry := job.extras_entry(RUNTIME_PLUGIN)):
        numbers = [number for number, item in enumerate(items_of(entry.value)) if item in plugins]
        if isinstance(entry.value, Sequence) and len(numbers) < len(entry.value.items):
            edits += without_items(text, entry.value, numbers)
        else:
            gone.append(entry)
    kept = [entry for entry in extras.entries if not any(entry is one for one in gone)]
    listed = extras.entry("storages")
    if values and listed is not None:
        node = listed.value
        if isinstance(node, Sequence) and node.items:
            edits += items_after(text, node, values)
        else:
            edits.append(TextEdit(node.span, flow_value(values)))
    elif values:
        lines = [f"storages: {flow_value(values)}"] if extras.is_flow else entry_lines("storages", values)
        if kept:
            edits.append(insert_entry(text, extras, "\n".join(lines), kept[-1]))
        else:
            pad = " " * column(text, extras.entries[0].key.span.start)
            first, *rest = lines
            span = Span(extras.entries[0].key.span.start, extras.entries[-1].span.end)
            return (*edits, TextEdit(span, "\n".join([first, *indented(rest, pad)])))
    if not kept and job.root is not None:
        removals = cut_entry(text, job.root, section) if gone else ()
        for one in removals:
            edits += [one] if one.new_text else without_lines(text, one.span)
        return tuple(edits)
    return (*edits, *without_entries(text, extras, gone))
