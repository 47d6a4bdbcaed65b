"""Who uses a prerequisite: the task roles that list it, their fields that name it, and what those require in turn.

Source of what counts: rest-server, middlewares/v2/protocol.js, protocolValidate (a role's fields); openpai-runtime,
src/init.d/initializer.py, collect_plugin_configs (the list); docs/protocol.md (`require`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.definition import Definition, Reference
    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """One entry of a task role's `prerequisites`."""

    role: TaskRole
    reference: Reference


@dataclass(frozen=True, slots=True, eq=False)
class PrerequisiteUses:
    """The uses of a job's prerequisites."""

    _listings: Mapping[int, tuple[Listing, ...]]
    _used: frozenset[int]

    def listings(self, definition: Definition) -> tuple[Listing, ...]:
        """Where task roles list a definition by its name; of several with one name, the last is meant."""
        return self._listings.get(id(definition.node), ())

    def is_used(self, definition: Definition) -> bool:
        """Whether a task role lists or names it, or a used one requires it."""
        return id(definition.node) in self._used


def prerequisite_uses(job: Job) -> PrerequisiteUses:
    """Gather the uses once for a job."""
    listings: dict[int, list[Listing]] = {}
    reached: list[Definition] = []
    for role in job.task_roles:
        for reference in role.prerequisites:
            targets = job.require_graph.link(reference).targets
            reached += targets
            for target in targets:
                listings.setdefault(id(target.node), []).append(Listing(role, reference))
    used: set[int] = set()
    while reached:
        definition = reached.pop()
        if id(definition.node) not in used:
            used.add(id(definition.node))
            reached += (target for link in job.require_graph.links(definition) for target in link.targets)
    named = {
        reference.name
        for role in job.task_roles
        for reference in (*role.prerequisites, *role.typed_references.values())
    }
    used |= {
        id(definition.node)
        for definition in job.definitions
        # A name that several share, or of a wrong type, is another rule's matter; here all of them count.
        if definition.name in named
    }
    return PrerequisiteUses({key: tuple(found) for key, found in listings.items()}, frozenset(used))


def roles_running(job: Job) -> dict[int, tuple[TaskRole, ...]]:
    """By the identity of a definition's node: the roles that list it, or list one that requires it, by any steps."""
    graph = job.require_graph
    running: dict[int, list[TaskRole]] = {}
    for role in job.task_roles:
        waiting = [target for reference in role.prerequisites for target in graph.link(reference).targets]
        seen: set[int] = set()
        while waiting:
            definition = waiting.pop()
            if id(definition.node) not in seen:
                seen.add(id(definition.node))
                running.setdefault(id(definition.node), []).append(role)
                waiting += (target for link in graph.links(definition) for target in link.targets)
    return {key: tuple(roles) for key, roles in running.items()}
