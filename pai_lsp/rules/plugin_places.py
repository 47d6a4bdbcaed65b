"""Where runtime plugins are used: in prerequisites and in `extras`, and for which task roles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pai_lsp.definition import PLUGIN_PREFIX, Definition, name_span
from pai_lsp.platform import Plugin, converted_role_name, plugins
from pai_lsp.syntax import Mapping
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job, PluginEntry, TaskRole
    from pai_lsp.syntax import Entry, Node


@dataclass(frozen=True, slots=True, eq=False)
class PluginUse:
    """A plugin of the released runtime with its parameters; `parameters` is None where they are no mapping."""

    plugin: Plugin
    name_span: Span
    owner: Definition | PluginEntry
    parameters: Mapping | None

    def entry(self, name: str) -> Entry | None:
        """A parameter with its value."""
        return self.owner.parameter(name)

    def roles(self, job: Job) -> tuple[TaskRole, ...]:
        """The task roles that it acts for.

        Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.
        """
        if isinstance(self.owner, Definition):
            listed = {listing.role.name for listing in job.prerequisite_uses.listings(self.owner)}
            return tuple(role for role in job.task_roles if role.name in listed)
        wanted = self.owner.task_roles
        if wanted is None:
            return job.task_roles
        names = {scalar.text for scalar in wanted}
        return tuple(role for role in job.task_roles if converted_role_name(role.name) in names)


def plugin_uses(job: Job) -> Iterator[PluginUse]:
    """Every use of a plugin that the released runtime has, in whatever form it is named."""
    known = plugins()
    for definition in job.definitions:
        plugin = known.get(definition.extended_plugin or "") if definition.type != "dockerimage" else None
        if plugin:
            scalar = definition.plugin_scalar
            params = definition.node.get("plugin_params")
            holder = params if isinstance(params, Mapping) else definition.node
            yield PluginUse(plugin, name_span(scalar) if scalar else definition.name_span, definition, holder)
    for entry in job.plugins:
        plugin = known.get(entry.plugin.removeprefix(PLUGIN_PREFIX + "."))
        if plugin and entry.plugin_scalar:
            parameters = entry.parameters if isinstance(entry.parameters, Mapping) else None
            yield PluginUse(plugin, name_span(entry.plugin_scalar), entry, parameters)


def item_place(job: Job, item: Node) -> Span:
    """Where to point when an item of a list is wrong: the item, or the dash of an empty one."""
    dash = job.text.rfind("-", 0, item.span.start + 1)
    return item.span if len(item.span) or dash < 0 else Span(dash, dash + 1)
