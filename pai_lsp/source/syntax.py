"""YAML text -> a tree of nodes with the place of every key and value.

Parsing never raises: what cannot be read is a `SyntaxProblem`, and the rest of the file still gives a tree
(pai_lsp/source/recovery.py mends a copy of the text for that). The tree says what the rest-server's js-yaml reads;
where the runtime's PyYAML reads something else is told by `Scalar.runtime_value` and by the rules.

Reading a text in pieces: its sections, and the task roles or items of a long one, each on its own.

What an edit leaves as it was need not be read again, and a fault in one piece can not spoil the reading of another.

Why this gives the same tree: a piece begins at a line that holds a key, or a list's dash, as deep as its siblings. When
everything before it has been read and nothing is open, YAML's reader stands at that line in the same state as at the
beginning of a text. Whether something is open is told by reading: a quote or bracket that reaches into the next piece
leaves a piece that can not be read alone. Anchors and several documents reach across pieces; such texts are read whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from pai_lsp.source.building import SURROGATE, build, duplicate_keys, first_fault, readable
from pai_lsp.source.nodes import Entry, Mapping, Piece, ProblemKind, Sequence, Syntax, SyntaxProblem, Tree
from pai_lsp.source.recovery import build_mended, relocated
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as SequenceOf
    from typing import TypeAlias

    import yaml

    from pai_lsp.source.nodes import Node

    Known: TypeAlias = dict[str, Piece]
    Collection = TypeVar("Collection", Mapping, Sequence)


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
        from pai_lsp.source.recovery import relocated  # noqa: PLC0415 - texts with a byte order mark only

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
        from_pieces = build_in_pieces(text, former.pieces)
        if from_pieces is not None:
            return from_pieces
    tree, error = build(text)
    if error is None:
        return tree, ()
    from pai_lsp.source.recovery import build_mended  # noqa: PLC0415 - as above

    from_pieces = build_in_pieces(text, ()) if former is None else None
    return from_pieces or (build_mended(text, tree, error), ())


# Longer texts come near the caps of syntax.py, which count over the whole.
_LONGEST = 500_000
# A section shorter than this is one piece.
_LONG_SECTION = 300
# No person writes more sections and task roles, or breaks more of them at once.
_MAX_PIECES = 2_000
_MAX_BROKEN = 24
# How many of its siblings a piece may reach into by a quote or a bracket.
_MAX_JOINED = 4

_KEY = r"[A-Za-z_][\w.-]*:(?=[ \t\r\n]|\Z)"
_DASH = r"-(?=[ \t\r\n]|\Z)"
_SECTION = re.compile(f"^{_KEY}", re.MULTILINE)
_HEADER = re.compile(rf"{_KEY}[ \t]*(?:#[^\n]*)?\r?\n")
_CONTENT = re.compile(r"^( *)(?=[^\s#])", re.MULTILINE)
_LIST = re.compile(rf"^ *{_DASH}", re.MULTILINE)
_NOTHING = r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*"
_BEFORE = re.compile(rf"{_NOTHING}(?:---[ \t]*(?:#[^\n]*)?\r?\n)?{_NOTHING}")
_ACROSS = re.compile(r"^(?:%|<{7}|\.\.\.(?:\s|\Z)|---(?:\s|\Z))", re.MULTILINE)
_LONE_RETURN = re.compile(r"\r(?!\n)")


def build_in_pieces(text: str, former: SequenceOf[Piece]) -> tuple[Tree, tuple[Piece, ...]] | None:
    """Read a text in pieces, those among `former` not again; broken ones are mended.

    None where the text must be read whole. Which texts these are, and the tree, do not depend on `former`.
    """
    if len(text) > _LONGEST or _LONE_RETURN.search(text):
        return None
    starts = [match.start() for match in _SECTION.finditer(text)]
    if starts and not _BEFORE.fullmatch(text, 0, starts[0]):
        starts[0] = 0
    if not starts or _ACROSS.search(text, starts[0]):
        return None
    try:
        return _Reader(text, {piece.text: piece for piece in former}).read(starts)
    except _ReadWholeError:
        return None


class _ReadWholeError(Exception):
    """The text is one that can not be read in pieces."""


class _Reader:
    """Reads one text; `pieces` are those that were read without a fault."""

    def __init__(self, text: str, known: Known) -> None:
        self._text = text
        self._known = known
        self._broken = 0
        self.pieces: list[Piece] = []

    def read(self, starts: SequenceOf[int]) -> tuple[Tree, tuple[Piece, ...]]:
        """The tree of a text whose sections begin at `starts`."""
        return self._collection([*starts, len(self._text)], 0), tuple(self.pieces)

    def _collection(self, places: SequenceOf[int], depth: int) -> Tree:
        """The collection whose pieces begin at the `places`, the last of which is its end."""
        parts: list[Tree] = []
        index = 0
        while index < len(places) - 1:
            section = self._long_section(places[index], places[index + 1]) if depth == 0 else None
            part, index = (section, index + 1) if section else self._piece(places, index, depth)
            parts.append(part)
        return _joined(parts)

    def _long_section(self, start: int, end: int) -> Tree | None:
        """A section read child by child; None where it is to be read as one piece."""
        header = _HEADER.match(self._text, start, end) if end - start > _LONG_SECTION else None
        first = _CONTENT.search(self._text, header.end(), end) if header else None
        if header is None or first is None:
            return None
        depth = len(first[1])
        begin = _DASH if _LIST.match(self._text, first.start()) else _KEY
        child = re.compile(f"^ {{{depth}}}{begin}", re.MULTILINE)
        starts = [match.start() for match in child.finditer(self._text, first.start(), end)]
        if not starts or starts[0] != first.start() or (depth and _is_shallower(self._text, first.start(), end, depth)):
            return None
        children = self._collection([*starts, end], 1)
        opening, _ = self._piece([start, starts[0]], 0, 0)
        return _with_value(opening, children)

    def _piece(self, places: SequenceOf[int], index: int, depth: int) -> tuple[Tree, int]:
        """The tree of the piece that begins at `places[index]`, and the index of the next one."""
        start, end = places[index], places[index + 1]
        tree, error = self._alone(start, end, depth)
        if error is None:
            return tree, index + 1
        for after in range(index + 2, min(index + 2 + _MAX_JOINED, len(places))):
            joined, open_still = self._alone(start, places[after], depth)
            if open_still is None:
                return joined, after
        fault = first_fault(self._text[start : places[-1]])
        is_open_to_the_end = fault is not None and not self._text[start + fault : places[-1]].strip()
        if fault is None or (is_open_to_the_end and first_fault(self._text) is None):
            raise _ReadWholeError
        self._broken += 1
        if self._broken > _MAX_BROKEN:
            raise _ReadWholeError
        mended = build_mended(self._text[start:end], tree, error)
        _demand_collection(mended)
        return _shifted(mended, start), index + 1

    def _alone(self, start: int, end: int, depth: int) -> tuple[Tree, yaml.YAMLError | None]:
        """What a part of the text says, in places of the whole; with an error, as far as read and in its own places."""
        text = self._text[start:end]
        known = self._known.get(text)
        if known is None:
            tree, error = build(text, depth)
            if error is not None:
                return tree, error
            _demand_collection(tree)
            known = Piece(0, text, tree)
        if known.start != start:
            known = Piece(start, text, _shifted(known.tree, start - known.start))
        self.pieces.append(known)
        if len(self.pieces) > _MAX_PIECES:
            raise _ReadWholeError
        return known.tree, None


def _is_shallower(text: str, start: int, end: int, depth: int) -> bool:
    """Whether something stands in those lines that is indented by less than `depth`."""
    return re.compile(f"^ {{0,{depth - 1}}}(?=[^\\s#])", re.MULTILINE).search(text, start, end) is not None


def _shifted(tree: Tree, by: int) -> Tree:
    """The same tree further on in the text."""
    return relocated(tree, lambda span: Span(span.start + by, span.end + by))


def _demand_collection(tree: Tree) -> None:
    """Make sure that a piece is a block collection that nothing outside of it can mean.

    Raises:
        _ReadWholeError: if it is not.
    """
    root = tree.documents[0] if len(tree.documents) == 1 else None
    is_block = isinstance(root, (Mapping, Sequence)) and not root.is_flow and root.tag is None
    if not is_block or tree.anchors or tree.aliases:
        raise _ReadWholeError


def _joined(parts: SequenceOf[Tree]) -> Tree:
    """One collection of all that stands in the collections of the parts."""
    roots = [part.documents[0] for part in parts]
    tree = Tree(
        scalars=[scalar for part in parts for scalar in part.scalars],
        problems=[problem for part in parts for problem in part.problems],
    )
    root: Node
    if mappings := _all_of(Mapping, roots):
        entries = tuple(entry for mapping in mappings for entry in mapping.entries)
        if not entries:
            raise _ReadWholeError
        last = entries[-1]
        root = Mapping(Span(entries[0].key.span.start, max(last.key.span.end, last.value.span.end)), entries)
        tree.problems[:] = _problems_of_all(tree.problems, entries)
    elif sequences := _all_of(Sequence, roots):
        items = tuple(item for sequence in sequences for item in sequence.items)
        start = sequences[0].span.start
        root = Sequence(Span(start, max([start, *(item.span.end for item in items[-2:])])), items)
    else:
        raise _ReadWholeError
    tree.documents.append(root)
    return tree


def _all_of(kind: type[Collection], nodes: SequenceOf[Node | None]) -> tuple[Collection, ...]:
    """The nodes, if all are of that kind and have children."""
    found = tuple(node for node in nodes if isinstance(node, kind))
    return found if len(found) == len(nodes) else ()


def _problems_of_all(problems: Iterable[SyntaxProblem], entries: SequenceOf[Entry]) -> list[SyntaxProblem]:
    """The problems of the parts, with the keys that are written twice in the whole instead of in a part."""
    keys = {entry.key.span for entry in entries}
    kept = [one for one in problems if one.kind is not ProblemKind.DUPLICATE_KEY or one.span not in keys]
    return kept + list(duplicate_keys(entries))


def _with_value(opening: Tree, value: Tree) -> Tree:
    """A section: its key, which stands alone in `opening`, with the collection of `value`."""
    root, node = opening.documents[0], value.documents[0]
    if not isinstance(root, Mapping) or len(root.entries) != 1 or node is None:
        raise _ReadWholeError
    key = root.entries[0].key
    entry = Entry(key, node, root.entries[0].name)
    # The empty value behind the key is none any more.
    scalars = [scalar for scalar in opening.scalars if scalar is not root.entries[0].value]
    section = Mapping(Span(key.span.start, max(key.span.end, node.span.end)), (entry,))
    return Tree([section], scalars=scalars + value.scalars, problems=opening.problems + value.problems)
