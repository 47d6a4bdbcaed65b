"""Fixes that many findings offer: another word, one of the near names, quotes, a list around a value."""

from __future__ import annotations

from itertools import chain

from pai_lsp.findings.diagnostic import Fix, Fixes, later
from pai_lsp.source.frozen import lazy
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit, overlapping
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import is_plain_in_flow, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import TypeVarTuple, Unpack

    from pai_lsp.source.nodes import Anchor, Node, Syntax
    from pai_lsp.source.spelling import Candidates

    _Ts = TypeVarTuple("_Ts")


@later
def fix_of(
    title: str,
    make: Callable[[Unpack[_Ts]], tuple[TextEdit, ...] | TextEdit | None],
    *arguments: Unpack[_Ts],
    safe: bool = False,
) -> Fixes:
    """What `make` returns for these arguments as a fix: edits, or one, such as `TextEdit`; no fix without an edit."""
    edits = make(*arguments)
    found = (edits,) if isinstance(edits, TextEdit) else edits
    return (Fix(title, found, safe),) if found else ()


@later
def all_of(*fixes: Fixes) -> Iterator[Fix]:
    """All of several."""
    return chain.from_iterable(fixes)


@later
def first_of(*fixes: Fixes) -> Fixes:
    """Those of the first that has some."""
    return next(filter(None, fixes), ())


class ApplicableFixes:
    """Which fixes of a text can be applied; what it needs to know of the text is computed once."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax

    @lazy
    def _repeated(self) -> dict[Anchor, list[int]]:
        """The places of the aliases of each anchor."""
        found: dict[Anchor, list[int]] = {}
        for alias in self._syntax.aliases:
            if alias.anchor is not None:
                found.setdefault(alias.anchor, []).append(alias.span.start)
        return found

    def of(self, fixes: Iterable[Fix]) -> Iterator[Fix]:
        """The fixes whose edits change different places, and keep each anchor of which an alias stays.

        In the tree of a repaired copy, the lines of a key may contain nodes that the tree has elsewhere, so that two
        edits of one fix overlap.
        """
        for fix in fixes:
            is_simple = len(fix.edits) < 2 or overlapping(fix.edits) is None
            if is_simple and not (self._syntax.aliases and self._takes_what_is_repeated(fix)):
                yield fix

    def _takes_what_is_repeated(self, fix: Fix) -> bool:
        """Whether a fix takes an anchor out of the file and leaves an alias of it there."""
        kept = {name for edit in fix.edits for name in _ANCHOR.findall(edit.new_text)}

        def is_replaced(offset: int) -> bool:
            return any(edit.span.start <= offset < edit.span.end for edit in fix.edits)

        taken = (anchor for anchor in self._repeated if is_replaced(anchor.span.start) and anchor.name not in kept)
        return any(not all(map(is_replaced, self._repeated[anchor])) for anchor in taken)


_ANCHOR = lazy_pattern(r"&([^\s,\[\]{}]+)")


@later
def change_fix(span: Span, *new_texts: str, safe: bool = False) -> Fixes:
    """Write another word in a place; one of several to choose from."""
    return tuple(Fix(f"Change to '{new_text}'", (TextEdit(span, new_text),), safe) for new_text in new_texts)


@later
def number_fix(span: Span, *numbers: int) -> Fixes:
    """Write another number in a place."""
    return tuple(Fix(f"Change to {number}", (TextEdit(span, str(number)),)) for number in numbers)


# Words that people write for a boolean, in addition to `true` and `false`, the only ones for js-yaml.
_TRUE, _FALSE = frozenset({"true", "yes", "on", "y", "1"}), frozenset({"false", "no", "off", "n", "0"})


@later
def boolean_fixes(node: Scalar) -> Fixes:
    """Write the boolean that the author means; nothing for another word."""
    written = node.text.strip().lower()
    word = "true" if written in _TRUE else "false" if written in _FALSE else ""
    return fix_of(f"Change to {word}", TextEdit, node.span, word, safe=True) if word else ()


@later
def choice_fixes(span: Span, choices: Iterable[str]) -> Fixes:
    """Fixes that write one of a few words each; nothing where the place is empty."""
    return change_fix(span, *choices) if len(span) else ()


@later
def near_name_fixes(
    span: Span, name: str, candidates: Candidates, *, besides: str | None = None, safe: bool = True
) -> Fixes:
    """Fixes that replace a misspelt name by the near ones (except `besides`); safe only where one name is near."""
    near = nearest(name, candidates, besides=besides)
    return change_fix(span, *near, safe=safe and len(near) == 1)


@later
def quote_fix(scalar: Scalar, title: str = "Quote it") -> Fixes:
    """Write a plain scalar's characters in quotes, so that YAML reads them as text."""
    return fix_of(title, TextEdit, scalar.span, quoted(scalar.text), safe=True)


@later
def wrap_in_list_fix(text: str, node: Node) -> Fixes:
    """Write a single value as a list of one."""
    written = text[node.span.start : node.span.end]
    if not isinstance(node, Scalar) or node.is_block or "\n" in written:
        return ()
    stays = node.style is ScalarStyle.PLAIN and is_plain_in_flow(written)
    return fix_of("Wrap in a list", TextEdit, node.span, f"[{written if stays else quoted(node.text)}]", safe=True)


@later
def wrap_mapping_fixes(node: Node, *, safe: bool = False) -> Fixes:
    """Write a single mapping in braces as a list of one."""
    if not isinstance(node, Mapping) or not node.is_flow:
        return ()
    start, end = node.span.start, node.span.end
    return (Fix("Wrap in a list", (TextEdit(Span(start, start), "["), TextEdit(Span(end, end), "]")), safe),)
