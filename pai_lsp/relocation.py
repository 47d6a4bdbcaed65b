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

    def move(node: Node) -> Node:
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
            new = Sequence(relocation(span), tuple([move(item) for item in node.items]), node.is_flow, node.tag)
        else:
            entries = [Entry(move(entry.key), move(entry.value), entry.name) for entry in node.entries]
            new = Mapping(relocation(span), tuple(entries), node.is_flow, node.tag)
        moved[id(node)] = new
        return new

    documents = [None if node is None else move(node) for node in tree.documents]
    anchors = {id(anchor): Anchor(anchor.name, relocation(anchor.span), move(anchor.node)) for anchor in tree.anchors}
    aliases = [Alias(alias.name, relocation(alias.span), anchors.get(id(alias.anchor))) for alias in tree.aliases]
    scalars = [scalar for scalar in map(move, tree.scalars) if isinstance(scalar, Scalar)]
    problems = [_relocated_problem(problem, relocation) for problem in tree.problems]
    return Tree(documents, list(anchors.values()), aliases, scalars, problems)


def _relocated_problem(problem: SyntaxProblem, relocation: Relocation) -> SyntaxProblem:
    other = relocation(problem.other) if problem.other else None
    mend = problem.mend
    if mend is not None:
        mend = (mend[0], TextEdit(relocation(mend[1].span), mend[1].new_text))
    return SyntaxProblem(problem.kind, relocation(problem.span), problem.message, other, mend)
