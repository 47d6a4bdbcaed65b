"""Fixes for the structure of a job: rename, move, add and remove keys, and write values in the expected type.

Each function returns the fixes for one place; none if the right edit is not known.

`skeleton` gives a missing or empty part of a job a first value that the author then changes. The values are the
schema's examples (schemas/job.schema.json), and names that the job already has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Fix, Fixes, later
from pai_lsp.findings.fixes import (
    boolean_fixes,
    change_fix,
    fix_of,
    number_fix,
    quote_fix,
    wrap_in_list_fix,
    wrap_mapping_fixes,
)
from pai_lsp.job.definition import key_name_span, name_span
from pai_lsp.platform.job_schema import field, fields, former_keys, key_order
from pai_lsp.platform.tables import ROLE_NAME
from pai_lsp.source.edits import (
    cut_entry,
    entry_end,
    insert_entry,
    line_end,
    line_span,
    remove_entry,
    remove_item,
)
from pai_lsp.source.foreign import number_of
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence, entries_of, scalar_text
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import listed, nearest
from pai_lsp.source.text import Span, TextEdit, column, end_of_line, start_of_line
from pai_lsp.source.writing import entry_lines, flow_value, quoted, scalar_line, value_lines

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.platform.job_schema import Field
    from pai_lsp.rules.structure.structure_places import ErrorPlace


def unknown_key_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Rename an unknown key, move it or remove it."""
    removal = remove_fixes(job, place.node, place.key) if isinstance(place.node, Mapping) and place.key else ()
    return (*rename_fixes(job, place), *move_fixes(job, place), *removal)


def former_key_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Write what a key of protocol v1 has become."""
    return (*_renamed(job, place), *move_fixes(job, place), *_as_prerequisite(job, place))


def _renamed(job: Job, place: ErrorPlace) -> Fixes:
    """Rename the key if its value fits the new name; a command becomes a list, an image does not fit."""
    key = place.key
    if key is None or (place.error.expected == ("ports",) and not isinstance(key.value, Mapping)):
        return ()
    fixes = rename_fixes(job, place)
    if place.error.expected != ("commands",) or isinstance(key.value, Sequence):
        return fixes
    lists = as_list_fix(job, key, key.value)
    return tuple(Fix(fix.title, (*fix.edits, *one.edits), fix.safe) for one in lists for fix in fixes)


def _as_prerequisite(job: Job, place: ErrorPlace) -> Fixes:
    """Convert the job's `image` to a prerequisite, in a job that has no prerequisites yet."""
    mapping, key = place.node, place.key
    if not isinstance(mapping, Mapping) or mapping.is_flow or key is None or key.name != "image":
        return ()
    if mapping.entry("prerequisites") or not isinstance(key.value, Scalar) or not key.value.is_string:
        return ()
    image = {"type": "dockerimage", "name": "image", "uri": key.value.text}
    lines = line_end(job.text).join(entry_lines("prerequisites", [image]))
    return (Fix("Convert to a prerequisite", (TextEdit(Span(key.key.span.start, key.value.span.end), lines),)),)


def job_name_fixes(_job: Job, place: ErrorPlace) -> Fixes:
    """Change the name of a job to a valid one."""
    node = place.node
    if not isinstance(node, Scalar) or node.is_block:
        return ()
    # Braces and brackets mark a placeholder; a valid name would hide that it must be replaced.
    return change_fix(name_span(node), *place.error.expected, safe={"{", "<", "$", "%"}.isdisjoint(node.text))


def limit_fixes(_job: Job, place: ErrorPlace) -> Fixes:
    """Change a number to the limit that it is beyond."""
    return number_fix(place.span, *map(int, place.error.expected))


