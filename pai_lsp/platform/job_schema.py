"""What a job or a catalog definition may hold: the documentation of every key, and what is wrong with a file's shape.

Both come from the JSON Schemas in `schemas/`, which are written for any editor that knows JSON Schema. Their own
annotations are

- `x-source`, `x-enforced-by`: where a fact comes from, and what reads or checks the key on a cluster
- `x-rule`: the rule that reports this in better words, so that the structural part leaves the subschema out
- `x-code`: the rule that an error of this subschema belongs to, where its keyword's usual one does not fit
- `x-noun`, `x-words`, `x-type`: how to call the thing, the characters of a pattern, and a type that is not enforced
- `x-former-keys`: keys of protocol version 1, and their names in version 2
- `x-extended`: the values of an `enum` that belong to the extended protocol
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib import import_module

from pai_lsp.platform.platforms import NAMES, OPENPAI, Platform
from pai_lsp.platform.tables import PLUGIN_PREFIX, RUNTIME_PLUGIN, table
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.scalar import is_finite_whole, is_whole
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Literal, TypeAlias

    from pai_lsp.platform.structure_errors import FailedKeyword, StructureError

Path: TypeAlias = "tuple[str | int, ...]"
Context: TypeAlias = "Mapping[str, str | None]"

_WORDS = {"object": "mapping", "array": "list"}


@dataclass(frozen=True, slots=True)
class Field:
    """The documentation of one key.

    types: JSON Schema's names of the types that are right; empty when it is not checked.
    type: the same in words, such as `list of strings`.
    default: what the cluster uses when the key is absent, as JSON text; None without a default.
    values: the only values, when they are few.
    source: where the facts come from, a public repository and a path in it.
    enforced_by: what reads or checks the key; `expansion` marks the extended protocol.
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
        return self.enforced_by == "expansion"


# The paths of one file come again and again, those of closed files never.
@lru_cache(maxsize=1024)
def field(
    path: Path,
    *,
    prerequisite_type: str | None = None,
    plugin: str | None = None,
    kind: Kind = "job",
    platform: Platform = OPENPAI,
) -> Field | None:
    """The documentation of the key, or list item, at `path`, such as `("taskRoles", "worker", "commands")`.

    Keys beside it may decide its meaning: they are given in `prerequisite_type` (the value of `type`) and
    `plugin` (of `plugin`, with or without its prefix). None means unknown: then the first meaning that fits is given.
    A definition file's paths begin with an index where the file is a list.
    """
    which = (kind, platform)
    context = _context(path, prerequisite_type, plugin)
    parts = list(_at(which, path, context))
    documented = next((part for part in parts if "title" in part), None)
    if not path or documented is None:
        return None
    types, words = _type(which, parts)
    values = dict.fromkeys(str(value) for part in parts for value in part.get("enum", ()))
    if words == "boolean":
        values = dict.fromkeys(("true", "false"))
    # While the type is not known, only what every type needs is required.
    surely = {key: value or "" for key, value in context.items()}
    required = any(path[-1] in part.get("required", ()) for part in _at(which, path[:-1], surely))
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


def fields(
    path: Path,
    *,
    prerequisite_type: str | None = None,
    plugin: str | None = None,
    kind: Kind = "job",
    platform: Platform = OPENPAI,
) -> list[Field]:
    """The keys that the mapping at `path` may have, required ones first; empty where any name is right."""
    beside: Any = {"prerequisite_type": prerequisite_type, "plugin": plugin, "kind": kind, "platform": platform}
    found = {
        key: entry
        for schema in _at((kind, platform), path, _context(path, prerequisite_type, plugin))
        for key, value in schema.get("properties", {}).items()
        if value is not False and (entry := field((*path, key), **beside))
    }
    return sorted(found.values(), key=lambda entry: not entry.required)


@lru_cache(maxsize=64)
def key_order(path: tuple[str | int, ...], kind: Kind = "job", platform: Platform = OPENPAI) -> tuple[str, ...]:
    """The keys of the mapping at `path` in the order in which people write them, which is that of the schema."""
    context = _context(path, None, None)
    return tuple(
        dict.fromkeys(key for part in _at((kind, platform), path, context) for key in part.get("properties", ()))
    )


