"""A job of the first protocol becomes one of the second, in place.

A job of the first protocol as one of the second: the keys that have become others, and those that are no more.

The first protocol was JSON, often with `//` comments; its keys in YAML are read as well, and keys of the second
protocol among them stay. What a cluster can not do any more is said in comments at its top.
Sources: pai 0.14, docs/job_tutorial.md (keys) and src/rest-server/src/config/job.js (defaults); the keys of today in
schemas/job.schema.json, `x-former-keys`.

The keys of the first protocol: how a job with them is known, and what it says that no job of today can.

Sources: pai 0.14, docs/job_tutorial.md; the keys of today in schemas/job.schema.json, `x-former-keys`.

A task role of the first protocol as one of the second.

Sources: pai 0.14, docs/job_tutorial.md and src/rest-server/src/config/job.js; docs/protocol.md for today's keys.
"""

from __future__ import annotations

import re
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from pai_lsp.ide.line_edits import line_edits
from pai_lsp.ide.refactorings.refactoring import Refactoring, RefactoringKind, refused
from pai_lsp.ide.refactorings.written_lines import (
    Line,
    Written,
    with_comments,
    written_list,
    written_mapping,
    written_node,
    written_scalar,
)
from pai_lsp.job.job import Job
from pai_lsp.job.renaming import rename_role
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import line_end
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import free_name
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import apply_edits
from pai_lsp.source.writing import flow_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.nodes import Entry, Node, Syntax
    from pai_lsp.source.text import Span

    Key = tuple[str, Written, int | None]


_TITLE = "Convert to protocol version 2"


