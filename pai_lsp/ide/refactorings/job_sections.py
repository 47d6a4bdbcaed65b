"""Adds to a job what a refactoring needs: a prerequisite, a name in a task role's list, a parameter or secret.

Each function gives an edit, or raises `CanNotRefactorError` if the job is written so that no small edit is possible.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError
from pai_lsp.source.edits import add_to_section, append_item, insert_entry
from pai_lsp.source.nodes import Mapping, Sequence
from pai_lsp.source.spelling import free_name
from pai_lsp.source.writing import written_key

if TYPE_CHECKING:
    from collections.abc import Collection

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Node
    from pai_lsp.source.text import Span, TextEdit

_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
# The keys after which people write a task role's `prerequisites`.
_BEFORE_PREREQUISITES = frozenset(
    {"protocolVersion", "instances", "completion", "taskRetryCount", "dockerImage", "data", "script", "output"}
)


def free_prerequisite_name(job: Job, wanted: str, taken: Collection[str] = ()) -> str:
    """A name near the wanted one that no prerequisite of any type has.

    The pattern of names is the rest-server's (src/config/v2/protocol.js).
    """
    base = _NOT_IN_NAME.sub("-", wanted)[:240].strip("-") or "prerequisite"
    return free_name(base, {definition.name for definition in job.definitions}.union(taken))


def definition_added(job: Job, lines: str, flow: str) -> TextEdit:
    """Add a prerequisite after the last one: `lines` in block style, or `flow` if the list is `[…]`."""
    root = job.root
    entry = job.section("prerequisites")
    if root is None or not root.entries:
        raise CanNotRefactorError("there is no job in this file")
    if entry is None:
        before = [one for one in root.entries if one.name != "taskRoles"]
        first_roles = next((number for number, one in enumerate(root.entries) if one.name == "taskRoles"), len(before))
        behind = root.entries[first_roles - 1] if first_roles else None
        indented = "\n".join(f"  {line}" if line else line for line in f"- {lines}".replace("\n", "\n  ").split("\n"))
        return insert_entry(
            job.text, root, f"prerequisites: [{flow}]" if root.is_flow else f"prerequisites:\n{indented}", behind
        )
    node = entry.value
    if not isinstance(node, Sequence) or root.own("prerequisites") is None:
        raise CanNotRefactorError("'prerequisites' is not a list of its own in this job")
    return append_item(job.text, _written_here(node, entry.key), flow if node.is_flow else lines)


def listed_in_role(job: Job, role: TaskRole, name: str) -> TextEdit:
    """Add a name after the others in a task role's `prerequisites`."""
    if role.node is None:
        raise CanNotRefactorError(f"'{role.name}' is not a mapping")
    entry = role.node.own("prerequisites")
    if entry is None:
        if role.get("prerequisites") is not None:
            raise CanNotRefactorError(f"'{role.name}' shares its prerequisites through '<<'")
        behind = [one for one in role.node.entries if one.name in _BEFORE_PREREQUISITES]
        return insert_entry(job.text, role.node, f"prerequisites: [{name}]", behind[-1] if behind else None)
    if not isinstance(entry.value, Sequence):
        raise CanNotRefactorError(f"the prerequisites of '{role.name}' are not a list")
    return append_item(job.text, _written_here(entry.value, entry.key), name)


def value_added(job: Job, section: str, name: str, written: str) -> TextEdit:
    """Add a value, written as YAML, to `parameters` or `secrets`; a missing section is added."""
    line = f"{written_key(name)}: {written}"
    edit = add_to_section(job.text, job.root, section, line)
    if edit is None and job.root is not None and job.root.is_flow and job.section(section) is None and job.root.entries:
        edit = insert_entry(job.text, job.root, f"{section}: {{{line}}}")
    if edit is None:
        raise CanNotRefactorError(f"'{section}' is not a mapping of its own in this job")
    return edit


def is_shared(job: Job, span: Span) -> bool:
    """Whether a place is also used elsewhere, through an alias or `<<`."""
    return any(
        alias.anchor.node.span.start <= span.start and span.end <= max(alias.anchor.node.span.end, span.start)
        for alias in job.syntax.aliases
        if alias.anchor is not None
    )


def refuse_shared(job: Job, node: Node, what: str) -> None:
    """Raise the reason if a node is used in several places."""
    if is_shared(job, node.span):
        raise CanNotRefactorError(f"{what} are shared through an anchor; write them out first")


def _written_here(sequence: Sequence, key: Node) -> Sequence:
    """The list, if it is written after its key and ends with its last item."""
    last = sequence.items[-1] if sequence.items else None
    is_last_elsewhere = last is not None and (
        last.span.start < sequence.span.start or (isinstance(last, Mapping) and not last.entries and not last.is_flow)
    )
    if sequence.span.start < key.span.start or is_last_elsewhere:
        raise CanNotRefactorError("the list is written in another place; write it out first")
    return sequence
