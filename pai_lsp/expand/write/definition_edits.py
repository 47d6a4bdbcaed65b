"""Edits that turn a definition of the job into its released form, in place; and new definitions as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.expand.filling import is_filled, step_value
from pai_lsp.expand.write.quoting import surviving
from pai_lsp.expand.write.released_form import is_extended, is_extended_event
from pai_lsp.job.definition import COMMAND_KEYS, EXTENDED_KEYS, LEGACY_TYPES, STORAGE_PLUGINS
from pai_lsp.job.plugin_parameters import Damage, damages
from pai_lsp.platform.tables import PLUGIN_PREFIX, EventForm, event_at, events, moments_with
from pai_lsp.source.edits import column, insert_entry
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle, Sequence, plain_value, walk
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import without_entries, without_items
from pai_lsp.source.writing import flow_scalar, flow_value, indented, item_lines, scalar_line, value_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pai_lsp.expand.callbacks import Commands
    from pai_lsp.expand.effective import CmdPluginEntry, Prerequisite
    from pai_lsp.job.definition import Definition
    from pai_lsp.source.nodes import Entry

    # The items of a callback in their released form, by its `Commands`.
    Items: TypeAlias = dict[Commands, tuple[str, ...]]

# What only people read; a quote in it that stops the runtime may be another one.
_TEXT_KEYS = frozenset({"description", "contributor", "version"})


def definition_edits(
    text: str, definition: Definition, prerequisite: Prerequisite | None, items: Items
) -> tuple[TextEdit, ...]:
    """What must change in a definition that stays in the job; nothing in one of the released protocol.

    prerequisite: the definition with the values of its variables; None when no task role needs it.
    """
    node = definition.node
    if node.merged or any(entry.name == "plugin_params" for entry in definition.extended_entries):
        return _rewritten(text, definition, prerequisite, items)
    # Empty ones ask for nothing: they go where something else has to be changed.
    removed = [entry for key in EXTENDED_KEYS if (entry := node.own(key))] if is_extended(definition) else []
    kept_type = definition.type if definition.type in LEGACY_TYPES else "script"
    edits: list[TextEdit] = []
    inserted: list[str] = []
    if (entry := node.own("type")) is None:
        inserted.append(f"type: {kept_type}")
    elif kept_type != definition.type:
        edits.append(TextEdit(entry.value.span, kept_type))
    plugin = definition.extended_plugin
    if definition.type == "dockerimage":
        removed += [entry for key in ("plugin", "failurePolicy", "callbacks") if (entry := node.own(key))]
    elif plugin in STORAGE_PLUGINS:
        removed += [entry for key in ("plugin",) if (entry := node.own(key))]
    elif plugin is not None and definition.runtime_plugin is None:
        full_name = f"{PLUGIN_PREFIX}{plugin}" if "." not in plugin else plugin
        if definition.plugin_scalar:
            edits.append(TextEdit(definition.plugin_scalar.span, full_name))
        else:
            inserted.append(f"plugin: {full_name}")
    if definition.type != "dockerimage" and plugin == "cmd":
        commands = prerequisite.commands if prerequisite else ()
        found, emptied = callback_edits(text, node, commands, items)
        edits += found
        removed += emptied
    if inserted:
        edits.append(insert_entry(text, node, "\n".join(inserted), _behind_name(node, removed)))
    edits += without_entries(text, node, removed)
    edits += _filled_edits(definition, prerequisite, removed)
    return tuple(edits)


def callback_edits(
    text: str, holder: Mapping, commands: tuple[Commands, ...], items: Items
) -> tuple[list[TextEdit], list[Entry]]:
    """Edits of a `cmd` plugin's parameters, and the keys whose values become empty.

    Callbacks of events that no released cluster has are removed: the exit trap of the task role runs them.
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
        event = callback.get("event") if isinstance(callback, Mapping) else None
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
    kind = definition.type if definition.type in LEGACY_TYPES[1:] else "script"
    plugin = prerequisite.plugin or ""
    found: dict[str, Any] = {"name": name, "type": kind}
    if plugin:
        found["plugin"] = plugin if "." in plugin else f"{PLUGIN_PREFIX}{plugin}"
    if (policy := definition.node.get("failurePolicy")) is not None:
        found["failurePolicy"] = step_value(policy, prerequisite.step)
    for entry in definition.parameters:
        if entry.name not in COMMAND_KEYS and (plugin != "cmd" or entry.name == "uri"):
            found[entry.name] = step_value(entry.value, prerequisite.step)
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
        value["type"] = definition.type if definition.type in LEGACY_TYPES else "script"
        value.pop("plugin", None)
    else:
        value = new_definition(prerequisite, definition.name, items)
        value |= {
            key: step_value(one, prerequisite.step)
            for key, one in kept.items()
            if key not in value and key not in COMMAND_KEYS
        }
        value["type"] = definition.type if definition.type in LEGACY_TYPES else "script"
    # What its author wrote first stays first.
    ordered = {key: value[key] for key in (*kept, *value) if key in value}
    if node.is_flow:
        return (TextEdit(node.span, flow_value(ordered)),)
    pad = " " * column(text, node.span.start)
    first, *rest = value_lines(ordered)
    return (TextEdit(node.span, "\n".join([first, *indented(rest, pad)])),)


def _behind_name(node: Mapping, removed: list[Entry]) -> Entry | None:
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
        for scalar in walk(entry.value):
            if not isinstance(scalar, Scalar):
                continue
            if is_filled(scalar, prerequisite.step):
                value = step_value(scalar, prerequisite.step)
                yield TextEdit(scalar.span, scalar_line(value) if scalar.is_block else flow_scalar(value))
            elif entry.name in _TEXT_KEYS and prerequisite.plugin and Damage.QUOTES in damages(scalar.text):
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
                if part != (item.scalar.text,) or not isinstance(item.scalar.runtime_value, str):
                    yield TextEdit(item.scalar.span, _items_text(text, place, item.scalar, part))
            return
    yield TextEdit(place.span, _list_text(text, place, items))


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


def plugin_edits(text: str, plugin: CmdPluginEntry, items: Items) -> tuple[TextEdit, ...]:
    """What must change in an entry of the `cmd` plugin under `extras`."""
    holder = plugin.entry.parameters
    if not isinstance(holder, Mapping):
        return ()
    edits, emptied = callback_edits(text, holder, plugin.commands, items)
    for entry in emptied:
        edits.append(TextEdit(entry.value.span, "[]"))
    return tuple(edits)
