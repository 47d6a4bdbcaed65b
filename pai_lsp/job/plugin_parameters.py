"""How the released runtime changes a plugin's parameters before the plugin reads them.

It writes them as Python text, fills the templates in the text and reads it again as YAML:
`yaml.safe_load(replace_ref(str(parameters)))`. Most values stay the same; some change, and some texts are not
valid YAML, which ends the task before it starts.
Source: openpai-runtime, src/init.d/initializer.py, init_plugins and collect_plugin_configs.
"""

from __future__ import annotations

from enum import Enum

from pai_lsp.source.libyaml import yaml
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pai_lsp.job.definition import Definition

# Keys that the runtime removes from a prerequisite; all others are its plugin's parameters, even `name` and `require`.
NOT_PARAMETERS = frozenset({"plugin", "failurePolicy", "type"})


class Damage(Enum):
    """How a string changes on its way to the plugin; the values name the cause."""

    QUOTES = "both ' and \""  # invalid YAML, or another value
    LINE_BREAK = "a line break"  # becomes the two characters \n
    TAB = "a tab"  # becomes the two characters \t
    BACKSLASH = "a backslash"  # becomes two
    UNPRINTABLE = "an invisible character"  # becomes its code, as \xa0


def damages(text: str) -> tuple[Damage, ...]:
    """How the runtime changes a string of the parameters; empty for most strings.

    Python writes it in single quotes, where YAML has no escapes; only a text with `'` and without `"` is written in
    double quotes, where Python's escapes mean the same to YAML.
    """
    if "'" in text:
        return (Damage.QUOTES,) if '"' in text else ()
    found: list[Damage] = []
    if "\n" in text or "\r" in text:
        found.append(Damage.LINE_BREAK)
    if "\t" in text:
        found.append(Damage.TAB)
    if "\\" in text:
        found.append(Damage.BACKSLASH)
    if not text.isprintable() and not text.translate(_NAMED).isprintable():
        found.append(Damage.UNPRINTABLE)
    return tuple(found)


_NAMED = {ord(character): None for character in "\n\r\t"}


def runtime_round_trip(parameters: Any, fill: Callable[[str], str] | None = None) -> Any:
    """The parameters as the plugin gets them; a `ValueError` instance (returned, not raised) if they are not readable.

    parameters: a value as the runtime reads it from the job (see `runtime_value`); None for an absent one.
    fill: replaces the `<% $… %>` in the written text; by default they are kept.
    """
    if fill is None and isinstance(parameters, (dict, list)) and _comes_through(parameters):
        return parameters
    written = "" if parameters is None else str(parameters)
    try:
        return yaml.safe_load(fill(written) if fill else written)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # PyYAML's constructors raise ValueError (a date such as 2020-13-02) beside its own errors.
        return ValueError(str(error))


def _comes_through(value: Any) -> bool:
    """Whether a value certainly stays the same, so that it need not be read again."""
    if isinstance(value, str):
        return not damages(value) and "<%" not in value
    if isinstance(value, dict):
        return all(isinstance(key, str) and _comes_through(key) and _comes_through(one) for key, one in value.items())
    if isinstance(value, list):
        return all(_comes_through(one) for one in value)
    return isinstance(value, (bool, int))


def released_parameters(definition: Definition) -> Any:
    """The plugin parameters of a prerequisite that a task role lists, as the runtime reads them.

    Raises:
        ValueError: if the runtime cannot read the definition.
    """
    value = runtime_value(definition.node)
    return {key: one for key, one in value.items() if key not in NOT_PARAMETERS}
