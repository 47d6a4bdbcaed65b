"""Which form each prerequisite of a job takes on a released cluster: its name, its commands, and where it is listed.

pai_lsp/expand/write/released_job.py writes it into the job's text.
"""

from __future__ import annotations

from functools import cached_property

from pai_lsp.expansion.effective import CmdPluginEntry
from pai_lsp.job.definition import Origin
from pai_lsp.platform.tables import EventForm, events, free_prerequisite_name, moments_with
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.writing import scalar_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from pai_lsp.expansion.effective import EffectiveJob, EffectiveRole, Prerequisite
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Mapping


@dataclass(frozen=True, eq=False)
class ReleasedForm:
    """The released form of a job's prerequisites.

    names: of each prerequisite, its name in the released job.
    homes: by the node of a definition of the job, the prerequisite that takes its place.
    listed: by task role, the prerequisites that it lists, in order.
    inlined: the names of the task roles whose start callbacks run in the shell of their commands.
    in_one_shell: the names of the task roles whose commands take in all their callbacks.
    """

    effective: EffectiveJob
    names: dict[Prerequisite, str]
    homes: dict[Mapping, Prerequisite]
    listed: dict[str, tuple[Prerequisite, ...]]
    inlined: frozenset[str]
    in_one_shell: frozenset[str]

    def name(self, prerequisite: Prerequisite) -> str:
        """The prerequisite's name in the released job."""
        return self.names[prerequisite]

    @cached_property
    def added(self) -> dict[str, Prerequisite]:
        """By their names in the released job, the prerequisites whose definitions are not in the job yet."""
        homes = set(self.homes.values())
        return {name: one for one, name in self.names.items() if one not in homes}

    @cached_property
    def users(self) -> dict[Prerequisite, list[EffectiveRole]]:
        """By prerequisite, the task roles that list it."""
        found: dict[Prerequisite, list[EffectiveRole]] = {}
        for role in self.effective.roles:
            for one in self.listed[role.role.name]:
                found.setdefault(one, []).append(role)
        return found

    @cached_property
    def plugin_users(self) -> dict[CmdPluginEntry, tuple[str, ...]]:
        """By `cmd` plugin of `extras`, the names of the task roles that it is still for."""
        found: dict[CmdPluginEntry, tuple[str, ...]] = {}
        for role in self.effective.roles:
            for plugin in cmd_plugins(role):
                names = () if role.role.name in self.in_one_shell else (role.role.name,)
                found[plugin] = (*found.get(plugin, ()), *names)
        return found

    def plugins(self, role: EffectiveRole) -> tuple[CmdPluginEntry, ...]:
        """The `cmd` plugins of `extras` that are still for a role."""
        return tuple(one for one in cmd_plugins(role) if role.role.name in self.plugin_users[one])

    @property
    def listed_anywhere(self) -> tuple[Prerequisite, ...]:
        """Everything that some task role lists, each once."""
        return tuple(dict.fromkeys(one for found in self.listed.values() for one in found))


def released_form(job: Job, effective: EffectiveJob, inlined: Collection[str] = ()) -> ReleasedForm:
    """Choose the names, and the list of each task role."""
    listed: dict[str, tuple[Prerequisite, ...]] = {}
    in_one_shell = {role.role.name for role in effective.roles if has_hooks(role.sources)}.union(inlined)
    for role in effective.roles:
        own = {reference.name for reference in role.role.prerequisites}
        is_inlined = role.role.name in in_one_shell
        listed[role.role.name] = tuple(
            one for one in role.prerequisites if not (is_inlined and one.plugin == "cmd") and _is_listed(one, own)
        )
    form = ReleasedForm(effective, {}, {}, listed, frozenset(inlined), frozenset(in_one_shell))
    taken = {definition.name for definition in job.prerequisites}
    for one in effective.prerequisites:
        definition = one.definition
        if definition.origin is Origin.JOB and one.is_own and definition.node not in form.homes:
            form.homes[definition.node] = one
            form.names[one] = definition.name
    for one in form.listed_anywhere:
        if one not in form.names:
            form.names[one] = free_prerequisite_name(one.definition.name, taken)
            taken.add(form.names[one])
    return form


def has_hooks(sources: Iterable[Prerequisite | CmdPluginEntry]) -> bool:
    """Whether one of them runs something at a moment for which a released cluster has no callback."""
    return any(source.moments(moment) for source in sources for moment in moments_with(EventForm.TRAP))


# Types that only the extended protocol knows: storage, and none. Any other unknown type is a mistake that stays.
EXTENDED_TYPES = frozenset({None, "", "storage"})


def is_extended(definition: Definition) -> bool:
    """Whether a definition of the job uses the extended protocol."""
    if definition.extended_entries or definition.type in EXTENDED_TYPES:
        return True
    if definition.type == "dockerimage":
        return bool(definition.plugin)
    if definition.extended_plugin is not None and definition.runtime_plugin is None:
        return True
    return any(is_extended_event(callback.event_name) for callback in definition.callbacks)


def is_extended_event(name: str) -> bool:
    """Whether no released runtime knows the event, though the extended protocol does."""
    event = events().get(name)
    return event is not None and event.status != "released"


def _is_listed(prerequisite: Prerequisite, own_references: Iterable[str]) -> bool:
    """Whether a task role that needs a prerequisite lists it in the released job."""
    definition = prerequisite.definition
    if prerequisite.plugin == "cmd" and any(map(prerequisite.moments, moments_with(EventForm.CALLBACK))):
        return True
    if prerequisite.plugin not in {None, "cmd"}:
        return True
    # A definition that runs nothing stays in a list if its author put it there.
    is_of_job = prerequisite.is_own and definition.origin is Origin.JOB
    return is_of_job and definition.name in own_references and not is_extended(definition)


def cmd_plugins(role: EffectiveRole) -> tuple[CmdPluginEntry, ...]:
    """The `cmd` plugins of `extras` that are for a task role."""
    return tuple(plugin for plugin in role.plugins if isinstance(plugin, CmdPluginEntry))


def origin_comment(prerequisite: Prerequisite) -> str:
    """The source of an added definition, and the values of its variables."""
    step = prerequisite.step
    origin = step.link.reference.name
    if prerequisite.is_own:
        origin = f"{prerequisite.definition.name} of {prerequisite.definition.origin.value}"
    with_values = ", ".join(f"{key}: {scalar_line(value)}" for key, value in step.values.items() if _is_short(value))
    return f"from {origin}" + (f" with {with_values}" if with_values else "")


def _is_short(value: Any) -> bool:
    return not isinstance(value, (dict, list)) and len(str(value)) <= 60 and str(value).isprintable()
