"""The lock file: the definitions that a project's jobs use, so that everyone and every build uses the same.

It is JSON, which is YAML too, so that its definitions are read like any others and have places in the file. For
definitions in the project, which are versioned with it, it has only the hash; for all others the whole definition.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from pai_lsp.job.definition import Definition, Origin
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, items_of, plain_value, value_at
from pai_lsp.source.scalar import server_text
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as MappingOf
    from typing import Any

VERSION = 1
_RELOCK = "run 'pai-lsp marketplace lock'"
_NEXT_STEP = f"resolve the merge conflict, or {_RELOCK}"
# Line ends of YAML 1.1 that are not line ends in JSON.
_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True, slots=True, eq=False)
class LockedDefinition:
    """One definition of an entry.

    source: where it came from: a path from the lock file's folder, or an address.
    definition: None for one in the project.
    """

    name: str
    source: str
    sha256: str
    definition: Definition | None


@dataclass(frozen=True, slots=True, eq=False)
class Lock:
    """The entries of a lock file by reference; `fault` is the message for a file that is broken or edited by hand."""

    path: str
    entries: MappingOf[str, tuple[LockedDefinition, ...]]
    fault: str = ""


def definition_hash(definition: Definition) -> str:
    """The SHA-256 of a definition's values, as JSON with sorted keys; formatting does not matter."""
    normal = json.dumps(_json_value(plain_value(definition.node)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(normal.encode()).hexdigest()


def read_lock(path: str, text: str) -> Lock:
    """A lock file's text; the result has no entries if the text is broken, and none that were edited by hand."""
    syntax = parse(text)
    if syntax.problems:
        problem = syntax.problems[0]
        reason = f"line {LineIndex(text).line_of(problem.span.start) + 1}: {problem.message}"
        return Lock(path, {}, f"'{_name(path)}' is ignored because it is broken; {_NEXT_STEP} ({reason})")
    root = syntax.root
    node = value_at(root, "definitions")
    version = value_at(root, "version")
    if not isinstance(node, Mapping) or not isinstance(version, Scalar) or version.value != VERSION:
        return Lock(path, {}, f"'{_name(path)}' is not a lock file of this version of pai-lsp")
    entries: dict[str, tuple[LockedDefinition, ...]] = {}
    faults: list[str] = []
    for entry in node.effective_entries():
        items = items_of(entry.value)
        locked = [_locked(item) for item in items]
        found = tuple(one for one in locked if one is not None)
        if not found or len(found) < len(items):
            faults.append(entry.name)
        else:
            entries[entry.name] = found
    more = f" and {len(faults) - 1} more" if faults[1:] else ""
    fault = f"'{faults[0]}'{more} in '{_name(path)}' was edited by hand; {_RELOCK}" if faults else ""
    return Lock(path, entries, fault)


def locked_source(path: str, folder: str) -> str:
    """The `source` of a definition in a lock file in `folder`: an address, or a file's path relative to `folder`."""
    if "://" in path or not Path(path).is_absolute():
        return path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return path


def lock_text(entries: MappingOf[str, Iterable[LockedDefinition]]) -> str:
    """The text of a lock file; the same for the same entries in any order."""
    definitions = {
        reference: [_record(one) for one in sorted(entries[reference], key=lambda one: (one.source, one.name))]
        for reference in sorted(entries)
    }
    text = json.dumps({"version": VERSION, "definitions": definitions}, indent=1, ensure_ascii=False)
    for character, escape in _LINE_ENDS.items():
        text = text.replace(character, escape)
    return text + "\n"


def lock_changes(
    before: MappingOf[str, tuple[LockedDefinition, ...]], after: MappingOf[str, tuple[LockedDefinition, ...]]
) -> dict[str, str]:
    """What a new lock file would change, by reference: `new`, `changed` or `not used any more`."""
    words = {name: "new" for name in after if name not in before}
    words |= {name: "not used any more" for name in before if name not in after}
    words |= {
        name: "changed" for name, locked in after.items() if name in before and _hashes(before[name]) != _hashes(locked)
    }
    return dict(sorted(words.items()))


def _hashes(locked: Iterable[LockedDefinition]) -> list[tuple[str, str, str, bool]]:
    return sorted((one.source, one.name, one.sha256, bool(one.definition)) for one in locked)


def _name(path: str) -> str:
    return PurePath(path).name


def _record(locked: LockedDefinition) -> dict[str, Any]:
    record: dict[str, Any] = {"name": locked.name, "source": locked.source, "sha256": locked.sha256}
    if locked.definition is not None:
        record["definition"] = _json_value(plain_value(locked.definition.node))
    return record


def _locked(node: Any) -> LockedDefinition | None:
    """The definition of one record; None if the record is malformed or its hash does not match."""
    if not isinstance(node, Mapping):
        return None
    words = [value.text if isinstance(value := node.get(key), Scalar) else "" for key in ("name", "source", "sha256")]
    inner = node.get("definition")
    definition = Definition(inner, Origin.CATALOG) if isinstance(inner, Mapping) else None
    if not all(words) or (definition is not None and definition_hash(definition) != words[2]):
        return None
    return LockedDefinition(words[0], words[1], words[2], definition)


def _json_value(value: Any) -> Any:
    """A value as JSON; one that JSON does not have (dates, infinity) as the text that the rest-server makes of it."""
    if isinstance(value, dict):
        return {key: _json_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_json_value(one) for one in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    return server_text(value)
