"""A job of the first protocol as one of the second: the keys that have become others, and those that are no more.

The first protocol was JSON, often with `//` comments; its keys in YAML are read as well, and keys of the second
protocol among them stay. What a cluster can not do any more is said in comments at its top.
Sources: pai 0.14, docs/job_tutorial.md (keys) and src/rest-server/src/config/job.js (defaults); the keys of today in
schemas/job.schema.json, `x-former-keys`.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from pai_lsp.comments import comments
from pai_lsp.frozen import dataclass
from pai_lsp.ide.refactorings.former_keys import (
    FOLDERS,
    KEPT,
    VARIABLE,
    is_former,
    named_roles,
    notes,
    readable,
    text_of,
)
from pai_lsp.ide.refactorings.former_task_role import FormerSurroundings, task_role
from pai_lsp.ide.refactorings.written_lines import (
    Line,
    Written,
    with_comments,
    written_list,
    written_mapping,
    written_node,
    written_scalar,
)
from pai_lsp.job import Job
from pai_lsp.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.platform import converted_role_name
from pai_lsp.renaming import rename_role
from pai_lsp.scalar import server_text
from pai_lsp.spelling import free_name
from pai_lsp.syntax import parse
from pai_lsp.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator


_IMAGE = "docker_image_0"
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Conversion:
    """The job in the second protocol; `text` is None where there is none, and `problem` says why."""

    text: str | None
    problem: str = ""


def converted(text: str) -> Conversion:
    """The job as YAML of protocol version 2, comments kept."""
    syntax = parse(readable(text))
    root = syntax.root
    if syntax.problems:
        return Conversion(None, syntax.problems[0].message)
    if not isinstance(root, Mapping) or not is_former(root):
        return Conversion(None, "this is no job of protocol version 1")
    lines = (Line(f"# {note}") for note in notes(root))
    written = Written((*lines, *written_mapping(_keys(root)).lines), is_collection=True)
    return Conversion(_with_names(with_comments(written, comments(syntax), syntax.text)))


def _keys(root: Mapping) -> Iterator[tuple[str, Written, int | None]]:
    """The job's keys in the order in which people write them today, with those that have become comments."""
    yield "protocolVersion", written_scalar(2), _at(root, "protocolVersion") or root.span.start
    name = root.entry("jobName") or root.entry("name")
    said = _NOT_IN_NAME.sub("-", text_of(name)).strip("-") or "job"
    yield "name", written_scalar(said), name.key.span.start if name else None
    yield "type", written_scalar("job"), _at(root, "type")
    for key in KEPT:
        if entry := root.entry(key):
            yield key, written_node(entry.value), entry.key.span.start
    yield from _retries(root)
    surroundings = _surroundings(root)
    yield "prerequisites", written_list(_prerequisites(root)), _at(root, "prerequisites")
    for key in ("parameters", "secrets"):
        if entry := root.entry(key):
            yield key, written_node(entry.value), entry.key.span.start
    roles = root.entry("taskRoles")
    named = list(named_roles(roles.value)) if roles else []
    yield (
        "taskRoles",
        written_mapping((name, task_role(role, surroundings, len(named)), at) for name, role, at in named),
        roles.key.span.start if roles else None,
    )
    if entry := root.entry("deployments"):
        yield "deployments", written_node(entry.value), entry.key.span.start
    yield from _defaults(root)
    yield from _extras(root, [name for name, _, _ in named])


def _at(root: Mapping, key: str) -> int | None:
    entry = root.entry(key)
    return entry.key.span.start if entry else None


def _retries(root: Mapping) -> Iterator[tuple[str, Written, int | None]]:
    entry = root.entry("retryCount") or root.entry("jobRetryCount")
    value = entry.value.value if entry and isinstance(entry.value, Scalar) else None
    if entry and isinstance(value, int) and value >= 0:
        yield "jobRetryCount", written_scalar(value), entry.key.span.start


def _surroundings(root: Mapping) -> FormerSurroundings:
    folders: list[tuple[str, str, str]] = []
    exports: list[str] = []
    for key, kind, template, variable in FOLDERS:
        if text_of(root.entry(key)):
            folders.append((kind, _free(root, kind), f'export {variable}="{template}"'))
    environment = root.get("jobEnvs")
    for entry in environment.effective_entries() if isinstance(environment, Mapping) else ():
        if VARIABLE.fullmatch(entry.name) and isinstance(entry.value, Scalar):
            value = "" if entry.value.value is None else server_text(entry.value.value)
            exports.append(f"export {entry.name}={shlex.quote(value)}")
    is_mixed = root.entry("protocolVersion") is not None
    return FormerSurroundings(_image(root)[0], tuple(folders), tuple(exports), is_mixed)


