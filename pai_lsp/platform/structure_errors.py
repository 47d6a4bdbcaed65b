"""Describes in the author's words what is wrong with the structure of a job, by its JSON Schema.

jsonschema reports which keyword fails on which value; `explained` gives the rule that it belongs to, the key or value
that is wrong, one sentence, and what would be right. Loaded only for what is not valid: jsonschema is slow to import.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from math import inf, isfinite
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.scalar import Binary, Date, is_whole
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}
# Of one file, so many failures are explained: as many as a rule may find, and each takes 0.1 ms.
_MOST_FAILURES = 1000


@dataclass(frozen=True, slots=True)
class StructureError:
    """One wrong thing in the structure of a job.

    kind: the code of the rule that it belongs to: `unknown-key`, `v1-job-key`, `dockerimage-extra-key`, `missing-key`,
        `type-mismatch`, `taskroles-not-mapping`, `ports-not-mapping`, `empty-section`, `invalid-enum`, `out-of-range`,
        `invalid-job-name`, `invalid-prerequisite-name` or `invalid-name`.
    path: the keys and indices, from 0, that lead from the root to the wrong value; to the mapping, if `key` is given.
    key: the key of that mapping which is unknown, missing or badly named; None when the value is wrong.
    message: one sentence.
    expected: names or values that would be right, the likeliest first; empty when none can be proposed.
    types: JSON Schema's names of the types that would be right, for a value of a wrong type; else empty.
    is_accepted: whether the rest-server takes the value all the same: dates and binary data are
        mappings for JavaScript.
    """

    kind: str
    path: Path
    key: str | None
    message: str
    expected: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    is_accepted: bool = False

    @property
    def is_of_ports(self) -> bool:
        """Whether it is the type of a task role's `ports`, which OpenPAI does not check."""
        return bool(self.types) and self.path[2:] == ("resourcePerInstance", "ports")


def explained(errors: Iterable[FailedKeyword], homes: Mapping[str, str]) -> tuple[StructureError, ...]:
    """What is wrong in words, one error for each wrong thing.

    `homes` describes the mapping that a key belongs to, for keys that only one mapping has.
    """
    found: dict[tuple[Path, str | None], StructureError] = {}
    for error in errors:
        for one in _explained(error, homes):
            earlier = found.setdefault((one.path, one.key), one)
            # A value of a wrong type fails its other keywords as well, in any order.
            if one.types and not earlier.types:
                found[one.path, one.key] = one
    elsewhere = {(one.path, one.expected[0]) for one in found.values() if one.key is not None and one.expected}
    elsewhere |= {(one.path[:-1], one.key) for one in found.values() if one.kind == "unknown-key" and one.key}
    at_root = {one.key for one in found.values() if one.kind == "unknown-key" and not (one.path or one.expected)}

    def is_elsewhere(one: StructureError) -> bool:
        """Whether what is missing is written elsewhere: misspelled, one level too deep, or at the left margin."""
        if one.kind == "empty-section":
            return len(one.path) == 1 and bool(at_root)
        is_below = one.path[:1] == ("taskRoles",) and one.key in at_root
        return one.kind == "missing-key" and (is_below or (one.path, one.key) in elsewhere)

    return tuple(one for one in found.values() if not is_elsewhere(one))


def _explained(error: FailedKeyword, homes: Mapping[str, str]) -> Iterator[StructureError]:
    keyword, instance, schema, path = error.keyword, error.instance, error.schema, error.path
    if keyword == "additionalProperties":
        for key in instance:
            if key not in schema["properties"]:
                yield _unknown_key(path, key, schema, instance, homes)
    elif keyword == "required":
        for key in schema["required"]:
            if key not in instance:
                where = _mapping_in_words(path, schema, instance)
                near = nearest(key, (one for one in instance if one not in schema.get("properties", ())))[:1]
                meant = f"; is '{one_line(near[0])}' meant?" if near else ""
                yield StructureError("missing-key", path, key, f"{where} needs the key '{key}'{meant}", near)
    elif error.is_name:
        yield _wrong_name(path, keyword, schema, instance)
    elif keyword == "not":
        # The one key that the server refuses by name, by a mistake in its own schema (config/v2/protocol.js).
        yield StructureError("unknown-key", path[:-1], str(path[-1]), f"'{path[-1]}' is not a key of '{path[-2]}'")
    else:
        yield _wrong_value(path, keyword, schema, instance)


def _wrong_name(path: Path, keyword: str, schema: Mapping[str, Any], name: str) -> StructureError:
    owner = f"the {schema['x-noun']} '{one_line(name)}'"
    if keyword == "not":
        # JavaScript takes it for the mapping's prototype.
        return StructureError(schema["x-code"], path, name, f"{owner} is lost when the server reads the file")
    message = f"{owner} may contain only {schema['x-words']}"
    return StructureError(schema["x-code"], path, name, message, _repaired(name, schema["pattern"]))


