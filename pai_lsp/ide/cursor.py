"""Where a cursor is: the one model that completion, hover, navigation, renaming and refactorings ask.

`Cursor` gives what is written at an offset: the place in the tree, the name, the template; and the point where text can
be inserted. Each answer is found once, when it is first asked for.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from pai_lsp.job.definition import SIMPLE_KEYS
from pai_lsp.job.job import Job
from pai_lsp.job.symbols import Occurrence, occurrence_at
from pai_lsp.platform.secrets_section import job_syntax
from pai_lsp.platform.tables import TYPES
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass, lazy
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, ScalarStyle, Sequence, scalar_text, value_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, end_of_line, start_of_line

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.template_uses import TemplateUse


def schema_context(document: Document, parents: SequenceOf[Node | None]) -> dict[str, Any]:
    """What decides which keys are known below some collections, outermost first; as `field` and `fields` take it.

    It is the schema, the platform, and the nearest type of a prerequisite and name of a plugin.
    """
    types, plugins = ([scalar_text(value_at(one, name)) for one in reversed(parents)] for name in ("type", "plugin"))
    return {
        "kind": "definition" if document.is_catalog else "job",
        "platform": document.platform,
        "prerequisite_type": next((one for one in types if one in TYPES), None),
        "plugin": next(filter(None, plugins), None),
    }


@dataclass(frozen=True)
class Cursor:
    """An offset in a document."""

    document: Document
    offset: int

    @lazy
    def location(self) -> Location | None:
        """The innermost key or value at (or ending at) the offset; None between them."""
        return _locate(self.document.job, self.offset)

    @lazy
    def name(self) -> Occurrence | None:
        """The name at (or ending at) the offset."""
        return occurrence_at(self.document.occurrences, self.offset)

    @lazy
    def template(self) -> TemplateUse | None:
        """The `<% %>` around the offset."""
        node = self.location.node if self.location else None
        if not isinstance(node, Scalar) or "<%" not in node.text:
            return None
        uses = self.document.job.template_uses
        return next((use for use in uses if use.span.start <= self.offset < use.span.end), None)

    @lazy
    def insertion_point(self) -> InsertionPoint | None:
        """Where text can be inserted; None where nothing of the job can be typed: in comments and unreadable text."""
        return _insertion_point(self.document, self.offset)


# Where on a path the name of a task role is, by section.
_ROLE_DEPTHS: dict[str | int, int] = {"taskRoles": 1, "deployments": 3}


@dataclass(frozen=True, slots=True)
class Location:
    """A node of a job's tree, and the way to it.

    path: keys and indexes from the root to the node; of a key, to its entry.
    parents: the collections on the path, outermost first; entry: the innermost entry around the node.
    """

    job: Job
    path: tuple[str | int, ...]
    parents: tuple[Mapping | Sequence, ...]
    entry: Entry | None
    node: Node
    is_key: bool = False

    @property
    def mapping(self) -> Mapping | None:
        """The innermost mapping around the node."""
        return next((node for node in reversed(self.parents) if isinstance(node, Mapping)), None)

    @property
    def task_role(self) -> TaskRole | None:
        """The task role that the node belongs to, in `taskRoles` or in a deployment."""
        depth = _ROLE_DEPTHS.get(self.path[0], len(self.path)) if self.path else 0
        return self.job.task_roles_by_name.get(str(self.path[depth])) if len(self.path) > depth else None

    @property
    def definition(self) -> Definition | None:
        """The prerequisite that the node belongs to."""
        return next((one for one in self.job.definitions if any(node is one.node for node in self.parents)), None)

    @property
    def is_command(self) -> bool:
        """Whether the node is a text that bash runs, or is in a list of them."""
        keys = [step for step in self.path if isinstance(step, str)]
        return bool(keys) and not self.is_key and keys[-1] in {"commands", *SIMPLE_KEYS}


def _locate(job: Job, offset: int) -> Location | None:
    """Aliases lead to no place of their anchor's node."""
    node = next((root for root in job.syntax.documents if root and root.span.touches(offset)), None)
    path: tuple[str | int, ...] = ()
    parents: tuple[Mapping | Sequence, ...] = ()
    entry: Entry | None = None
    while isinstance(node, (Mapping, Sequence)):
        parents = (*parents, node)
        step = _step(node, offset)
        if step is None:
            return Location(job, path, parents[:-1], entry, node)
        if isinstance(step, Entry):
            entry, path, node = step, (*path, step.name), step.value
            if step.key.span.touches(offset):
                return Location(job, path, parents, step, step.key, is_key=True)
        else:
            path, node = (*path, step[0]), step[1]
    return Location(job, path, parents, entry, node) if node is not None else None


def _step(node: Mapping | Sequence, offset: int) -> Entry | tuple[int, Node] | None:
    if isinstance(node, Sequence):
        return next(((number, item) for number, item in enumerate(node.items) if item.span.touches(offset)), None)
    return next(
        (entry for entry in node.entries if entry.key.span.touches(offset) or entry.value.span.touches(offset)), None
    )


# A private-use character that no one types.
_MARK = "\ue2c5"
# Blanks, and after them an item that is there already.
_NEXT_WORD = lazy_pattern(r" +[^\s,\]}#]")


class Spot(Enum):
    """What can be typed at the cursor."""

    KEY = "key"
    VALUE = "value"
    ITEM = "item"


