"""What a job file may hold: the documentation of every key, and what is wrong with the shape of a job.

Both come from `schemas/job.schema.json`, written for any editor that knows JSON Schema. Its own annotations are

- `x-source`, `x-enforced-by`: where a fact comes from, and who looks at the key on a cluster
- `x-rule`: the rule that reports this in better words, so that `structure_errors` passes over the subschema
- `x-code`: the rule that an error of this subschema belongs to, where its keyword's usual one does not fit
- `x-noun`, `x-words`, `x-type`: how to call the thing, the characters of a pattern, and a type that nobody enforces
- `x-former-keys`: keys of the first protocol, and what this one has instead
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from pai_lsp.platform import PLUGIN_PREFIX, table
from pai_lsp.structure import StructureError, explained

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jsonschema.protocols import Validator

__all__ = ["Field", "StructureError", "field", "fields", "job_schema", "structural", "structure_errors"]

Schema: TypeAlias = "dict[str, Any]"

_PLURALS = {"string": "strings", "integer": "integers", "object": "mappings"}
_NAMES = {"object": "mapping", "array": "list"}


@dataclass(frozen=True, slots=True)
class Field:
    """The documentation of one key.

    types: JSON Schema's names of the types that are right; empty when nobody checks.
    type: the same in words, such as `list of strings`.
    default: what the cluster takes when the key is absent, as JSON text; None when there is no such value.
    values: the only values, when they are few; nearest to common use first.
    source: where the facts come from, a public repository and a path in it.
    enforced_by: who looks at the key; `nobody (extension)` marks the extended protocol, which needs expansion.
    """

    key: str | int
    title: str
    description: str
    types: tuple[str, ...]
    type: str
    default: str | None
    values: tuple[str, ...]
    examples: tuple[Any, ...]
    required: bool
    source: str
    enforced_by: str
    deprecated: bool = False

    @property
    def is_extension(self) -> bool:
        """Whether released clusters refuse or ignore the key."""
        return self.enforced_by == "nobody (extension)"


def field(
    path: Sequence[str | int], *, prerequisite_type: str | None = None, plugin: str | None = None
) -> Field | None:
    """The documentation of the key, or list item, at `path`, such as `("taskRoles", "worker", "commands")`.

    What stands beside the key may decide its meaning, and is given in `prerequisite_type` (the value of `type`) and
    `plugin` (of `plugin`, with or without its prefix). None means unknown: then the first meaning that fits is given.
    """
    return _field(tuple(path), prerequisite_type, _short(plugin))


def fields(
    path: Sequence[str | int], *, prerequisite_type: str | None = None, plugin: str | None = None
) -> list[Field]:
    """The keys that the mapping at `path` may have, required ones first; empty where any name is right."""
    here = tuple(path)
    found = {
        key: entry
        for schema in _at(here, _context(here, prerequisite_type, _short(plugin)))
        for key, value in schema.get("properties", {}).items()
        if value is not False and (entry := _field((*here, key), prerequisite_type, _short(plugin)))
    }
    return sorted(found.values(), key=lambda entry: not entry.required)


@cache
def job_schema() -> Schema:
    """The whole schema of a job, with the parameters of the runtime plugins; shared, so not to be changed."""
    schema: Schema = table("job.schema.json")
    for name, plugin in table("plugins.json").items():
        parameters = {"properties": plugin["parameters"]}
        rule = {"x-rule": "plugin-missing-parameter", "required": plugin["required"]}
        names = {"properties": {"plugin": {"enum": [name, PLUGIN_PREFIX + name]}}, "required": ["plugin"]}
        beside = {"if": names, "then": {"properties": {"parameters": {**parameters, "allOf": [rule]}}}}
        within = {
            "if": names,
            "then": {**parameters, "properties": {**plugin["parameters"], "plugin_params": parameters}},
        }
        schema["$defs"]["runtimePlugin"]["allOf"].append(beside)
        for kind in ("scriptOrOutput", "data", "storagePrerequisite", "referencePrerequisite"):
            schema["$defs"][kind].setdefault("allOf", []).append(within)
    return schema


def structural(schema: Any) -> Any:
    """The part of a schema that `structure_errors` reports: without what other rules say (`x-rule`)."""
    if isinstance(schema, list):
        return [structural(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "x-rule" in schema:
        return True
    result = {keyword: structural(value) for keyword, value in schema.items()}
    if isinstance(pattern := result.get("pattern"), str) and pattern.endswith("$"):
        # JavaScript's $ is the very end; Python's would let a line end pass.
        result["pattern"] = pattern[:-1] + r"\Z"
    return result


def structure_errors(value: Any) -> tuple[StructureError, ...]:
    """What is wrong with the shape of a job: keys, types, choices and names; one error for each wrong thing.

    `value` is the file's content as js-yaml gives it, in plain Python: mappings have strings as keys, and what is
    neither mapping, list, string, number, boolean nor null (a date) may be an object of any class.
    The order is that of the schema, and the same for the same value.
    """
    from pai_lsp import _job_validator  # noqa: PLC0415 -- written by a script that imports this module

    if _job_validator.is_valid(value):
        return ()
    return explained(_validator().iter_errors(value), _homes())


@cache
def _validator() -> Validator:
    # Importing jsonschema takes longer than checking a file, so only a file with mistakes pays for it.
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    from pai_lsp._job_validator import is_whole  # noqa: PLC0415 -- as above

    def is_integer(_checker: object, instance: object) -> bool:
        return is_whole(instance) if isinstance(instance, float) else type(instance) is int

    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
    kind = validators.extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call] -- has no stub
    validator: Validator = kind(structural(table("job.schema.json")))
    return validator


@cache
def _homes() -> Mapping[str, str]:
    owners: dict[str, set[str]] = {}

    def visit(schema: Any, name: str) -> None:
        if isinstance(schema, list):
            for part in schema:
                visit(part, name)
        elif isinstance(schema, dict):
            properties = schema.get("properties", {})
            for key, value in properties.items():
                if isinstance(value, dict):
                    owners.setdefault(key, set()).add(schema.get("x-noun", f"'{name}'"))
                visit(value, key)
            for key, value in schema.get("$defs", {}).items():
                visit(value, key)
            for keyword in ("items", "additionalProperties", "allOf", "then"):
                visit(schema.get(keyword), name)

    visit(table("job.schema.json"), "")
    return {key: next(iter(words)) for key, words in owners.items() if len(words) == 1}


def _short(plugin: str | None) -> str | None:
    return plugin.removeprefix(PLUGIN_PREFIX) if plugin else None


def _context(
    path: tuple[str | int, ...], prerequisite_type: str | None, plugin: str | None
) -> Mapping[str, str | None]:
    # A prerequisite without a plugin means `cmd` in the extended protocol; an entry of extras must name its own.
    if plugin is None and path[:2] != ("extras", PLUGIN_PREFIX.rstrip(".")):
        plugin = "cmd"
    return {"type": prerequisite_type, "plugin": plugin}


@lru_cache(maxsize=1024)
def _field(path: tuple[str | int, ...], prerequisite_type: str | None, plugin: str | None) -> Field | None:
    context = _context(path, prerequisite_type, plugin)
    parts = list(_at(path, context))
    documented = next((part for part in parts if "title" in part), None)
    if not path or documented is None:
        return None
    types, words = _type(parts)
    values = dict.fromkeys(str(value) for part in parts for value in part.get("enum", ()))
    if types == ("boolean",) or words == "boolean":
        values = dict.fromkeys(("true", "false"))
    # While the type is not known, only what every type needs is required.
    surely = {key: value or "" for key, value in context.items()}
    required = any(path[-1] in part.get("required", ()) for part in _at(path[:-1], surely))
    return Field(
        path[-1],
        documented["title"],
        documented.get("description", ""),
        types,
        words,
        json.dumps(documented["default"], ensure_ascii=False) if "default" in documented else None,
        tuple(values),
        tuple(documented.get("examples", ())),
        required,
        documented.get("x-source", ""),
        documented.get("x-enforced-by", ""),
        documented.get("deprecated", False),
    )


def _type(parts: list[Schema]) -> tuple[tuple[str, ...], str]:
    for part in parts:
        types = part.get("type")
        if types == "array":
            inner = next(
                (i["type"] for i in _expanded(part.get("items", {}), {}) if isinstance(i.get("type"), str)), ""
            )
            return ("array",), f"list of {_PLURALS[inner]}" if inner in _PLURALS else "list"
        if types is not None and "x-type" not in part:
            types = (types,) if isinstance(types, str) else tuple(types)
            return types, " or ".join(_NAMES.get(name, name) for name in types)
        if "x-type" in part:
            return (), part["x-type"]
    return (), "any value"


def _at(path: Sequence[str | int], context: Mapping[str, str | None]) -> Iterator[Schema]:
    schemas = list(_expanded(job_schema(), context))
    for step in path:
        children = [child for schema in schemas for child in _children(schema, step)]
        schemas = [inner for child in children for inner in _expanded(child, context)]
    yield from schemas


def _children(schema: Schema, step: str | int) -> Iterator[Any]:
    if isinstance(step, int):
        yield schema.get("items")
    elif step in (properties := schema.get("properties", {})):
        yield properties[step]
    else:
        yield schema.get("additionalProperties")


def _expanded(schema: Any, context: Mapping[str, str | None]) -> Iterator[Schema]:
    """The schema and all that it pulls in for this context; nothing for `true` and `false`."""
    if not isinstance(schema, dict):
        return
    yield schema
    if "$ref" in schema:
        yield from _expanded(job_schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")], context)
    if "if" in schema and _may_hold(schema["if"], context):
        yield from _expanded(schema["then"], context)
    for part in schema.get("allOf", ()):
        yield from _expanded(part, context)


def _may_hold(condition: Schema, context: Mapping[str, str | None]) -> bool:
    for key, wanted in condition.get("properties", {}).items():
        value = context.get(key)
        if value is not None and value not in wanted.get("enum", (wanted.get("const"),)):
            return False
    return True
