"""What is said when a requirement can not be met or a callback can not run: rules and expansion say it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.addresses import AddressFault, AddressKind, near_addresses, read_address
from pai_lsp.platform import events, released_events
from pai_lsp.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.requirements import Cycle

_MOST_TOLD = 6


def no_prerequisite(name: str, known: Iterable[str], *, besides: str | None = None) -> str:
    """A name that nothing in the file has; `known` are those that could be meant, but for `besides`."""
    return f"no prerequisite is named '{name}'{did_you_mean(name, known, besides=besides)}"


def nothing_at(address: str, known: Iterable[str]) -> str:
    """An address under which nothing is found; `known` are the catalogue's addresses."""
    read = read_address(address)
    if isinstance(read, AddressFault):
        return read.message
    if read.kind is AddressKind.WEB:
        return f"nothing is found at '{address}'"
    near = near_addresses(address, known)
    return f"the marketplace has no '{address}'" + (f"; did you mean '{near[0]}'?" if near else "")


def needs_missing(reference: str, required: str) -> str:
    """What stands behind a reference requires something that is not there."""
    return f"'{reference}' needs '{required}', which is not there"


def not_looked_up(reference: str, note: str, others: int = 0) -> str:
    """Nobody could be asked, for the reason in `note`; nor for so many other references."""
    more = f" (nor {others} more)" if others else ""
    return f"'{reference}' could not be looked up{more}" + (f": {note}" if note else "")


def circle(cycle: Cycle) -> str:
    """Prerequisites that require each other."""
    names = [f"'{definition.name}'" for definition in cycle.definitions]
    if len(names) == 1:
        return f"{names[0]} requires itself"
    if len(names) > _MOST_TOLD:
        return f"{len(names)} prerequisites require each other in a circle, {names[0]} among them"
    return f"prerequisites require each other in a circle: {' -> '.join([*names, names[0]])}"


def needs_values(reference: str, variables: Iterable[str], *, is_listed: bool) -> str:
    """A reference, in a task role's list or in a `require`, that leaves template variables open."""
    hint = "; a task role's list can not give it, a 'require' can" if is_listed else ""
    told = " and ".join(f"'{name}'" for name in variables)
    return f"'{reference}' needs a value for {told}{hint}"


def requires_without_value(reference: str, required: str, variable: str) -> str:
    """What stands behind a reference requires something and leaves a template variable of it open."""
    return f"'{reference}' requires '{required}' without a value for '{variable}'"


def undeclared_variable(name: str, declared: Iterable[str], definition: str = "") -> str:
    """A template variable that its definition does not declare; the definition is named when it stands elsewhere."""
    where = f" in '{definition}'" if definition else ""
    return f"no template variable '{name}' is declared{where}{did_you_mean(name, declared)}"


def no_parameter(name: str, definition: str, known: Iterable[str]) -> str:
    """What a `<% this.NAME %>` in a definition does not find; `known` are the parameters that it could."""
    return f"neither '{definition}' nor what it requires has a parameter '{name}'{did_you_mean(name, known)}"


def no_event(name: str) -> str:
    """An event of a callback that never happens, or an empty one."""
    expected = " or ".join(f"'{event}'" for event in released_events())
    if not name:
        return f"expected an event: {expected}"
    return f"there is no event '{name}'{did_you_mean(name, events()) or f'; expected {expected}'}"


def mounted_already(storage: str, mount_path: str) -> str:
    """A storage and its mount path, which stand in the way of another one."""
    return f"the storage '{storage}' is mounted at '{mount_path}' already"


CALLBACKS_FORM = "'callbacks' is a list of mappings with 'event' and 'commands'"
CALLBACK_FORM = "a callback is a mapping with 'event' and 'commands'"
CALLBACK_NEEDS_EVENT = "a callback needs an 'event'"
CALLBACK_NEEDS_COMMANDS = "a callback needs 'commands'"
EVENT_FORM = "an event is one word, such as 'taskStarts'"


def command_is_no_text(kind: str) -> str:
    """A command that is a list or a mapping."""
    return f"a command is text, and this is a {kind}"
