"""Where the `cmd` plugin finds its commands: in prerequisites and in the runtime plugins of `extras`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pai_lsp.definition import CMD_PLUGIN, Definition
from pai_lsp.syntax import Mapping, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job, PluginEntry
    from pai_lsp.syntax import Entry, Node

# The plugin's older way to say what runs before and after the user's commands.
SIMPLE_KEYS = ("preCommands", "postCommands")


@dataclass(frozen=True, slots=True, eq=False)
class CmdParameters:
    """One use of the `cmd` plugin."""

    owner: Definition | PluginEntry

    @property
    def holder(self) -> Node | None:
        """The node in which the parameters stand."""
        if isinstance(self.owner, Definition):
            return self.owner.node.get("plugin_params") or self.owner.node
        return self.owner.parameters

    def entry(self, name: str) -> Entry | None:
        """A parameter with its value."""
        return self.owner.parameter(name)

    def items(self) -> Iterator[Node]:
        """The items of `callbacks`, of whatever shape."""
        entry = self.entry("callbacks")
        if entry and isinstance(entry.value, Sequence):
            yield from entry.value.items

    def callbacks(self) -> Iterator[Mapping]:
        """The items of `callbacks` that are mappings."""
        return (item for item in self.items() if isinstance(item, Mapping))

    def commands(self) -> Iterator[Entry]:
        """Every key that holds commands: those of callbacks, `preCommands` and `postCommands`."""
        for callback in self.callbacks():
            entry = callback.entry("commands")
            if entry:
                yield entry
        for key in SIMPLE_KEYS:
            entry = self.entry(key)
            if entry:
                yield entry


def cmd_parameters(job: Job) -> Iterator[CmdParameters]:
    """Every use of the `cmd` plugin in the file."""
    for definition in job.definitions:
        if definition.type != "dockerimage" and definition.extended_plugin == "cmd":
            yield CmdParameters(definition)
    for plugin in job.plugins:
        if plugin.plugin in {"cmd", CMD_PLUGIN}:
            yield CmdParameters(plugin)
