"""Validates a value against a small JSON Schema, without the time that importing jsonschema takes.

Knows the keywords of schemas/configuration.schema.json and no others; what has `x-rule` is left to the code that
reports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

KEYWORDS = frozenset(
    {"type", "enum", "minLength", "minItems", "items", "properties", "additionalProperties", "propertyNames", "allOf"}
)
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


@dataclass(frozen=True, slots=True)
class FailedKeyword:
    """A keyword that a value fails, with the attributes of jsonschema's ValidationError."""

    validator: str
    instance: Any
    schema: dict[str, Any]
    absolute_path: Path
    relative_schema_path: tuple[str, ...] = ()


def small_schema_failures(value: Any, schema: dict[str, Any], path: Path = ()) -> Iterator[FailedKeyword]:
    """All failures of a value and of what is in it."""
    allowed = schema.get("type", ())
    type_name = "null" if value is None else _TYPES.get(type(value), "")
    if allowed and type_name not in ([allowed] if isinstance(allowed, str) else allowed):
        yield FailedKeyword("type", value, schema, path)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield FailedKeyword("enum", value, schema, path)
    length = len(value) if isinstance(value, str | list) else 0
    for keyword, of in (("minLength", str), ("minItems", list)):
        if isinstance(value, of) and length < schema.get(keyword, 0):
            yield FailedKeyword(keyword, value, schema, path)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        if others is False and not properties.keys() >= value.keys():
            yield FailedKeyword("additionalProperties", value, schema, path)
        for key, one in value.items():
            yield from small_schema_failures(one, properties.get(key, others or {}), (*path, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from small_schema_failures(one, schema.get("items", {}), (*path, number))
