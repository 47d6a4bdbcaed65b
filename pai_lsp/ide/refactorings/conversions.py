"""Conversions of a whole file: a job of protocol version 1 becomes one of version 2, and MPIJobs and jobs each other.

Version 1 was JSON, often with `//` comments; its keys in YAML are read as well, and keys of version 2 among them stay.
What version 2 has no key for becomes a comment at the top of the job.

What each key has become is in schemas/job.schema.json, `x-former-keys`. Sources of the rest: pai 0.14,
docs/job_tutorial.md (keys) and src/rest-server/src/config/job.js (default values).
"""

from __future__ import annotations

import re
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from pai_lsp.embedded.shell_expansions import NAME
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    line_edits,
)
from pai_lsp.job.job import Job
from pai_lsp.job.symbols import rename_role
from pai_lsp.platform.job_schema import former_keys, key_order, keys_of_version_1_only
from pai_lsp.platform.programs import runs_launcher
from pai_lsp.platform.tables import as_name, converted_role_name
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import line_end
from pai_lsp.source.foreign import as_list, as_mapping, mappings_in
from pai_lsp.source.json_comments import without_json_comments
from pai_lsp.source.nodes import Entry, Mapping, Scalar, Sequence, entries_of, entry_at, items_of, plain_value
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import free_name
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import apply_edits, one_line, start_of_line
from pai_lsp.source.writing import flow_value, indented, value_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.nodes import Node, Syntax
    from pai_lsp.source.text import Span, TextEdit

    Roles = list[tuple[str, Mapping, Node]]

_TITLE = "Convert to protocol version 2"
_ROLE = ("taskRoles", "*")
# What version 1 took for a number that is missing (None: nothing is written), and for null. In version 2, -1 means that
# no number of failed or succeeded tasks ends the job.
_NUMBERS = {
    "taskNumber": (1, 1),
    "cpuNumber": (1, 1),
    "memoryMB": (100, 100),
    "gpuNumber": (0, 0),
    "shmMB": (None, 64),
    "minFailedTaskCount": (None, -1),
    "minSucceededTaskCount": (None, -1),
}
# The key, the type of prerequisite it becomes, how commands name that, and the variable that version 1 exported.
_FOLDERS = (
    ("codeDir", "script", "<% $script.uri %>", "PAI_CODE_DIR"),
    ("dataDir", "data", "<% $data.uri[0] %>", "PAI_DATA_DIR"),
    ("outputDir", "output", "<% $output.uri %>", "PAI_OUTPUT_DIR"),
)


def conversion(document: Document, _span: Span) -> Iterator[Refactoring]:
    """Offered anywhere in a job with keys of version 1."""
    for one in document.job.once(_conversions):
        if document.path is not None and document.path.endswith(".json"):
            reason = "a job of version 2 is YAML; 'pai-lsp convert' writes it to another file"
            yield Refactoring(one.title, one.kind, None, reason)
        else:
            yield one


def _conversions(job: Job) -> tuple[Refactoring, ...]:
    if not _is_v1(without_json_comments(job.syntax).root):
        return ()
    return (attempted(_TITLE, RefactoringKind.REWRITE, partial(_converting_edits, job.syntax)),)


def _converting_edits(syntax: Syntax) -> tuple[TextEdit, ...]:
    mark = "\ufeff" if syntax.text.startswith("\ufeff") else ""
    return line_edits(syntax.text, mark + converted(syntax).replace("\n", line_end(syntax.text)))


def converted(syntax: Syntax) -> str:
    """The job as YAML of protocol version 2, with its comments.

    Raises:
        CanNotRefactorError: if it is not a job of protocol version 1, or cannot be read.
    """
    syntax = without_json_comments(syntax)
    root = syntax.root
    if syntax.problems:
        raise CanNotRefactorError(syntax.problems[0].message)
    if not isinstance(root, Mapping) or not _is_v1(root):
        raise CanNotRefactorError("this is not a job of protocol version 1")
    roles = list(_named_roles(root.get("taskRoles")))
    notes = "".join(f"# {note}\n" for note in _notes(root, roles))
    return notes + _with_valid_role_names(_written(_job(root, roles), syntax))


def _is_v1(root: Node | None) -> bool:
    """Whether a job, or one of its task roles, has a key of version 1 that version 2 has nowhere."""
    if not isinstance(root, Mapping) or root.get("taskRoles") is None:
        return False
    of_job, of_role = keys_of_version_1_only()
    of_job |= {"jobEnvs", "killAllOnCompletedTaskNumber"}
    roles = (role for _, role, _ in _named_roles(root.get("taskRoles")))
    return any(root.entry(key) for key in of_job) or any(role.entry(key) for role in roles for key in of_role)


