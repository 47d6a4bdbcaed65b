"""The job model: what a tree means as an OpenPAI job.

Everything is read leniently: a part of the wrong shape is absent here, and a structure rule reports it. Nothing is
judged here. Definitions outside the job are known through `Lookup`, which never waits and never opens a file.
Sources of what a key means: schemas/job.schema.json; the extended protocol's keys: docs/protocol.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pai_lsp.content import MappedText, joined, mapped, trimmed
from pai_lsp.settings import Settings
from pai_lsp.syntax import Entry, Mapping, Node, Scalar, Sequence, Style, Syntax, plain_value, walk
from pai_lsp.template import Tag, TemplateFault, runtime_tags, tags
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGIN_PREFIX = "com.microsoft.pai.runtimeplugin"
CMD_PLUGIN = f"{PLUGIN_PREFIX}.cmd"

# A role's fields that name one prerequisite of one type each. Source: rest-server, middlewares/v2/protocol.js.
TYPED_FIELDS = {"dockerImage": "dockerimage", "data": "data", "script": "script", "output": "output"}
LEGACY_TYPES = ("dockerimage", "data", "script", "output")

# Keys of a prerequisite that are the protocol's own; in a definition without `plugin_params` every other key is a
# parameter of its plugin.
PROTOCOL_KEYS = frozenset(
    {
        "protocolVersion", "name", "type", "version", "contributor", "description", "plugin", "plugin_params", "require",
        "template_variables", "requireStorages", "pathForUser", "failurePolicy", "auth", "title", "summary",
    },
)  # fmt: skip


def name_span(scalar: Scalar) -> Span:
    """The characters of a name without its quotes."""
    if scalar.style in {Style.SINGLE, Style.DOUBLE} and len(scalar.span) >= 2:
        return Span(scalar.span.start + 1, scalar.span.end - 1)
    return scalar.span


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A name that stands for something defined elsewhere; `span` is the name without quotes."""

    name: str
    scalar: Scalar

    @property
    def span(self) -> Span:
        return name_span(self.scalar)

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
    """Where a definition stands."""

    JOB = "prerequisites"
    EXTRAS = "extras.reference_prerequisites"
    CATALOGUE = "catalogue"