def structure_errors(value: Any, kind: Kind = "job", platform: Platform = OPENPAI) -> tuple[StructureError, ...]:
    """What is wrong with the shape of a file: keys, types, choices and names; one error for each wrong thing.

    `value` is the file's content as js-yaml gives it, in plain Python: mappings have strings as keys, and what is
    neither mapping, list, string, number, boolean nor null (a date) may be an object of any class.
    The order is that of the paths, and the same for the same value.
    """
    if kind == "job" and _is_surely_valid(platform)(value, "#"):
        return ()
    from pai_lsp.platform.structure_errors import explained  # noqa: PLC0415 - valid jobs pass

    which = (kind, platform)
    return explained(_schema_check(which)(value), _homes(which))


@cache
def _is_surely_valid(platform: Platform) -> Callable[[object, str], bool]:
    """A quick answer for a value, or for a part of a job by its `$ref`: True if it has the right structure.

    False means that the schema has to be read, as for an infinite integer. The module is made when the package is
    built, so it is missing before; older versions of a platform do without it.
    """
    try:
        module = import_module("pai_lsp.platform._job_validator") if platform.name in NAMES else None
    except ModuleNotFoundError:
        module = None
    if module is None:
        return lambda _value, _reference: False

    def is_valid(value: object, reference: str) -> bool:
        part = f"#/$defs/{platform.name}" if reference == "#" else reference
        return part in module.PARTS and module.is_valid(value, part)

    return is_valid


@cache
def _schema_check(which: Which) -> Callable[[Any], Iterator[FailedKeyword]]:
    from pai_lsp.platform.structure_errors import schema_check  # noqa: PLC0415 - as above

    platform = which[1]
    is_whole_number = is_whole if platform.takes_infinite_integers else is_finite_whole
    # Most parts of a file with a mistake are right, and the generated check is many times faster.
    return schema_check(structural(read_schema(*which)), is_whole_number, _is_surely_valid(platform))


@cache
def _homes(which: Which) -> Mapping[str, str]:
    """For each key that only one mapping knows, that mapping in words."""
    owners: dict[str, set[str]] = {}

    def visit(schema: Any, name: str) -> None:
        if isinstance(schema, list):
            for part in schema:
                visit(part, name)
        elif isinstance(schema, dict):
            for key, value in schema.get("properties", {}).items():
                if isinstance(value, dict):
                    owners.setdefault(key, set()).add(schema.get("x-noun", f"'{name}'"))
                visit(value, key)
            for key, value in schema.get("$defs", {}).items():
                visit(value, key)
            for keyword in ("items", "additionalProperties", "allOf", "then"):
                visit(schema.get(keyword), name)

    visit(read_schema(*which), "")
    return {key: next(iter(words)) for key, words in owners.items() if len(words) == 1}


def _context(path: Path, prerequisite_type: str | None, plugin: str | None) -> Context:
    # A prerequisite without a plugin means `cmd` in the extended protocol; an entry of extras must name its own.
    if plugin is None and path[:2] != ("extras", RUNTIME_PLUGIN):
        plugin = "cmd"
    return {"type": prerequisite_type, "plugin": plugin}


def _type(which: Which, parts: list[Schema]) -> tuple[tuple[str, ...], str]:
    for part in parts:
        if "x-type" in part:
            return (), part["x-type"]
        if "type" in part:
            types = _as_tuple(part["type"])
            words = [_WORDS.get(name, name) for name in types]
            if "array" in types:
                inner = [_as_tuple(item["type"]) for item in _expanded(which, part.get("items"), {}) if "type" in item]
                of = " or ".join(f"{_WORDS.get(name, name)}s" for name in inner[0]) if inner else "values"
                words[types.index("array")] = f"list of {of}"
            return types, " or ".join(words)
    return (), "any value"