def _named_roles(node: Node | None) -> Iterator[tuple[str, Mapping, Node]]:
    """The task roles with their names, each name once, and the nodes where they begin."""
    if isinstance(node, Mapping):
        found = [(one.name, one.value, one.key) for one in node.effective_entries()]
    else:
        items = items_of(node)
        found = [(_text(item, "name"), item, item) for item in items if isinstance(item, Mapping)]
    seen: set[str] = set()
    for name, role, place in found:
        if isinstance(role, Mapping):
            free = free_name(name or "role", seen)
            seen.add(free)
            yield free, role, place


def _job(root: Mapping, roles: Roles) -> dict[str, Any]:
    """The new job as plain values."""
    new = {key: value for key, value in _value(root).items() if key in key_order(())}
    name = root.entry("jobName") or root.entry("name")
    _put(new, "protocolVersion", 2, root.entry("protocolVersion") or root)
    _put(new, "name", as_name(_scalar_text(name), "job"), name)
    _put(new, "type", "job", root.entry("type"))
    retries = _number(root.entry("retryCount"), 0)
    if root.entry("retryCount") and not _is_negative(retries):
        _put(new, "jobRetryCount", retries, root.entry("retryCount"))

    present = as_list(new.get("prerequisites"))
    taken = {str(one.get("name")): one for one in mappings_in(present)}
    added: list[dict[str, Any]] = []
    given: dict[str, str] = {}
    exports: list[tuple[str, str]] = []

    def add(key: str, kind: str, wanted: str, uri: str | list[str]) -> str:
        name = free_name(wanted, taken)
        added.append({_placed("type", root.entry(key)): kind, "name": name, "uri": uri})
        return name

    if (image := _text(root, "image")) and not (roles and all(role.get("dockerImage") for _, role, _ in roles)):
        images = [one for one in taken.values() if one.get("type") == "dockerimage" and "name" in one]
        known = {one.get("uri"): str(one["name"]) for one in images}
        given["dockerImage"] = known.get(image) or add("image", "dockerimage", "docker_image_0", image)
    for key, kind, template, variable in _FOLDERS:
        if address := _text(root, key):
            given[kind] = add(key, kind, kind, [address] if kind == "data" else address)
            exports.append((kind, f'export {variable}="{template}"'))
    for variable, value, is_variable in _variables(root):
        if is_variable:
            exports.append(("", f"export {variable}={shlex.quote('' if value is None else server_text(value))}"))
    _put(new, "prerequisites", [*added, *present], root.entry("prerequisites"))

    # In a job that has keys of both versions, what is missing means what it means in version 2.
    ends_early = len(roles) > 1 and root.entry("protocolVersion") is None
    new_roles = {_placed(name, at): _role(role, given, exports, ends_early=ends_early) for name, role, at in roles}
    _put(new, "taskRoles", new_roles, root.entry("taskRoles"))
    if cluster := _text(root, "virtualCluster"):
        _put(new, "defaults.virtualCluster", cluster, root.entry("virtualCluster"))
        new["defaults"] = _ordered(new["defaults"], ("virtualCluster",))
    if (kind := _text(root, "gpuType")) and "hivedScheduler" not in as_mapping(new.get("extras")):
        hived = {"taskRoles": {name: {"skuType": kind} for name, _, _ in roles}}
        _put(new, "extras.hivedScheduler", hived, root.entry("gpuType"))
    return _ordered(new, key_order(()))


def _role(
    role: Mapping, given: dict[str, str], exports: Iterable[tuple[str, str]], *, ends_early: bool
) -> dict[str, Any]:
    """The new task role; `given` are the names of prerequisites that all roles use.

    ends_early: whether a job without `completion` ends with its first task role in version 2, as it did not in
        version 1.
    """
    moved = former_keys()[1]
    new = {**given, **{key: value for key, value in _value(role).items() if key in key_order(_ROLE)}}
    for key, (missing, null) in _NUMBERS.items():
        section, _, last = moved[key].rpartition(".")
        today = role.get(section) if section else role
        entry = role.entry(key) or entry_at(today, last)
        if key == "minSucceededTaskCount" and ends_early and role.entry("completion") is None:
            missing = null  # noqa: PLW2901 - this key alone depends on the job
        if (number := _number(entry, null) if entry else missing) is not None:
            _put(new, moved[key], number, entry)
    if ports := {label: count for label, count, _ in _ports(role)}:
        _put(new, moved["portList"], ports, role.entry("portList"))
    new["resourcePerInstance"] = _ordered(new["resourcePerInstance"], key_order((*_ROLE, "resourcePerInstance")))
    exported = [command for kind, command in exports if not kind or role.entry(kind) is None]
    own = [item for key in ("command", "commands") for item in _items(role.get(key))]
    commands = [_placed(item.text, item) if isinstance(item, Scalar) else _value(item) for item in own]
    _put(new, "commands", [*exported, *commands], role.entry("commands"))
    return _ordered(new, key_order(_ROLE))