@dataclass(frozen=True, eq=False)
class Definition:
    """A prerequisite as defined: in the job, in `extras.reference_prerequisites` or in a catalogue file."""

    node: Mapping
    origin: Origin

    @cached_property
    def name_scalar(self) -> Scalar | None:
        node = self.node.get("name")
        return node if isinstance(node, Scalar) and node.text else None

    @property
    def name(self) -> str:
        """The name; empty where it is missing."""
        return self.name_scalar.text if self.name_scalar else ""

    @property
    def name_span(self) -> Span:
        """The name's characters, or the first key of a definition without one."""
        if self.name_scalar:
            return name_span(self.name_scalar)
        return self.node.entries[0].key.span if self.node.entries else self.node.span

    @cached_property
    def type(self) -> str:
        """`dockerimage`, `data`, `script`, `output`, whatever is written, or empty."""
        node = self.node.get("type")
        return node.text if isinstance(node, Scalar) else ""

    @cached_property
    def plugin_scalar(self) -> Scalar | None:
        node = self.node.get("plugin")
        return node if isinstance(node, Scalar) else None

    @property
    def plugin(self) -> str:
        """The plugin as written; empty where there is none."""
        return self.plugin_scalar.text if self.plugin_scalar else ""

    @property
    def runtime_plugin(self) -> str | None:
        """The plugin's name as the released runtime takes it; None where the runtime does nothing.

        Source: openpai-runtime, src/init.d/initializer.py: the text behind the prefix and one more character.
        """
        if self.type == "dockerimage" or not self.plugin.startswith(PLUGIN_PREFIX):
            return None
        return self.plugin[len(PLUGIN_PREFIX) + 1 :]

    @property
    def extended_plugin(self) -> str | None:
        """The plugin's short name in the extended protocol, where `cmd` may be left out; None without any."""
        if self.plugin.startswith(PLUGIN_PREFIX + "."):
            return self.plugin.removeprefix(PLUGIN_PREFIX + ".")
        if self.plugin:
            return self.plugin
        return "cmd" if self.callbacks_node is not None and self.type != "dockerimage" else None

    @cached_property
    def parameters(self) -> tuple[Entry, ...]:
        """The plugin's parameters: `plugin_params` if there, else every key that is not the protocol's own."""
        node = self.node.get("plugin_params")
        if isinstance(node, Mapping):
            return node.effective_entries()
        return tuple(entry for entry in self.node.effective_entries() if entry.name not in PROTOCOL_KEYS)

    def parameter(self, name: str) -> Entry | None:
        """The plugin parameter of that name."""
        return next((entry for entry in self.parameters if entry.name == name), None)

    @property
    def callbacks_node(self) -> Node | None:
        entry = self.parameter("callbacks")
        return entry.value if entry else None

    @cached_property
    def callbacks(self) -> tuple[Callback, ...]:
        return read_callbacks(self.callbacks_node)

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it requires, in written order."""
        node = self.node.get("require")
        items = node.items if isinstance(node, Sequence) else ()
        return tuple(requirement for item in items if (requirement := _requirement(item)))

    @cached_property
    def template_variables(self) -> tuple[TemplateVariable, ...]:
        """The template variables it declares."""
        node = self.node.get("template_variables")
        items = node.items if isinstance(node, Sequence) else ()
        return tuple(variable for item in items if (variable := _template_variable(item)))


def read_callbacks(node: Node | None) -> tuple[Callback, ...]:
    """The callbacks that a list of the right shape holds."""
    found: list[Callback] = []
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Mapping):
            event = item.get("event")
            found.append(Callback(item, event if isinstance(event, Scalar) else None, scalars(item.get("commands"))))
    return tuple(found)


def read_definitions(node: Node | None, origin: Origin) -> tuple[Definition, ...]:
    """The definitions in a list, or in one mapping."""
    items = node.items if isinstance(node, Sequence) else (node,)
    return tuple(Definition(item, origin) for item in items if isinstance(item, Mapping))


def _requirement(node: Node) -> Requirement | None:
    if isinstance(node, Scalar):
        return Requirement(Reference(node.text, node), node) if node.text else None
    if isinstance(node, Mapping) and isinstance(name := node.get("name"), Scalar) and name.text:
        bindings = node.get("template_variables")
        return Requirement(Reference(name.text, name), node, bindings if isinstance(bindings, Mapping) else None)
    return None


def _template_variable(node: Node) -> TemplateVariable | None:
    name = node.get("name") if isinstance(node, Mapping) else node
    if isinstance(name, Scalar) and name.text:
        return TemplateVariable(name.text, name_span(name), node)
    return None


@dataclass(frozen=True, eq=False)
class TaskRole:
    """One entry of `taskRoles`."""

    entry: Entry

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def name_span(self) -> Span:
        key = self.entry.key
        return name_span(key) if isinstance(key, Scalar) else key.span

    @property
    def node(self) -> Mapping | None:
        return self.entry.value if isinstance(self.entry.value, Mapping) else None

    def get(self, name: str) -> Node | None:
        """The value of one of the role's keys."""
        return self.node.get(name) if self.node else None

    def field(self, name: str) -> Entry | None:
        """One of the role's keys with its value."""
        return self.node.entry(name) if self.node else None

    @cached_property
    def prerequisites(self) -> tuple[Reference, ...]:
        """The prerequisites that the role lists, in order."""
        return tuple(Reference(scalar.text, scalar) for scalar in scalars(self.get("prerequisites")) if scalar.text)

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
        return scalars(self.get("commands"))

    @property
    def instances(self) -> int:
        """The number of tasks; 1 where it is absent or wrong. Source: rest-server, models/v2/job/k8s.js."""
        node = self.get("instances")
        value = node.value if isinstance(node, Scalar) else 1
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1

    @property
    def port_labels(self) -> tuple[Entry, ...]:
        """The ports that the role declares; `ssh` and `http` exist besides them."""
        resources = self.get("resourcePerInstance")
        ports = resources.get("ports") if isinstance(resources, Mapping) else None
        return ports.effective_entries() if isinstance(ports, Mapping) else ()


