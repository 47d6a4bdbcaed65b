"""The keys of the first protocol: how a job with them is known, and what it says that no job of today can.

Sources: pai 0.14, docs/job_tutorial.md; the keys of today in schemas/job.schema.json, `x-former-keys`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.expand.yaml_text import flow_value
from pai_lsp.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.platform import converted_role_name
from pai_lsp.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.nodes import Entry, Node, Syntax

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
