"""Filling what the extended protocol fills in a definition: `{{ variable }}` and `<% this.key %>`.

Source of the semantics: docs/protocol.md, "Template variables" and "Expansion of a task role". Everything is filled
once: what is put in is not read again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.nodes import Mapping, Node, Scalar, Sequence, plain_value
from pai_lsp.scalar import server_text
from pai_lsp.template import MISSING, variables
from pai_lsp.template_variables import filled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.requirements import Step

_THIS = re.compile(r"<%\s*this\.([^%\s][^%]*?)\s*%>")
_PART = re.compile(r"\[\s*([0-9]+)\s*\]")


def step_text(text: str, step: Step) -> str:
    """A text of a step's definition with everything filled that can be."""
    parts: list[str] = []
    at = 0
    for match in _THIS.finditer(text):
        value = _this(match[1], step)
        if value is not MISSING:
            parts += (_as_text(filled(text[at : match.start()], step.values)), server_text(value))
            at = match.end()
    return "".join([*parts, _as_text(filled(text[at:], step.values))])


def step_value(node: Node, step: Step) -> Any:
    """A node of a step's definition as a plain value, its strings filled; a text that is one variable is its value."""
    if isinstance(node, Mapping):
        return {entry.name: step_value(entry.value, step) for entry in node.effective_entries()}
    if isinstance(node, Sequence):
        return [step_value(item, step) for item in node.items]
    if not node.is_string:
        return node.value
    return step_text(node.text, step) if _THIS.search(node.text) else filled(node.text, step.values)


def is_filled(scalar: Scalar, step: Step) -> bool:
    """Whether filling changes the scalar."""
    return ("{{" in scalar.text or "<%" in scalar.text) and scalar.is_string and step_value(scalar, step) != scalar.text


def unfilled(text: str, step: Step) -> Iterator[str]:
    """What stays open in a text of a step's definition, as it is written: unknown keys, undeclared variables."""
    for match in _THIS.finditer(text):
        if _this(match[1], step) is MISSING:
            yield match[0]
    declared = {variable.name for variable in step.definition.template_variables}
    if declared:
        for variable in variables(text):
            if variable.name not in declared:
                yield text[variable.span.start : variable.span.end]


def this_parameter(written: str) -> str:
    """The parameter's name in a `<% this.… %>`."""
    match = _THIS.match(written)
    return _names(match[1])[0] if match else written


def _names(path: str) -> list[str]:
    names = [name for part in path.split(".") for name in _PART.sub(r".\1", part).split(".")]
    return names[1:] if names[0] == "parameters" and len(names) > 1 else names


def _this(path: str, step: Step) -> Any:
    """What a path finds: in the step's own parameters, then in those of what it requires, nearest first."""
    names = _names(path)
    waiting = [step]
    seen = {id(step)}
    for one in waiting:  # grows while it is read
        entry = one.definition.parameter(names[0]) or one.definition.node.entry(names[0])
        value = _below(plain_value(entry.value), names[1:]) if entry else MISSING
        if value is not MISSING and value is not None:
            return filled(value, one.values)
        fresh = [required for required in one.required if id(required) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh
    return MISSING


def _below(value: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else server_text(value)
