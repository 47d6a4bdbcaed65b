"""What of the tree stands at an offset: the path to it, the collections around it, key or value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from pai_lsp.document import Document


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """A place in the tree.

    path: keys and indexes from the root to the node; of a key, to its entry.
    parents: the collections on the path, outermost first; entry: the innermost entry around the offset.
    """

    path: tuple[str | int, ...]
    parents: tuple[Mapping | Sequence, ...]
    entry: Entry | None
    node: Node
    is_key: bool = False

    def sibling(self, name: str) -> str | None:
        """The text of another key of the innermost mapping."""
        mapping = next((node for node in reversed(self.parents) if isinstance(node, Mapping)), None)
        node = mapping.get(name) if mapping else None
        return node.text if isinstance(node, Scalar) else None


def locate(document: Document, offset: int) -> Location | None:
    """The innermost key or value at (or ending at) an offset; None between them. Aliases lead to no place of theirs."""
    node = next((root for root in document.syntax.documents if root and root.span.touches(offset)), None)
    path: tuple[str | int, ...] = ()
    parents: tuple[Mapping | Sequence, ...] = ()
    entry: Entry | None = None
    while isinstance(node, (Mapping, Sequence)):
        parents = (*parents, node)
        step = _step(node, offset)
        if step is None:
            return Location(path, parents[:-1], entry, node)
        if isinstance(step, Entry):
            entry, path, node = step, (*path, step.name), step.value
            if step.key.span.touches(offset):
                return Location(path, parents, step, step.key, is_key=True)
        else:
            path, node = (*path, step[0]), step[1]
    return Location(path, parents, entry, node) if node is not None else None


def _step(node: Mapping | Sequence, offset: int) -> Entry | tuple[int, Node] | None:
    if isinstance(node, Sequence):
        return next(((number, item) for number, item in enumerate(node.items) if item.span.touches(offset)), None)
    return next(
        (entry for entry in node.entries if entry.key.span.touches(offset) or entry.value.span.touches(offset)), None
    )