def rename_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Rename a key to one that is expected here; safe if only one is close."""
    error = place.error
    is_only = len(error.expected) == 1 and job.expected_keys[error.path, error.expected[:1]] == 1
    return change_fix(key_name_span(place.key), *error.expected, safe=is_only) if place.key else ()


def remove_fixes(job: Job, mapping: Mapping, entry: Entry, *, safe: bool = False) -> Fixes:
    """Remove a key with its value."""
    return fix_of(f"Remove '{entry.name}'", remove_entry, job.text, mapping, entry, safe=safe)


def move_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Move a key into the section it belongs to, such as `shmMB` into `extraContainerOptions`."""
    mapping, entry = place.node, place.key
    if not isinstance(mapping, Mapping) or entry is None or len(entry.value.span) == 0 or place.error.expected:
        return ()
    section, name = _home(job, place)
    text, key = job.text, entry.key.span
    written = text[entry.value.span.start : entry.value.span.end]
    is_plain_line = re.fullmatch(r"['\"]?:[ ]+", text[key.end : entry.value.span.start]) and "\n" not in written
    is_no_port = name == "ports" and not isinstance(entry.value, Mapping)
    if not section or is_no_port or not is_plain_line or entry.value.span.start < key.start:
        return ()
    title = f"Move into '{section}'"
    target = mapping.own(section)
    if target is None:
        pad = " " * (column(text, key.start) + 2)
        lines = f"{section}:{line_end(text)}{pad}{name}: {written}"
        flow = f"{section}: {{{name}: {written}}}"
        return fix_of(title, TextEdit, Span(key.start, entry.value.span.end), flow if mapping.is_flow else lines)
    home = target.value
    if not isinstance(home, Mapping) or home.own(name) or home.span.start < target.key.span.start:
        return ()
    if mapping.is_flow or home.is_flow:
        return (Fix(title, (*remove_entry(text, mapping, entry), insert_entry(text, home, f"{name}: {written}"))),)
    line = text[entry.value.span.start : line_span(text, entry.value.span).end].rstrip()
    return (Fix(title, (*cut_entry(text, mapping, entry), insert_entry(text, home, f"{name}: {line}"))),)


def _home(job: Job, place: ErrorPlace) -> tuple[str, str]:
    """The sibling section that an unknown key belongs to, and its name there; empty if there is no such section."""
    path, key = place.error.path, place.error.key or ""
    of_job, of_role = former_keys()  # the new names of protocol v1 keys
    is_role = path[:1] == ("taskRoles",) and len(path) == 2
    section, dot, name = (of_role if is_role else {} if path else of_job).get(key, "").partition(".")
    if dot:
        # Images became list items and GPU types mappings: the old values do not fit.
        return (section, name) if section.isalpha() and section != "extras" else ("", "")
    # The documentation is the same for all task roles.
    documented = ("taskRoles", "*") if is_role else path
    for beside in fields(documented, kind=job.schema_kind, platform=job.platform):
        within = fields((*documented, beside.key), kind=job.schema_kind, platform=job.platform)
        if "object" in beside.types and any(inner.key == key for inner in within):
            return str(beside.key), key
    return "", ""


@later
def insert_fixes(job: Job, places: SequenceOf[ErrorPlace]) -> Fixes:
    """Add the missing keys of a mapping with first values; safe if only these values are possible."""
    mapping = places[0].node
    if not isinstance(mapping, Mapping):
        return ()
    names = (one.error.key or "" for one in places)
    order = key_order(places[0].error.path, job.schema_kind, job.platform)
    keys = sorted(names, key=lambda key: order.index(key) if key in order else len(order))
    values = [skeleton(job, (*places[0].error.path, key)) for key in keys]
    first = mapping.entries[0].key.span.start if mapping.entries else mapping.span.start
    in_front = job.text[start_of_line(job.text, first) : first]
    if None in values or "?" in in_front:
        return ()
    # Keys with the same place are written together, in their order.
    groups: dict[frozenset[str], list[str]] = {}
    there = frozenset(entry.name for entry in mapping.entries)
    for key, value in zip(keys, values, strict=True):
        before = there.intersection(order[: order.index(key)] if key in order else order)
        lines = [f"{key}: {flow_value(value)}"] if mapping.is_flow else entry_lines(key, value)
        groups.setdefault(before, []).extend(lines)
    edits = tuple(
        _insertion(job.text, mapping, before, [", ".join(lines)] if mapping.is_flow else lines)
        for before, lines in groups.items()
    )
    is_sure = places[0].error.path == () and {"protocolVersion", "type"}.issuperset(keys)
    return (Fix(f"Add {listed(keys)}", edits, safe=is_sure),)


