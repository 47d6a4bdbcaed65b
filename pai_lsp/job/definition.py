"""A prerequisite as it is defined, in any version of the protocol. It is read leniently; the rules report errors.

Sources: docs/protocol.md for the extended protocol; openpai-runtime, src/init.d/initializer.py, for what it does today.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

from pai_lsp.embedded.template import variables
from pai_lsp.platform.tables import PLUGIN_PREFIX, ROLE_TYPES, RUNTIME_PLUGIN, Moment
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import (
    Entry,
    Mapping,
    Node,
    Scalar,
    ScalarStyle,
    if_mapping,
    if_scalar,
    items_of,
    plain_value,
    scalar_text,
    scalars_below,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.embedded.template import Variable


CMD_PLUGIN = f"{PLUGIN_PREFIX}cmd"

# The older keys of the cmd plugin for commands, and when they run. Source: openpai-runtime, src/plugins/cmd/init.py.
SIMPLE_KEYS = {"preCommands": Moment.START, "postCommands": Moment.SUCCESS}
# All keys of the cmd plugin that hold commands.
COMMAND_KEYS = frozenset({"callbacks", *SIMPLE_KEYS})
# What only people read.
TEXT_KEYS = frozenset({"description", "contributor", "version"})
# What the plugin reads of each callback.
CALLBACK_KEYS = frozenset({"event", "commands"})

# Plugins of the extended protocol that mount a storage; expansion makes `extras.storages` of them.
# Source: openpai, issues 5345 (`pvc_storage`: name, mountPath) and 5145 (`com.microsoft.pai.rest.storage`).
STORAGE_PLUGINS = ("pvc_storage", "com.microsoft.pai.rest.storage")

# Keys of a prerequisite that no released component reads. Source: rest-server, config/v2/protocol.js; docs/protocol.md.
EXTENDED_KEYS = ("require", "template_variables", "requireStorages", "pathForUser", "plugin_params")

# A role's fields that name one prerequisite of one type each. Source: rest-server, middlewares/v2/protocol.js.
TYPED_FIELDS = {"dockerImage": "dockerimage", **{kind: kind for kind in ROLE_TYPES}}

# Keys of a prerequisite that are the protocol's own; in a definition without `plugin_params` every other key is a
# parameter of its plugin.
PROTOCOL_KEYS = frozenset(
    {
        "protocolVersion", "name", "type", "version", "contributor", "description", "title", "summary", "auth",
        "plugin", "failurePolicy", *EXTENDED_KEYS,
    },
)  # fmt: skip


def name_span(scalar: Scalar) -> Span:
    """The place of a name without its quotes; while the user types, the second quote may be missing."""
    if scalar.style not in {ScalarStyle.SINGLE, ScalarStyle.DOUBLE} or not len(scalar.span):
        return scalar.span
    is_closed = len(scalar.span) >= len(scalar.text) + 2
    return Span(scalar.span.start + 1, scalar.span.end - is_closed)


def written_name(node: Mapping) -> Scalar | None:
    """The value of a mapping's `name`; None if it is missing, empty or not a scalar."""
    name = node.get("name")
    return name if isinstance(name, Scalar) and name.text else None