def conversion(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered anywhere in a job with keys of the first protocol."""
    del span
    if document.is_catalogue or not is_former_job(document.syntax):
        return
    if document.path is not None and document.path.endswith(".json"):
        reason = "a job of today is YAML; 'pai-lsp convert' writes it to another file"
        yield refused(_TITLE, RefactoringKind.REWRITE, reason)
        return
    found = converted(document.text)
    if found.text is None:
        yield refused(_TITLE, RefactoringKind.REWRITE, found.problem)
        return
    mark = "\ufeff" if document.text.startswith("\ufeff") else ""
    after = mark + found.text.replace("\n", line_end(document.text))
    yield Refactoring(_TITLE, RefactoringKind.REWRITE, partial(line_edits, document.text, after))


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


FORMER_KEYS = frozenset(
    {
        "jobName", "image", "authFile", "dataDir", "outputDir", "codeDir", "gpuType", "retryCount", "jobEnvs",
        "killAllOnCompletedTaskNumber",
    }
)  # fmt: skip
FORMER_ROLE_KEYS = frozenset(
    {
        "taskNumber", "cpuNumber", "memoryMB", "shmMB", "gpuNumber", "portList", "command", "minFailedTaskCount",
        "minSucceededTaskCount",
    }
)  # fmt: skip
# These are keys of today too, in another place.
_SURE_ROLE_KEYS = FORMER_ROLE_KEYS - {"memoryMB", "shmMB"}
_SIGNS = re.compile(r"\b(?:jobName|image|retryCount|jobEnvs|(?:task|cpu|gpu)Number|portList|command)\b")
KEPT = ("version", "contributor", "description")
_KNOWN = (FORMER_KEYS - {"killAllOnCompletedTaskNumber"}).union(
    KEPT,
    ("protocolVersion", "name", "type", "jobRetryCount", "prerequisites", "parameters", "secrets", "taskRoles"),
    ("deployments", "defaults", "extras", "virtualCluster"),
)
_KNOWN_IN_ROLE = FORMER_ROLE_KEYS.union(
    ("name", "instances", "completion", "taskRetryCount", "dockerImage", "prerequisites", "data", "script", "output"),
    ("extraContainerOptions", "resourcePerInstance", "commands"),
)
# The former key, the type of prerequisite it has become, how commands name that, and what the former runtime exported.
FOLDERS = (
    ("codeDir", "script", "<% $script.uri %>", "PAI_CODE_DIR"),
    ("dataDir", "data", "<% $data.uri[0] %>", "PAI_DATA_DIR"),
    ("outputDir", "output", "<% $output.uri %>", "PAI_OUTPUT_DIR"),
)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# JSON's strings and YAML's comments, which are left alone, and JSON's comments.
_JSON_COMMENT = re.compile(r"\"(?:\\.|[^\"\\])*\"|#[^\n]*|//|/\*([\s\S]*?)\*/")


def is_former_job(syntax: Syntax) -> bool:
    """Whether a text is a job with keys of the first protocol; costs next to nothing for any other."""
    if not _SIGNS.search(syntax.text):
        return False
    text = readable(syntax.text)
    root = (syntax if text == syntax.text else parse(text)).root
    return isinstance(root, Mapping) and is_former(root)


def is_former(root: Mapping) -> bool:
    """Whether a job, or one of its task roles, has a key that only the first protocol has in that place."""
    roles = root.get("taskRoles")
    items = roles.items if isinstance(roles, Sequence) else ()
    if isinstance(roles, Mapping):
        items = tuple(entry.value for entry in roles.effective_entries())
    return roles is not None and (
        any(entry.name in FORMER_KEYS for entry in root.entries)
        or any(entry.name in _SURE_ROLE_KEYS for item in items if isinstance(item, Mapping) for entry in item.entries)
    )


def readable(text: str) -> str:
    """The text with comments as YAML has them; places in it are not those of the text."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "//", "/*")):
        return text
    return _JSON_COMMENT.sub(_as_yaml_comment, text)


def _as_yaml_comment(match: re.Match[str]) -> str:
    if match[1] is not None:
        lines = (line.strip(" \t\r*") for line in match[1].split("\n"))
        return " " + "".join(f"# {line}\n" for line in lines if line)
    return " #" if match[0] == "//" else match[0]


def named_roles(node: Node) -> Iterator[tuple[str, Mapping, int]]:
    """The task roles with their names, each name once, and where they stand."""
    seen: set[str] = set()
    entries: list[tuple[str, Mapping, int]] = []
    if isinstance(node, Mapping):
        pairs = ((one.name, one.value, one.key.span.start) for one in node.effective_entries())
        entries = [(name, value, at) for name, value, at in pairs if isinstance(value, Mapping)]
    elif isinstance(node, Sequence):
        items = [item for item in node.items if isinstance(item, Mapping)]
        entries = [(text_of(item.entry("name")), item, item.span.start) for item in items]
    for number, (name, role, at) in enumerate(entries):
        wanted = name or f"role{number}"
        while converted_role_name(wanted) in seen:
            wanted += "x"
        seen.add(converted_role_name(wanted))
        yield wanted, role, at


def text_of(entry: Entry | None) -> str:
    """The text of a key's scalar value; empty for none, and for any other value."""
    return entry.value.text if entry and isinstance(entry.value, Scalar) and entry.value.value is not None else ""


def notes(root: Mapping) -> Iterator[str]:
    """What the job says and none of today can, one line each."""
    retries = plain_value(root.get("retryCount"))
    if isinstance(retries, int) and retries < 0:
        yield f"retryCount was {retries}; today a job is tried again 0 times or more"
    if account := text_of(root.entry("authFile")):
        yield f"authFile was {_short(account)}: write the account as 'auth' of the image, its password among 'secrets'"
    if any(text_of(root.entry(key)) for key, _, _, _ in FOLDERS):
        yield "HDFS is gone: its folders are only named here, nothing is copied into the container"
    environment = root.get("jobEnvs")
    for entry in environment.effective_entries() if isinstance(environment, Mapping) else ():
        if not (VARIABLE.fullmatch(entry.name) and isinstance(entry.value, Scalar)):
            yield f"jobEnvs held {_short({entry.name: plain_value(entry.value)})}"
    yield from _unknown(root, _KNOWN, "the job")
    roles = root.get("taskRoles")
    for name, role, _ in named_roles(roles) if roles else ():
        yield from _unknown(role, _KNOWN_IN_ROLE, f"'{name}'")


def _unknown(mapping: Mapping, known: frozenset[str], owner: str) -> Iterator[str]:
    for entry in mapping.effective_entries():
        if entry.name not in known:
            yield f"{owner} had {_short({entry.name: plain_value(entry.value)})}"


def _short(value: Any) -> str:
    written = value if isinstance(value, str) else flow_value(value).removeprefix("{").removesuffix("}")
    line = " ".join(written.split())
    return line if len(line) <= 80 else line[:79] + "…"


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
    return written_mapping(_former_task_role_keys(role, surroundings, count))


def _former_task_role_keys(role: Mapping, surroundings: FormerSurroundings, count: int) -> Iterator[Key]:
    instances = role.entry("taskNumber") or role.entry("instances")
    yield "instances", written_scalar(_number(instances, 1)), _former_task_role_at(instances)
    yield from _completion(role, 1 if surroundings.is_mixed else count)
    if entry := role.entry("taskRetryCount"):
        yield entry.name, written_node(entry.value), _former_task_role_at(entry)
    image = role.entry("dockerImage")
    if image is not None:
        yield image.name, written_node(image.value), _former_task_role_at(image)
    elif surroundings.image:
        yield "dockerImage", written_scalar(surroundings.image), None
    for name in _AFTER_IMAGE:
        given = next((one for field, one, _ in surroundings.folders if field == name), None)
        if entry := role.entry(name):
            yield name, written_node(entry.value), _former_task_role_at(entry)
        elif given:
            yield name, written_scalar(given), None
    yield from _options(role)
    yield (
        "resourcePerInstance",
        written_mapping(_resources(role)),
        _former_task_role_at(role.entry("resourcePerInstance")),
    )
    yield "commands", written_list(_commands(role, surroundings)), _former_task_role_at(role.entry("commands"))


def _former_task_role_at(entry: Entry | None) -> int | None:
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
        yield "completion", written_node(present), _former_task_role_at(role.entry("completion"))
        return
    keys: list[Key] = []
    failed, succeeded = role.entry("minFailedTaskCount"), role.entry("minSucceededTaskCount")
    if failed is not None:
        keys.append(("minFailedInstances", written_scalar(_number(failed, -1)), _former_task_role_at(failed)))
    if succeeded is not None or count > 1:
        keys.append(("minSucceededInstances", written_scalar(_number(succeeded, -1)), _former_task_role_at(succeeded)))
    if keys:
        yield "completion", written_mapping(keys), None


def _options(role: Mapping) -> Iterator[Key]:
    present, memory = role.entry("extraContainerOptions"), role.entry("shmMB")
    keys: list[Key] = []
    if present is not None and isinstance(present.value, Mapping):
        kept = present.value.effective_entries()
        keys = [
            (one.name, written_node(one.value), _former_task_role_at(one))
            for one in kept
            if one.name != "shmMB" or not memory
        ]
    if memory is not None:
        keys.append(("shmMB", written_scalar(_number(memory, 64)), _former_task_role_at(memory)))
    if keys:
        yield "extraContainerOptions", written_mapping(keys), _former_task_role_at(present)


def _resources(role: Mapping) -> Iterator[Key]:
    present = role.get("resourcePerInstance")
    kept = present if isinstance(present, Mapping) else None
    for name, former, otherwise in _RESOURCES:
        entry = role.entry(former) or (kept.entry(name) if kept else None)
        yield name, written_scalar(_number(entry, otherwise)), _former_task_role_at(entry)
    ports = role.entry("portList")
    if ports is not None and isinstance(ports.value, Sequence) and ports.value.items:
        labels = dict(_label(item) for item in ports.value.items if isinstance(item, Mapping))
        yield (
            "ports",
            written_mapping((name, one, at) for name, (one, at) in labels.items()),
            _former_task_role_at(ports),
        )
    elif kept is not None and (entry := kept.entry("ports")):
        yield "ports", written_node(entry.value), _former_task_role_at(entry)


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