def _image(root: Mapping) -> tuple[str, bool]:
    """The name of the prerequisite for `image`, empty for none; and whether it has to be made."""
    address = text_of(root.entry("image"))
    roles = root.get("taskRoles")
    is_needed = any(role.entry("dockerImage") is None for _, role, _ in named_roles(roles)) if roles else True
    if not address or not is_needed:
        return "", False
    for item in _present(root):
        if item.get("type") == "dockerimage" and item.get("uri") == address and isinstance(item.get("name"), str):
            return item["name"], False
    return _free(root, _IMAGE), True


def _present(root: Mapping) -> list[dict[str, Any]]:
    """The prerequisites of today that stand in the job already."""
    items = plain_value(root.get("prerequisites"))
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _free(root: Mapping, wanted: str) -> str:
    return free_name(wanted, {str(item.get("name")) for item in _present(root)})


def _prerequisites(root: Mapping) -> Iterator[Written]:
    name, is_new = _image(root)
    if is_new and (entry := root.entry("image")):
        lines = [
            ("type", written_scalar("dockerimage"), entry.key.span.start),
            ("name", written_scalar(name), None),
            ("uri", written_scalar(text_of(entry)), None),
        ]
        yield written_mapping(lines)
    for key, kind, _, _ in FOLDERS:
        entry = root.entry(key)
        if entry and (address := text_of(entry)):
            uri = written_list([written_scalar(address)]) if kind == "data" else written_scalar(address)
            lines = [
                ("type", written_scalar(kind), entry.key.span.start),
                ("name", written_scalar(_free(root, kind)), None),
            ]
            yield written_mapping([*lines, ("uri", uri, None)])
    if isinstance(present := root.get("prerequisites"), Sequence):
        yield from map(written_node, present.items)


def _defaults(root: Mapping) -> Iterator[tuple[str, Written, int | None]]:
    entry = root.entry("virtualCluster")
    present = root.entry("defaults")
    if present is not None and isinstance(present.value, Mapping) and (entry is None or not text_of(entry)):
        yield "defaults", written_node(present.value), present.key.span.start
    elif entry is not None and text_of(entry):
        kept = present.value.effective_entries() if present and isinstance(present.value, Mapping) else ()
        rest = [(one.name, written_node(one.value), one.key.span.start) for one in kept if one.name != entry.name]
        cluster = (entry.name, written_scalar(text_of(entry)), entry.key.span.start)
        yield "defaults", written_mapping([cluster, *rest]), None


def _extras(root: Mapping, roles: list[str]) -> Iterator[tuple[str, Written, int | None]]:
    present = root.entry("extras")
    kept = present.value.effective_entries() if present and isinstance(present.value, Mapping) else ()
    entries: list[tuple[str, Written, int | None]] = [
        (one.name, written_node(one.value), one.key.span.start) for one in kept
    ]
    kind = root.entry("gpuType")
    if text_of(kind) and kind is not None and all(one.name != "hivedScheduler" for one in kept):
        sku = [("skuType", written_scalar(text_of(kind)), None)]
        by_role = written_mapping((name, written_mapping(sku), None) for name in roles)
        entries.append(("hivedScheduler", written_mapping([("taskRoles", by_role, None)]), kind.key.span.start))
    if entries:
        yield "extras", written_mapping(entries), present.key.span.start if present else None


def _with_names(text: str) -> str:
    """The job with names of task roles that the runtime finds, everywhere it speaks of them."""
    taken = {role.name for role in Job(parse(text)).task_roles}
    for name in sorted(taken):
        wanted = converted_role_name(name) or "role"
        wanted = wanted if wanted[0].isalpha() else f"role{wanted}"
        if wanted != name:
            numbered = (wanted if number == 1 else f"{wanted}{number}" for number in range(1, len(taken) + 2))
            new_name = next(one for one in numbered if one not in taken)
            taken.add(new_name)
            text = apply_edits(text, rename_role(Job(parse(text)), name, new_name).edits)
    return text
