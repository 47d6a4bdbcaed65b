"""The parts of a job that are mappings of their own: a task role, a deployment, a runtime plugin under `extras`.

Read leniently, as all of the job model is; see pai_lsp/job/job.py.
Sources of what a key means: schemas/job.schema.json.
"""

from __future__ import annotations

from functools import cached_property

from pai_lsp.job.definition import (
    TYPED_FIELDS,
    Reference,
    key_name_span,
    scalars,
    written_name,
)
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, entries_of, entry_at, if_mapping, if_scalar, value_at
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from pai_lsp.source.nodes import Entry, Node
    from pai_lsp.source.text import Span

# More of one task role are refused. Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/crd.go.
MOST_INSTANCES = 10_000
# The server refuses a job with more GPUs, or tasks, in all: its database counts them in PostgreSQL's type `integer`.
MOST_COUNTED = 2**31 - 1

# Priorities of HiveD. `crit` is in the protocol's text and in the map of priorities, but is refused.
# Source: rest-server, config/v2/hived.js.
HIVED_PRIORITIES = {"prod": 100, "test": 10, "oppo": -1}


@dataclass(frozen=True, eq=False)
class TaskRole:
    """One entry of `taskRoles`."""

    entry: Entry

    @property
    def name(self) -> str:
        """The role's name, as the rest-server reads it."""
        return self.entry.name

    @property
    def name_span(self) -> Span:
        """The characters of the name without its quotes."""
        return key_name_span(self.entry)

    @cached_property
    def node(self) -> Mapping | None:
        """The mapping of the role; None where its value is not one."""
        return if_mapping(self.entry.value)

    def get(self, name: str) -> Node | None:
        """The value of one of the role's keys."""
        return value_at(self.node, name)

    def field(self, name: str) -> Entry | None:
        """One of the role's keys with its value."""
        return entry_at(self.node, name)

    def amount(self, name: str) -> int | None:
        """How much `cpu`, `memoryMB` or `gpu` a task has; None where that is not a whole number."""
        return whole_number(value_at(self.resources, name))

    @cached_property
    def prerequisites(self) -> tuple[Reference, ...]:
        """The prerequisites that the role lists, in order."""
        found = (one for one in scalars(self.get("prerequisites")) if one.text or one.is_string)
        return tuple(Reference(one.text, one) for one in found)

    @cached_property
    def typed_references(self) -> dict[str, Reference]:
        """What `dockerImage`, `data`, `script` and `output` name, by field."""
        found: dict[str, Reference] = {}
        for name in TYPED_FIELDS:
            node = self.get(name)
            if isinstance(node, Scalar) and node.text:
                found[name] = Reference(node.text, node)
        return found

    @cached_property
    def commands(self) -> tuple[Scalar, ...]:
        """The role's own commands."""
        return scalars(self.get("commands"))

    @cached_property
    def instances(self) -> int:
        """The number of tasks, at most `MOST_INSTANCES`; 1 where it is absent or wrong.

        Source: rest-server, models/v2/job/k8s.js.
        """
        value = whole_number(self.get("instances"))
        return min(value, MOST_INSTANCES) if value is not None and value > 0 else 1

    @cached_property
    def has_known_instances(self) -> bool:
        """Whether `instances` is valid: absent, or a positive whole number."""
        written = self.field("instances")
        return written is None or (whole_number(written.value) or 0) > 0

    @cached_property
    def resources(self) -> Mapping | None:
        """What each of its tasks asks for."""
        return if_mapping(self.get("resourcePerInstance"))

    @cached_property
    def requests(self) -> tuple[Entry, ...]:
        """What it asks for of `cpu`, `memoryMB` and `gpu`, in this order."""
        return tuple([entry for name in ("cpu", "memoryMB", "gpu") if (entry := entry_at(self.resources, name))])

    @cached_property
    def shared_memory(self) -> Entry | None:
        """The size of shared memory that it asks for."""
        return entry_at(self.get("extraContainerOptions"), "shmMB")

    @cached_property
    def completion_limits(self) -> tuple[Entry, ...]:
        """The numbers of its completion policy."""
        names = ("minFailedInstances", "minSucceededInstances")
        return tuple([entry for name in names if (entry := entry_at(self.get("completion"), name))])

    @cached_property
    def port_labels(self) -> tuple[Entry, ...]:
        """The ports that the role declares; `ssh` and `http` exist besides them."""
        return entries_of(value_at(self.resources, "ports"))


@dataclass(frozen=True, eq=False)
class Deployment:
    """One entry of `deployments`."""

    node: Mapping

    @cached_property
    def name_scalar(self) -> Scalar | None:
        """The name where one is written."""
        return written_name(self.node)

    @property
    def name(self) -> str:
        """The name; empty where it is missing."""
        return self.name_scalar.text if self.name_scalar else ""

    @property
    def role_entries(self) -> tuple[Entry, ...]:
        """The roles it adds commands to."""
        return entries_of(self.node.get("taskRoles"))

    def commands(self, role: str, key: str) -> tuple[Scalar, ...]:
        """The `preCommands` or `postCommands` (the `key`) that it gives a role."""
        entry = next((entry for entry in self.role_entries if entry.name == role), None)
        return scalars(entry.value.get(key)) if entry and isinstance(entry.value, Mapping) else ()


@dataclass(frozen=True, eq=False)
class PluginEntry:
    """One entry of `extras.com.microsoft.pai.runtimeplugin`."""

    node: Mapping

    @property
    def plugin_scalar(self) -> Scalar | None:
        """The plugin's name as written."""
        return if_scalar(self.node.get("plugin"))

    @property
    def plugin(self) -> str:
        """The plugin's name; empty where it is missing."""
        return self.plugin_scalar.text if self.plugin_scalar else ""

    @property
    def parameters(self) -> Node | None:
        """The plugin's parameters, of whatever shape."""
        return self.node.get("parameters")

    def parameter(self, name: str) -> Entry | None:
        """One of the plugin's parameters."""
        return entry_at(self.parameters, name)

    @cached_property
    def task_roles(self) -> tuple[Scalar, ...] | None:
        """The roles that its list `taskroles` names; None for all."""
        return scalars(self.node.get("taskroles")) if self.node.entry("taskroles") else None

    @property
    def selects_roles(self) -> bool:
        """Whether it has a `taskroles` that the runtime can search."""
        filtered = self.node.get("taskroles")
        return filtered is not None and (not isinstance(filtered, Scalar) or isinstance(filtered.runtime_value, str))

    def acts_for(self, role: str) -> bool:
        """Whether the runtime runs it for a role, by the role's converted name; false where the runtime fails.

        The runtime asks with Python's `in`, which searches a string for a part of it.
        Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.
        """
        filtered = self.node.get("taskroles")
        if isinstance(filtered, Scalar):
            value = filtered.runtime_value
            return isinstance(value, str) and role in value
        if isinstance(filtered, Mapping):
            return filtered.entry(role) is not None
        return filtered is None or role in {scalar.text for scalar in scalars(filtered)}


def whole_number(node: Node | None) -> int | None:
    """The whole number that the rest-server reads, however large; None for anything else."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None  # true and false are no numbers
