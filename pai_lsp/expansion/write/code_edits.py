"""Edits that an editor offers on a reference: replace it by what it refers to.

After each edit the task roles run the same commands in the same order, in the extended protocol; the rest of the job
is not expanded. pai_lsp/expand/write/released_job.py expands a whole job instead.
"""

from __future__ import annotations

from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.filled_definition import merged_storages, step_value
from pai_lsp.expansion.write.released_commands import role_values
from pai_lsp.expansion.write.released_edits import extras_edits, limited_to, role_list_edits
from pai_lsp.expansion.write.released_form import cmd_plugins, has_hooks
from pai_lsp.expansion.write.role_commands import added_commands, command_lists
from pai_lsp.job.definition import Origin
from pai_lsp.job.lookup import BY_NAME
from pai_lsp.job.require_graph import expansion
from pai_lsp.platform.tables import RUNTIME_PLUGIN, Moment, free_prerequisite_name
from pai_lsp.source.nodes import Sequence as SequenceNode
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import items_after, items_in_front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pai_lsp.expansion.effective import CmdPluginEntry, EffectiveJob, EffectiveRole, Prerequisite
    from pai_lsp.expansion.filled_definition import Storage
    from pai_lsp.expansion.write.role_commands import Source
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.definition import Definition, Reference
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import ExpansionStep


class CannotInlineError(Exception):
    """Why commands cannot be among those of a task role; contains no secret."""


def inline_edits(job: Job, role_name: str, references: Sequence[Reference]) -> tuple[TextEdit, ...]:
    """Put the commands of some of a role's references, and of all that they require, into the role's own commands.

    The storages that they need, and the commands of `cmd` plugins of `extras`, which would run in between, go along.

    Raises:
        CannotInlineError: if they would run in another order, or are not possible among commands.
    """
    effective = effective_job(job)
    if effective.problems:
        raise CannotInlineError(effective.problems[0].message)
    role = next(one for one in effective.roles if one.role.name == role_name)
    inlined = {one.scalar for one in references}
    others = [one for one in role.role.prerequisites if one.scalar not in inlined]
    own = _brought_in(job, role, references, others)
    plugins = tuple(plugin for plugin in cmd_plugins(role) if _runs(plugin))
    _refuse_what_stays(role, own, plugins, references)
    first, last = _command_lists(job, role, own=bool(plugins))
    problems: list[Diagnostic] = []
    sources: tuple[Source, ...] = (*(one for one in own if _runs(one)), *plugins)
    added = added_commands(job, role, role_values(job)[role_name], sources, problems.append, shares_shell=True)
    staying = next((one for one in role.prerequisites if one not in own and has_hooks([one])), None)
    if added.has_trap and staying is not None:
        raise CannotInlineError(f"{staying.title} runs commands at the end, too; inline all prerequisites at once")
    storages, conflicts = merged_storages(job, [storage for one in own for storage in one.storages])
    for problem in (*problems, *conflicts):
        raise CannotInlineError(problem.message)
    kept = {one.scalar: one.name for one in others}
    return (
        *role_list_edits(job.text, role.role, tuple(kept.values()), kept),
        *items_in_front(job.text, first, added.before),
        *items_after(job.text, last, added.after),
        *_plugins_without(job, effective, role, plugins, storages),
    )


def _runs(source: Source) -> bool:
    return any(map(source.moments, Moment))


def _refuse_what_stays(
    role: EffectiveRole,
    own: Sequence[Prerequisite],
    plugins: Sequence[CmdPluginEntry],
    references: Sequence[Reference],
) -> None:
    """Raise the reason why the others keep these from being inlined."""
    names = [one.name for one in role.role.prerequisites]
    twice = next((one.name for one in references if names.count(one.name) > 1), None)
    if twice is not None:
        raise CannotInlineError(f"'{twice}' is listed twice, and runs twice until it is expanded")
    for one in own:
        if one.plugin not in {"cmd", None}:
            raise CannotInlineError(f"{one.title} is a plugin '{one.plugin}', which is not a command")
    running = [one for one in role.prerequisites if _runs(one)]
    first = next((number for number, one in enumerate(running) if one in own), None)
    if first is None:
        reason = "only mounts a storage" if own else "is required by another prerequisite of this task role, too"
        raise CannotInlineError(f"'{references[0].name}' {reason}")
    between = next((one for one in running[first:] if one not in own), None)
    if between is not None:
        raise CannotInlineError(
            f"{between.title} runs between '{references[0].name}' and the commands; inline it first"
        )
    # A trap among the commands is set only after everything else has started.
    staying = next((one for one in running if one not in own), None)
    if staying is not None and has_hooks((*own, *plugins)):
        name = references[0].name
        reason = f"commands of '{name}' at the end would not run when {staying.title} fails"
        raise CannotInlineError(f"{reason}; inline all prerequisites at once")


def _command_lists(job: Job, role: EffectiveRole, *, own: bool) -> tuple[SequenceNode, SequenceNode]:
    """The lists to add to; raises the reason if they, or what else changes, are shared through an alias.

    own: whether the plugins under `extras` change, too.
    """
    node = role.role.node
    first, last = command_lists(job, role.role)
    if node is None or first is None or last is None:
        raise CannotInlineError(f"'{role.role.name}' has no list of commands")
    named = {anchor.node for anchor in job.syntax.anchors}
    listed = node.own("prerequisites")
    for what, value in (("prerequisites", listed.value if listed else None), ("commands", first), ("commands", last)):
        if value is None or value in named or (value is first is last and node.own("commands") is None):
            raise CannotInlineError(f"the {what} of '{role.role.name}' are shared; write them out first")
    if own and job.syntax.aliases:
        raise CannotInlineError("the cmd plugin of extras runs in between, and the file has aliases")
    return first, last


