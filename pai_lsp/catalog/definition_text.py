"""A text with definitions: a file of a folder, the protocol of a marketplace item, or the file at a web address.

Of thousands of definitions only a few are used, so a text has a header for each (what lists and searches need), and
the tree of a definition is read when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.job.definition import EXTENDED_KEYS, Definition, Origin, read_definitions
from pai_lsp.platform.tables import PREREQUISITE_NAME, TYPES
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.nodes import Mapping, ProblemKind, Scalar, Sequence, mapping_of, value_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import one_line, start_of_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.lookup import JobTemplate
    from pai_lsp.source.nodes import Node, Syntax
    from pai_lsp.source.text import Span

_LONGEST_SUMMARY = 200
_BLANKS = lazy_pattern(r"[ \t\r\n]*")
# Keys that only definitions have; many other YAML files have a name, a type and a description.
_DISTINCTIVE_KEYS = frozenset({"plugin", "callbacks", *EXTENDED_KEYS})
_TYPES = frozenset({*TYPES, "storage"})


@dataclass(frozen=True, slots=True)
class DefinitionHeader:
    """A definition as lists show it; `span` is its place in the text, in code points."""

    name: str
    type: str
    summary: str
    variables: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class DefinitionText:
    """A text and the headers of its definitions, in written order.

    path: the file, or the address, that the text was read from.
    item: the id of `marketplace://prerequisites/itemId/ID`, which names all definitions of the text; empty for none.
    reads_jobs: whether the text may be a job, and then has its prerequisites; otherwise a job has no definitions.
    is_entangled: whether definitions can only be read together (the text has aliases or faults).
    fault: a message about the text's first fault, empty for none; its readable definitions still count.
    template: the whole job that the text is a part of, if it is there to begin new jobs with.
    title: the name of a server's item, as its page shows it; empty for any other text.
    """

    path: str
    text: str
    item: str
    headers: tuple[DefinitionHeader, ...]
    reads_jobs: bool = False
    is_entangled: bool = False
    fault: str = ""
    template: JobTemplate | None = None
    title: str = ""
    _read: dict[int, Definition] = field(default_factory=dict, repr=False)

    def definition(self, number: int) -> Definition:
        """The definition of the header with that number; always the same object."""
        if number in self._read:
            return self._read[number]
        found = None if self.is_entangled else _read_part(self.text, self.headers[number].span)
        if found is None:
            for other, definition in enumerate(_definitions(parse(self.text), reads_jobs=self.reads_jobs)):
                self._read.setdefault(other, definition)
            # A header without a definition comes from the cache of a version that read the text otherwise.
            found = Definition(mapping_of(self.headers[number].span, ()), Origin.CATALOG)
        return self._read.setdefault(number, found)

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions."""
        return tuple(self.definition(number) for number in range(len(self.headers)))


def read_definition_text(
    path: str, text: str, *, item: str = "", summary: str = "", reads_jobs: bool = False
) -> DefinitionText:
    """Read a text's headers; definitions without a summary get `summary`. Never raises."""
    syntax = parse(text)
    headers = tuple(header_of(definition, summary) for definition in _definitions(syntax, reads_jobs=reads_jobs))
    problems = [problem for problem in syntax.problems if problem.kind is not ProblemKind.SEVERAL_DOCUMENTS]
    fault = f"line {text.count(chr(10), 0, problems[0].span.start) + 1}: {problems[0].message}" if problems else ""
    return DefinitionText(path, text, item, headers, reads_jobs, bool(problems or syntax.aliases), fault)


def header_of(definition: Definition, summary: str = "") -> DefinitionHeader:
    """The header of a definition; one without a summary gets `summary`."""
    return DefinitionHeader(
        definition.name,
        definition.type,
        next(_descriptions(definition), "") or summary,
        tuple(variable.name for variable in definition.template_variables),
        definition.node.span,
    )


def is_definition(definition: Definition) -> bool:
    """Whether a mapping that was read as a definition is one, and not some other YAML with a name."""
    if not definition.name:
        return False
    return definition.type in _TYPES or any(entry.name in _DISTINCTIVE_KEYS for entry in definition.node.entries)


def reads_as_definitions(syntax: Syntax, *, is_wanted: bool) -> bool:
    """Whether a file has definitions; with `is_wanted`, which the user states, every file that is not a job has."""
    return not is_job(syntax) and (is_wanted or any(map(is_definition, _definitions(syntax, reads_jobs=False))))


def is_job(syntax: Syntax) -> bool:
    """Whether a text is a job, not a file of definitions."""
    root = syntax.root
    return isinstance(root, Mapping) and any(root.own(key) is not None for key in ("prerequisites", "taskRoles"))


def _definitions(syntax: Syntax, *, reads_jobs: bool) -> tuple[Definition, ...]:
    """The definitions of a text: one, a list of them, or a stream of such documents; of a job, its prerequisites."""
    nodes: tuple[Node | None, ...] = syntax.documents
    if is_job(syntax):
        node = value_at(syntax.root, "prerequisites")
        nodes = (node,) if reads_jobs and isinstance(node, Sequence) else ()
    return tuple(
        definition
        for node in nodes
        for definition in read_definitions(node, Origin.CATALOG)
        if is_definition(definition) or (isinstance(node, Sequence) and PREREQUISITE_NAME.fullmatch(definition.name))
    )


def _descriptions(definition: Definition) -> Iterator[str]:
    """The summary, title and description of a definition, as far as it has them."""
    for key in ("summary", "title", "description"):
        node = definition.node.get(key)
        if isinstance(node, Scalar) and node.text.strip():
            yield first_line(node.text)


def first_line(text: str) -> str:
    """The first line of a description, cut to a length that fits a list."""
    return one_line(text.strip().splitlines()[0], _LONGEST_SUMMARY) if text.strip() else ""


def _read_part(text: str, span: Span) -> Definition | None:
    """The definition at a place, read without the rest of the text; None if that fails."""
    line = start_of_line(text, span.start)
    # Empty lines and spaces before it keep it in its place. The line ends after it may belong to a block scalar at its
    # end.
    blanks = _BLANKS.match(text, span.end)
    part = text[span.start : blanks.end() if blanks else span.end]
    syntax = parse("\n" * line + " " * (span.start - line) + part)
    return None if syntax.problems or not isinstance(syntax.root, Mapping) else Definition(syntax.root, Origin.CATALOG)
