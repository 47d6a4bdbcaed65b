"""Following the path of a `<% … %>` from a node, as the rest-server does and as the runtime does.

Sources: mustache.js 2.3.2, Context.lookup (on what js-yaml read); openpai-runtime, src/init.d/initializer.py,
replace_ref (on what PyYAML read, or for secrets on what the rest-server wrote).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.nodes import Entry, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from pai_lsp.definition import Definition
    from pai_lsp.template import Step, Tag

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class Outcome(Enum):
    """How far a path leads."""

    FOUND = "found"
    NULL = "null"
    UNKNOWN_ROOT = "unknown root"
    ROOT_NOT_FILLED = "a root that this place does not fill"
    NO_FIELD = "a role without the field"
    UNDEFINED = "no such parameter or secret"
    NO_MEMBER = "no such key below"
    OUT_OF_RANGE = "past the end of a list"
    DOTTED_INDEX = "an index behind a dot, where only brackets work"


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The end of a path.

    step: the number of the step that finds nothing, or of the last one.
    container: what that step was looked up in; None for the root, and at the end of a path that leads somewhere.
    node: the value found; None where nothing is, and for a character or a length.
    definition: the prerequisite that the root stands for.
    """

    outcome: Outcome
    step: int
    container: Node | None = None
    node: Node | None = None
    definition: Definition | None = None


def followed(tag: Tag, top: Mapping | None, definition: Definition | None, *, in_plugin: bool) -> Found:
    """Where a tag's path leads from what its root stands for; `top` is None where the job has no such section."""
    steps = tag.runtime_steps if in_plugin else tag.server_steps
    if top is None:
        return Found(Outcome.UNDEFINED, min(1, len(steps) - 1))
    return (_followed_by_runtime if in_plugin else _followed_by_server)(steps, top, definition)


def _followed_by_server(steps: tuple[Step, ...], node: Node, definition: Definition | None) -> Found:
    """Follow names as JavaScript does: keys, indexes of lists and strings, and their `length`."""
    here: Node = node
    for number, step in enumerate(steps[1:], 1):
        name = str(step.name)
        below: Node | None = None
        outcome = Outcome.NO_MEMBER
        if isinstance(here, Mapping):
            below = here.get(name)
            outcome = _missing(definition, number)
        elif isinstance(here, Sequence) or here.is_string:
            if _is_last_of_text(here, name) and number == len(steps) - 1:
                return Found(Outcome.FOUND, number, here, None, definition)
            if isinstance(here, Sequence) and _INDEX.fullmatch(name) and int(name) < len(here.items):
                below = here.items[int(name)]
            elif name.isdigit():
                outcome = Outcome.OUT_OF_RANGE
        if below is None:
            return Found(outcome, number, here, None, definition)
        if isinstance(below, Scalar) and below.value is None:
            return Found(Outcome.NULL, number, here, below, definition)
        here = below
    return Found(Outcome.FOUND, len(steps) - 1, None, here, definition)


def _is_last_of_text(node: Node, name: str) -> bool:
    """Whether a name ends a path in something that is no node: a length, or a character of a string."""
    if name == "length":
        return True
    return isinstance(node, Scalar) and _INDEX.fullmatch(name) is not None and int(name) < len(node.text)


def _followed_by_runtime(steps: tuple[Step, ...], node: Node, definition: Definition | None) -> Found:
    """Follow names as Python does: keys of mappings by their very type, indexes in brackets."""
    is_secret = steps[0].name == "$secrets"
    here: Node = node
    for number, step in enumerate(steps[1:], 1):
        below: Node | None = None
        outcome = Outcome.NO_MEMBER
        if isinstance(here, Mapping):
            entry = _entry(here, step.name, is_secret=is_secret)
            below = entry.value if entry else None
            outcome = _missing(definition, number)
        elif isinstance(here, Sequence):
            if isinstance(step.name, int):
                below = here.items[step.name] if step.name < len(here.items) else None
                outcome = Outcome.OUT_OF_RANGE
            elif step.name.isdigit():
                outcome = Outcome.DOTTED_INDEX
        elif isinstance(step.name, int) and isinstance(here.runtime_value, str):
            if step.name < len(here.text) and number == len(steps) - 1:
                return Found(Outcome.FOUND, number, here, None, definition)
            outcome = Outcome.OUT_OF_RANGE
        if below is None:
            return Found(outcome, number, here, None, definition)
        here = below
    if isinstance(here, Scalar) and (here.value if is_secret else here.runtime_value) is None:
        return Found(Outcome.NULL, len(steps) - 1, None, here, definition)
    return Found(Outcome.FOUND, len(steps) - 1, None, here, definition)


def _entry(mapping: Mapping, name: str | int, *, is_secret: bool) -> Entry | None:
    """A key that the runtime reads as no text, such as `on`, is found here: another rule speaks of it."""
    entry = mapping.entry(str(name))
    if entry is None or isinstance(name, str) or not isinstance(entry.key, Scalar):
        return entry
    return entry if not is_secret and entry.key.runtime_value == name else None


def _missing(definition: Definition | None, number: int) -> Outcome:
    return Outcome.UNDEFINED if definition is None and number == 1 else Outcome.NO_MEMBER
