"""Where runtime plugins are used: in prerequisites and in `extras`, and for which task roles.

Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.definition import Definition, name_span
from pai_lsp.frozen import dataclass
from pai_lsp.nodes import Mapping, Scalar
from pai_lsp.platform import PLUGIN_PREFIX, Plugin, converted_role_name, plugins

if TYPE_CHECKING:
    from pai_lsp.job import Job
    from pai_lsp.job_parts import PluginEntry, TaskRole
    from pai_lsp.nodes import Entry
    from pai_lsp.text import Span


@dataclass(frozen=True, slots=True, eq=False)
class PluginUse:
    """One use of a plugin of the released runtime."""

    plugin: Plugin
    owner: Definition | PluginEntry

    @property
    def name_span(self) -> Span:
        """The plugin's name; the name of a prerequisite that leaves it out."""
        scalar = self.owner.plugin_scalar
        if scalar:
            return name_span(scalar)
        return self.owner.name_span if isinstance(self.owner, Definition) else self.owner.node.span

    @property
    def parameters(self) -> Mapping | None:
        """The mapping in which the parameters stand."""
        if isinstance(self.owner, Definition):
            params = self.owner.node.get("plugin_params")
            return params if isinstance(params, Mapping) else self.owner.node
        return self.owner.parameters if isinstance(self.owner.parameters, Mapping) else None

    def entry(self, name: str) -> Entry | None:
        """A parameter with its value."""
        return self.owner.parameter(name)

    def is_on(self, name: str) -> bool:
        """Whether a parameter that is a switch is on: `str(value).lower() == "true"`.

        Source: openpai-runtime, src/plugins/ssh/init.py.
        """
        entry = self.entry(name)
        if entry is None or not isinstance(entry.value, Scalar):
            return False
        return str(entry.value.runtime_value).lower() == "true"

    def roles(self, job: Job) -> tuple[TaskRole, ...]:
        """The task roles that it acts for."""
        if isinstance(self.owner, Definition):
            listed = {listing.role.name for listing in job.prerequisite_uses.listings(self.owner)}
            return tuple(role for role in job.task_roles if role.name in listed)
        wanted = self.owner.task_roles
        if wanted is None:
            return job.task_roles
        names = {scalar.text for scalar in wanted}
        return tuple(role for role in job.task_roles if converted_role_name(role.name) in names)


def plugin_uses(job: Job) -> tuple[PluginUse, ...]:
    """Every use of a plugin that the released runtime has, in whatever form it is named."""
    known, found = plugins(), []
    for definition in job.definitions:
        plugin = known.get(definition.extended_plugin or "")
        if plugin and definition.type != "dockerimage":
            found.append(PluginUse(plugin, definition))
    for entry in job.plugins:
        plugin = known.get(entry.plugin.removeprefix(PLUGIN_PREFIX))
        if plugin:
            found.append(PluginUse(plugin, entry))
    return tuple(found)
