"""Fixes for the structure of a job: rename, move, add and remove keys.

Each function returns the fixes for one place; none if the right edit is not known.

`skeleton` gives a missing or empty part of a job a first value that the author then changes. The values are the
schema's examples (schemas/job.schema.json), and names that the job already has.
"""

from __future__ import annotations

import re
from itertools import takewhile

from pai_lsp.findings.diagnostic import Fix
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.job.definition import name_span
from pai_lsp.platform.job_schema import field, fields, former_keys, key_order
from pai_lsp.source.edits import (
    column,
    cut_entry,
    entry_end,
    insert_entry,
    line_end,
    line_span,
    remove_entry,
    remove_item,
)
from pai_lsp.source.nodes import Entry, Mapping, Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import entry_lines, flow_value, scalar_line, value_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.rules.structure.structure_places import ErrorPlace


def rename_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
    """Rename a key to one that is expected here; safe if only one is close."""
    key, error = place.key, place.error
    if key is None or not isinstance(key.key, Scalar):
        return ()
    is_only = len(error.expected) == 1 and job.expected_keys[error.path, error.expected[:1]] == 1
    span = name_span(key.key)
    return tuple(change_fix(span, name, safe=is_only) for name in error.expected)


def remove_fixes(job: Job, mapping: Mapping, entry: Entry, *, safe: bool = False) -> tuple[Fix, ...]:
    """Remove a key with its value."""
    return fix_of(f"Remove '{entry.name}'", remove_entry(job.text, mapping, entry), safe=safe)


def move_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
    """Move a key into the section it belongs to, such as `shmMB` into `extraContainerOptions`."""
    mapping, entry = place.node, place.key
    if not isinstance(mapping, Mapping) or entry is None or len(entry.value.span) == 0 or place.error.expected:
        return ()
    section, name = _home(job, place)
    text, key = job.text, entry.key.span
    written = text[entry.value.span.start : entry.value.span.end]
    is_plain_line = re.fullmatch(r"['\"]?:[ ]+", text[key.end : entry.value.span.start])
    if name == "ports" and not isinstance(entry.value, Mapping):
        return ()
    if not section or "\n" in written or not is_plain_line or entry.value.span.start < key.start:
        return ()
    title = f"Move into '{section}'"
    target = mapping.own(section)
    if target is None:
        pad = " " * (column(text, key.start) + 2)
        lines = f"{section}:{line_end(text)}{pad}{name}: {written}"
        flow = f"{section}: {{{name}: {written}}}"
        return (Fix(title, (TextEdit(Span(key.start, entry.value.span.end), flow if mapping.is_flow else lines),)),)
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
    name = _former_keys(place).get(key, "")
    if "." in name:
        section, _, inner = name.partition(".")
        # Images became list items and GPU types mappings: the old values do not fit.
        return (section, inner) if section.isalpha() and section != "extras" else ("", "")
    # The documentation is the same for all task roles.
    documented = ("taskRoles", "*") if path[:1] == ("taskRoles",) and len(path) == 2 else path
    for beside in fields(documented, kind=job.schema_kind, platform=job.platform):
        within = fields((*documented, beside.key), kind=job.schema_kind, platform=job.platform)
        if "object" in beside.types and any(inner.key == key for inner in within):
            return str(beside.key), key
    return "", ""


def _former_keys(place: ErrorPlace) -> dict[str, str]:
    """The new names of protocol v1 keys, for the job itself and its task roles."""
    path, (of_job, of_role) = place.error.path, former_keys()
    if path == ():
        return of_job
    return of_role if len(path) == 2 and path[0] == "taskRoles" else {}


def insert_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
    """Add a missing key with a first value; safe if only one value is possible."""
    mapping, key = place.node, place.error.key
    if not isinstance(mapping, Mapping) or key is None:
        return ()
    value = skeleton(job, (*place.error.path, key))
    first = mapping.entries[0].key.span.start if mapping.entries else mapping.span.start
    in_front = job.text[job.text.rfind("\n", 0, first) + 1 : first]
    if value is None or "?" in in_front:
        return ()
    lines = [f"{key}: {flow_value(value)}"] if mapping.is_flow else entry_lines(key, value)
    before = takewhile(lambda name: name != key, key_order(place.error.path, job.schema_kind, job.platform))
    edit = _insertion(job.text, mapping, frozenset(before), lines)
    is_sure = place.error.path == () and key in {"protocolVersion", "type"}
    return (Fix(f"Add '{key}'", (edit,), safe=is_sure),)


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


def empty_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
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
        return fix_of("Remove the empty item", remove_item(job.text, owner, place.node), safe=True)
    return ()


def _fill_fixes(job: Job, place: ErrorPlace, entry: Entry, owner: Mapping) -> tuple[Fix, ...]:
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
    return (Fix(f"Write a value for '{entry.name}'", (TextEdit(Span(colon.end(), end), new_text),)),)


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
    kind = prerequisite_type(job, path)
    documented = field(path, prerequisite_type=kind, kind=job.schema_kind, platform=job.platform)
    if documented is None:
        return None
    if documented.examples:
        return documented.examples[0]
    if documented.values:
        return documented.values[0]
    return _required(job, path) or None


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
        images = [one.name for one in job.prerequisites if one.type == "dockerimage" and one.name]
        return images[0] if images else None
    if key == "commands" and path[0] == "taskRoles":
        return ["echo hello"]
    if path[0] == "prerequisites" and len(path) == 3 and key == "type":
        return prerequisite_type(job, path)
    if key == "name" and path[0] in {"prerequisites", "deployments"} and len(path) == 3:
        taken = {one.name for one in job.prerequisites} | {one.name for one in job.deployments}
        stem = "deployment" if path[0] == "deployments" else prerequisite_type(job, path) or "prerequisite"
        return next(name for number in range(len(taken) + 1) if (name := f"{stem}_{number}") not in taken)
    return None


def _required(job: Job, path: Path) -> dict[str, Any]:
    known = fields(path, kind=job.schema_kind, platform=job.platform)
    return {str(one.key): skeleton(job, (*path, one.key)) for one in known if one.required}