def _variables(root: Mapping) -> Iterator[tuple[str, Any, bool]]:
    """The names and values in `jobEnvs`, and whether the shell can export them."""
    for entry in entries_of(root.get("jobEnvs")):
        is_variable = isinstance(entry.value, Scalar) and NAME.fullmatch(entry.name) is not None
        yield entry.name, plain_value(entry.value), is_variable


def _ports(role: Mapping) -> Iterator[tuple[str, Any, Any]]:
    """The label of each port, how many of them, and the first one that was asked for."""
    for item in _items(role.get("portList")):
        if isinstance(item, Mapping):
            label = re.sub(r"[^a-zA-Z0-9_]", "_", _text(item, "label")) or "port"
            count, first = _number(item.entry("portNumber"), 1) or 1, _number(item.entry("beginAt"), 0)
            yield _placed(f"_{label}" if label[0].isdigit() else label, item), count, first


def _notes(root: Mapping, roles: Roles) -> Iterator[str]:
    """What version 2 has no key for, one line each."""
    moved, moved_in_role = former_keys()
    if _is_negative(retries := _number(root.entry("retryCount"), 0)):
        yield f"retryCount was {retries}; version 2 allows only 0 or more"
    if account := _text(root, "authFile"):
        yield f"authFile was {_short(account)}: write the account as 'auth' of the image, its password among 'secrets'"
    if any(_text(root, key) for key, _, _, _ in _FOLDERS):
        yield "HDFS is no longer supported: its folders are listed here, but nothing is copied into the container"
    yield from (f"jobEnvs held {_short({key: value})}" for key, value, is_shell in _variables(root) if not is_shell)
    yield from _unknown(root, {*key_order(()), *moved, "jobEnvs"}, "the job")
    for name, role, _ in roles:
        yield from _unknown(role, {*key_order(_ROLE), *moved_in_role, "name"}, f"'{name}'")
        yield from (f"port '{label}' of '{name}' began at {_short(first)}" for label, _, first in _ports(role) if first)


def _unknown(mapping: Mapping, known: set[str], owner: str) -> Iterator[str]:
    entries = (entry for entry in mapping.effective_entries() if entry.name not in known)
    return (f"{owner} had {_short({entry.name: plain_value(entry.value)})}" for entry in entries)


def _short(value: Any) -> str:
    written = value if isinstance(value, str) else flow_value(value).removeprefix("{").removesuffix("}")
    return one_line(written, 80)


def _text(mapping: Mapping, key: str) -> str:
    return _scalar_text(mapping.entry(key))


def _scalar_text(entry: Entry | None) -> str:
    """The text of a key's scalar value; empty for null, and for any other value."""
    return entry.value.text if entry and isinstance(entry.value, Scalar) and entry.value.value is not None else ""


def _items(node: Node | None) -> tuple[Node, ...]:
    return tuple(node.items) if isinstance(node, Sequence) else (node,) if node is not None else ()


def _number(entry: Entry | None, otherwise: int) -> Any:
    """An integer, with or without quotes; `otherwise` for null and a missing key; any other value stays."""
    value: Any = _value(entry.value) if entry else None
    is_text = isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip())
    if is_text or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return otherwise if value is None else value


def _is_negative(number: Any) -> bool:
    return isinstance(number, int) and number < 0


class _Placed(str):
    """A key or a list item of the new job, with the offset in the old text that its comments belong to."""

    __slots__ = ("at",)
    at: int


def _placed(text: str, origin: Entry | Node | None) -> str:
    if origin is None:
        return text
    placed = _Placed(text)
    placed.at = (origin.key if isinstance(origin, Entry) else origin).span.start
    return placed


