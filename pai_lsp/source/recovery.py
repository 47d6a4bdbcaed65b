"""Reading a text that is not YAML yet, so that a fault costs one finding and stays in its section.

A step repairs one fault in a copy of the text where libyaml stopped, reports it in one sentence on the author's own
text, and reads again. The repaired copy is never shown; places in the tree are moved back to the text as written
(`relocated`).

A section is a key at the left margin with all that belongs to it; a long one is read child by child: its task roles or
its list items. Why this gives the same tree as reading the whole text: a part begins at a line with a key or a list's
dash, indented like its siblings. When everything before it has been read and nothing is open, YAML's reader is in the
same state at that line as at the beginning of a text. Reading shows whether something is open: a part whose quote or
bracket reaches into the next part cannot be read on its own. Anchors and several documents reach across parts; such
texts are read whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.source.building import build, duplicate_keys, first_fault
from pai_lsp.source.comments import comments_within
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import (
    Alias,
    Anchor,
    Entry,
    Mapping,
    Node,
    ProblemKind,
    Scalar,
    ScalarStyle,
    Sequence,
    SyntaxProblem,
    Tree,
    items_of,
    mapping_of,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.repairs import is_odd_line, next_repair
from pai_lsp.source.scalar import Reader
from pai_lsp.source.text import Span, TextEdit, start_of_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as SequenceOf
    from typing import TypeAlias

    import yaml

    from pai_lsp.source.odd_lines import Repair

    Relocation: TypeAlias = Callable[[Span], Span]


# Longer texts come near the caps of `build`, which count over the whole text.
_LONGEST = 500_000
# A section shorter than this is read as one part.
_LONG_SECTION = 300
# No person writes more sections and task roles, or breaks more of them at once.
_MAX_PARTS = 2_000
_MAX_BROKEN = 24
# How many of its siblings a part may reach into by a quote or a bracket.
_MAX_JOINED = 4
# How often the parts after a fault are read at once; each time may end at a fault far away.
_MAX_RUNS = 8

_KEY = r"[A-Za-z_][\w.-]*:(?=[ \t\r\n]|\Z)"
_DASH = r"-(?=[ \t\r\n]|\Z)"
_SECTION = lazy_pattern(f"^{_KEY}", re.MULTILINE)
_HEADER = lazy_pattern(rf"{_KEY}[ \t]*(?:#[^\n]*)?\r?\n")
_CONTENT = lazy_pattern(r"^( *)(?=[^\s#])", re.MULTILINE)
_LIST = lazy_pattern(rf"^ *{_DASH}", re.MULTILINE)
_NOTHING = r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*"
_BEFORE = lazy_pattern(rf"{_NOTHING}(?:---[ \t]*(?:#[^\n]*)?\r?\n)?{_NOTHING}")
_ACROSS = lazy_pattern(r"^(?:%|<{7}|\.\.\.(?:\s|\Z)|---(?:\s|\Z))", re.MULTILINE)
_LONE_RETURN = lazy_pattern(r"\r(?!\n)")
# More faults than a person makes at once; after so many, the rest of the text is left out of the tree.
MAX_STEPS = 24
# Reading a long text over and over would be felt while typing.
MAX_CHARACTERS_READ = 1_000_000
_COST_OF_READING = 1_000

_QUOTED = (ScalarStyle.SINGLE, ScalarStyle.DOUBLE)
# What PyYAML refuses anywhere in a text.
_UNPRINTABLE = lazy_pattern("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_CONFLICT_START = lazy_pattern(r"^<{7}(?: .*)?$", re.MULTILINE)
_CONFLICT = lazy_pattern(r"^(<{7}|\|{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)


def build_in_sections(text: str, reader: Reader = Reader.JS_YAML_3, broken_off: Tree | None = None) -> Tree | None:
    """Read a text section by section and repair those with a fault; None where the text must be read whole.

    `broken_off` is what had been read when libyaml stopped. Sections without a fault are read at once, as far as the
    reader gets, and so are the task roles of a section.
    """
    if len(text) > _LONGEST or _LONE_RETURN.search(text):
        return None
    starts = [match.start() for match in _SECTION.finditer(text)]
    if starts and not _BEFORE.fullmatch(text, 0, starts[0]):
        starts[0] = 0
    if not starts or _ACROSS.search(text, starts[0]):
        return None
    try:
        return _SectionReader(text, reader).collection([*starts, len(text)], 0, broken_off)
    except _ReadWholeError:
        return None


class _ReadWholeError(Exception):
    """The text cannot be read section by section."""


class _SectionReader:
    """Reads one text, and counts its parts."""

    def __init__(self, text: str, reader: Reader) -> None:
        self._text = text
        self._reader = reader
        self._sound = 0
        self._broken = 0
        self._runs = 0

    def collection(self, places: SequenceOf[int], depth: int, broken_off: Tree | None = None) -> Tree:
        """The collection whose parts begin at the `places`, the last of which is its end.

        `broken_off` is what has been read of it, up to a fault.
        """
        parts, index = self._run(places, 0, depth, broken_off)
        while index < len(places) - 1:
            broken = self._broken
            is_long = depth == 0 and not self._has_odd_line(places[index], places[index + 1])
            section = self._long_section(places[index], places[index + 1]) if is_long else None
            part, index = (section, index + 1) if section else self._part(places, index, depth)
            parts.append(part)
            if self._broken > broken and index < len(places) - 1:
                # After the part with the fault, most likely, everything can be read at once again.
                run, index = self._run(places, index, depth)
                parts += run
        return _joined(parts)

    def _run(
        self, places: SequenceOf[int], index: int, depth: int, broken_off: Tree | None = None
    ) -> tuple[list[Tree], int]:
        """The parts of a mapping that can be read at once, from `places[index]` on, and the index of the next part.

        A part is complete when the key of the next one has been read. One that does not begin with a key of the mapping
        is in the quote or bracket of an earlier one.
        """
        self._runs += 1
        if self._runs > _MAX_RUNS:
            return [], index
        text, error = self._text, None
        tree = broken_off
        if tree is None:
            tree, error = build(text, self._reader, Span(places[index], places[-1]), depth)
        root = tree.documents[0] if len(tree.documents) == 1 else None
        if not isinstance(root, Mapping):
            return [], index
        _collection_alone(tree)
        lines_of_keys = {start_of_line(text, entry.key.span.start) for entry in root.entries}
        after = index
        while after < len(places) - 1 and places[after] in lines_of_keys:
            after += 1
        if after < len(places) - 1 or error is not None or tree is broken_off:
            after -= 1
        if after <= index:
            return [], index
        end = places[after]
        entries = tuple(entry for entry in root.entries if entry.key.span.start < end)
        run = mapping_of(Span(root.span.start, entries[-1].span.end), entries)
        scalars = [scalar for scalar in tree.scalars if scalar.span.start < end]
        problems = [problem for problem in tree.problems if problem.span.start < end]
        return [Tree([run], scalars=scalars, problems=problems)], after

    def _has_odd_line(self, start: int, end: int) -> bool:
        """Whether a single slip in one line keeps the section from being read, so that its children fit together."""
        part = self._text[start:end]
        tree, error = build(part, self._reader)
        return error is not None and is_odd_line(part, error, tree)

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
        shallower = re.compile(f"^ {{0,{depth - 1}}}(?=[^\\s#])", re.MULTILINE)
        if starts[:1] != [first.start()] or (depth and shallower.search(self._text, first.start(), end)):
            return None
        children = self.collection([*starts, end], 1)
        opening, _ = self._part([start, starts[0]], 0, 0)
        return _with_value(opening, children)

    def _part(self, places: SequenceOf[int], index: int, depth: int) -> tuple[Tree, int]:
        """The tree of the part that begins at `places[index]`, and the index of the next part."""
        start, end = places[index], places[index + 1]
        for after in range(index + 1, min(index + 2 + _MAX_JOINED, len(places))):
            tree = self._sound_part(start, places[after], depth)
            if tree is not None:
                return tree, after
        fault = first_fault(self._text[start : places[-1]])
        is_open_to_the_end = fault is not None and not self._text[start + fault : places[-1]].strip()
        self._broken += 1
        if fault is None or self._broken > _MAX_BROKEN or (is_open_to_the_end and first_fault(self._text) is None):
            raise _ReadWholeError
        part = self._text[start:end]
        repaired = _collection_alone(build_repaired(part, *build(part, self._reader, depth=depth), self._reader))
        return relocated(repaired, lambda span: span.shifted(start)), index + 1

    def _sound_part(self, start: int, end: int, depth: int) -> Tree | None:
        """A part read on its own; None where it cannot be."""
        tree, error = build(self._text, self._reader, Span(start, end), depth)
        if error is not None:
            return None
        self._sound += 1
        if self._sound > _MAX_PARTS:
            raise _ReadWholeError
        return _collection_alone(tree)


def _collection_alone(tree: Tree) -> Tree:
    """A part that is a block collection, to which nothing outside of it refers.

    Raises:
        _ReadWholeError: if it is anything else.
    """
    root = tree.documents[0] if len(tree.documents) == 1 else None
    is_block = isinstance(root, (Mapping, Sequence)) and not root.is_flow and root.tag is None
    if not is_block or tree.anchors or tree.aliases:
        raise _ReadWholeError
    return tree


def _joined(parts: SequenceOf[Tree]) -> Tree:
    """One collection of everything in the collections of the parts."""
    roots = [part.documents[0] for part in parts]
    scalars = [scalar for part in parts for scalar in part.scalars]
    problems = [problem for part in parts for problem in part.problems]
    entries = tuple(entry for root in roots if isinstance(root, Mapping) for entry in root.entries)
    items = tuple(item for root in roots for item in items_of(root))
    if bool(entries) is bool(items):
        raise _ReadWholeError
    if entries:
        # The keys that occur twice in the whole, instead of those in a part.
        keys = {entry.key.span for entry in entries}
        of_parts = (one for one in problems if one.kind is not ProblemKind.DUPLICATE_KEY or one.span not in keys)
        root = mapping_of(Span(entries[0].key.span.start, entries[-1].span.end), entries)
        return Tree([root], scalars=scalars, problems=[*of_parts, *duplicate_keys(entries)])
    start = roots[0].span.start if roots[0] else 0
    end = max([start, *(item.span.end for item in items[-2:])])
    return Tree([Sequence(Span(start, end), items)], scalars=scalars, problems=problems)


def _with_value(opening: Tree, value: Tree) -> Tree:
    """A section: its key, which is alone in `opening`, with the collection of `value`."""
    root, node = opening.documents[0], value.documents[0]
    if not isinstance(root, Mapping) or len(root.entries) != 1 or node is None:
        raise _ReadWholeError
    key = root.entries[0].key
    entry = Entry(key, node, root.entries[0].name)
    # The empty value after the key is replaced.
    scalars = [scalar for scalar in opening.scalars if scalar is not root.entries[0].value]
    section = mapping_of(Span(key.span.start, max(key.span.end, node.span.end)), (entry,))
    return Tree([section], scalars=scalars + value.scalars, problems=opening.problems + value.problems)


def build_repaired(text: str, broken_off: Tree, error: yaml.YAMLError | None, reader: Reader) -> Tree:
    """Read a text that libyaml refuses: all that could be read, and what was wrong, in places of `text`.

    `broken_off` is what had been read when libyaml raised the `error`.
    """
    places = list(range(len(text) + 1))
    repaired, problems = _without_conflict_markers(text)
    budget = MAX_CHARACTERS_READ
    tree, fault = (broken_off, error) if repaired == text else build(repaired, reader=reader)
    faults, is_moved = 0, False
    while fault is not None and faults < MAX_STEPS:
        repair = next_repair(repaired, fault, tree, reader)
        fix = _fix(repair, places)
        if repair.message:
            faults += 1
            span = _original(repair.span, places)
            problems.append(SyntaxProblem(repair.kind, span, repair.message, None, fix, repair.is_runtime_only))
        budget -= len(repaired) + _COST_OF_READING
        if budget < 0:
            break
        for start, end, new_text in sorted(repair.replacements, reverse=True):
            repaired = repaired[:start] + new_text + repaired[end:]
            if len(new_text) != end - start:
                places[start:end] = [places[start]] * len(new_text)
                is_moved = True
        tree, fault = build(repaired, reader=reader)
    if is_moved:
        tree = relocated(tree, lambda span: _original(span, places))
    tree.problems[:0] = _once_a_line([_judged(problem, text, tree) for problem in problems], text)
    return tree


def _judged(problem: SyntaxProblem, text: str, tree: Tree) -> SyntaxProblem:
    """The problem, for PyYAML alone if it is a control character where js-yaml takes any character.

    Sources: js-yaml 3.13.1, lib/js-yaml/loader.js, captureSegment, readAnchorProperty, readAlias, skipSeparationSpace;
    PyYAML, reader.py, check_printable.
    """
    span = problem.span
    character = text[span.start : span.end]
    if len(span) != 1 or character == "\0" or not _UNPRINTABLE.match(character):
        return problem
    names = (*(one.span for one in tree.anchors), *(one.span for one in tree.aliases))
    is_name = any(span.start in name for name in names)
    quotes = (scalar.span for scalar in tree.scalars if scalar.style in _QUOTED)
    is_quoted = character >= " " and any(span.start in quote for quote in quotes)
    if not is_name and not is_quoted:
        beginning = comments_within(text, Span(0, span.start), tree.scalars)
        if not beginning or beginning[-1].span.end < span.start:
            return problem
    return replace(problem, is_runtime_only=True)


def _fix(repair: Repair, places: SequenceOf[int]) -> tuple[str, TextEdit] | None:
    if not repair.title:
        return None
    start, end, new_text = repair.edit or repair.replacements[0]
    return repair.title, TextEdit(_original(Span(start, end), places), new_text)


def _original(span: Span, places: SequenceOf[int]) -> Span:
    last = len(places) - 1
    start, end = places[min(span.start, last)], places[min(span.end, last)]
    return Span(start, max(start, end))


def _once_a_line(problems: list[SyntaxProblem], text: str) -> list[SyntaxProblem]:
    """The first problem of each line: what follows on the same line is mostly its consequence.

    One that the rest-server has comes before those of the runtime.
    """
    by_line: dict[int, SyntaxProblem] = {}
    for problem in sorted(problems, key=lambda one: one.is_runtime_only):
        by_line.setdefault(text.count("\n", 0, problem.span.start), problem)
    return list(by_line.values())


def _without_conflict_markers(text: str) -> tuple[str, list[SyntaxProblem]]:
    """The text with merge conflicts settled for our side, line for line of the same length."""
    if not _CONFLICT_START.search(text):
        return text, []
    problems: list[SyntaxProblem] = []
    parts: list[str] = []
    hidden = False
    offset = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        body = line.rstrip("\r\n")
        marker = _CONFLICT.fullmatch(body)
        if marker:
            if marker[1][0] == "<":
                message = "a merge conflict is left in the file; keep one side and delete the conflict markers"
                problems.append(SyntaxProblem(ProblemKind.SYNTAX, Span(offset, offset + len(body)), message))
            hidden = marker[1][0] in "|="
        parts.append("#" * len(body) + line[len(body) :] if marker or hidden else line)
        offset += len(line)
    return "".join(parts), problems


def relocated(tree: Tree, relocation: Relocation) -> Tree:
    """A tree with every span replaced."""
    moved: dict[Node, Node] = {}
    documents = [None if node is None else _moved(node, relocation, moved) for node in tree.documents]
    anchors = {
        anchor: Anchor(anchor.name, relocation(anchor.span), _moved(anchor.node, relocation, moved))
        for anchor in tree.anchors
    }
    aliases = [
        Alias(alias.name, relocation(alias.span), None if alias.anchor is None else anchors.get(alias.anchor))
        for alias in tree.aliases
    ]
    nodes = (_moved(scalar, relocation, moved) for scalar in tree.scalars)
    scalars = [scalar for scalar in nodes if isinstance(scalar, Scalar)]
    problems = [_relocated_problem(problem, relocation) for problem in tree.problems]
    return Tree(documents, list(anchors.values()), aliases, scalars, problems)


# No function inside the other: one that calls itself is garbage that only Python's collector finds, with all the nodes.
def _moved(node: Node, relocation: Relocation, moved: dict[Node, Node]) -> Node:
    """The node with its new places; `moved` holds those of nodes met before: an alias shares its node."""
    if node in moved:
        return moved[node]
    span = relocation(node.span)
    new: Node
    if isinstance(node, Scalar):
        new = Scalar(span, node.text, node.style, node.tag, node.reader)
    elif isinstance(node, Sequence):
        items = tuple(_moved(item, relocation, moved) for item in node.items)
        new = Sequence(span, items, node.is_flow, node.tag)
    else:
        entries = tuple(
            Entry(_moved(one.key, relocation, moved), _moved(one.value, relocation, moved), one.name)
            for one in node.entries
        )
        new = mapping_of(span, entries, is_flow=node.is_flow, tag=node.tag)
    moved[node] = new
    return new


def _relocated_problem(problem: SyntaxProblem, relocation: Relocation) -> SyntaxProblem:
    other = relocation(problem.other) if problem.other else None
    fix = problem.fix and (problem.fix[0], replace(problem.fix[1], span=relocation(problem.fix[1].span)))
    return replace(problem, span=relocation(problem.span), other=other, fix=fix)
