"""The effective job: what each task role runs, in order, with every prerequisite followed and every variable filled.

This is the meaning of a job in the extended protocol; pai_lsp/expansion/released_job.py turns it into a job that a
released cluster runs, pai_lsp/expansion/script.py into text for a person. The extended protocol fills
`{{ variable }}` and `<% this.key %>` once: what is put in is not read again.

Problems are references that find nothing, cycles, and variables without a value: diagnostics, always errors, with the
code and message of a rule if one fits.

Sources: docs/protocol.md, "Expansion of a task role", "Template variables", "Order" and "Events"; of a plugin's
parameters: openpai-runtime, src/plugins/cmd/init.py; of the forms of storages: openpai, issues 5345
(`requireStorages`, the plugin `pvc_storage`) and 5145 (type `storage`).
"""

from __future__ import annotations

import posixpath
from functools import lru_cache

from pai_lsp.embedded.template import MISSING, filled
from pai_lsp.findings.diagnostic import Diagnostic, Related, Severity
from pai_lsp.job.definition import CMD_PLUGIN, SIMPLE_KEYS, STORAGE_PLUGINS, Definition, name_span, undeclared_variables
from pai_lsp.job.lookup import AddressFault, LookupState, looks_like_address, read_address
from pai_lsp.job.require_graph import (
    CALLBACK_FORM,
    CALLBACK_NEEDS_COMMANDS,
    CALLBACK_NEEDS_EVENT,
    CALLBACKS_FORM,
    EVENT_FORM,
    MAX_STEPS,
    command_is_no_text,
    cycle_found,
    expansion,
    mounted_already,
    needs_missing,
    needs_values,
    no_event,
    no_prerequisite,
    not_looked_up,
    nothing_at,
    reachable,
    requires_without_value,
    undeclared_variable,
)
from pai_lsp.job.this_lookup import Asked, asked, looked_up, this_faults, this_tags
from pai_lsp.platform.tables import converted_role_name, events
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    entry_at,
    if_scalar,
    items_of,
    plain_value,
    scalar_text,
    value_at,
)
from pai_lsp.source.scalar import server_text
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Mapping as MappingOf
    from typing import Any, TypeAlias

    from pai_lsp.embedded.template import TemplateTag
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import PluginEntry, TaskRole
    from pai_lsp.job.require_graph import Expansion, ExpansionStep, RequireLink
    from pai_lsp.platform.tables import Moment
    from pai_lsp.source.text import Span

    Report: TypeAlias = Callable[[str, Span, str], None]

# Something is wrong or unknown.
CANNOT_BE_EXPANDED = "cannot-be-expanded"
TASK_NEVER_STARTS = "task-never-starts"
# Everything is known, but a released cluster has no form for it.
CANNOT_BE_EXPRESSED = "cannot-be-expressed"
# It is unknown what a reference means.
NOT_LOOKED_UP = "marketplace-not-asked"
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

    place: the list of the items, or the single text in its place.
    """

    moment: Moment
    items: tuple[CommandItem, ...]
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
            yield Commands(moment, _items(node, step, where, report), node)
    callbacks = holder.get("callbacks")
    if callbacks is not None and not isinstance(callbacks, Sequence):
        report(CANNOT_BE_EXPANDED, where or callbacks.span, CALLBACKS_FORM)
    for callback in items_of(callbacks):
        entry = entry_at(callback, "event")
        event = entry.value if entry else None
        node = value_at(callback, "commands")
        if not isinstance(callback, Mapping) or entry is None or not isinstance(event, Scalar) or node is None:
            is_form = isinstance(callback, Mapping)
            missing = CALLBACK_NEEDS_EVENT if event is None else CALLBACK_NEEDS_COMMANDS if node is None else EVENT_FORM
            report(CANNOT_BE_EXPANDED, where or callback.span, missing if is_form else CALLBACK_FORM)
            continue
        known = events().get(event.text)
        if known is None:
            report("invalid-event", where or (name_span(event) if event.text else entry.place), no_event(event.text))
            continue
        yield Commands(known.moment, _items(node, step, where, report), node)


def items_at(commands: tuple[Commands, ...], moment: Moment) -> tuple[CommandItem, ...]:
    """The items of all commands that run at one moment."""
    return tuple(item for one in commands if one.moment is moment for item in one.items)


def ignores_failure(node: Mapping, step: ExpansionStep | None = None) -> bool:
    """Whether the commands of a prerequisite or plugin entry may fail, by its `failurePolicy`.

    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands.
    """
    policy = node.get("failurePolicy")
    if not isinstance(policy, Scalar):
        return False
    return (step_text(policy.text, step) if step else policy.text).lower() == "ignore"


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


def step_text(text: str, step: ExpansionStep) -> str:
    """A text of a step's definition with everything filled that can be."""
    parts: list[str] = []
    at = 0
    for tag in this_tags(step.definition, text):
        value = _this(tag, step)
        if value is not MISSING:
            parts += (_as_text(filled(text[at : tag.span.start], step.values)), server_text(value))
            at = tag.span.end
    return "".join([*parts, _as_text(filled(text[at:], step.values))])


