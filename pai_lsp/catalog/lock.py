"""The lock file: which definitions a project's jobs get, so that everybody and every build gets the same.

It is JSON, and JSON is YAML: its definitions are read as any others are, and have their places in it. Of what lies in
the project itself only the hash is locked, since it is versioned along; of all else the definition stands in the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from pai_lsp.job.definition import Definition, Origin
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.source.scalar import server_text
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as MappingOf

VERSION = 1
_NEXT_STEP = "resolve the conflict or repair it, or run 'pai-lsp marketplace lock' again"
# Line ends to YAML 1.1, of which JSON knows nothing.
_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True, slots=True, eq=False)
class LockedDefinition:
    """One definition of an entry.

    source: where it came from: a path from the lock file's folder, or an address.
    definition: None for one that lies in the project.
    """

    name: str
    source: str
    sha256: str
    definition: Definition | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Lock:
    """What a lock file says, by reference; `fault` is what is wrong with the file, in words."""

    path: str
    entries: MappingOf[str, tuple[LockedDefinition, ...]]
    fault: str = ""


def definition_hash(definition: Definition) -> str:
    """The hash of a definition's normal form: its values as JSON without blanks, keys sorted; not how it is written."""
    normal = json.dumps(_json_value(plain_value(definition.node)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(normal.encode()).hexdigest()


def read_lock(path: str, text: str) -> Lock:
    """What a lock file's text says; nothing of one that is broken, and no entries that were changed by hand."""
    syntax = parse(text)
    if syntax.problems:
        problem = syntax.problems[0]
        reason = f"line {LineIndex(text).line_of(problem.span.start) + 1}: {problem.message}"
        return Lock(path, {}, f"nothing in '{_name(path)}' is used, because it is broken; {_NEXT_STEP} ({reason})")
    root = syntax.root
    node = root.get("definitions") if isinstance(root, Mapping) else None
    version = root.get("version") if isinstance(root, Mapping) else None
    if not isinstance(node, Mapping) or not isinstance(version, Scalar) or version.value != VERSION:
        return Lock(path, {}, f"'{_name(path)}' is no lock file of this version of pai-lsp")
    entries: dict[str, tuple[LockedDefinition, ...]] = {}
    faults: list[str] = []
    for entry in node.effective_entries():
        items = entry.value.items if isinstance(entry.value, Sequence) else ()
        locked = [_locked(item) for item in items]
        found = tuple(one for one in locked if one is not None)
        if not found or len(found) < len(items):
            faults.append(entry.name)
        else:
            entries[entry.name] = found
    more = f" and {len(faults) - 1} more" if faults[1:] else ""
    fault = f"what '{_name(path)}' says of '{faults[0]}'{more} was changed by hand" if faults else ""
    return Lock(path, entries, fault)


def locked_source(path: str, folder: str) -> str:
    """How a lock file in `folder` names what a definition came from: addresses as they are, files from its folder."""
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


def _name(path: str) -> str:
    return PurePath(path).name


def _record(locked: LockedDefinition) -> dict[str, Any]:
    record: dict[str, Any] = {"name": locked.name, "source": locked.source, "sha256": locked.sha256}
    if locked.definition is not None:
        record["definition"] = _json_value(plain_value(locked.definition.node))
    return record


def _locked(node: Any) -> LockedDefinition | None:
    """What one record says; None when it is none, or its hash is another."""
    if not isinstance(node, Mapping):
        return None
    words = [value.text if isinstance(value := node.get(key), Scalar) else "" for key in ("name", "source", "sha256")]
    inner = node.get("definition")
    definition = Definition(inner, Origin.CATALOGUE) if isinstance(inner, Mapping) else None
    if not all(words) or (definition is not None and definition_hash(definition) != words[2]):
        return None
    return LockedDefinition(words[0], words[1], words[2], definition)


def _json_value(value: Any) -> Any:
    """A value as JSON can say it; what it can not (dates, infinity) as the text that the rest-server makes of it."""
    if isinstance(value, dict):
        return {key: _json_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_json_value(one) for one in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    return server_text(value)