def _as_tuple(types: str | list[str]) -> tuple[str, ...]:
    return (types,) if isinstance(types, str) else tuple(types)


def _at(which: Which, path: Path, context: Context) -> Iterator[Schema]:
    """All schemas that the value at `path` must fit."""
    schemas = list(_expanded(which, published_schema(*which), context))
    for step in path:
        children = [child for schema in schemas for child in _children(schema, step)]
        schemas = [inner for child in children for inner in _expanded(which, child, context)]
    yield from schemas


def _children(schema: Schema, step: str | int) -> Iterator[Any]:
    if isinstance(step, int):
        yield schema.get("items")
    elif step in (properties := schema.get("properties", {})):
        yield properties[step]
    else:
        yield schema.get("additionalProperties")


def _expanded(which: Which, schema: Any, context: Context) -> Iterator[Schema]:
    """The schema and all that it pulls in for this context; nothing for `true` and `false`."""
    if not isinstance(schema, dict):
        return
    yield schema
    if "$ref" in schema:
        yield from _expanded(which, published_schema(*which)["$defs"][schema["$ref"].removeprefix("#/$defs/")], context)
    if "if" in schema and _may_hold(schema["if"], context):
        yield from _expanded(which, schema["then"], context)
    for part in schema.get("allOf", ()):
        yield from _expanded(which, part, context)


def _may_hold(condition: Schema, context: Context) -> bool:
    wanted = condition.get("properties", {}).items()
    return all(context.get(key) in (None, *values["enum"]) for key, values in wanted)


# A `job` file, a `definition` file of a marketplace directory, or the `configuration` of this program.
Kind: TypeAlias = 'Literal["job", "definition", "configuration"]'
Schema: TypeAlias = "dict[str, Any]"
# A schema, and the platform whose version of it counts.
Which: TypeAlias = "tuple[Kind, Platform]"


@cache
def published_schema(kind: Kind, platform: Platform = OPENPAI) -> Schema:
    """The whole schema in one piece, with the parameters of the runtime plugins; shared, so not to be changed."""
    schema = read_schema(kind, platform)
    if kind == "configuration":
        return schema
    definitions = schema["$defs"]
    acting = ["scriptOrOutput", "data", "storagePrerequisite", "referencePrerequisite"]
    for name, plugin in platform.plugin_table.items():
        named = {"properties": {"plugin": {"enum": [name, PLUGIN_PREFIX + name]}}, "required": ["plugin"]}
        own = plugin["parameters"]
        needed = {"x-rule": "plugin-missing-parameter", "required": plugin["required"]}
        beside = {"properties": {"parameters": {"properties": own, "allOf": [needed]}}}
        within = {"properties": {**own, "plugin_params": {"properties": own}}}
        definitions["runtimePlugin"]["allOf"].append({"if": named, "then": beside})
        for key in [*acting, "definition"] if kind == "definition" else acting:
            definitions[key].setdefault("allOf", []).append({"if": named, "then": within})
    return schema


def read_schema(kind: Kind, platform: Platform = OPENPAI) -> Schema:
    """The schema as it is shipped, with everything that it refers to."""
    schema: Schema = table(f"{kind}.schema.json")
    if kind == "definition":
        schema = json.loads(json.dumps(schema).replace('"job.schema.json#', '"#'))
        schema["$defs"] |= table("job.schema.json")["$defs"]
    elif kind == "job":
        schema = platform.schema_of_job(schema)
    return schema


@cache
def former_keys() -> tuple[dict[str, str], dict[str, str]]:
    """What the first protocol's keys are called now: those of a job and those of a task role; not to be changed."""
    schema = read_schema("job")
    return schema["x-former-keys"], schema["$defs"]["taskRole"]["x-former-keys"]


def keys_of_version_1_only() -> tuple[frozenset[str], frozenset[str]]:
    """The keys of the first protocol that version 2 has nowhere: those of a job and those of a task role."""
    of_job, of_role = (frozenset(key for key, now in moved.items() if not now.endswith(key)) for moved in former_keys())
    return of_job, of_role


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