def _unknown_key(
    path: Path, key: str, schema: Mapping[str, Any], instance: Mapping[str, Any], homes: Mapping[str, str]
) -> StructureError:
    owner = schema.get("x-noun") or f"'{path[-1]}'"
    message = f"'{one_line(key)}' is not a key of {owner}"
    former = schema.get("x-former-keys", {}).get(key)
    if former is not None:
        expected = () if "." in former or former in instance else (former,)
        message = f"'{key}' is a key of protocol version 1; version 2 has '{former}'"
        return StructureError("v1-job-key", path, key, message, expected)
    kind = schema.get("x-code", "unknown-key")
    if (home := homes.get(key)) is not None:
        return StructureError(kind, path, key, f"{message} but of {home}")
    near = nearest(key, (known for known in schema["properties"] if known not in instance))
    if near:
        message += f"; did you mean '{near[0]}'?"
    return StructureError(kind, path, key, message, near)


def _wrong_value(path: Path, keyword: str, schema: Mapping[str, Any], instance: Any) -> StructureError:
    value = _value_in_words(path, schema)
    if keyword == "type":
        return _wrong_type(path, schema, instance)
    if keyword == "enum":
        return _wrong_choice(path, schema, instance)
    if keyword in {"minItems", "minProperties"}:
        one = "item" if keyword == "minItems" else "key"
        return StructureError("empty-section", path, None, f"{value} is empty; it needs at least one {one}")
    if keyword in {"minimum", "maximum"}:
        limit = schema[keyword]
        word = "at least" if keyword == "minimum" else "at most"
        message = f"{value} must be {word} {limit}, not {instance}"
        return StructureError("out-of-range", path, None, message, (str(limit),))
    expected: tuple[str, ...] = ()
    if keyword == "maxLength":
        message = f"{value} has {len(instance)} characters; at most {schema[keyword]} are allowed"
    elif instance == "":
        message = f"{value} is empty"
    else:
        message = f"{value} may contain only {schema['x-words']}, unlike '{one_line(str(instance))}'"
        expected = _repaired(instance, schema["pattern"])
    return StructureError(schema.get("x-code", "invalid-name"), path, None, message, expected)


def _wrong_choice(path: Path, schema: Mapping[str, Any], instance: Any) -> StructureError:
    # The server takes 2 and "2"; one of them is enough to tell.
    choices = tuple(dict.fromkeys(str(choice) for choice in schema["enum"]))
    near = nearest(instance, choices) if isinstance(instance, str) else ()
    extended = tuple(schema.get("x-extended", ()))
    wanted = _listed(tuple(choice for choice in choices if choice not in extended))
    if extended:
        wanted += f" ({_listed(extended)} needs expansion)"
    value = _value_in_words(path, schema)
    message = f"{value} must be {wanted}, not {_instance_in_words(instance, schema)}"
    if instance is None:
        message = f"{value} has no value; it must be {wanted}"
    elif near and len(choices) > 1:
        message += f"; did you mean '{near[0]}'?"
    rest = tuple(choice for choice in choices if choice not in near)
    return StructureError("invalid-enum", path, None, message, (*near, *rest))


def _wrong_type(path: Path, schema: Mapping[str, Any], instance: Any) -> StructureError:
    types = (schema["type"],) if isinstance(schema["type"], str) else tuple(schema["type"])
    wanted = " or ".join(_TYPES[name] for name in types if name != "null")
    value = _value_in_words(path, schema)
    section = "object" in types or "array" in types
    if instance is None:
        kind = "empty-section" if section and path else "type-mismatch"
        message = f"{value} has no value; it must be {wanted}" if path else "the file is empty; a job must be a mapping"
        return StructureError(kind, path, None, message, types=types)
    kind = schema.get("x-code", "type-mismatch") if section else "type-mismatch"
    message = f"{value} must be {wanted}, not {_instance_in_words(instance, schema)}"
    if isinstance(instance, Binary):
        message += "; write it without '!!binary'"
    elif "string" in types and not isinstance(instance, list):
        message += "; quote all of it" if isinstance(instance, Mapping) else "; quote it"
    expected: tuple[str, ...] = ()
    if "integer" in types and isinstance(instance, str) and re.fullmatch(r"-?[0-9]+", instance.strip()):
        expected = (instance.strip(),)
    needs = {"required", "minProperties", *(["additionalProperties"] if isinstance(instance, Binary) else [])}
    is_accepted = "object" in types and isinstance(instance, Date | Binary) and needs.isdisjoint(schema)
    return StructureError(kind, path, None, message, expected, types, is_accepted)