def step_value(node: Node, step: ExpansionStep) -> Any:
    """A node of a step's definition as a plain value, its strings filled; a text that is one variable is its value."""
    if isinstance(node, Mapping):
        return {entry.name: step_value(entry.value, step) for entry in node.effective_entries()}
    if isinstance(node, Sequence):
        return [step_value(item, step) for item in node.items]
    if not node.is_string:
        return node.value
    return step_text(node.text, step) if this_tags(step.definition, node.text) else filled(node.text, step.values)


def is_filled(scalar: Scalar, step: ExpansionStep) -> bool:
    """Whether filling changes the scalar."""
    return scalar.is_string and step_value(scalar, step) != scalar.text


def _this(tag: TemplateTag, step: ExpansionStep) -> Any:
    """What a tag finds, with the variables of its definition filled."""
    asked_ones, steps = _asked_by(step)
    answer = looked_up(tag, asked_ones)
    if answer.node is None or answer.holder is None:
        return MISSING
    return filled(plain_value(answer.node), steps[answer.holder].values)


@lru_cache(maxsize=1)  # the tags of a step are looked up one after the other
def _asked_by(step: ExpansionStep) -> tuple[Asked, dict[Definition, ExpansionStep]]:
    """What the tags of a step are looked up in: its definition and what it requires, each with its nearest step."""
    found: dict[Definition, ExpansionStep] = {}
    for one in reachable([step], lambda one: one.required, id):
        found.setdefault(one.definition, one)
    return asked(found), found


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else server_text(value)


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A storage that a prerequisite needs; `span` is its place, or the reference in the job that leads to its file."""

    name: str
    mount_path: str
    span: Span


def is_storage(definition: Definition) -> bool:
    """Whether a definition is a storage itself, and runs nothing."""
    plugin = definition.extended_plugin
    return plugin in STORAGE_PLUGINS or (definition.type == "storage" and plugin is None)


def needed_storages(step: ExpansionStep, where: Span | None, report: Report) -> Iterator[Storage]:
    """What a definition needs to be mounted; `where` is the place in the job of one in another file."""
    for item in items_of(step.definition.node.get("requireStorages")):
        name, mount = if_scalar(value_at(item, "name")), if_scalar(value_at(item, "mountPath"))
        if name is None or not name.text:
            report(CANNOT_BE_EXPANDED, where or item.span, "a storage needs a name")
            continue
        named = step_text(name.text, step)
        path = step_text(mount.text, step) if mount and mount.text else f"/mnt/{named}"
        yield Storage(named, path, where or name_span(mount if mount and mount.text else name))
    if is_storage(step.definition):
        yield _own_storage(step, where)


def _own_storage(step: ExpansionStep, where: Span | None) -> Storage:
    """The storage that a definition is."""
    definition = step.definition
    name = definition.parameter("config") or definition.parameter("name") or definition.node.entry("name")
    mount = definition.parameter("mountPath") or definition.parameter("mountPoint")
    named = step_text(name.value.text, step) if name and isinstance(name.value, Scalar) else definition.name
    path = step_text(mount.value.text, step) if mount and isinstance(mount.value, Scalar) else ""
    return Storage(named, path or f"/mnt/{named}", where or definition.name_span)


def merged_storages(job: Job, needed: Iterable[Storage]) -> tuple[tuple[Storage, ...], tuple[Diagnostic, ...]]:
    """The needed storages that the job does not mount yet, and the contradictions.

    One storage can be mounted at one path, and one path holds one storage.
    """
    by_name: dict[str, Storage] = {}
    by_path: dict[str, Storage] = {}
    new: list[Storage] = []
    problems: list[Diagnostic] = []
    for storage in mounted_storages(job):
        by_name.setdefault(storage.name, storage)
        by_path.setdefault(posixpath.normpath(storage.mount_path), storage)
    for storage in needed:
        path = posixpath.normpath(storage.mount_path)
        other = by_name.get(storage.name) or by_path.get(path)
        if other is None:
            by_name[storage.name] = by_path[path] = storage
            new.append(storage)
        elif other.name != storage.name or posixpath.normpath(other.mount_path) != path:
            problems.append(_conflict(storage, other))
    return tuple(new), tuple(problems)


def _conflict(storage: Storage, other: Storage) -> Diagnostic:
    message = mounted_already(other.name, other.mount_path)
    related = (Related(other.span, "the other one"),) if other.span != storage.span else ()
    return problem("storage-conflict", storage.span, message, *related)


def mounted_storages(job: Job) -> Iterator[Storage]:
    """The entries of `extras.storages`. Source: rest-server, models/v2/job/k8s.js (the default path)."""
    for item in job.storages:
        if name := scalar_text(value_at(item, "name")):
            yield Storage(name, scalar_text(value_at(item, "mountPath")) or f"/mnt/{name}", item.span)


@dataclass(frozen=True, slots=True, eq=False)
class Prerequisite:
    """A prerequisite as a job needs it: a definition with the values of its template variables.

    plugin: the short name of its plugin; None without one, and for a storage.
    entry: the first reference in the job that leads to it.
    is_own: whether the definition is in the job's file.
    """

    step: ExpansionStep
    plugin: str | None
    commands: tuple[Commands, ...]
    storages: tuple[Storage, ...]
    entry: RequireLink
    is_own: bool

    @property
    def definition(self) -> Definition:
        """The definition it is made of."""
        return self.step.definition

    @property
    def title(self) -> str:
        """The owner of its commands, in words."""
        return f"'{self.definition.name}'"

    @property
    def reference(self) -> Span | None:
        """The reference in the job that leads to a definition outside it; None for the job's own."""
        return None if self.is_own else self.entry.reference.span

    @property
    def related(self) -> tuple[Related, ...]:
        """Where it is defined, for problems reported at a reference in the job; nothing for the job's own."""
        return () if self.is_own else (Related(self.definition.name_span, "defined here", self.step.path),)

    @property
    def ignores_failure(self) -> bool:
        """Whether its commands may fail. Source: openpai-runtime, src/plugins/plugin_utils.py."""
        return ignores_failure(self.definition.node, self.step)

    @property
    def path_for_user(self) -> str:
        """Where the commands of a task role find its content, filled; empty if it does not say."""
        node = self.definition.node.get("pathForUser")
        return step_text(node.text, self.step) if isinstance(node, Scalar) and node.is_string else ""

    def moments(self, moment: Moment) -> tuple[CommandItem, ...]:
        """The commands that it runs at one moment."""
        return items_at(self.commands, moment)


