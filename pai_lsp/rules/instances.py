"""What the rules that count a task role's tasks have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Related

if TYPE_CHECKING:
    from pai_lsp.job_parts import TaskRole


def beyond_instances(role: TaskRole, index: int) -> tuple[str, tuple[Related, ...]] | None:
    """The message about a task that a role does not have, counted from 0, and its place; None if it may have it."""
    if index < role.instances or not role.has_known_instances:
        return None
    tasks = "one task, 0" if role.instances == 1 else f"tasks 0 to {role.instances - 1}"
    return f"'{role.name}' has only {tasks}", instances_place(role)


def instances_place(role: TaskRole) -> tuple[Related, ...]:
    """Where the role says how many tasks it has, if it does."""
    written = role.field("instances")
    return (Related(written.value.span, "the role's instances"),) if written else ()