def _insertion(text: str, mapping: Mapping, before: frozenset[str], lines: list[str]) -> TextEdit:
    """Insert the lines after the last of the keys `before`."""
    preceding = [entry for entry in mapping.entries if entry.name in before or entry.is_merge]
    if preceding or not mapping.entries:
        return insert_entry(text, mapping, "\n".join(lines), preceding[-1] if preceding else None)
    first = mapping.entries[0].key.span.start
    if mapping.is_flow:
        return TextEdit(Span(first, first), f"{lines[0]}, ")
    pad = line_end(text) + " " * column(text, first)
    return TextEdit(Span(first, first), "".join(line + pad for line in lines))


def empty_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Remove an empty optional part; give a required one a first value."""
    error, entry, owner = place.error, place.entry, place.owner
    if entry is not None and isinstance(owner, Mapping):
        siblings = fields(error.path[:-1], kind=job.schema_kind, platform=job.platform)
        optional = {one.key for one in siblings if not one.required}
        line = line_span(job.text, Span(entry.key.span.start, entry_end(job.text, entry)))
        has_comment = "#" in job.text[entry_end(job.text, entry) : line.end]
        if entry.name in optional and error.path != ("prerequisites",):
            return remove_fixes(job, owner, entry, safe=not has_comment)
        return _fill_fixes(job, place, entry, owner)
    if isinstance(owner, Sequence) and place.node is not None:
        return fix_of("Remove the empty item", remove_item, job.text, owner, place.node, safe=True)
    return ()


def _fill_fixes(job: Job, place: ErrorPlace, entry: Entry, owner: Mapping) -> Fixes:
    value = skeleton(job, place.error.path)
    text = job.text
    colon = re.compile(r"['\"]?[ \t]*:").match(text, entry.key.span.end)
    if value is None or colon is None or entry.value.span.start < entry.key.span.start:
        return ()
    end = max(entry_end(text, entry), colon.end())
    pad = line_end(text) + " " * (column(text, entry.key.span.start) + 2)
    if owner.is_flow or not isinstance(value, (dict, list)):
        new_text = " " + (flow_value(value) if owner.is_flow else scalar_line(value))
    else:
        new_text = "".join(pad + line for line in value_lines(value))
    return fix_of(f"Write a value for '{entry.name}'", TextEdit, Span(colon.end(), end), new_text)


# A path in the job's value, as `StructureError.path`.
Path = tuple[str | int, ...]


def skeleton(job: Job, path: Path) -> Any:
    """A first value for the key or item at `path`; None if nothing is known about it."""
    if path[:1] == ("taskRoles",) and len(path) > 1:
        path = ("taskRoles", "worker", *path[2:])  # the same for all task roles, so that it is looked up once
    own = _from_job(job, path)
    if own is not None:
        return own
    if path[0] == "taskRoles" and len(path) == 2:
        return {"instances": 1, **_required(job, path)}
    documented = _documented(job, path)
    known = (documented.examples or documented.values) if documented else ()
    return known[0] if known else _required(job, path) or None


def _documented(job: Job, path: Path) -> Field | None:
    return field(path, prerequisite_type=prerequisite_type(job, path), kind=job.schema_kind, platform=job.platform)


def prerequisite_type(job: Job, path: Path) -> str | None:
    """The type of the prerequisite on a path: as written, otherwise the likeliest for its keys."""
    if path[0] != "prerequisites" or len(path) < 2 or not isinstance(job.plain, dict):
        return None
    items = job.plain.get("prerequisites")
    item = items[int(path[1])] if isinstance(items, list) and int(path[1]) < len(items) else None
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("type"), str):
        return str(item["type"])
    if isinstance(item.get("uri"), list):
        return "data"
    return "dockerimage" if "uri" in item and "plugin" not in item else "script"


def _from_job(job: Job, path: Path) -> Any:
    """Values that depend on the rest of the job."""
    key = path[-1]
    if key == "taskRoles":
        names = [role.name for role in job.task_roles] or ["worker"]
        return {names[0]: {} if len(path) > 1 else skeleton(job, ("taskRoles", "worker"))}
    if key == "dockerImage":
        return next((one.name for one in job.prerequisites if one.type == "dockerimage" and one.name), None)
    if key == "commands" and path[0] == "taskRoles":
        return ["echo hello"]
    if path[0] == "prerequisites" and len(path) == 3 and key == "type":
        return prerequisite_type(job, path)
    if key == "name" and path[0] in {"prerequisites", "deployments"} and len(path) == 3:
        taken = job.once(_taken_names)
        stem = "deployment" if path[0] == "deployments" else prerequisite_type(job, path) or "prerequisite"
        return next(name for number in range(len(taken) + 1) if (name := f"{stem}_{number}") not in taken)
    return None


def _taken_names(job: Job) -> set[str]:
    return {one.name for one in job.prerequisites} | {one.name for one in job.deployments}


def _required(job: Job, path: Path) -> dict[str, Any]:
    known = fields(path, kind=job.schema_kind, platform=job.platform)
    return {str(one.key): skeleton(job, (*path, one.key)) for one in known if one.required}


# Keys of `portList` in protocol v1, whose items are not labels with counts.
_PORT_KEYS = frozenset({"label", "name", "port", "portNumber", "beginAt"})
# An item of a block's list, which is a label or begins with one.
_LABEL = lazy_pattern(r"^( *)-( +[\"']?[\w-]+[\"']?)( *:)?", re.MULTILINE)
_SIZE = lazy_pattern(r"(\d{1,6}) ?([gGmM])(?:i|i?[bB])?")
_VERSION_2 = lazy_pattern(r"[vV]?2(?:\.0+)?")


def type_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Write a value in one of the expected types."""
    node, types = place.node, place.error.types
    if isinstance(node, Scalar) and node.value is None:
        return empty_fixes(job, place)
    if "string" in types:
        return _as_string(job, place, node)
    if {"integer", "number"} & set(types):
        return _as_number(place, node)
    if "boolean" in types:
        return boolean_fixes(node) if isinstance(node, Scalar) else ()
    if "array" in types:
        return _as_list(job, place, node)
    if "object" in types and isinstance(node, Sequence) and not node.items and node.is_flow:
        return (Fix("Write an empty mapping", (TextEdit(node.span, "{}"),), safe=True),)
    return ()