def key_name_span(entry: Entry) -> Span:
    """The place of a key without its quotes."""
    return name_span(entry.key) if isinstance(entry.key, Scalar) else entry.key.span


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The name of something that is defined elsewhere."""

    name: str
    scalar: Scalar

    @property
    def span(self) -> Span:
        """The name without its quotes."""
        return name_span(self.scalar)

    @property
    def place(self) -> Span:
        """Where a problem with it is reported: the name, or the quotes of an empty one."""
        return self.span if self.name else self.scalar.span

    @property
    def is_address(self) -> bool:
        """Whether it names something outside the job: `marketplace://…`, `http://…`, `https://…`."""
        return "://" in self.name


@dataclass(frozen=True, slots=True, eq=False)
class Callback:
    """`{event, commands}` of a prerequisite or of the cmd plugin."""

    node: Mapping
    event: Scalar | None
    commands: tuple[Scalar, ...]

    @property
    def event_name(self) -> str:
        """The event as written; empty where it is missing."""
        return self.event.text if self.event else ""


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """One entry of `require`: a name, or a mapping of a name and the template variables it fills."""

    reference: Reference
    node: Node
    bindings: Mapping | None = None

    def values(self) -> dict[str, Any]:
        """The values given to template variables, by name."""
        return {entry.name: plain_value(entry.value) for entry in self.bindings.entries} if self.bindings else {}


@dataclass(frozen=True, slots=True, eq=False)
class TemplateVariable:
    """A name that a definition declares under `template_variables`."""

    name: str
    span: Span
    node: Node


class Origin(Enum):
    """Where a definition is written."""

    JOB = "prerequisites"
    EXTRAS = "extras.reference_prerequisites"
    CATALOG = "catalog"


@dataclass(frozen=True, eq=False)
class Definition:
    """A prerequisite as defined: in the job, in `extras.reference_prerequisites` or in a catalog file."""

    node: Mapping
    origin: Origin

    @cached_property
    def name_scalar(self) -> Scalar | None:
        """The value of `name`; None if it is missing, empty or not a scalar."""
        return written_name(self.node)

    @property
    def name(self) -> str:
        """The name; empty where it is missing."""
        return self.name_scalar.text if self.name_scalar else ""

    @property
    def name_span(self) -> Span:
        """The place of the name, or the first key of a definition without a name."""
        if self.name_scalar:
            return name_span(self.name_scalar)
        return self.node.entries[0].key.span if self.node.entries else self.node.span

    @cached_property
    def type(self) -> str:
        """The type as written, such as `dockerimage`, `data`, `script` or `output`; empty if it is missing."""
        return scalar_text(self.node.get("type"))

    @cached_property
    def plugin_scalar(self) -> Scalar | None:
        """The value of `plugin`; None if it is missing or not a scalar."""
        return if_scalar(self.node.get("plugin"))

    @property
    def plugin(self) -> str:
        """The plugin as written; empty if it is missing."""
        return self.plugin_scalar.text if self.plugin_scalar else ""

    @property
    def runtime_plugin(self) -> str | None:
        """The plugin's name as the released runtime reads it; None if the runtime ignores the prerequisite.

        Source: openpai-runtime, src/init.d/initializer.py: the text after the prefix and one more character.
        """
        if self.type == "dockerimage" or not self.plugin.startswith(RUNTIME_PLUGIN):
            return None
        return self.plugin[len(PLUGIN_PREFIX) :]

    @property
    def extended_plugin(self) -> str | None:
        """The plugin's short name in the extended protocol, where `cmd` can be omitted; None for no plugin."""
        if self.plugin.startswith(PLUGIN_PREFIX):
            return self.plugin.removeprefix(PLUGIN_PREFIX)
        if self.plugin or (self.plugin_scalar and self.plugin_scalar.value == ""):
            return self.plugin
        return "cmd" if self.callbacks_node is not None and self.type != "dockerimage" else None

    @cached_property
    def parameters(self) -> tuple[Entry, ...]:
        """The plugin's parameters: `plugin_params` if it exists, else all keys that are not the protocol's own."""
        node = self.node.get("plugin_params")
        if isinstance(node, Mapping):
            return node.effective_entries()
        return tuple(entry for entry in self.node.effective_entries() if entry.name not in PROTOCOL_KEYS)

    @property
    def flat_parameters(self) -> tuple[Entry, ...]:
        """The plugin's parameters next to the other keys, without `uri`, which has its own meaning."""
        entries = self.node.effective_entries()
        return tuple(entry for entry in entries if entry.name not in PROTOCOL_KEYS and entry.name != "uri")

    @property
    def extended_entries(self) -> tuple[Entry, ...]:
        """Its keys of the extended protocol that are not empty."""
        entries = self.node.effective_entries()
        return tuple(entry for entry in entries if entry.name in EXTENDED_KEYS and not is_empty(entry.value))

    def parameter(self, name: str) -> Entry | None:
        """The plugin parameter of that name."""
        return self._parameters_by_name.get(name)

    @cached_property
    def _parameters_by_name(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in reversed(self.parameters)}

    @property
    def callbacks_node(self) -> Node | None:
        """The value of the plugin parameter `callbacks`, of any shape."""
        entry = self.parameter("callbacks")
        return entry.value if entry else None

    @cached_property
    def callbacks(self) -> tuple[Callback, ...]:
        """The callbacks that have the right shape."""
        return read_callbacks(self.callbacks_node)

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it requires, in written order."""
        items = items_of(self.node.get("require"))
        return tuple(requirement for item in items if (requirement := _requirement(item)))

    @cached_property
    def template_variables(self) -> tuple[TemplateVariable, ...]:
        """The template variables it declares."""
        items = items_of(self.node.get("template_variables"))
        return tuple(variable for item in items if (variable := _template_variable(item)))


def is_empty(node: Node) -> bool:
    """Whether a value is null, an empty text, or a list or mapping with nothing in it."""
    if isinstance(node, Scalar):
        return node.value in {None, ""}
    return not (node.entries if isinstance(node, Mapping) else node.items)


def read_callbacks(node: Node | None) -> tuple[Callback, ...]:
    """The items of a list that are mappings, as callbacks."""
    return tuple(
        Callback(item, if_scalar(item.get("event")), scalars(item.get("commands")))
        for item in items_of(node)
        if isinstance(item, Mapping)
    )


def read_definitions(node: Node | None, origin: Origin) -> tuple[Definition, ...]:
    """The definitions in a list, or in one mapping."""
    return tuple(Definition(item, origin) for item in items_of(node) or (node,) if isinstance(item, Mapping))


def _requirement(node: Node) -> Requirement | None:
    if isinstance(node, Scalar):
        return Requirement(Reference(node.text, node), node) if node.text else None
    if isinstance(node, Mapping) and isinstance(name := node.get("name"), Scalar) and name.text:
        return Requirement(Reference(name.text, name), node, if_mapping(node.get("template_variables")))
    return None


def _template_variable(node: Node) -> TemplateVariable | None:
    name = node.get("name") if isinstance(node, Mapping) else node
    if isinstance(name, Scalar) and name.text:
        return TemplateVariable(name.text, name_span(name), node)
    return None


def scalars(node: Node | None) -> tuple[Scalar, ...]:
    """The scalars of a list; nothing of anything else."""
    return tuple(item for item in items_of(node) if isinstance(item, Scalar))


# Other template languages have dots and spaces between the same braces; a template variable is one word.
_WORD = lazy_pattern(r"[A-Za-z_][\w-]*")
# The declarations themselves, and texts for people.
_NOT_FILLED = frozenset({"template_variables", "description", "title", "summary"})


def filled_texts(definition: Definition) -> Iterator[Scalar]:
    """The texts of a definition that may hold a template variable."""
    for entry in definition.node.effective_entries():
        if entry.name not in _NOT_FILLED:
            yield from (scalar for scalar in scalars_below(entry.value) if "{{" in scalar.text)


def unfilled_values(definition: Definition) -> Iterator[Scalar]:
    """The values that are one declared variable: whoever requires the definition decides what they are."""
    declared = {variable.name for variable in definition.template_variables}
    for scalar in filled_texts(definition) if declared else ():
        found = next(variables(scalar.text), None)
        if found is not None and found.name in declared and len(found.span) == len(scalar.text.strip()):
            yield scalar


def undeclared_variables(definition: Definition) -> Iterator[tuple[Scalar, Variable]]:
    """The undeclared variables of a definition that is written to be required: each is never filled.

    Such a definition is in a catalog or in `extras.reference_prerequisites`, or has `template_variables` or
    `plugin_params`; in any other definition, braces have no meaning.
    """
    node = definition.node
    if definition.origin is Origin.JOB and not (node.entry("template_variables") or node.entry("plugin_params")):
        return
    declared = {variable.name for variable in definition.template_variables}
    for scalar in filled_texts(definition):
        for variable in variables(scalar.text):
            if variable.name not in declared and _WORD.fullmatch(variable.name):
                yield scalar, variable
