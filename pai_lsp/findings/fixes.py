"""Fixes that many findings offer: another word, one of the near names, quotes, a list around a value."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Fix
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import is_plain_in_flow, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.source.nodes import Node, Syntax
    from pai_lsp.source.spelling import Candidates


def fix_of(title: str, edits: tuple[TextEdit, ...], *, safe: bool = False) -> tuple[Fix, ...]:
    """The edits as a fix; nothing where there are no edits."""
    return (Fix(title, edits, safe),) if edits else ()


def takes_what_is_repeated(syntax: Syntax, fix: Fix) -> bool:
    """Whether a fix takes an anchor out of the file and leaves an alias of it there."""
    for alias in syntax.aliases:
        anchor = alias.anchor
        if anchor is None or any(alias.span.start in edit.span for edit in fix.edits):
            continue
        is_taken = any(anchor.span.start in edit.span for edit in fix.edits)
        if is_taken and not any(f"&{anchor.name}" in edit.new_text for edit in fix.edits):
            return True
    return False


def change_fix(span: Span, new_text: str, *, safe: bool = False) -> Fix:
    """Write another word in a place."""
    return Fix(f"Change to '{new_text}'", (TextEdit(span, new_text),), safe)


def number_fix(span: Span, number: int) -> Fix:
    """Write another number in a place."""
    return Fix(f"Change to {number}", (TextEdit(span, str(number)),))


# Words that people write for a boolean, in addition to `true` and `false`, the only ones for js-yaml.
_TRUE, _FALSE = frozenset({"true", "yes", "on", "y", "1"}), frozenset({"false", "no", "off", "n", "0"})


def boolean_fixes(node: Scalar) -> tuple[Fix, ...]:
    """Write the boolean that the author means; nothing for another word."""
    written = node.text.strip().lower()
    word = "true" if written in _TRUE else "false" if written in _FALSE else None
    return (Fix(f"Change to {word}", (TextEdit(node.span, word),), safe=True),) if word else ()


def choice_fixes(span: Span, choices: Iterable[str]) -> tuple[Fix, ...]:
    """Fixes that write one of a few words each; nothing where the place is empty."""
    return tuple(change_fix(span, choice) for choice in choices if len(span))


def near_name_fixes(
    span: Span, name: str, candidates: Candidates, *, besides: str | None = None, safe: bool = True
) -> tuple[Fix, ...]:
    """Fixes that replace a misspelt name by the near ones (except `besides`); safe only where one name is near."""
    near = nearest(name, candidates, besides=besides)
    return tuple(change_fix(span, candidate, safe=safe and len(near) == 1) for candidate in near)


def quote_fix(scalar: Scalar, title: str = "Quote it", *, safe: bool = True) -> Fix:
    """Write a plain scalar's characters in quotes, so that YAML reads them as text."""
    return Fix(title, (TextEdit(scalar.span, quoted(scalar.text)),), safe=safe)


def wrap_in_list_fix(text: str, node: Node) -> Fix | None:
    """Write a single value as a list of one."""
    written = text[node.span.start : node.span.end]
    if (
        isinstance(node, Scalar)
        and node.style is ScalarStyle.PLAIN
        and "\n" not in written
        and is_plain_in_flow(written)
    ):
        return Fix("Wrap in a list", (TextEdit(node.span, f"[{written}]"),), safe=True)
    if isinstance(node, Scalar) and not node.is_block and "\n" not in written:
        return Fix("Wrap in a list", (TextEdit(node.span, f"[{quoted(node.text)}]"),), safe=True)
    return None


def wrap_mapping_fixes(node: Node, *, safe: bool = False) -> tuple[Fix, ...]:
    """Write a single mapping in braces as a list of one."""
    if not isinstance(node, Mapping) or not node.is_flow:
        return ()
    start, end = node.span.start, node.span.end
    return (Fix("Wrap in a list", (TextEdit(Span(start, start), "["), TextEdit(Span(end, end), "]")), safe),)