@dataclass(frozen=True, slots=True)
class InsertionPoint:
    """The place of a cursor for text that is being typed.

    A mark is put into the text at the cursor, the text is read as always (recovery included), and the scalar that then
    holds the mark gives the place. So a half-typed key, an empty value, a new list item and the inside of a block of
    commands need no rules of their own.

    location: the scalar with the mark, in the marked text.
    prefix: the scalar's characters on this line before the cursor.
    replace: the place in the document's text of all its characters on this line.
    content: the scalar's whole text without the mark; `index` is the cursor in it.
    missing: what must be inserted in front of anything inserted here: a list item's dash, or the blank after a colon.
    missing_after: what must be inserted after it: the comma in front of the next item.
    """

    document: Document
    offset: int
    location: Location
    scalar: Scalar
    prefix: str
    replace: Span
    content: str
    index: int
    missing: str = ""
    missing_after: str = ""

    @property
    def job(self) -> Job:
        """The job of the marked text."""
        return self.location.job

    @property
    def parents(self) -> tuple[Mapping | Sequence, ...]:
        """The collections around the cursor, outermost first."""
        return self.location.parents

    @property
    def spot(self) -> Spot:
        """What can be typed here."""
        if self.location.is_key:
            return Spot.KEY
        return Spot.ITEM if self.parents and isinstance(self.parents[-1], Sequence) else Spot.VALUE

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path to the mapping (KEY), the entry (VALUE) or the item (ITEM); without a key that is being typed."""
        return self.location.path[:-1] if self.location.is_key else self.location.path

    @property
    def line_before(self) -> str:
        """The cursor's line up to the text that would be replaced."""
        text = self.document.text
        return text[start_of_line(text, self.replace.start) : self.replace.start]

    @property
    def line_after(self) -> str:
        """The cursor's line from the end of the text that would be replaced."""
        text = self.document.text
        return text[self.replace.end : end_of_line(text, self.replace.end)].rstrip("\r")

    def block_start(self) -> tuple[str, str]:
        """What must precede a key or item of a block inserted here, and the indentation of the block's next lines.

        On a line of its own the block begins at the cursor; after a key's colon it begins on the next line.
        """
        line = self.line_before
        if self.is_flow or not line.strip(" -") or self.spot is Spot.KEY:
            return self.missing, " " * len(line + self.missing)
        pad = " " * (len(line) - len(line.lstrip(" -")) + 2)
        return "\n" + pad, pad

    @property
    def mapping(self) -> Mapping | None:
        """The innermost mapping around the cursor."""
        return self.location.mapping

    @property
    def sequence(self) -> Sequence | None:
        """The list whose item the cursor is, for ITEM."""
        node = self.parents[-1] if self.parents else None
        return node if isinstance(node, Sequence) else None

    @property
    def is_flow(self) -> bool:
        """Whether the cursor is within `[…]` or `{…}`."""
        return any(node.is_flow for node in self.parents)

    @property
    def quote(self) -> str:
        """The quote that the scalar is written in; empty for none."""
        return self.scalar.style.value if self.scalar.style in {ScalarStyle.SINGLE, ScalarStyle.DOUBLE} else ""


def _insertion_point(document: Document, offset: int) -> InsertionPoint | None:
    """The place of an offset; None where nothing of the job can be typed: in comments and unreadable text."""
    text = document.text
    before = text[start_of_line(text, offset) : offset]
    # A `#` that starts the line certainly begins a comment
    if _MARK in text or before.lstrip().startswith("#"):
        return None
    if before.endswith(":"):
        # Directly after the colon: an inserted text needs a blank in front.
        return _find(document, offset, " ")
    found = _new_flow_item(document, offset) or _find(document, offset)
    if found is None and not before.strip():
        # A line of its own below a list whose items are scalars: only a new item can follow.
        found = _find(document, offset, "- ")
    return found


def _new_flow_item(document: Document, offset: int) -> InsertionPoint | None:
    """The place of a new item in `[…]`: after a comma or the bracket, and not at the word that comes next."""
    text = document.text
    line = text[start_of_line(text, offset) : offset].rstrip(" ")
    next_word = _NEXT_WORD.match(text, offset)
    if not line.endswith((",", "[")) or (not line.endswith(",") and not next_word):
        return None
    before = " " if text[offset - 1] == "," else ""
    found = _find(document, offset, before, "," if next_word else "")
    return found if found and found.spot is Spot.ITEM and found.is_flow and found.content == "" else None


def _find(document: Document, offset: int, before: str = "", after: str = "") -> InsertionPoint | None:
    text = document.text
    marked = f"{text[:offset]}{before}{_MARK}{after}{text[offset:]}"
    syntax = job_syntax(marked, document.platform.reader)
    job = Job(syntax, document.settings.plugins, document.lookup, document.is_catalog, platform=document.platform)
    # At its end, the mark is in one scalar alone: another may end where it begins.
    location = _locate(job, offset + len(before) + 1)
    if location is None or not isinstance(location.node, Scalar) or _MARK not in location.node.text:
        return None
    if not document.is_mpijob and next(iter(location.parents), location.node) is not syntax.root:
        return None
    scalar = location.node
    place = mapped(marked, scalar)
    index = place.text.index(_MARK)
    at = place.place(index).start
    if at - len(before) != offset:
        return None
    first, last = index, index
    if not scalar.is_block:
        # On one line only: a plain scalar may go on over several.
        while first > 0 and place.place(first - 1).start >= start_of_line(marked, at):
            first -= 1
        end = end_of_line(marked, at)
        while last + 1 < len(place.text) and place.place(last + 1).end <= end:
            last += 1
    prefix = place.text[first:index]
    replace = Span(min(place.place(first).start, offset), max(offset, place.place(last).end - len(before) - 1))
    content = place.text.replace(_MARK, "", 1)
    return InsertionPoint(document, offset, location, scalar, prefix, replace, content, index, before, after)