def _as_string(job: Job, place: ErrorPlace, node: Node | None) -> Fixes:
    if node is None or node.tag is not None:
        return ()
    if isinstance(node, Scalar):
        return quote_fix(node)
    if isinstance(node, Sequence) and len(node.items) == 1 and place.entry is not None:
        return _unwrapped(job.text, place.entry, node)
    start = node.span.start
    written = job.text[start : end_of_line(job.text, start)]
    if len(node.span) > len(written) or place.entry is not None:
        return ()
    is_block = isinstance(node, Mapping) and not node.is_flow  # with a colon at its end, as in `- echo a:`
    written = re.split(r"(?<=\s)#", written, maxsplit=1)[0].rstrip() if is_block else written[: len(node.span)]
    return fix_of("Quote it", TextEdit, Span(start, start + len(written)), quoted(written), safe=True)


def _unwrapped(text: str, entry: Entry, sequence: Sequence) -> Fixes:
    """Replace a list of one string with the string."""
    item = sequence.items[0]
    between = text[entry.key.span.end : sequence.span.start]
    if not isinstance(item, Scalar) or not item.is_string or item.is_block or not re.fullmatch(r"['\"]?:\s+", between):
        return ()
    rest = Span(text.index(":", entry.key.span.end) + 1, sequence.span.end)
    written = f" {text[item.span.start : item.span.end]}"
    return fix_of("Remove the list around it", TextEdit, rest, written, safe=True)


def _as_number(place: ErrorPlace, node: Node | None) -> Fixes:
    if not isinstance(node, Scalar) or node.tag is not None:
        return ()
    if place.error.expected:
        number = place.error.expected[0]
        return (Fix(f"Write the number {number}", (TextEdit(node.span, number),), safe=True),)
    size = _SIZE.fullmatch(node.text)
    if size is None or place.entry is None or not place.entry.name.endswith("MB"):
        return ()
    number = str(number_of(size[1]) * (1024 if size[2] in "gG" else 1))
    return (Fix(f"Change to {number} (MB)", (TextEdit(node.span, number),)),)


def _as_list(job: Job, place: ErrorPlace, node: Node | None) -> Fixes:
    documented = _documented(job, place.error.path)
    wanted = "mappings" if isinstance(node, Mapping) else "strings"
    return as_list_fix(job, place.entry, node) if documented is None or wanted in documented.type else ()


def as_list_fix(job: Job, entry: Entry | None, node: Node | None) -> Fixes:
    """Wrap a single value in a list, whatever its style."""
    text = job.text
    if not isinstance(node, Scalar) or node.tag is not None:
        return wrap_mapping_fixes(node) if node else ()
    if node.is_block:
        return _block_as_item(text, entry, node)
    if not node.is_string:
        return fix_of("Wrap in a list", TextEdit, node.span, f"[{quoted(node.text)}]", safe=True)
    return wrap_in_list_fix(text, node)