@dataclass(frozen=True, slots=True, eq=False)
class CmdPluginEntry:
    """An entry of the `cmd` plugin under `extras`."""

    entry: PluginEntry
    commands: tuple[Commands, ...]
    title = "the cmd plugin of extras"
    reference = None
    related = ()

    @property
    def ignores_failure(self) -> bool:
        """Whether its commands may fail."""
        return ignores_failure(self.entry.node)

    def moments(self, moment: Moment) -> tuple[CommandItem, ...]:
        """The commands that it runs at one moment."""
        return items_at(self.commands, moment)


@dataclass(frozen=True, slots=True, eq=False)
class EffectiveRole:
    """The plan of a task role: its prerequisites in start order, then the plugins of `extras` that are for it."""

    role: TaskRole
    prerequisites: tuple[Prerequisite, ...]
    plugins: tuple[CmdPluginEntry | PluginEntry, ...]

    @property
    def cmd_plugins(self) -> tuple[CmdPluginEntry, ...]:
        """Its `cmd` plugins of `extras`."""
        return tuple(plugin for plugin in self.plugins if isinstance(plugin, CmdPluginEntry))

    @property
    def sources(self) -> tuple[Prerequisite | CmdPluginEntry, ...]:
        """Everything that brings commands, in start order; what ends a task runs in reverse."""
        return (*self.prerequisites, *self.cmd_plugins)