@dataclass(frozen=True, eq=False)
class Deployment:
    """One entry of `deployments`."""

    node: Mapping

    @cached_property
    def name_scalar(self) -> Scalar | None:
        node = self.node.get("name")
        return node if isinstance(node, Scalar) and node.text else None

    @property
    def name(self) -> str:
        return self.name_scalar.text if self.name_scalar else ""

    @property
    def role_entries(self) -> tuple[Entry, ...]:
        """The roles it adds commands to."""
        node = self.node.get("taskRoles")
        return node.effective_entries() if isinstance(node, Mapping) else ()

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
        node = self.node.get("plugin")
        return node if isinstance(node, Scalar) else None

    @property
    def plugin(self) -> str:
        return self.plugin_scalar.text if self.plugin_scalar else ""

    @property
    def parameters(self) -> Node | None:
        return self.node.get("parameters")

    def parameter(self, name: str) -> Entry | None:
        """One of the plugin's parameters."""
        return self.parameters.entry(name) if isinstance(self.parameters, Mapping) else None

    @cached_property
    def task_roles(self) -> tuple[Scalar, ...] | None:
        """The roles it is for; None for all."""
        return scalars(self.node.get("taskroles")) if self.node.entry("taskroles") else None

    @cached_property
    def callbacks(self) -> tuple[Callback, ...]:
        entry = self.parameter("callbacks")
        return read_callbacks(entry.value if entry else None)


class TemplatePlace(Enum):
    """Who fills the `<% %>` of a place."""

    COMMANDS = "commands"  # the rest-server, then the runtime for $secrets
    IDLE_DEPLOYMENT = "deployment"  # nobody, until `defaults.deployment` names it
    AUTH = "auth"  # the rest-server, $secrets only
    DEFINITION = "definition"  # the runtime, as a prerequisite's plugin parameter
    PLUGIN = "plugin"  # the runtime, as a parameter of an extras plugin
    LITERAL = "literal"  # nobody


@dataclass(frozen=True, slots=True, eq=False)
class TemplateUse:
    """One `<% %>` in the file; spans mean the file. Who it belongs to depends on its place."""

    tag: Tag
    span: Span
    content_span: Span
    place: TemplatePlace
    role: TaskRole | None = None
    definition: Definition | None = None
    plugin: PluginEntry | None = None
    text: MappedText | None = None

    def step_span(self, number: int) -> Span:
        """The place of one step of the path."""
        step = self.tag.steps[number]
        return self.text.span(step.span.start, step.span.end) if self.text else self.content_span


class LookupState(Enum):
    """What a catalogue can answer."""

    FOUND = "found"
    ABSENT = "not there"
    UNKNOWN = "could not ask"


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """A catalogue's answer to a reference: definitions when found; `note` says more (the age of what is known, why)."""

    state: LookupState
    definitions: tuple[Definition, ...] = ()
    note: str = ""
    path: str | None = None