def _block_as_item(text: str, entry: Entry | None, node: Scalar) -> Fixes:
    """`commands: |` becomes `commands:` and `- |`; the block's lines are indented deeply enough already."""
    if entry is None or text[entry.key.span.end : node.span.start].strip(" '\"") != ":":
        return ()
    pad = " " * column(text, entry.key.span.start)
    gap = Span(text.index(":", entry.key.span.end) + 1, node.span.start)
    return fix_of("Wrap in a list", TextEdit, gap, f"{line_end(text)}{pad}- ", safe=True)


def choice_fixes(_job: Job, place: ErrorPlace) -> Fixes:
    """Change to one of the allowed values; safe for a single close one, and for the only one if the value is empty."""
    node, choices = place.node, place.error.expected
    if not isinstance(node, Scalar) or node.tag is not None:
        return ()
    near = nearest(node.text, choices)
    is_sure = (len(choices) == 1 and (not node.text or _VERSION_2.fullmatch(node.text) is not None)) or len(near) == 1
    span = name_span(node) if node.is_string else node.span
    start = "" if len(span) else " "
    return tuple(Fix(f"Change to '{choice}'", (TextEdit(span, start + choice),), is_sure) for choice in near or choices)


def ports_as_mapping_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Convert a list of labels, or of `label: count`, to the mapping that `ports` must be."""
    node = place.node
    if not isinstance(node, Sequence) or not node.items:
        return ()
    labels = [one for item in node.items for one in _labels(item)]
    is_clear = all(map(_labels, node.items)) and len(set(labels)) == len(labels)
    if node.is_flow:
        parts = (job.text[item.span.start : item.span.end].strip("{} ") for item in node.items)
        new = "{" + ", ".join(part if ":" in part else f"{part}: 1" for part in parts) + "}"
    else:
        written = job.text[node.span.start : node.span.end]
        new, count = _LABEL.subn(lambda match: f"{match[1]} {match[2]}{match[3] or ': 1'}", written)
        is_aligned = len({column(job.text, item.span.start) for item in node.items}) == 1
        is_clear = is_clear and is_aligned and count == len(node.items)
    return fix_of("Convert to a mapping", TextEdit, node.span, new, safe=True) if is_clear else ()


def _labels(item: Node) -> list[str]:
    """The labels in an item of a list; none if it is not one of labels."""
    if isinstance(item, Scalar):
        return [item.text] if ROLE_NAME.fullmatch(item.text) else []
    names = [entry.name for entry in entries_of(item)]
    return names if _PORT_KEYS.isdisjoint(names) else []


def roles_as_mapping_fixes(job: Job, place: ErrorPlace) -> Fixes:
    """Convert a list of task roles, each beginning with its `name`, to a mapping of names."""
    node, entry, text = place.node, place.entry, job.text
    if not isinstance(node, Sequence) or node.is_flow or entry is None:
        return ()
    edits: list[TextEdit] = []
    for item in node.items:
        first = item.entries[0] if isinstance(item, Mapping) and not item.is_flow and len(item.entries) > 1 else None
        if first is None or first.name != "name" or not scalar_text(first.value):
            return ()
        dash = text.rfind("-", 0, first.key.span.start)
        is_alias = first.value.span.start < first.key.span.start
        if is_alias or column(text, dash) <= column(text, entry.key.span.start):
            return ()
        written = text[first.value.span.start : first.value.span.end]
        edits.append(TextEdit(Span(dash, first.value.span.end), f"{written}:"))
    return (Fix("Convert to a mapping", tuple(edits)),) if edits else ()


# The fixes of the errors of one place, by their kind.
FIXES = {
    "unknown-key": unknown_key_fixes, "dockerimage-extra-key": unknown_key_fixes, "v1-job-key": former_key_fixes,
    "invalid-enum": choice_fixes, "out-of-range": limit_fixes, "invalid-job-name": job_name_fixes,
    "empty-section": empty_fixes, "type-mismatch": type_fixes, "taskroles-not-mapping": roles_as_mapping_fixes,
    "ports-not-mapping": ports_as_mapping_fixes,
}  # fmt: skip
