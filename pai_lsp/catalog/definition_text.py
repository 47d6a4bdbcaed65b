"""A text with definitions: a file of a folder, the protocol of a marketplace item, or what stands at a web address.

Of thousands of definitions only a few are ever asked for, so a text keeps a card for each (what lists and searches
need), and a definition's tree is read when somebody asks for that definition.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.job.definition import EXTENDED_KEYS, LEGACY_TYPES, Definition, Origin, read_definitions
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.nodes import Entry, Mapping, Node, ProblemKind, Scalar, Sequence, mapping_of
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.source.nodes import Syntax

_LONGEST_SUMMARY = 200
_BLANKS = re.compile(r"[ \t\r\n]*")
# What only a definition has; many a YAML file has a name, a type and a description.
_TELLING_KEYS = frozenset({"plugin", "callbacks", *EXTENDED_KEYS})
_TYPES = frozenset({*LEGACY_TYPES, "storage"})


class Content(Enum):
    """What a text holds definitions in."""

    DEFINITIONS = "one definition, a list of them, or a stream of such documents"
    JOB = "a job: those under its `prerequisites`"
    EITHER = "whichever of the two it is"


@dataclass(frozen=True, slots=True)
class Card:
    """A definition as lists show it; `span` is its place in its text."""

    name: str
    type: str
    summary: str
    variables: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class DefinitionText:
    """A text and the cards of its definitions, in written order.

    path: the file, or the address, that the text was read from.
    item: the id of `marketplace://prerequisites/itemId/ID`, which names all definitions of the text; empty for none.
    is_entangled: whether a definition can not be read without the text around it (aliases, faults).
    fault: what is wrong with the text, in words; what can be read of it still counts.
    """

    path: str
    text: str
    item: str
    cards: tuple[Card, ...]
    content: Content = Content.DEFINITIONS
    is_entangled: bool = False
    fault: str = ""
    _read: dict[int, Definition] = field(default_factory=dict, repr=False)

    def definition(self, number: int) -> Definition:
        """The definition of the card with that number; the same object whenever it is asked for."""
        known = self._read.get(number)
        if known is not None:
            return known
        found = None if self.is_entangled else _read_part(self.text, self.cards[number].span)
        if found is None:
            for other, definition in enumerate(_definitions(parse(self.text), self.content)):
                self._read.setdefault(other, definition)
            # A card without a definition comes from a cache that somebody has written into.
            found = Definition(mapping_of(self.cards[number].span, ()), Origin.CATALOGUE)
        return self._read.setdefault(number, found)

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions."""
        return tuple(self.definition(number) for number in range(len(self.cards)))


def read_definition_text(
    path: str, text: str, *, item: str = "", summary: str = "", content: Content = Content.DEFINITIONS
) -> DefinitionText:
    """Read a text's cards; `summary` is for definitions that have none of their own. Never raises."""
    syntax = parse(text)
    cards = tuple(card_of(definition, summary) for definition in _definitions(syntax, content))
    problems = [problem for problem in syntax.problems if problem.kind is not ProblemKind.SEVERAL_DOCUMENTS]
    fault = f"line {text.count(chr(10), 0, problems[0].span.start) + 1}: {problems[0].message}" if problems else ""
    return DefinitionText(path, text, item, cards, content, bool(problems or syntax.aliases), fault)


def card_of(definition: Definition, summary: str = "") -> Card:
    """The card of a definition; `summary` is for one that has none of its own."""
    return Card(
        definition.name,
        definition.type,
        next(_told(definition), "") or summary,
        tuple(variable.name for variable in definition.template_variables),
        definition.node.span,
    )


def is_definition(definition: Definition) -> bool:
    """Whether this is a definition of a prerequisite, and not other people's YAML that happens to have a name."""
    if not definition.name:
        return False
    return definition.type in _TYPES or any(entry.name in _TELLING_KEYS for entry in definition.node.entries)


def reads_as_definitions(syntax: Syntax, *, is_wanted: bool) -> bool:
    """Whether a file is one of definitions; `is_wanted` where somebody said so and only a job proves it wrong."""
    return not is_job(syntax) and (is_wanted or bool(_definitions(syntax, Content.DEFINITIONS)))


def is_job(syntax: Syntax) -> bool:
    """Whether a text is a job and no definition file."""
    root = syntax.root
    return isinstance(root, Mapping) and any(root.own(key) is not None for key in ("prerequisites", "taskRoles"))


def _definitions(syntax: Syntax, content: Content) -> tuple[Definition, ...]:
    """The definitions of a text."""
    if content is Content.EITHER:
        content = Content.JOB if is_job(syntax) else Content.DEFINITIONS
    if content is Content.JOB:
        root = syntax.root
        node = root.get("prerequisites") if isinstance(root, Mapping) else None
        nodes: tuple[Node | None, ...] = (node,) if isinstance(node, Sequence) else ()
    else:
        nodes = () if is_job(syntax) else syntax.documents
    found = (definition for node in nodes for definition in read_definitions(node, Origin.CATALOGUE))
    return tuple(filter(is_definition, found))


def _told(definition: Definition) -> Iterator[str]:
    """What a definition says of itself, the shortest first."""
    for key in ("summary", "title", "description"):
        node = definition.node.get(key)
        if isinstance(node, Scalar) and node.text.strip():
            yield first_line(node.text)


def first_line(text: str) -> str:
    """The first line of a text that people read, not too long for a list."""
    line = " ".join(text.strip().splitlines()[0].split()) if text.strip() else ""
    return line if len(line) <= _LONGEST_SUMMARY else line[: _LONGEST_SUMMARY - 1] + "…"


def _read_part(text: str, span: Span) -> Definition | None:
    """The definition at a place, read without the rest of the text; None where that can not be done."""
    column = span.start - (text.rfind("\n", 0, span.start) + 1)
    # The blanks in front keep the first line in its column, as deep as those below it; the line ends behind may belong
    # to a block at the end.
    behind = _BLANKS.match(text, span.end)
    syntax = parse(" " * column + text[span.start : behind.end() if behind else span.end])
    if syntax.problems or not isinstance(syntax.root, Mapping):
        return None
    return Definition(_moved_mapping(syntax.root, span.start - column), Origin.CATALOGUE)


def _moved(node: Node, by: int) -> Node:
    if isinstance(node, Mapping):
        return _moved_mapping(node, by)
    span = Span(node.span.start + by, node.span.end + by)
    if isinstance(node, Sequence):
        return Sequence(span, tuple(_moved(item, by) for item in node.items), node.is_flow, node.tag)
    return Scalar(span, node.text, node.style, node.tag)


def _moved_mapping(node: Mapping, by: int) -> Mapping:
    entries = tuple(Entry(_moved(entry.key, by), _moved(entry.value, by), entry.name) for entry in node.entries)
    return mapping_of(node.span.shifted(by), entries, is_flow=node.is_flow, tag=node.tag)
