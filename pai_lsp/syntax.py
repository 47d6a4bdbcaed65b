"""YAML text -> a tree of nodes with the place of every key and value.

Parsing never raises: what cannot be read is a `SyntaxProblem`, and the rest of the file still gives a tree
(pai_lsp/recovery.py mends a copy of the text for that). The tree says what the rest-server's js-yaml reads;
where the runtime's PyYAML reads something else is told by `Scalar.runtime_value` and by the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.building import SURROGATE, build, readable
from pai_lsp.nodes import ProblemKind, Syntax, SyntaxProblem
from pai_lsp.text import Span

if TYPE_CHECKING:
    from pai_lsp.nodes import Piece, Tree

MAX_CHARACTERS = 5_000_000


def parse(text: str, former: Syntax | None = None) -> Syntax:
    """Read a text; never raises. Costs about 5 ms for 1000 lines.

    `former` is what an earlier state of the text says: what has not changed since is then not read again. The answer
    is the same without it.
    """
    if former is not None and former.text == text:
        return former
    if len(text) > MAX_CHARACTERS:
        limit = f"the file has {len(text):,} characters; more than {MAX_CHARACTERS:,} are not read"
        return Syntax(text, (), (SyntaxProblem(ProblemKind.TOO_LARGE, Span(0, 0), limit),))
    given = readable(text)
    tree, pieces = _read(given, former)
    if len(given) < len(text):
        from pai_lsp.relocation import relocated  # noqa: PLC0415 - texts with a byte order mark only

        tree, pieces = relocated(tree, lambda span: span.shifted(1)), ()
    surrogates = (Span(*match.span()) for match in ([] if text.isascii() else SURROGATE.finditer(text)))
    problems = [SyntaxProblem(ProblemKind.SYNTAX, span, "half of a surrogate pair") for span in surrogates]
    problems += tree.problems
    return Syntax(
        text,
        tuple(tree.documents),
        tuple(sorted(problems, key=lambda problem: problem.span)),
        tuple(tree.anchors),
        tuple(tree.aliases),
        tuple(tree.scalars),
        pieces,
    )


def _read(text: str, former: Syntax | None) -> tuple[Tree, tuple[Piece, ...]]:
    """The tree of a text, and the pieces that need not be read again when something else changes."""
    if former is not None:
        from pai_lsp.pieces import build_in_pieces  # noqa: PLC0415 - editors only

        from_pieces = build_in_pieces(text, former.pieces)
        if from_pieces is not None:
            return from_pieces
    tree, error = build(text)
    if error is None:
        return tree, ()
    from pai_lsp.pieces import build_in_pieces  # noqa: PLC0415 - broken texts only
    from pai_lsp.recovery import build_mended  # noqa: PLC0415 - as above

    from_pieces = build_in_pieces(text, ()) if former is None else None
    return from_pieces or (build_mended(text, tree, error), ())
