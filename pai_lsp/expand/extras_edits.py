"""The edits of `extras` that expansion makes: references taken out, storages put in, inlined plugins taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.edits import column, insert_entry, remove_entry
from pai_lsp.expand.tree_edits import items_behind, without_entries, without_items, without_lines
from pai_lsp.expand.yaml_text import entry_lines, flow_value, indented
from pai_lsp.nodes import Sequence
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Collection

    from pai_lsp.expand.storages import Storage
    from pai_lsp.job import Job
    from pai_lsp.nodes import Entry


def extras_edits(
    job: Job,
    storages: tuple[Storage, ...],
    removed: Collection[str],
    removed_plugins: tuple[Entry, Collection[int]] | None,
) -> tuple[TextEdit, ...]:
    """Take keys and plugin entries out of `extras`, and put storages in."""
    section, extras = job.section("extras"), job.extras
    values = [{"name": one.name, "mountPath": one.mount_path} for one in storages]
    if extras is None or section is None:
        return (_at_the_end(job.text, entry_lines("extras", {"storages": values})),) if values else ()
    text = job.text
    gone = [entry for name in removed if (entry := extras.own(name))]
    edits: list[TextEdit] = []
    if removed_plugins is not None:
        entry, numbers = removed_plugins
        if isinstance(entry.value, Sequence) and len(numbers) < len(entry.value.items):
            edits += without_items(text, entry.value, numbers)
        else:
            gone.append(entry)
    kept = [entry for entry in extras.entries if not any(entry is one for one in gone)]
    listed = extras.entry("storages")
    if values and listed is not None:
        edits += _more_storages(text, listed, values)
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
        removals = remove_entry(text, job.root, section) if gone else ()
        for one in removals:
            edits += [one] if one.new_text else without_lines(text, one.span)
        return tuple(edits)
    return (*edits, *without_entries(text, extras, gone))


def _more_storages(text: str, listed: Entry, values: list[dict[str, str]]) -> tuple[TextEdit, ...]:
    node = listed.value
    if isinstance(node, Sequence) and node.items:
        return items_behind(text, node, values)
    return (TextEdit(node.span, flow_value(values)),)


def _at_the_end(text: str, lines: list[str]) -> TextEdit:
    break_before = "" if text.endswith("\n") or not text else "\n"
    return TextEdit(Span(len(text), len(text)), break_before + "".join(f"{line}\n" for line in lines))
