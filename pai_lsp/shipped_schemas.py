"""Reads the JSON Schemas in `schemas/`, which are written for any editor that knows JSON Schema.

Their own annotations are

- `x-source`, `x-enforced-by`: where a fact comes from, and who looks at the key on a cluster
- `x-rule`: the rule that reports this in better words, so that the structural part leaves the subschema out
- `x-code`: the rule that an error of this subschema belongs to, where its keyword's usual one does not fit
- `x-noun`, `x-words`, `x-type`: how to call the thing, the characters of a pattern, and a type that nobody enforces
- `x-former-keys`: keys of the first protocol, and what this one has instead
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal, TypeAlias

from pai_lsp.platform import PLUGIN_PREFIX, table

# A `job` file, or a `definition` file of a marketplace directory.
Kind: TypeAlias = Literal["job", "definition"]
Schema: TypeAlias = "dict[str, Any]"


@cache
def published_schema(kind: Kind) -> Schema:
    """The whole schema in one piece, with the parameters of the runtime plugins; shared, so not to be changed."""
    schema = read_schema(kind)
    definitions = schema["$defs"]
    acting = ["scriptOrOutput", "data", "storagePrerequisite", "referencePrerequisite"]
    for name, plugin in table("plugins.json").items():
        named = {"properties": {"plugin": {"enum": [name, PLUGIN_PREFIX + name]}}, "required": ["plugin"]}
        own = plugin["parameters"]
        needed = {"x-rule": "plugin-missing-parameter", "required": plugin["required"]}
        beside = {"properties": {"parameters": {"properties": own, "allOf": [needed]}}}
        within = {"properties": {**own, "plugin_params": {"properties": own}}}
        definitions["runtimePlugin"]["allOf"].append({"if": named, "then": beside})
        for key in [*acting, "definition"] if kind == "definition" else acting:
            definitions[key].setdefault("allOf", []).append({"if": named, "then": within})
    return schema


def read_schema(kind: Kind) -> Schema:
    """The schema as it is shipped, with everything that it refers to."""
    schema: Schema = table(f"{kind}.schema.json")
    if kind == "definition":
        schema = json.loads(json.dumps(schema).replace('"job.schema.json#', '"#'))
        schema["$defs"] |= table("job.schema.json")["$defs"]
    return schema


@cache
def former_keys() -> tuple[dict[str, str], dict[str, str]]:
    """What the first protocol's keys are called now: those of a job and those of a task role; not to be changed."""
    schema = read_schema("job")
    return schema["x-former-keys"], schema["$defs"]["taskRole"]["x-former-keys"]


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
