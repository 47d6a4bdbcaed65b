"""Who uses what: task roles a prerequisite, task roles a runtime plugin; and where the `cmd` plugin has commands.

A prerequisite is used by the task roles that list it, by their fields that name it, and by what those require in turn.

Sources: rest-server, middlewares/v2/protocol.js, protocolValidate (a role's fields); openpai-runtime,
src/init.d/initializer.py, collect_plugin_configs (the list, and `extras`); docs/protocol.md (`require`).
"""

from __future__ import annotations

from pai_lsp.job.definition import SIMPLE_KEYS, Definition, name_span, scalars
from pai_lsp.platform.tables import PLUGIN_PREFIX, Plugin
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, if_mapping, items_of
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.job.parts import PluginEntry, TaskRole
    from pai_lsp.job.require_graph import RequireGraph
    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.nodes import Entry, Node


def used_definitions(job: JobTree, graph: RequireGraph) -> frozenset[Mapping]:
    """The nodes of the definitions that a task role lists or names, and of those that they require."""
    listed = (target for role in job.task_roles for target in _listed(graph, role))
    references = (one for role in job.task_roles for one in (*role.prerequisites, *role.typed_references.values()))
    named = {reference.name for reference in references}
    # Other rules report names that several share and wrong types; here, all of them are used.
    used = (definition.node for definition in job.definitions if definition.name in named)
    return frozenset((*used, *(definition.node for definition in graph.reachable(listed))))


def _listed(graph: RequireGraph, role: TaskRole) -> Iterator[Definition]:
    return (target for reference in role.prerequisites for target in graph.link(reference).targets)


def roles_running(job: JobTree, graph: RequireGraph) -> dict[Mapping, tuple[TaskRole, ...]]:
    """By the node of a definition: the roles that list it, or list one that requires it, by any number of steps."""
    running: dict[Mapping, list[TaskRole]] = {}
    for role in job.task_roles:
        for definition in graph.reachable(_listed(graph, role)):
            running.setdefault(definition.node, []).append(role)
    return {key: tuple(roles) for key, roles in running.items()}


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
        """The mapping with the parameters."""
        if isinstance(self.owner, Definition):
            params = self.owner.node.get("plugin_params")
            return params if isinstance(params, Mapping) else self.owner.node
        return if_mapping(self.owner.parameters)

    def entry(self, name: str) -> Entry | None:
        """A parameter with its value."""
        return self.owner.parameter(name)

    @property
    def ignores_failure(self) -> bool:
        """Whether the task starts, without the plugin, if the plugin fails while the task is prepared.

        Source: openpai-runtime, src/init.d/initializer.py, run_script.
        """
        policy = self.owner.node.get("failurePolicy")
        return isinstance(policy, Scalar) and policy.runtime_value == "ignore"

    def is_on(self, name: str) -> bool:
        """Whether a parameter that is a switch is on: `str(value).lower() == "true"`.

        Source: openpai-runtime, src/plugins/ssh/init.py.
        """
        return self._switch(name) == "true"

    def is_off(self, name: str) -> bool:
        """Whether a parameter that is a switch is written, and off: `str(value).lower() == "false"`."""
        return self._switch(name) == "false"

    def _switch(self, name: str) -> str:
        entry = self.entry(name)
        if entry is None or not isinstance(entry.value, Scalar):
            return ""
        return str(entry.value.runtime_value).lower()


def plugin_uses(job: JobTree) -> tuple[PluginUse, ...]:
    """Every use of a plugin that the released runtime has, in any form of its name."""
    definitions = (one for one in job.definitions if one.type != "dockerimage")
    named: list[tuple[str, Definition | PluginEntry]] = [(one.extended_plugin or "", one) for one in definitions]
    named += [(entry.plugin.removeprefix(PLUGIN_PREFIX), entry) for entry in job.plugins]
    known = job.platform.plugins if any(name for name, _ in named) else {}  # most jobs read no table
    return tuple(PluginUse(known[name], owner) for name, owner in named if name in known)


def callback_items(use: PluginUse) -> tuple[Node, ...]:
    """The items of `callbacks`, of any shape."""
    entry = use.entry("callbacks")
    return items_of(entry.value) if entry else ()


def callbacks(use: PluginUse) -> Iterator[Mapping]:
    """The items of `callbacks` that are mappings."""
    return (item for item in callback_items(use) if isinstance(item, Mapping))


def command_entries(use: PluginUse) -> Iterator[Entry]:
    """Every key that holds commands: those of callbacks, `preCommands` and `postCommands`."""
    for callback in callbacks(use):
        if entry := callback.entry("commands"):
            yield entry
    yield from filter(None, map(use.entry, SIMPLE_KEYS))


def command_lists(uses: Iterable[PluginUse], holding: str = "") -> list[tuple[Scalar, ...]]:
    """The commands of each callback and of each other key with commands; only lists in which `holding` occurs."""
    lists = (scalars(entry.value) for use in uses for entry in command_entries(use))
    return [commands for commands in lists if any(holding in command.text for command in commands)]


def item_place(job: JobTree, item: Node) -> Span:
    """Where a problem with an item of a list is reported: the item, or the dash of an empty one."""
    dash = job.text.rfind("-", 0, item.span.start + 1)
    return item.span if len(item.span) or dash < 0 else Span(dash, dash + 1)