class Lookup(Protocol):
    """Finds definitions outside the job; answers from memory, at once."""

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that `marketplace://…` or `http(s)://…` names."""

    def names(self) -> tuple[str, ...]:
        """Every reference that `find` would find, for suggestions."""


class NoLookup:
    """The lookup of a workspace without any catalogue: it could not ask."""

    def find(self, reference: str) -> LookupAnswer:
        """Never knows."""
        del reference
        return LookupAnswer(LookupState.UNKNOWN, note="no marketplace is configured")

    def names(self) -> tuple[str, ...]:
        """Nothing to suggest."""
        return ()


@dataclass(frozen=True, eq=False)
class Job:
    """A job file (or, when `is_catalogue`, a file of definitions), read once and never changed."""

    syntax: Syntax
    settings: Settings = Settings()  # noqa: RUF009 - a frozen value
    lookup: Lookup = NoLookup()  # noqa: RUF009 - a value without state
    is_catalogue: bool = False

    @property
    def text(self) -> str:
        return self.syntax.text

    @cached_property
    def root(self) -> Mapping | None:
        """The job's mapping; None for an empty file, a file of definitions, or anything else."""
        root = self.syntax.root
        return root if isinstance(root, Mapping) and not self.is_catalogue else None

    def section(self, name: str) -> Entry | None:
        """A top-level key with its value."""
        return self.root.entry(name) if self.root else None

    def mapping(self, name: str) -> Mapping | None:
        """The value of a top-level key that holds a mapping."""
        entry = self.section(name)
        return entry.value if entry and isinstance(entry.value, Mapping) else None

    @cached_property
    def plain(self) -> Any:
        """The whole file as the rest-server's value."""
        return plain_value(self.syntax.root)

    @cached_property
    def prerequisites(self) -> tuple[Definition, ...]:
        """The definitions under `prerequisites`."""
        entry = self.section("prerequisites")
        return read_definitions(entry.value, Origin.JOB) if entry and isinstance(entry.value, Sequence) else ()

    @cached_property
    def reference_prerequisites(self) -> tuple[Definition, ...]:
        """The definitions under `extras.reference_prerequisites`."""
        node = self.extras.get("reference_prerequisites") if self.extras else None
        return read_definitions(node, Origin.EXTRAS) if isinstance(node, Sequence) else ()

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in the file, those of the job first."""
        if self.is_catalogue:
            return tuple(
                definition
                for document in self.syntax.documents
                for definition in read_definitions(document, Origin.CATALOGUE)
            )
        return self.prerequisites + self.reference_prerequisites

    @cached_property
    def definitions_by_name(self) -> dict[str, Definition]:
        """The definition that a plain name finds: the job's, else one of `extras`; of several the last, as the runtime.

        Source: openpai-runtime, src/init.d/initializer.py: a dict over all prerequisites.
        """
        found = {definition.name: definition for definition in self.reference_prerequisites if definition.name}
        found |= {definition.name: definition for definition in self.prerequisites if definition.name}
        if self.is_catalogue:
            found |= {definition.name: definition for definition in self.definitions if definition.name}
        return found

    def find_typed(self, kind: str, name: str) -> Definition | None:
        """The prerequisite of that type and name."""
        return next((d for d in self.prerequisites if d.type == kind and d.name == name), None)

    def resolve(self, name: str) -> LookupAnswer:
        """What a prerequisite reference means: a definition of this file, or what the catalogue says."""
        if "://" in name:
            return self.lookup.find(name)
        definition = self.definitions_by_name.get(name)
        return LookupAnswer(LookupState.FOUND, (definition,)) if definition else LookupAnswer(LookupState.ABSENT)

    @cached_property
    def parameters(self) -> dict[str, Entry]:
        """The job's parameters by name."""
        node = self.mapping("parameters")
        return {entry.name: entry for entry in node.effective_entries()} if node else {}

    @cached_property
    def secrets(self) -> dict[str, Entry]:
        """The job's secrets by name; their values must never be shown."""
        node = self.mapping("secrets")
        return {entry.name: entry for entry in node.effective_entries()} if node else {}

    @cached_property
    def task_roles(self) -> tuple[TaskRole, ...]:
        node = self.mapping("taskRoles")
        return tuple(TaskRole(entry) for entry in node.effective_entries()) if node else ()

    @cached_property
    def task_roles_by_name(self) -> dict[str, TaskRole]:
        return {role.name: role for role in self.task_roles}

    @cached_property
    def deployments(self) -> tuple[Deployment, ...]:
        entry = self.section("deployments")
        items = entry.value.items if entry and isinstance(entry.value, Sequence) else ()
        return tuple(Deployment(item) for item in items if isinstance(item, Mapping))

    @cached_property
    def default_deployment_reference(self) -> Reference | None:
        """What `defaults.deployment` names."""
        defaults = self.mapping("defaults")
        node = defaults.get("deployment") if defaults else None
        return Reference(node.text, node) if isinstance(node, Scalar) and node.text else None

    @cached_property
    def default_deployment(self) -> Deployment | None:
        """The deployment whose commands are put around the roles' own."""
        reference = self.default_deployment_reference
        return next((d for d in self.deployments if reference and d.name == reference.name), None)

    @property
    def extras(self) -> Mapping | None:
        return self.mapping("extras")

    @cached_property
    def plugins(self) -> tuple[PluginEntry, ...]:
        """The runtime plugins under `extras`."""
        node = self.extras.get(PLUGIN_PREFIX) if self.extras else None
        items = node.items if isinstance(node, Sequence) else ()
        return tuple(PluginEntry(item) for item in items if isinstance(item, Mapping))

    @cached_property
    def uses_extension(self) -> bool:
        """Whether any key or reference of the extended protocol stands in the file."""
        return self.is_catalogue or any(
            reference.is_address for role in self.task_roles for reference in role.prerequisites
        )

    def command_parts(self, role: TaskRole) -> tuple[Scalar, ...]:
        """The scalars that make up what a role runs: its commands with those of the default deployment around them.

        Source: rest-server, middlewares/v2/protocol.js, protocolRender.
        """
        deployment = self.default_deployment
        if deployment is None:
            return role.commands
        return (
            *deployment.commands(role.name, "preCommands"),
            *role.commands,
            *deployment.commands(role.name, "postCommands"),
        )

    def command_text(self, role: TaskRole) -> MappedText:
        """What a role runs, before templates are filled: each command trimmed, joined by line ends."""
        return joined([trimmed(mapped(self.text, scalar)) for scalar in self.command_parts(role)], "\n")

    @cached_property
    def command_templates(self) -> dict[str, tuple[MappedText, tuple[Tag, ...], TemplateFault | None]]:
        """By role: its text, the tags in it and the fault that would stop the rest-server; only roles that have a `<%`."""
        found: dict[str, tuple[MappedText, tuple[Tag, ...], TemplateFault | None]] = {}
        for role in self.task_roles:
            if any("<%" in scalar.text for scalar in self.command_parts(role)):
                text = self.command_text(role)
                found[role.name] = (text, *tags(text.text))
        return found

    @cached_property
    def template_uses(self) -> tuple[TemplateUse, ...]:
        """Every `<% %>` of the file, with who fills it; one in an alias or a shared deployment may come several times."""
        found: list[TemplateUse] = []
        seen: set[int] = set()
        for role in self.task_roles:
            if role.name in self.command_templates:
                text, role_tags, _ = self.command_templates[role.name]
                found += (_use(text, tag, TemplatePlace.COMMANDS, role=role) for tag in role_tags)
            seen.update(map(id, self.command_parts(role)))
        for definition in self.definitions:
            found += self._uses_in_definition(definition, seen)
        for plugin in self.plugins:
            for scalar in _unseen(plugin.parameters, seen):
                text = mapped(self.text, scalar)
                found += (_use(text, tag, TemplatePlace.PLUGIN, plugin=plugin) for tag in runtime_tags(scalar.text))
        for deployment in self.deployments:
            for entry in deployment.role_entries:
                role_of = self.task_roles_by_name.get(entry.name)
                for scalar in _unseen(entry.value, seen):
                    text = mapped(self.text, scalar)
                    place = TemplatePlace.IDLE_DEPLOYMENT
                    found += (_use(text, tag, place, role=role_of) for tag in tags(scalar.text)[0])
        for scalar in _unseen(self.root, seen):
            text = mapped(self.text, scalar)
            found += (_use(text, tag, TemplatePlace.LITERAL) for tag in tags(scalar.text)[0])
        return tuple(found)

    def _uses_in_definition(self, definition: Definition, seen: set[int]) -> Iterator[TemplateUse]:
        if definition.type == "dockerimage":
            for scalar in _unseen(definition.node.get("auth"), seen):
                text = mapped(self.text, scalar)
                yield from (_use(text, tag, TemplatePlace.AUTH, definition=definition) for tag in tags(scalar.text)[0])
            return
        if definition.extended_plugin is None:
            return
        for scalar in _unseen(definition.node, seen):
            text = mapped(self.text, scalar)
            extended = tags(scalar.text)[0] if "this." in scalar.text else runtime_tags(scalar.text)
            yield from (_use(text, tag, TemplatePlace.DEFINITION, definition=definition) for tag in extended)

    def roles_listing(self, definition: Definition) -> tuple[TaskRole, ...]:
        """The roles whose `prerequisites` name this definition itself."""
        return tuple(
            role
            for role in self.task_roles
            if any(self.definitions_by_name.get(reference.name) is definition for reference in role.prerequisites)
        )


def scalars(node: Node | None) -> tuple[Scalar, ...]:
    """The scalars of a list; nothing of anything else."""
    return tuple(item for item in node.items if isinstance(item, Scalar)) if isinstance(node, Sequence) else ()


def _unseen(node: Node | None, seen: set[int]) -> Iterator[Scalar]:
    """The scalars below a node that hold a `<%` and were not handed out before."""
    for below in walk(node):
        if isinstance(below, Scalar) and "<%" in below.text and id(below) not in seen:
            seen.add(id(below))
            yield below


def _use(text: MappedText, tag: Tag, place: TemplatePlace, **owner: Any) -> TemplateUse:
    span = text.span(tag.span.start, tag.span.end)
    content = text.span(tag.content_span.start, tag.content_span.end)
    return TemplateUse(tag, span, content, place, text=text, **owner)