def _value(node: Node) -> Any:
    """The node as a plain value, with places."""
    if isinstance(node, Mapping):
        return {_placed(one.name, one): _value(one.value) for one in node.effective_entries()}
    if isinstance(node, Sequence):
        return [_value(item) for item in node.items]
    return _placed(node.value, node) if isinstance(node.value, str) else node.value


def _put(mapping: dict[str, Any], path: str, value: Any, origin: Entry | Node | None) -> None:
    """Set the value at a path such as `resourcePerInstance.cpu`, and its place."""
    *sections, last = path.split(".")
    for section in sections:
        if not isinstance(mapping.get(section), dict):
            mapping[section] = {}
        mapping = mapping[section]
    mapping.pop(last, None)
    mapping[_placed(last, origin)] = value


def _ordered(mapping: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The mapping with these keys first, in this order, and without empty sections."""
    ordered = sorted(mapping, key=lambda key: keys.index(key) if key in keys else len(keys))
    return {key: mapping[key] for key in ordered if mapping[key] not in ({}, [])}


def _written(job: dict[str, Any], old: Syntax) -> str:
    """The new job with every comment of the old one, above or after the line that has come from its neighbor."""
    lines = value_lines(job)
    text = "".join(f"{line}\n" for line in lines)
    places = sorted((at, text.count("\n", 0, offset)) for at, offset in _moves(job, parse(text).root))
    above: dict[int, list[str]] = {}
    for comment in comments(old):
        start = start_of_line(old.text, comment.span.start)
        beside = [number for at, number in places if start <= at < comment.span.start and not comment.is_alone]
        if beside:
            lines[beside[-1]] += f"  {comment.text}"
        else:
            next_line = next((number for at, number in places if at > comment.span.start), len(lines))
            above.setdefault(next_line, []).append(comment.text)
    found: list[str] = []
    for number, line in enumerate([*lines, ""]):
        found += (*indented(above.get(number, ()), line[: len(line) - len(line.lstrip(" "))]), line)
    return "\n".join(found)


def _moves(value: Any, node: Node | None) -> Iterator[tuple[int, int]]:
    """The offsets in the old text and in the new one, of everything that was in the old one."""
    if isinstance(value, _Placed) and node is not None:
        yield value.at, node.span.start
    elif isinstance(value, dict) and isinstance(node, Mapping):
        for (key, one), entry in zip(value.items(), node.entries, strict=False):
            yield from (*_moves(key, entry.key), *_moves(one, entry.value))
    elif isinstance(value, list) and isinstance(node, Sequence):
        for one, item in zip(value, node.items, strict=False):
            yield from _moves(one, item)


def _with_valid_role_names(text: str) -> str:
    """The job with the names of task roles that the runtime uses, also wherever the job refers to them."""
    taken = {role.name for role in Job(parse(text)).task_roles}
    for name in sorted(taken):
        wanted = converted_role_name(name) or "role"
        wanted = wanted if wanted[0].isalpha() else f"role{wanted}"
        if wanted != name:
            new_name = free_name(wanted, taken, "")
            taken.add(new_name)
            text = apply_edits(text, rename_role(Job(parse(text)), name, new_name).edits)
    return text


_TITLES = {"pai": "Convert to a PAI job", "mpijob": "Convert to an MPIJob"}
_REWRITE = RefactoringKind.REWRITE


def mpijob_conversion(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered at the keys of the root; the new text lists what it does not have at its top."""
    from pai_lsp.mpijob.conversion import ConversionError  # noqa: PLC0415 - few jobs are MPI programs
    from pai_lsp.mpijob.converted_text import converted_text  # noqa: PLC0415 - as above

    if document.is_catalog or not (document.is_mpijob or runs_launcher(document.job.scripts.values())):
        return
    roots = (root for root in document.syntax.documents if isinstance(root, Mapping))
    if not any(entry.key.span.touches(span.start) for root in roots for entry in root.entries):
        return
    to = "pai" if document.is_mpijob else "mpijob"
    try:
        found = converted_text(document.job, to)
    except ConversionError as error:
        if error.code not in {"no-launcher", "not-a-job"}:
            yield Refactoring(_TITLES[to], _REWRITE, None, str(error))
        return
    is_named = document.path is not None and document.path.lower().endswith((".pai.yaml", ".pai.yml"))
    reason = "files named '.pai.yaml' are jobs; 'pai-lsp convert --to mpijob' writes another file" if is_named else ""
    make = partial(line_edits, document.text, found.text_with_lost.replace("\n", line_end(document.text)))
    yield Refactoring(_TITLES[to], _REWRITE, None if is_named else make, reason, beside=to)