def _value_in_words(path: Path, schema: Mapping[str, Any]) -> str:
    noun: str | None = schema.get("x-noun")
    if not path:
        return noun or "the file"
    name = path[-1]
    if isinstance(name, str):
        return f"{_without_article(noun)} '{one_line(name)}'" if noun else f"'{one_line(name)}'"
    return noun or f"item {name + 1} of '{path[-2]}'"


def _mapping_in_words(path: Path, schema: Mapping[str, Any], instance: Mapping[str, Any]) -> str:
    name = instance.get("name")
    if path and isinstance(path[-1], int) and isinstance(name, str) and "x-noun" in schema:
        return f"{_without_article(schema['x-noun'])} '{one_line(name)}'"
    return _value_in_words(path, schema)


def _without_article(noun: str) -> str:
    return noun.split(" ", 1)[1]


def _instance_in_words(instance: Any, schema: Mapping[str, Any]) -> str:
    if isinstance(instance, Mapping):
        return "a mapping"
    if isinstance(instance, list):
        return "a list"
    if isinstance(instance, str):
        return "a string" if schema.get("writeOnly") else f"the string '{one_line(instance)}'"
    if isinstance(instance, bool):
        return str(instance).lower()
    if isinstance(instance, int | float):
        return "a number" if schema.get("writeOnly") else f"the number {instance}"
    return "binary data" if isinstance(instance, Binary) else "a date"


def _listed(choices: tuple[str, ...]) -> str:
    quoted = [choice if choice.isdigit() else f"'{choice}'" for choice in choices]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _repaired(name: str, pattern: str) -> tuple[str, ...]:
    """The name with what the pattern refuses replaced, if that gives a good one."""
    for other, filling in ((r"[^a-zA-Z0-9_-]+", "-"), (r"[^a-zA-Z0-9_]+", "_")):
        repaired = re.sub(other, filling, name.strip()).strip(filling)
        if re.search(pattern, repaired):
            return (repaired,)
    return ()


@dataclass(frozen=True, slots=True)
class FailedKeyword:
    """A keyword of `schema` that `instance`, the value at `path`, fails; or the name of a key there, if `is_name`."""

    keyword: str
    instance: Any
    schema: Mapping[str, Any]
    path: Path
    is_name: bool = False


def schema_check(
    schema: Mapping[str, Any],
    is_whole: Callable[[float], bool] = is_whole,
    is_surely_valid: Callable[[object, str], bool] = lambda _value, _reference: False,
    keywords: Mapping[str, Callable[[Any, Any, Any, Any], Iterator[ValidationError]]] | None = None,
) -> Callable[[Any], Iterator[FailedKeyword]]:
    """What finds all failures of a value and of what is in it: by path, those of one value in the order of the schema.

    is_whole: whether a float is an integer.
    is_surely_valid: a quick answer for a value and a `$ref`; False means that the schema has to be read.
    keywords: those of the schema that JSON Schema does not have, as jsonschema takes them.
    """
    draft = Draft202012Validator

    def reference(validator: Any, wanted: str, value: object, within: Any) -> Iterator[Any]:
        return (
            iter(()) if is_surely_valid(value, wanted) else draft.VALIDATORS["$ref"](validator, wanted, value, within)
        )

    def others(validator: Any, wanted: Any, value: Any, within: Any) -> Iterator[Any]:
        """As jsonschema, but in the order of the value: that of a set would be another one in each process."""
        if not isinstance(wanted, dict) or not isinstance(value, dict) or "patternProperties" in within:
            yield from draft.VALIDATORS["additionalProperties"](validator, wanted, value, within)
            return
        for key in value:
            if key not in within.get("properties", ()):
                yield from validator.descend(value[key], wanted, path=key)

    def is_integer(_checker: object, value: object) -> bool:
        return is_whole(value) if isinstance(value, float) else type(value) is int

    def is_number(_checker: object, value: object) -> bool:
        return takes_infinity or isfinite(value) if isinstance(value, float) else type(value) is int

    takes_infinity = is_whole(inf)
    types = draft.TYPE_CHECKER.redefine_many({"integer": is_integer, "number": is_number})
    checker: Any = extend(
        draft, {"$ref": reference, "additionalProperties": others, **(keywords or {})}, type_checker=types
    )  # type: ignore[no-untyped-call]  # no types
    validator = checker(schema)

    def failures(value: Any) -> Iterator[FailedKeyword]:
        found = islice(validator.iter_errors(value), _MOST_FAILURES)
        for one in sorted(found, key=lambda one: [str(step) for step in one.absolute_path]):
            is_name = "propertyNames" in one.relative_schema_path
            yield FailedKeyword(one.validator, one.instance, one.schema, tuple(one.absolute_path), is_name)

    return failures
