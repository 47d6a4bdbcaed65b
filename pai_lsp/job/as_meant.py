"""The job that its author meant: misspelled keys count as the keys that they surely stand for.

A misspelled section is one mistake. The rules report it once, and judge the rest of the job by what the section holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.nodes import Entry, Mapping, Node, Sequence, mapping_of

if TYPE_CHECKING:
    from pai_lsp.job.tree import JobTree

_MISSPELT = frozenset({"unknown-key", "dockerimage-extra-key"})


def root_as_meant(job: JobTree) -> Mapping | None:
    """The root with the misspelled keys named as they are meant; None if there are none.

    Nodes that hold no misspelled key are those of the tree, and all places stay the same.
    """
    names: dict[Entry, str] = {}
    for error in job.structure_errors:
        if error.kind not in _MISSPELT or error.key is None or len(error.expected) != 1:
            continue
        if job.expected_keys[error.path, error.expected] > 1:
            continue
        mapping = _at(job.root, error.path)
        entry = mapping.entry(error.key) if isinstance(mapping, Mapping) else None
        if isinstance(mapping, Mapping) and entry is not None and mapping.entry(error.expected[0]) is None:
            names[entry] = error.expected[0]
    if not names or job.root is None:
        return None
    root = _renamed(job.root, names, {})
    return root if isinstance(root, Mapping) else None


def _at(node: Node | None, path: tuple[str | int, ...]) -> Node | None:
    for step in path:
        if isinstance(step, str):
            node = node.get(step) if isinstance(node, Mapping) else None
        else:
            node = node.items[step] if isinstance(node, Sequence) and step < len(node.items) else None
    return node


def _renamed(node: Node, names: dict[Entry, str], done: dict[Node, Node]) -> Node:
    """The node with other names of its entries; the node itself if nothing in it changes."""
    if node in done:
        return done[node]
    new: Node = node
    if isinstance(node, Sequence):
        items = tuple(_renamed(item, names, done) for item in node.items)
        if items != node.items:
            new = Sequence(node.span, items, node.is_flow, node.tag)
    elif isinstance(node, Mapping):
        entries = tuple(_entry(entry, names, done) for entry in node.entries)
        if entries != node.entries:
            new = mapping_of(node.span, entries, is_flow=node.is_flow, tag=node.tag)
    done[node] = new
    return new


def _entry(entry: Entry, names: dict[Entry, str], done: dict[Node, Node]) -> Entry:
    value, name = _renamed(entry.value, names, done), names.get(entry, entry.name)
    return entry if value is entry.value and name == entry.name else Entry(entry.key, value, name)
