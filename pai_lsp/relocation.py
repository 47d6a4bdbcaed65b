"""The same tree in places of another text: of the one that was mended for it, or of the whole that it is a part of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.nodes import Alias, Anchor, Entry, Mapping, Node, Scalar, Sequence, SyntaxProblem, Tree
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Relocation: TypeAlias = Callable[[Span], Span]


def relocated(tree: Tree, relocation: Relocation, unmoved: int = 0) -> Tree:
    """A tree with every span replaced; what ends at offset `unmoved` or before stands where it stood."""
    moved: dict[int, Node] = {}
    documents = [None if node is None else _moved(node, relocation, unmoved, moved) for node in tree.documents]
    anchors = {
        id(anchor): Anchor(anchor.name, relocation(anchor.span), _moved(anchor.node, relocation, unmoved, moved))
        for anchor in tree.anchors
    }
    aliases = [Alias(alias.name, relocation(alias.span), anchors.get(id(alias.anchor))) for alias in tree.aliases]
    scalars = [_moved(scalar, relocation, unmoved, moved) for scalar in tree.scalars]
    problems = [_relocated_problem(problem, relocation) for problem in tree.problems]
    return Tree(
        documents,
        list(anchors.values()),
        aliases,
        [scalar for scalar in scalars if isinstance(scalar, Scalar)],
        problems,
    )


# No function inside the other: one that calls itself is garbage that only Python's collector finds, with all the nodes.
def _moved(node: Node, relocation: Relocation, unmoved: int, moved: dict[int, Node]) -> Node:
    """The node with its new places; `moved` are those that have them already, by what they were."""
    span = node.span
    if span.end <= unmoved:
        return node
    done = moved.get(id(node))
    if done is not None:
        return done
    new: Node
    if isinstance(node, Scalar):
        new = Scalar(relocation(span), node.text, node.style, node.tag)
    elif isinstance(node, Sequence):
        items = [_moved(item, relocation, unmoved, moved) for item in node.items]
        new = Sequence(relocation(span), tuple(items), node.is_flow, node.tag)
    else:
        entries = [
            Entry(
                _moved(entry.key, relocation, unmoved, moved),
                _moved(entry.value, relocation, unmoved, moved),
                entry.name,
            )
            for entry in node.entries
        ]
        new = Mapping(relocation(span), tuple(entries), node.is_flow, node.tag)
    moved[id(node)] = new
    return new


def _relocated_problem(problem: SyntaxProblem, relocation: Relocation) -> SyntaxProblem:
    other = relocation(problem.other) if problem.other else None
    mend = problem.mend
    if mend is not None:
        mend = (mend[0], TextEdit(relocation(mend[1].span), mend[1].new_text))
    return SyntaxProblem(problem.kind, relocation(problem.span), problem.message, other, mend)
