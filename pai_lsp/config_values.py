"""Takes values of the right type out of a configuration's tree, and reports the others on their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Diagnostic, Severity
from pai_lsp.fixes import choice_fixes
from pai_lsp.nodes import Mapping, Scalar, Sequence
from pai_lsp.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.nodes import Entry, Node

CODE = "invalid-configuration"


def wrong(
    node: Node, message: str, replacements: tuple[str, ...] = (), severity: Severity = Severity.ERROR
) -> Diagnostic:
    """A finding on a node, with the names that may have been meant."""
    fixes = choice_fixes(node.span, replacements)
    return Diagnostic(CODE, severity, node.span, message, fixes)


def is_empty(node: Node) -> bool:
    """Whether nothing, or null, is written there."""
    return isinstance(node, Scalar) and node.value is None


def mapping(entry: Entry | None, found: list[Diagnostic], keys: tuple[str, ...] = ()) -> Mapping | None:
    """The mapping behind a key; with `keys`, all other keys in it are reported."""
    if entry is None or is_empty(entry.value):
        return None
    if not isinstance(entry.value, Mapping):
        found.append(wrong(entry.value, f"'{entry.name}' is a mapping"))
        return None
    if keys:
        found += unknown_keys(entry.value, keys, f"'{entry.name}'")
    return entry.value


def items(entry: Entry | None, found: list[Diagnostic], noun: str) -> tuple[Node, ...]:
    """The items of the list behind a key; `noun` says what it is a list of."""
    if entry is None or is_empty(entry.value):
        return ()
    if not isinstance(entry.value, Sequence):
        found.append(wrong(entry.value, f"'{entry.name}' is a list of {noun}"))
        return ()
    return entry.value.items


def strings(entry: Entry | None, found: list[Diagnostic]) -> Iterator[str]:
    """The strings in the list behind a key."""
    for item in items(entry, found, "strings"):
        if isinstance(item, Scalar) and item.is_string and item.text:
            yield item.text
        elif entry is not None:
            found.append(wrong(item, f"'{entry.name}' is a list of strings, and this is none"))


def string(entry: Entry | None, found: list[Diagnostic]) -> str | None:
    """The string behind a key."""
    if entry is None:
        return None
    if isinstance(entry.value, Scalar) and entry.value.is_string and entry.value.text:
        return entry.value.text
    found.append(Diagnostic(CODE, Severity.ERROR, entry.place, f"'{entry.name}' is a string"))
    return None


def unknown_keys(node: Mapping, keys: tuple[str, ...], noun: str) -> Iterator[Diagnostic]:
    """A finding for every key of a mapping that is not in `keys`; `noun` says what the mapping is."""
    for entry in node.effective_entries():
        if entry.name not in keys:
            near = nearest(entry.name, keys)
            rest = f"did you mean '{near[0]}'?" if near else f"it has {listed(keys)}"
            yield wrong(entry.key, f"'{entry.name}' is not a key of {noun}; {rest}", near[:1])


def listed(names: tuple[str, ...], word: str = "and") -> str:
    """The names in words."""
    quoted = [f"'{name}'" for name in names]
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