def _plugins_without(
    job: Job,
    effective: EffectiveJob,
    role: EffectiveRole,
    plugins: Sequence[CmdPluginEntry],
    storages: tuple[Storage, ...],
) -> Iterator[TextEdit]:
    """Add storages to `extras`, and let plugins act for the other roles only."""
    gone = set()
    for plugin in plugins:
        names = tuple(one.role.name for one in effective.roles if one is not role and plugin in one.plugins)
        if names:
            yield limited_to(job.text, plugin, names)
        else:
            gone.add(plugin.entry.node)
    entry = job.extras_entry(RUNTIME_PLUGIN)
    removed = None
    if gone and entry is not None and isinstance(entry.value, SequenceNode):
        removed = (entry, [number for number, item in enumerate(entry.value.items) if item in gone])
    if storages or removed is not None:
        yield from extras_edits(job, storages, (), removed)


def into_job_edits(job: Job, role_name: str, reference: Reference) -> tuple[TextEdit, ...]:
    """Put the definition of one of a role's references, and all that it requires, into the job's prerequisites.

    Variables are filled; the role lists all of it in order, instead of the reference.
    """
    role = _role(job, role_name)
    section = job.section("prerequisites")
    if role is None or section is None or not isinstance(section.value, SequenceNode):
        return ()
    listed = role.role.prerequisites
    at = next(number for number, one in enumerate(listed) if one.scalar is reference.scalar)
    brought_in = _brought_in(job, role, [reference], listed[:at])
    needed_later = _brought_in(job, role, listed[at + 1 :], [])
    taken = {definition.name for definition in job.prerequisites}
    names: list[str] = []
    values: list[dict[str, Any]] = []
    copied: set[ExpansionStep] = set()
    for one in brought_in:
        is_there = one.is_own and one.definition.origin is Origin.JOB and not one.step.values
        if (one in needed_later and not is_there) or (is_there and any(step in copied for step in one.step.required)):
            return ()  # a copy would run beside it
        if is_there:
            names.append(one.definition.name)
        elif one.commands or one.plugin or one.storages:
            names.append(free_prerequisite_name(one.definition.name, taken))
            taken.add(names[-1])
            values.append(_filled(one, names[-1]))
            copied.add(one.step)
    if names == [reference.name]:
        return ()
    written = [one.name for one in listed]
    released = {one.scalar: one.name for one in listed if one.scalar is not reference.scalar}
    if names:
        released[reference.scalar] = names[-1]
    return (
        *items_after(job.text, section.value, values),
        *role_list_edits(job.text, role.role, (*written[:at], *names, *written[at + 1 :]), released),
    )


def import_edits(job: Job, reference: Reference) -> tuple[TextEdit, ...]:
    """Copy the definition of one address into the job's prerequisites, and name it there."""
    targets = job.resolve(reference.name).definitions if reference.is_address else ()
    section = job.section("prerequisites")
    if len(targets) != 1 or section is None or not isinstance(section.value, SequenceNode):
        return ()
    graph = job.require_graph
    links = [link for entry in graph.entries for link in (entry, *graph.beyond(entry))]
    if sum(target.node is targets[0].node for link in links for target in link.targets) > 1:
        return ()  # the copy would run beside it
    name = job.free_name(targets[0].name)
    return (
        *items_after(job.text, section.value, [_copied(job, targets[0], name)]),
        TextEdit(reference.span, name),
    )


def _role(job: Job, name: str) -> EffectiveRole | None:
    """The role, if all that it needs is known and its lists are not shared."""
    effective = effective_job(job)
    role = next((role for role in effective.roles if role.role.name == name), None)
    if effective.problems or role is None or role.role.node is None:
        return None
    lists = [role.role.node.own("prerequisites"), role.role.node.own("commands")]
    named = {anchor.node for anchor in job.syntax.anchors}
    return None if any(entry is None or entry.value in named for entry in lists) else role


def _brought_in(
    job: Job, role: EffectiveRole, references: Sequence[Reference], others: Sequence[Reference]
) -> tuple[Prerequisite, ...]:
    """What these references of a role lead to and the others do not, in start order."""
    mine = {step.identity for step in expansion(job.require_graph, references).steps}
    theirs = {step.identity for step in expansion(job.require_graph, others).steps}
    brought = mine - theirs
    return tuple(one for one in role.prerequisites if one.step.identity in brought)


def _filled(prerequisite: Prerequisite, name: str) -> dict[str, Any]:
    """A definition with its variables filled; the role that lists it also lists what it requires."""
    node = prerequisite.definition.node
    left = {"name", "require", "template_variables", "title", "summary"}
    value: dict[str, Any] = {"name": name}
    if node.entry("type") is None:
        value["type"] = "script"
    return value | {
        entry.name: step_value(entry.value, prerequisite.step)
        for entry in node.effective_entries()
        if entry.name not in left
    }


def _copied(job: Job, definition: Definition, name: str) -> dict[str, Any]:
    value: dict[str, Any] = {"name": name, "type": definition.type or "script"}
    entries = definition.node.effective_entries()
    value |= {entry.name: plain_value(entry.value) for entry in entries if entry.name not in {"name", "type"}}
    if isinstance(required := value.get("require"), list):
        value["require"] = [_addressed(job, one) for one in required]
    return value


def _addressed(job: Job, required: Any) -> Any:
    """An entry of `require` that means the same in the job: a plain name there means the job's own."""
    if isinstance(required, dict) and "name" in required:
        return required | {"name": _addressed(job, required["name"])}
    address = BY_NAME + required
    is_plain = isinstance(required, str) and "://" not in required
    return address if is_plain and job.lookup.find(address).definitions else required
