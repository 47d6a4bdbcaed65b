"""The released form of each prerequisite: its name, where it is listed, and the texts of its commands.

No text of the file is changed here: pai_lsp/expansion/released_job.py writes the form into the job.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pai_lsp.expansion.effective import (
    CANNOT_BE_EXPANDED,
    CmdPluginEntry,
    Commands,
    EffectiveRole,
    Prerequisite,
    problem,
)
from pai_lsp.expansion.released_commands import CanNotExpressError, callback_items, role_values
from pai_lsp.expansion.task_shell import added_commands, place_of
from pai_lsp.job.definition import Origin
from pai_lsp.platform.tables import EventForm, events, free_prerequisite_name, moments_with
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import TypeAlias

    from pai_lsp.expansion.effective import EffectiveJob
    from pai_lsp.expansion.released_commands import RoleValues
    from pai_lsp.expansion.task_shell import AddedCommands, Source
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Mapping

    # The items of a callback in their released form, by its `Commands`.
    Items: TypeAlias = dict[Commands, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class ReleasedForm:
    """The released form of a job's prerequisites.

    names: of each prerequisite, its name in the released job.
    homes: by the node of a definition of the job, the prerequisite that takes its place.
    listed: by task role, the prerequisites that it lists, in order.
    moved: the names of the task roles whose commands take in all their callbacks.
    items: the texts of the callbacks that stay, as the runtime must get them.
    commands: by task role, what is added to its commands.
    problems: what has no released form; with problems, the texts are not used.
    """

    effective: EffectiveJob
    names: dict[Prerequisite, str]
    homes: dict[Mapping, Prerequisite]
    listed: dict[str, tuple[Prerequisite, ...]]
    moved: frozenset[str]
    items: Items
    commands: dict[str, AddedCommands]
    problems: list[Diagnostic]

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
            for plugin in role.cmd_plugins:
                names = () if role.role.name in self.moved else (role.role.name,)
                found[plugin] = (*found.get(plugin, ()), *names)
        return found

    @property
    def listed_anywhere(self) -> tuple[Prerequisite, ...]:
        """Everything that some task role lists, each once."""
        return tuple(dict.fromkeys(one for found in self.listed.values() for one in found))


def released_form(job: Job, effective: EffectiveJob, inlined: Collection[str] = ()) -> ReleasedForm:
    """Choose the names, the list of each task role, and the texts of all commands."""
    moved = {role.role.name for role in effective.roles if has_hooks(role.sources)}.union(inlined)
    listed = {role.role.name: _listed(role, is_moved=role.role.name in moved) for role in effective.roles}
    form = ReleasedForm(effective, {}, {}, listed, frozenset(moved), {}, {}, [])
    _choose_names(job, form)
    values = role_values(job)
    for prerequisite in form.listed_anywhere:
        if prerequisite.plugin == "cmd":
            _write_items(form, prerequisite, [values[role.role.name] for role in form.users[prerequisite]])
    for plugin, names in form.plugin_users.items():
        if names:
            _write_items(form, plugin, [values[name] for name in names])
    for role in effective.roles:
        name = role.role.name
        sources = role.sources if name in moved else ()
        shares_shell = name in inlined
        form.commands[name] = added_commands(sources, values[name], form.problems.append, shares_shell=shares_shell)
    return form


def _choose_names(job: Job, form: ReleasedForm) -> None:
    taken = {definition.name for definition in job.prerequisites}
    for one in form.effective.prerequisites:
        definition = one.definition
        if definition.origin is Origin.JOB and one.is_own and definition.node not in form.homes:
            form.homes[definition.node] = one
            form.names[one] = definition.name
    for one in form.listed_anywhere:
        if one not in form.names:
            form.names[one] = free_prerequisite_name(one.definition.name, taken)
            taken.add(form.names[one])


def _write_items(form: ReleasedForm, source: Source, roles: list[RoleValues]) -> None:
    for one in source.commands:
        if one.moment in moments_with(EventForm.CALLBACK):
            try:
                form.items[one] = callback_items([item.text for item in one.items], roles)
            except CanNotExpressError as error:
                span = place_of(source, one.items)
                form.problems.append(problem(CANNOT_BE_EXPANDED, span, str(error), *source.related))


def _listed(role: EffectiveRole, *, is_moved: bool) -> tuple[Prerequisite, ...]:
    own = {reference.name for reference in role.role.prerequisites}
    return tuple(one for one in role.prerequisites if not (is_moved and one.plugin == "cmd") and _is_listed(one, own))


def has_hooks(sources: Iterable[Prerequisite | CmdPluginEntry]) -> bool:
    """Whether one of them runs something at a moment for which a released cluster has no callback."""
    return any(source.moments(moment) for source in sources for moment in moments_with(EventForm.COMMANDS))


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