@dataclass(frozen=True, slots=True)
class EffectiveJob:
    """All task roles; `problems` are the reasons why the job cannot be expanded."""

    roles: tuple[EffectiveRole, ...]
    problems: tuple[Diagnostic, ...] = ()

    @property
    def prerequisites(self) -> tuple[Prerequisite, ...]:
        """Every prerequisite of any role, each once."""
        return tuple(dict.fromkeys(one for role in self.roles for one in role.prerequisites))


def effective_job(job: Job) -> EffectiveJob:
    """What the job means; one with syntax problems has only these. A job is read once."""
    if problems := tuple(problem(one.kind.value, one.span, one.message) for one in job.syntax.problems):
        return EffectiveJob((), problems)
    return job.once(_read_effective_job)


def effective_roles(job: Job) -> tuple[EffectiveRole, ...]:
    """The plans of all task roles, as far as they can be read; also of a job with problems."""
    return job.once(_read_effective_job).roles


def _read_effective_job(job: Job) -> EffectiveJob:
    return _EffectiveJobReader(job).read()


class _EffectiveJobReader:
    """Reads one job; a prerequisite that several roles need with the same values is the same object."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._problems: dict[tuple[str, Span], Diagnostic] = {}
        self._known: dict[tuple[Mapping, str], Prerequisite] = {}
        self._plugins: list[CmdPluginEntry | PluginEntry] = []

    def read(self) -> EffectiveJob:
        fault = self._job.require_graph.lock_fault
        if fault:
            entry, message = fault
            self._problem(BROKEN_LOCK_FILE, entry.reference.span, message)
        for plugin in self._job.plugins:
            if plugin.plugin in {"cmd", CMD_PLUGIN} and isinstance(plugin.parameters, Mapping):
                commands = tuple(read_commands(plugin.parameters, None, None, self._problem))
                self._plugins.append(CmdPluginEntry(plugin, commands))
            else:
                self._plugins.append(plugin)
        roles = tuple(self._role(role) for role in self._job.task_roles)
        return EffectiveJob(roles, tuple(self._problems.values()))

    def _role(self, role: TaskRole) -> EffectiveRole:
        found = expansion(self._job.require_graph, role.prerequisites)
        entries = entries_beyond(self._job, role)
        for code, link, message in unmet(self._job, found, entries):
            self._report(code, link, entries, message)
        if not found.is_complete and role.prerequisites:
            message = f"more than {MAX_STEPS:,} prerequisites, including all that they require"
            self._problem(CANNOT_BE_EXPANDED, role.prerequisites[0].span, message)
        prerequisites = tuple(self._prerequisite(step, entries.get(step.link, step.link)) for step in found.steps)
        plugins = tuple(one for one in self._plugins if _is_for(one, role))
        return EffectiveRole(role, prerequisites, plugins)

    def _prerequisite(self, step: ExpansionStep, entry: RequireLink) -> Prerequisite:
        if known := self._known.get(step.identity):
            return known
        definition = step.definition
        is_own = not self._job.require_graph.is_outside(definition)
        where = None if is_own else entry.reference.span
        outside = (Related(definition.name_span, "defined here", step.path),) if where else ()

        def report(code: str, span: Span, message: str) -> None:
            self._problem(code, span, message, *outside)

        plugin = None if is_storage(definition) else definition.extended_plugin
        storages = tuple(needed_storages(step, where, report))
        self._unfilled(step, where, report)
        commands: tuple[Commands, ...] = ()
        if plugin == "cmd" and definition.type != "dockerimage":
            params = definition.node.get("plugin_params")
            holder = params if isinstance(params, Mapping) else definition.node
            commands = tuple(read_commands(holder, step, where, report))
        found = self._known[step.identity] = Prerequisite(step, plugin, commands, storages, entry, is_own)
        return found

    def _unfilled(self, step: ExpansionStep, where: Span | None, report: Report) -> None:
        definition = step.definition
        declared = [one.name for one in definition.template_variables]
        for scalar, variable in undeclared_variables(definition):
            name = variable.name_span
            message = undeclared_variable(variable.name, declared, definition.name if where else "")
            span = where or mapped(self._job.text, scalar).span(name.start, name.end)
            report("undeclared-template-variable", span, message)
        for scalar, tag, fault in this_faults(self._job.require_graph, definition):
            span = where or fault.span(tag, mapped(self._job.text, scalar))
            report("unresolved-this", span, fault.message)

    def _report(self, code: str, link: RequireLink, entries: dict[RequireLink, RequireLink], message: str) -> None:
        """Report on a reference; for one in another file, on the reference in the job that leads there."""
        entry = entries.get(link, link)
        if link.path is None:
            self._problem(code, entry.reference.place, message)
        else:
            related = Related(link.reference.span, "required here", link.path)
            self._problem(code, entry.reference.span, message, related)

    def _problem(self, code: str, span: Span, message: str, *related: Related) -> None:
        self._problems.setdefault((code, span), problem(code, span, message, *related))


def _is_for(plugin: CmdPluginEntry | PluginEntry, role: TaskRole) -> bool:
    entry = plugin.entry if isinstance(plugin, CmdPluginEntry) else plugin
    return entry.acts_for(converted_role_name(role.name))


def entries_beyond(job: Job, role: TaskRole) -> dict[RequireLink, RequireLink]:
    """For references outside the file that the role's lead to, the one in the file that leads there."""
    graph = job.require_graph
    found: dict[RequireLink, RequireLink] = {}
    seen: set[Mapping] = set()
    waiting = [graph.link(reference) for reference in role.prerequisites]
    for link in waiting:  # grows while it is read
        for target in link.targets:
            if target.node not in seen:
                seen.add(target.node)
                waiting += graph.links(target)
                if graph.is_outside(target):
                    entry = found.get(link, link)
                    found.update((further, entry) for further in graph.links(target))
    return found


