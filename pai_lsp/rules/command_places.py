"""Where the `cmd` plugin finds its commands, and where to point in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.definition import SIMPLE_KEYS, scalars
from pai_lsp.nodes import Mapping, Sequence
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.job import Job
    from pai_lsp.nodes import Entry, Node, Scalar
    from pai_lsp.plugin_uses import PluginUse


def cmd_uses(job: Job) -> Iterator[PluginUse]:
    """Every use of the `cmd` plugin in the file."""
    return job.uses_of_plugin("cmd")


def callback_items(use: PluginUse) -> tuple[Node, ...]:
    """The items of `callbacks`, of whatever shape."""
    entry = use.entry("callbacks")
    return entry.value.items if entry and isinstance(entry.value, Sequence) else ()


def callbacks(use: PluginUse) -> Iterator[Mapping]:
    """The items of `callbacks` that are mappings."""
    return (item for item in callback_items(use) if isinstance(item, Mapping))


def command_entries(use: PluginUse) -> Iterator[Entry]:
    """Every key that holds commands: those of callbacks, `preCommands` and `postCommands`."""
    for callback in callbacks(use):
        entry = callback.entry("commands")
        if entry:
            yield entry
    for key in SIMPLE_KEYS:
        entry = use.entry(key)
        if entry:
            yield entry


def command_lists(uses: Iterable[PluginUse], holding: str = "") -> list[tuple[Scalar, ...]]:
    """The commands of each callback, and of each other key that holds some; only lists in which the text stands."""
    lists = (scalars(entry.value) for use in uses for entry in command_entries(use))
    return [commands for commands in lists if any(holding in command.text for command in commands)]


def item_place(job: Job, item: Node) -> Span:
    """Where to point when an item of a list is wrong: the item, or the dash of an empty one."""
    dash = job.text.rfind("-", 0, item.span.start + 1)
    return item.span if len(item.span) or dash < 0 else Span(dash, dash + 1)
