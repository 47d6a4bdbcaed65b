"""The commands of a `cmd` plugin and the moments at which they run, in every form in which they can be written.

Also the problems that keep a job from being expanded: diagnostics, always errors, with the code of a rule if one fits.

Source of the events: docs/protocol.md, "Events"; of the parameters: openpai-runtime, src/plugins/cmd/init.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.expand.filling import step_text
from pai_lsp.findings.diagnostic import Diagnostic, Related, Severity
from pai_lsp.job.definition import SIMPLE_KEYS, name_span
from pai_lsp.job.require_graph import (
    CALLBACK_FORM,
    CALLBACK_NEEDS_COMMANDS,
    CALLBACK_NEEDS_EVENT,
    CALLBACKS_FORM,
    EVENT_FORM,
    command_is_no_text,
    no_event,
)
from pai_lsp.platform.tables import events
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pai_lsp.source.text import Span

    Report: TypeAlias = Callable[[str, Span, str], None]
    from collections.abc import Iterator

    from pai_lsp.job.require_graph import ExpansionStep
    from pai_lsp.platform.tables import Moment
    from pai_lsp.source.text import Span


# Something is wrong or unknown.
CANNOT_BE_EXPANDED = "cannot-be-expanded"
# Everything is known, but a released cluster has no form for it.
CANNOT_BE_EXPRESSED = "cannot-be-expressed"
# It is unknown which definitions are meant.
BROKEN_LOCK_FILE = "broken-lock-file"


def problem(code: str, span: Span, message: str, *related: Related) -> Diagnostic:
    """One problem."""
    return Diagnostic(code, Severity.ERROR, span, message, related=related)


@dataclass(frozen=True, slots=True, eq=False)
class CommandItem:
    """One command of a callback: its text with variables filled, and the scalar it is written as."""

    text: str
    scalar: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Commands:
    """The commands of one callback, or of `preCommands` or `postCommands`.

    callback: the callback's mapping; None for the other two.
    place: the list of the items, or the single text in its place.
    """

    moment: Moment
    items: tuple[CommandItem, ...]
    callback: Mapping | None
    place: Node


def read_commands(
    holder: Mapping, step: ExpansionStep | None, where: Span | None, report: Report
) -> Iterator[Commands]:
    """The commands in a plugin's parameters.

    step: fills what the extended protocol fills; None for a plugin of `extras`, in which nothing is filled.
    where: the place in the job that leads to a definition in another file; None for the job's own.
    """
    for name, moment in SIMPLE_KEYS.items():
        if (node := holder.get(name)) is not None:
            yield Commands(moment, _items(node, step, where, report), None, node)
    callbacks = holder.get("callbacks")
    if callbacks is not None and not isinstance(callbacks, Sequence):
        report(CANNOT_BE_EXPANDED, where or callbacks.span, CALLBACKS_FORM)
    for callback in callbacks.items if isinstance(callbacks, Sequence) else ():
        entry = callback.entry("event") if isinstance(callback, Mapping) else None
        event = entry.value if entry else None
        node = callback.get("commands") if isinstance(callback, Mapping) else None
        if not isinstance(callback, Mapping) or entry is None or not isinstance(event, Scalar) or node is None:
            is_form = isinstance(callback, Mapping)
            missing = CALLBACK_NEEDS_EVENT if event is None else CALLBACK_NEEDS_COMMANDS if node is None else EVENT_FORM
            report(CANNOT_BE_EXPANDED, where or callback.span, missing if is_form else CALLBACK_FORM)
            continue
        known = events().get(event.text)
        if known is None:
            report("invalid-event", where or (name_span(event) if event.text else entry.place), no_event(event.text))
            continue
        yield Commands(known.moment, _items(node, step, where, report), callback, node)


def items_at(commands: tuple[Commands, ...], moment: Moment) -> tuple[CommandItem, ...]:
    """The items of all commands that run at one moment."""
    return tuple(item for one in commands if one.moment is moment for item in one.items)


def ignores_failure(node: Mapping) -> bool:
    """Whether a prerequisite or plugin entry says that its commands may fail.

    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands.
    """
    policy = node.get("failurePolicy")
    return isinstance(policy, Scalar) and policy.text.lower() == "ignore"


def _items(node: Node, step: ExpansionStep | None, where: Span | None, report: Report) -> tuple[CommandItem, ...]:
    """The items of a list of commands; a single text counts as a list of one, and null is not a command."""
    if isinstance(node, Mapping):
        report(CANNOT_BE_EXPANDED, where or node.span, "'commands' must be a list of strings, not a mapping")
        return ()
    found: list[CommandItem] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        if not isinstance(item, Scalar):
            kind = "mapping" if isinstance(item, Mapping) else "list"
            report(CANNOT_BE_EXPANDED, where or item.span, command_is_no_text(kind))
        elif item.value is not None:
            found.append(CommandItem(step_text(item.text, step) if step else item.text, item))
    return tuple(found)
