"""The tools of an assistant: what each takes and returns, by schemas/assistant_tools.json, and who answers."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from pai_lsp.assistant.allowed_files import AnswerError
from pai_lsp.assistant.job_answers import checked, completions, expanded_job, fitted, fixed, what_runs
from pai_lsp.assistant.known_answers import explained, why_failed
from pai_lsp.assistant.new_jobs import new_job
from pai_lsp.platform.tables import table
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pai_lsp.assistant.allowed_files import AllowedFiles

    Answer = Callable[[Mapping[str, Any], AllowedFiles], dict[str, Any]]

_ANSWERS: dict[str, Answer] = {
    "check": checked,
    "fix": fixed,
    "expand": expanded_job,
    "what_runs": what_runs,
    "explain": explained,
    "complete": completions,
    "fit": fitted,
    "why": why_failed,
    "new_job": new_job,
}
_TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "a string"),
    "boolean": (bool, "true or false"),
    "integer": (int, "an integer"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
}
# The arguments that name files: only for these a client is asked for its folders.
PATHS = frozenset({"path", "job_path"})


@cache
def tools() -> dict[str, dict[str, Any]]:
    """The tools by name: `title`, `description`, and the JSON schemas `input` and `output`."""
    read = table("assistant_tools.json")
    found = {}
    for name, entry in read["tools"].items():
        arguments = {
            key: read["shared"][value] if isinstance(value, str) else value for key, value in entry["arguments"].items()
        }
        given = {"type": "object", "properties": arguments, "required": entry["required"]}
        answer = {"type": "object", "properties": entry["answer"], "required": entry["always"]}
        found[name] = {
            "title": entry["title"],
            "description": entry["description"],
            "input": {**given, "additionalProperties": False},
            "output": {**answer, "additionalProperties": False},
        }
    return found


def answer(tool: str, arguments: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """The answer of a tool, as its schema `output` describes it.

    Raises:
        AnswerError: if there is no such tool, or if an argument is wrong.
    """
    known = tools()
    if tool not in known:
        raise AnswerError(f"no tool is named '{visible(tool)}' ({', '.join(known)}){did_you_mean(tool, known)}")
    if fault := _fault(arguments, known[tool]["input"]):
        raise AnswerError(fault)
    given = {name: value for name, value in arguments.items() if value is not None}
    found: dict[str, Any] = writable(_ANSWERS[tool](given, files))
    return found


def answer_parts(found: Mapping[str, Any]) -> list[str]:
    """An answer to read: as JSON, and without escapes the text that it has."""
    rest = {name: value for name, value in found.items() if name != "text"}
    parts = [json.dumps(rest, ensure_ascii=False, separators=(",", ":"))] if rest else []
    return [*parts, found["text"]] if "text" in found else parts


def writable(value: Any) -> Any:
    """A value of JSON whose texts UTF-8 can write: half a surrogate pair becomes its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {writable(key): writable(one) for key, one in value.items()}
    return [writable(one) for one in value] if isinstance(value, (list, tuple)) else value


def _fault(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments; it quotes names only, since a value may be a job with its secrets."""
    for name in arguments:
        if name not in schema["properties"]:
            known = schema["properties"]
            return f"no argument is named '{visible(name)}' ({', '.join(known)}){did_you_mean(name, known)}"
    for name in schema["required"]:
        if arguments.get(name) is None:
            return f"the argument '{name}' is missing"
    for name, value in arguments.items():
        if value is not None and (fault := _fault_of_value(value, schema["properties"][name])):
            return f"the argument '{name}' must be {fault}"
    return None


def _fault_of_value(value: object, schema: Mapping[str, Any]) -> str | None:
    kind, words = _TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return words
    if isinstance(value, int) and value < schema.get("minimum", value):
        return f"at least {schema['minimum']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"one of {', '.join(schema['enum'])}"
    inner = schema.get("items") or schema.get("additionalProperties")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if inner and any(_fault_of_value(part, inner) for part in parts):
        return f"{words}, each with {_TYPES[inner['type']][1]}"
    return None
