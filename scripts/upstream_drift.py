"""Compares checkouts of the platforms with our tables, and prints every difference: a release is then data entry.

    upstream_drift.py [--pai DIR] [--runtime DIR] [--ltp DIR]

--pai is a checkout of microsoft/pai, --runtime one of microsoft/openpai-runtime, --ltp one of microsoft/ltp-platform,
which holds its own runtime. A line names the platform, the table, the entry, and the difference. Nothing of a checkout
is run. Ends with 0 without a difference, with 1 if there are some, and with 2 if a checkout cannot be read.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pai_lsp.platform.job_schema import field, fields
from pai_lsp.platform.platforms import OPENPAI, Platform, platform_named
from pai_lsp.platform.tables import ExitPattern, exit_codes, released_events

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA = "config/v2/protocol.js"
_POD = "models/v2/job/k8s.js"
_ENVIRONMENT = "models/v2/job/runtime-env.js"
_EXIT_CODES = Path("src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml")
_RETRIES = {
    "ALWAYS_RETRY": "always",
    "ALWAYS_BACKOFF_RETRY": "backoff",
    "RETRY_TO_MAX": "limited",
    "NEVER_RETRY": "never",
}
_VARIABLE = re.compile(r"\b(?:PAI|FC|AZCOPY)_[A-Z][A-Z_]*")
_PARAMETER = re.compile(r"""parameters(?:\[|\.get\()["'](\w+)["']|["'](\w+)["'] (?:not )?in parameters\b""")
_EVENT = re.compile(r"""["'](task[A-Z]\w+|container[A-Z]\w+)["']""")
_SHARED_MEMORY = re.compile(r"\bshmMB = (\d+);")


class UnreadableCheckoutError(Exception):
    """A file of a checkout is missing, or has another form than this script knows."""


def drift(server: Path, runtime: Path | None, platform: Platform) -> Iterator[str]:
    """The differences of one platform; `server` and `runtime` are the roots of the repositories.

    Raises:
        UnreadableCheckoutError: if a file cannot be read.
    """
    sources = server / "src" / "rest-server" / "src"
    for line in _schema_drift(_read(sources / _SCHEMA), platform):
        yield f"schema: {line}"
    pod = _read(sources / _POD)
    if (found := _SHARED_MEMORY.search(pod)) and int(found[1]) != platform.shared_memory:
        yield f"defaults: shared memory is {found[1]} MiB, not {platform.shared_memory}"
    if (server / _EXIT_CODES).exists():
        for line in _exit_drift(_read(server / _EXIT_CODES)):
            yield f"exit codes: {line}"
    texts = [_read(sources / _ENVIRONMENT), pod]
    if runtime is not None:
        files = (path for path in sorted(runtime.rglob("*")) if path.suffix in {".py", ".sh"} and path.is_file())
        texts += map(_read, files)
        for line in _plugin_drift(runtime / "plugins", platform):
            yield f"plugins: {line}"
        for line in _variable_drift(texts, platform):
            yield f"environment: {line}"


# --- the schema of a job ---


def _schema_drift(text: str, platform: Platform) -> Iterator[str]:
    base, schema = _literal(text, "baseSchema"), _literal(text, "protocolSchema")
    yield from _compared(schema, (), None, base, platform)


def _literal(text: str, name: str) -> dict[str, Any]:
    """An object literal of JavaScript; without comments, the literals of a schema are YAML as well."""
    start = text.find(f"const {name} = {{")
    if start < 0:
        raise UnreadableCheckoutError(f"no 'const {name} = {{' in {_SCHEMA}")
    start = text.index("{", start)
    text = re.sub(r"^\s*//.*$", "", text[start:], flags=re.MULTILINE)
    depth = 0
    for number, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            try:
                value = yaml.safe_load(text[: number + 1])
            except yaml.YAMLError as error:
                raise UnreadableCheckoutError(f"'{name}' in {_SCHEMA}: {error}") from None
            return dict(value)
    raise UnreadableCheckoutError(f"'{name}' in {_SCHEMA} has no end")


def _compared(
    schema: dict[str, Any], path: tuple[str | int, ...], kind: str | None, base: dict[str, Any], platform: Platform
) -> Iterator[str]:
    """The differences below `path`; `kind` is the type of the prerequisite that it is in."""
    schema = _resolved(schema, base)
    for part in schema.get("oneOf", ()):
        types = _resolved(part, base).get("properties", {}).get("type", {}).get("enum", [None])
        yield from _compared(part, path, types[0], base, platform)
    properties = {key: value for key, value in schema.get("properties", {}).items() if value is not False}
    for value in schema.get("patternProperties", {}).values():
        yield from _compared(value, (*path, "*"), kind, base, platform)
    if isinstance(schema.get("items"), dict):
        yield from _compared(schema["items"], (*path, 0), kind, base, platform)
    for key, value in properties.items():
        yield from _key_drift(_resolved(value, base), (*path, key), kind, key in schema.get("required", ()), platform)
        yield from _compared(value, (*path, key), kind, base, platform)
    if properties and schema.get("additionalProperties") is False:
        ours = fields(path, prerequisite_type=kind, platform=platform)
        gone = sorted({str(one.key) for one in ours if one.enforced_by == "rest-server"} - properties.keys())
        yield from (f"{_name((*path, key))}: only in our table" for key in gone)


def _resolved(schema: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to."""
    if "$merge" in schema:
        inner, merged = schema["$merge"]["with"], {**base, **schema["$merge"]["with"]}
        merged["properties"] = {**base["properties"], **inner.get("properties", {})}
        return merged
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return dict(base["properties"].get(name, {}))
    return schema


def _key_drift(
    value: dict[str, Any], path: tuple[str | int, ...], kind: str | None, is_required: bool, platform: Platform
) -> Iterator[str]:
    ours = field(path, prerequisite_type=kind, platform=platform)
    if ours is None:
        yield f"{_name(path)}: not in our table"
        return
    types = value.get("type", ())
    types = {types} if isinstance(types, str) else set(types)
    if types and ours.types and types != set(ours.types):
        yield f"{_name(path)}: type {' or '.join(sorted(types))}, not {' or '.join(sorted(ours.types))}"
    values = {str(one) for one in value.get("enum", ())}
    if values and kind is None and values != set(ours.values):
        yield f"{_name(path)}: values {', '.join(sorted(values))}, not {', '.join(sorted(ours.values)) or 'any'}"
    if is_required != ours.required:
        yield f"{_name(path)}: {'required, not optional' if is_required else 'optional, not required'}"


def _name(path: tuple[str | int, ...]) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in path)


# --- the other tables ---


def _exit_drift(text: str) -> Iterator[str]:
    theirs = {entry["code"]: entry for entry in (yaml.safe_load(text) or {}).get("spec", ())}
    ours = exit_codes()
    for code in sorted(theirs.keys() | ours.keys()):
        if code not in ours:
            yield f"{code}: '{theirs[code].get('phrase')}' is not in our table"
        elif code not in theirs:
            yield f"{code}: only in our table"
        else:
            yield from _code_drift(code, theirs[code])


def _code_drift(code: int, entry: dict[str, Any]) -> Iterator[str]:
    ours = exit_codes()[code]
    if entry.get("phrase") != ours.phrase:
        yield f"{code}: phrase '{entry.get('phrase')}', not '{ours.phrase}'"
    if (retry := _RETRIES.get(entry.get("reaction", ""))) and retry != ours.retry:
        yield f"{code}: retried {retry}, not {ours.retry}"
    patterns = (entry.get("pattern") or {}).get("runtimeContainerPatterns") or ()
    found = {ExitPattern(one.get("exitCode"), one.get("userLogRegex"), one.get("platformLogRegex")) for one in patterns}
    if found != set(ours.patterns):
        yield f"{code}: other patterns"


def _plugin_drift(folder: Path, platform: Platform) -> Iterator[str]:
    if not folder.is_dir():
        raise UnreadableCheckoutError(f"no folder {folder}")
    theirs = {path.parent.name for path in folder.glob("*/*") if path.name in {"desc.yaml", "init.py"}}
    for name in sorted(theirs | platform.plugins.keys()):
        if name not in platform.plugins:
            yield f"{name}: not in our table"
        elif name not in theirs:
            yield f"{name}: only in our table"
        else:
            text = "".join(_read(path) for path in sorted((folder / name).iterdir()) if path.is_file())
            read = {first or second for first, second in _PARAMETER.findall(text)}
            known = {parameter.name for parameter in platform.plugins[name].parameters}
            yield from (f"{name}.{one}: not in our table" for one in sorted(read - known))
            gone = sorted(one for one in known - read if not re.search(rf"\b{re.escape(one)}\b", text))
            yield from (f"{name}.{one}: only in our table" for one in gone)
    events = set(_EVENT.findall(_read(folder / "cmd" / "init.py"))) if (folder / "cmd" / "init.py").exists() else set()
    if events and events != set(released_events()):
        yield f"cmd: events {', '.join(sorted(events))}, not {', '.join(sorted(released_events()))}"


def _variable_drift(texts: list[str], platform: Platform) -> Iterator[str]:
    theirs = {name.rstrip("_") for text in texts for name in _VARIABLE.findall(text)}
    ours = {one.name.partition("{")[0].rstrip("_"): one.status for one in platform.environment_variables}
    yield from (f"{name}: not in our table" for name in sorted(theirs - ours.keys()))
    gone = (name for name, status in ours.items() if status not in {"removed", "internal"} and name not in theirs)
    yield from (f"{name}: only in our table" for name in sorted(gone) if _VARIABLE.fullmatch(name))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UnreadableCheckoutError(f"{path}: {error.strerror}") from None


def main(arguments: list[str]) -> int:
    """Print the differences of all checkouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--pai", "--runtime", "--ltp"):
        parser.add_argument(name, type=Path, metavar="DIR")
    given = parser.parse_args(arguments)
    if given.pai is None and given.ltp is None:
        parser.error("name a checkout with --pai (and --runtime), with --ltp, or with both")
    checkouts: list[tuple[Path, Path | None, Platform]] = []
    if given.pai is not None:
        checkouts.append((given.pai, given.runtime and given.runtime / "src", OPENPAI))
    if given.ltp is not None:
        checkouts.append((given.ltp, given.ltp / "src" / "openpai-runtime" / "src" / "src", platform_named("ltp")))
    count = 0
    for server, runtime, platform in checkouts:
        try:
            for line in drift(server, runtime, platform):
                count += 1
                sys.stdout.write(f"{platform.name}: {line}\n")
        except UnreadableCheckoutError as error:
            sys.stderr.write(f"upstream_drift: {platform.name}: {error}\n")
            return 2
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