def unmet(
    job: Job, found: Expansion, entries: MappingOf[RequireLink, RequireLink]
) -> Iterator[tuple[str, RequireLink, str]]:
    """The problems of everything that a task role's list leads to: a code, the reference, and the message.

    entries: what `entries_beyond` gives for the role.
    """
    for link in found.unresolved:
        yield _unresolved(job, link, entries.get(link))
    for cycle in found.cycles:
        yield "prerequisite-cycle", cycle.closing, cycle_found(cycle)
    for link, names in found.unfilled.items():
        entry, name = entries.get(link), link.reference.name
        if entry is None:
            message = needs_values(name, names, is_listed=link.requirement is None)
        else:
            message = requires_without_value(entry.reference.name, name, next(iter(names)))
        yield "unfilled-template-variable", link, message


def _unresolved(job: Job, link: RequireLink, entry: RequireLink | None) -> tuple[str, RequireLink, str]:
    name = link.reference.name
    is_address = looks_like_address(name)
    if is_address and isinstance(read_address(name), AddressFault):
        return "malformed-reference", link, nothing_at(name, ())
    if link.answer.state is LookupState.UNKNOWN:
        return NOT_LOOKED_UP, link, not_looked_up(name, link.answer.note)
    required = "unknown-required-prerequisite" if link.requirement else "unknown-prerequisite"
    code = "unknown-marketplace-item" if is_address else required
    if entry is not None:
        return code, link, needs_missing(entry.reference.name, name)
    known = job.lookup.names() if is_address else _meant(job, link)
    return code, link, nothing_at(name, known) if is_address else no_prerequisite(name, known)


def _meant(job: Job, link: RequireLink) -> tuple[str, ...]:
    """The names that a reference in the job may mean: all but the name of its own definition."""
    graph = job.require_graph
    holder = next((one for one in graph.definitions if any(other is link for other in graph.links(one))), None)
    return tuple(name for name in job.definitions_by_name if holder is None or name != holder.name)
