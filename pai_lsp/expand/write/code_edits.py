"""Edits that an editor offers on a reference: replace it by what it refers to.

After each edit the task roles run the same commands in the same order, in the extended protocol; the rest of the job
is not expanded. pai_lsp/expand/write/released_job.py expands a whole job instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.expand.effective import Prerequisite, effective_job
from pai_lsp.expand.filled_definition import step_value
from pai_lsp.expand.write.released_commands import role_values
from pai_lsp.expand.write.released_edits import role_list_edits
from pai_lsp.expand.write.released_form import cmd_plugins, free_prerequisite_name, has_hooks
from pai_lsp.expand.write.role_commands import added_commands
from pai_lsp.job.definition import Origin
from pai_lsp.job.require_graph import expansion
from pai_lsp.platform.tables import Moment
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Sequence as SequenceNode
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import items_after, items_in_front

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.expand.effective import EffectiveRole
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.definition import Definition, Reference
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import ExpansionStep

_RUNS = tuple(Moment)


def inline_edits(job: Job, role_name: str, reference: Reference) -> tuple[TextEdit, ...]:
    """Put the commands of one of a role's references, and of all that it requires, into the role's own commands.

    None if they would then run in another order, or are not possible among commands.
    """
    role = _role(job, role_name)
    if role is None:
        return ()
    own = _brought_in(job, role, [reference], _others(role, reference))
    rest = [one for one in role.prerequisites if not any(one is another for another in own)]
    running = [one for one in role.prerequisites if any(map(one.moments, _RUNS))]
    inlined = tuple(one for one in own if any(map(one.moments, _RUNS)))
    if (
        not inlined
        or tuple(running[-len(inlined) :]) != inlined
        or any(one.plugin not in {"cmd", None} or one.storages for one in own)
        or any(any(map(plugin.moments, _RUNS)) for plugin in cmd_plugins(role))
        or (has_hooks(own) and any(any(map(one.moments, _RUNS)) for one in rest))
    ):
        return ()
    problems: list[Diagnostic] = []
    alone = replace(role, prerequisites=own, plugins=())
    added = added_commands(job, alone, role_values(job)[role_name], inlined, problems.append, shares_shell=True)
    commands = role.role.get("commands")
    parts = job.command_parts(role.role)
    # The role's own list is the place, so what a deployment puts around it must not come between.
    if problems or not isinstance(commands, SequenceNode) or len(parts) != len(commands.items) or not parts:
        return ()
    return (
        *_without_reference(job, role, reference),
        *items_in_front(job.text, commands, added.before),
        *items_after(job.text, commands, added.after),
    )


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
    name = free_prerequisite_name(targets[0].name, {definition.name for definition in job.definitions})
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


def _others(role: EffectiveRole, reference: Reference) -> tuple[Reference, ...]:
    return tuple(one for one in role.role.prerequisites if one.scalar is not reference.scalar)


def _brought_in(
    job: Job, role: EffectiveRole, references: Sequence[Reference], others: Sequence[Reference]
) -> tuple[Prerequisite, ...]:
    """What these references of a role lead to and the others do not, in start order."""
    mine = {step.identity for step in expansion(job.require_graph, references).steps}
    theirs = {step.identity for step in expansion(job.require_graph, others).steps}
    brought = mine - theirs
    return tuple(one for one in role.prerequisites if one.step.identity in brought)


def _without_reference(job: Job, role: EffectiveRole, reference: Reference) -> tuple[TextEdit, ...]:
    kept = _others(role, reference)
    names = tuple(one.name for one in kept)
    return role_list_edits(job.text, role.role, names, {one.scalar: one.name for one in kept})


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
    address = f"marketplace://name/{required}"
    is_plain = isinstance(required, str) and "://" not in required
    return address if is_plain and job.lookup.find(address).definitions else required
