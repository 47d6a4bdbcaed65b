"""Filling the template variables of the extended protocol: `{{ name }}` in a definition's values.

Source of the semantics: docs/protocol.md, "Template variables".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.embedded.template import variables
from pai_lsp.source.scalar import server_text

if TYPE_CHECKING:
    from collections.abc import Mapping


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A plain value with each `{{ name }}` of `values` replaced in its strings, once: what is put in is not read again.

    A string that is one placeholder and nothing else becomes the value itself, of whatever type; in a longer one the
    value stands as the rest-server would write it. Other braces stay.
    """
    if isinstance(value, str):
        return filled_text(value, values)
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, values) for key, item in value.items()}
    return value


def filled_text(text: str, values: Mapping[str, Any]) -> Any:
    """`filled` for one string."""
    if "{{" not in text or not values:
        return text
    parts: list[str] = []
    at = 0
    for variable in variables(text):
        if variable.name not in values:
            continue
        if len(variable.span) == len(text.strip()):
            return values[variable.name]
        parts += (text[at : variable.span.start], server_text(values[variable.name]))
        at = variable.span.end
    return "".join((*parts, text[at:]))
