"""The job that its author meant: misspelled keys count as the keys that are surely meant.

A misspelled section is one mistake. The rules report it once, and judge the rest of the job by what the section holds.
The same holds for the keys of a task role that are written directly under `taskRoles`.
"""

from __future__ import annotations

from itertools import pairwise

from pai_lsp.platform.job_schema import fields
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence, entries_of, entry_at, mapping_of, nodes_along
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from pai_lsp.job.tree import JobTree

_MISSPELT = frozenset({"unknown-key", "dockerimage-extra-key"})


def root_as_meant(job: JobTree) -> Mapping | None:
    """The root with misspelled keys named, and keys of task roles placed, as they are meant; None if there are none.

    Nodes that hold no such key are those of the tree, and all places stay the same.
    """
    names: dict[Entry, str] = {}
    for error in job.structure_errors:
        if error.kind not in _MISSPELT or error.key is None or len(error.expected) != 1:
            continue
        if job.expected_keys[error.path, error.expected] > 1:
            continue
        nodes = nodes_along(job.root, error.path)
        mapping = nodes[-1] if len(nodes) > len(error.path) else None
        entry = entry_at(mapping, error.key)
        if isinstance(mapping, Mapping) and entry is not None and mapping.entry(error.expected[0]) is None:
            names[entry] = error.expected[0]
    root = _renamed(job.root, names, {}) if job.root and names else job.root
    root = _with_roles_filled(root) if isinstance(root, Mapping) else None
    return root if root is not job.root else None


def misplaced_role_keys(roles: Node | None) -> tuple[Entry, ...]:
    """The entries of `taskRoles` that are keys of a task role; empty if there is only one, which may be a bad name."""
    if not isinstance(roles, Mapping):
        return ()
    known = {str(field.key): field.required for field in fields(("taskRoles", "*"))}
    required = {key for key, is_required in known.items() if is_required}
    named = [entry for entry in roles.entries if entry.name in known]
    found = tuple(one for one in named if required.isdisjoint(inner.name for inner in entries_of(one.value)))
    return found if len(found) > 1 else ()


def emptied_role(roles: Node | None, misplaced: tuple[Entry, ...]) -> Entry | None:
    """The task role without a value that the misplaced keys follow, if there is one."""
    entries = roles.entries if isinstance(roles, Mapping) and misplaced else ()
    before = next((one for one, following in pairwise(entries) if following is misplaced[0]), None)
    return before if before and isinstance(before.value, Scalar) and before.value.value is None else None


def _with_roles_filled(root: Mapping) -> Mapping:
    """The misplaced keys belong to the empty task role above them, or to one whose name is missing."""
    section = root.own("taskRoles")
    misplaced = misplaced_role_keys(section.value) if section else ()
    if section is None or not misplaced or not isinstance(section.value, Mapping):
        return root
    empty = emptied_role(section.value, misplaced)
    span = Span(misplaced[0].span.start, misplaced[-1].span.end)
    filled = Entry(empty.key, mapping_of(span, misplaced), empty.name) if empty else None
    entries = (filled if entry is empty else entry for entry in section.value.entries if entry not in misplaced)
    roles = mapping_of(section.value.span, tuple(entry for entry in entries if entry is not None))
    new = Entry(section.key, roles, section.name)
    return mapping_of(root.span, tuple(new if entry is section else entry for entry in root.entries))


def _renamed(node: Node, names: dict[Entry, str], done: dict[Node, Node]) -> Node:
    """The node with the new names of entries in it; the same one if nothing changes. `done` has those met before."""
    if isinstance(node, Scalar):
        return node
    if node in done:
        return done[node]
    done[node] = node
    if isinstance(node, Sequence):
        items = tuple(_renamed(item, names, done) for item in node.items)
        if items != node.items:
            done[node] = Sequence(node.span, items, node.is_flow, node.tag)
    else:
        entries = tuple(
            entry
            if (value := _renamed(entry.value, names, done)) is entry.value and entry not in names
            else Entry(entry.key, value, names.get(entry, entry.name))
            for entry in node.entries
        )
        if entries != node.entries:
            done[node] = mapping_of(node.span, entries, is_flow=node.is_flow, tag=node.tag)
    return done[node]
