"""Reads a text with a fault section by section, so that the fault stays in its section.

A section is a key at the left margin with all that belongs to it; a long one is read child by child: its task roles or
its list items.

Why this gives the same tree: a part begins at a line with a key or a list's dash, indented like its siblings. When
everything before it has been read and nothing is open, YAML's reader stands at that line in the same state as at the
beginning of a text. Reading shows whether something is open: a part whose quote or bracket reaches into the next part
cannot be read on its own. Anchors and several documents reach across parts; such texts are read whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from pai_lsp.source.building import build, duplicate_keys, first_fault
from pai_lsp.source.nodes import Entry, Mapping, ProblemKind, Sequence, SyntaxProblem, Tree
from pai_lsp.source.recovery import build_mended, relocated
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as SequenceOf

    import yaml

    from pai_lsp.source.nodes import Node

    Collection = TypeVar("Collection", Mapping, Sequence)


# Longer texts come near the caps of `build`, which count over the whole text.
_LONGEST = 500_000
# A section shorter than this is read as one part.
_LONG_SECTION = 300
# No person writes more sections and task roles, or breaks more of them at once.
_MAX_PARTS = 2_000
_MAX_BROKEN = 24
# How many of its siblings a part may reach into by a quote or a bracket.
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


def build_in_sections(text: str) -> Tree | None:
    """Read a text section by section and repair those with a fault; None where the text must be read whole."""
    if len(text) > _LONGEST or _LONE_RETURN.search(text):
        return None
    starts = [match.start() for match in _SECTION.finditer(text)]
    if starts and not _BEFORE.fullmatch(text, 0, starts[0]):
        starts[0] = 0
    if not starts or _ACROSS.search(text, starts[0]):
        return None
    try:
        return _SectionReader(text).collection([*starts, len(text)], 0)
    except _ReadWholeError:
        return None


class _ReadWholeError(Exception):
    """The text cannot be read section by section."""


class _SectionReader:
    """Reads one text, and counts its parts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sound = 0
        self._broken = 0

    def collection(self, places: SequenceOf[int], depth: int) -> Tree:
        """The collection whose parts begin at the `places`, the last of which is its end."""
        parts: list[Tree] = []
        index = 0
        while index < len(places) - 1:
            section = self._long_section(places[index], places[index + 1]) if depth == 0 else None
            part, index = (section, index + 1) if section else self._part(places, index, depth)
            parts.append(part)
        return _joined(parts)

    def _long_section(self, start: int, end: int) -> Tree | None:
        """A section read child by child; None where it must be read as one part."""
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
        children = self.collection([*starts, end], 1)
        opening, _ = self._part([start, starts[0]], 0, 0)
        return _with_value(opening, children)

    def _part(self, places: SequenceOf[int], index: int, depth: int) -> tuple[Tree, int]:
        """The tree of the part that begins at `places[index]`, and the index of the next part."""
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
        """A part read on its own, placed in the whole text.

        With an error, what was read up to there, placed in the part.
        """
        tree, error = build(self._text[start:end], depth)
        if error is not None:
            return tree, error
        _demand_collection(tree)
        self._sound += 1
        if self._sound > _MAX_PARTS:
            raise _ReadWholeError
        return _shifted(tree, start), None


def _is_shallower(text: str, start: int, end: int, depth: int) -> bool:
    """Whether one of these lines is indented by less than `depth`."""
    return re.compile(f"^ {{0,{depth - 1}}}(?=[^\\s#])", re.MULTILINE).search(text, start, end) is not None


def _shifted(tree: Tree, by: int) -> Tree:
    """The same tree with all places moved by a number of characters."""
    return relocated(tree, lambda span: span.shifted(by)) if by else tree


def _demand_collection(tree: Tree) -> None:
    """Make sure that a part is a block collection that nothing outside of it refers to.

    Raises:
        _ReadWholeError: if it is not.
    """
    root = tree.documents[0] if len(tree.documents) == 1 else None
    is_block = isinstance(root, (Mapping, Sequence)) and not root.is_flow and root.tag is None
    if not is_block or tree.anchors or tree.aliases:
        raise _ReadWholeError


def _joined(parts: SequenceOf[Tree]) -> Tree:
    """One collection of everything in the collections of the parts."""
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
    """The problems of the parts, with the keys that occur twice in the whole instead of those in a part."""
    keys = {entry.key.span for entry in entries}
    kept = [one for one in problems if one.kind is not ProblemKind.DUPLICATE_KEY or one.span not in keys]
    return kept + list(duplicate_keys(entries))


def _with_value(opening: Tree, value: Tree) -> Tree:
    """A section: its key, which is alone in `opening`, with the collection of `value`."""
    root, node = opening.documents[0], value.documents[0]
    if not isinstance(root, Mapping) or len(root.entries) != 1 or node is None:
        raise _ReadWholeError
    key = root.entries[0].key
    entry = Entry(key, node, root.entries[0].name)
    # The empty value after the key is replaced.
    scalars = [scalar for scalar in opening.scalars if scalar is not root.entries[0].value]
    section = Mapping(Span(key.span.start, max(key.span.end, node.span.end)), (entry,))
    return Tree([section], scalars=scalars + value.scalars, problems=opening.problems + value.problems)
