"""YAML text -> a tree of nodes with the place of every key and value.

Parsing never raises: a fault is a `SyntaxProblem`, and the rest of the file still gives a tree (`recovery` repairs a
copy of the text for that). The tree holds what the rest-server's js-yaml reads; where the runtime's
PyYAML reads something else, `Scalar.runtime_value` and the rules know it.
"""

from __future__ import annotations

from pai_lsp.source.building import SURROGATE, as_written, build, readable
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import ProblemKind, Syntax, SyntaxProblem, Tree
from pai_lsp.source.scalar import Reader
from pai_lsp.source.steps import counted
from pai_lsp.source.text import Span

MAX_CHARACTERS = 5_000_000


def parse(text: str, reader: Reader = Reader.JS_YAML_3) -> Syntax:
    """Read a text as `reader` does; never raises. Costs about 5 ms for 1000 lines."""
    if len(text) > MAX_CHARACTERS:
        limit = f"the file has {len(text):,} characters; more than {MAX_CHARACTERS:,} are not read"
        return Syntax(text, (), (SyntaxProblem(ProblemKind.TOO_LARGE, Span(0, 0), limit),), reader=reader)
    given = readable(text)
    tree = _read(given, reader)
    if len(given) < len(text):
        from pai_lsp.source.recovery import relocated  # noqa: PLC0415 - texts with a byte order mark only

        tree = relocated(tree, lambda span: span.shifted(1))
    surrogates = (Span(*match.span()) for match in ([] if text.isascii() else SURROGATE.finditer(text)))
    problems = [SyntaxProblem(ProblemKind.SYNTAX, span, "half of a surrogate pair") for span in surrogates]
    problems += (
        tree.problems if text.isascii() else (replace(one, message=as_written(one.message)) for one in tree.problems)
    )
    return Syntax(
        text,
        tuple(tree.documents),
        tuple(sorted(problems, key=lambda problem: problem.span)),
        counted(tree.anchors),
        counted(tree.aliases),
        counted(tree.scalars),
        reader,
    )


def _read(text: str, reader: Reader) -> Tree:
    tree, error = build(text, reader=reader)
    if error is None:
        return tree
    from pai_lsp.source.recovery import build_in_sections, build_repaired  # noqa: PLC0415 - texts with a fault only

    return build_in_sections(text, reader, tree) or build_repaired(text, tree, error, reader)
