"""Where a structure error is in the text: from the path in the value to the key or value as written.

A path goes through aliases and merged mappings, so the place may be far from where the value is used; it is always
where the wrong text is written. An error that may only be a consequence of a syntax error nearby has no place.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding
from pai_lsp.job.definition import EXTENDED_KEYS, key_name_span
from pai_lsp.source.edits import line_span
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Entry, Mapping, Node, ProblemKind, Scalar, Sequence
from pai_lsp.source.text import Span, any_overlaps, apart, end_of_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from pai_lsp.findings.diagnostic import Fixes
    from pai_lsp.job.job import Job
    from pai_lsp.platform.structure_errors import StructureError

    _Entries: TypeAlias = dict[Mapping, dict[str, Entry]]

# After these, parts of the file are missing from the tree, or are attached in the wrong place.
_UNREAD = frozenset({ProblemKind.SYNTAX, ProblemKind.TOO_LARGE})


@dataclass(frozen=True, slots=True, eq=False)
class ErrorPlace:
    """Where one structure error is.

    span: the text to mark. node: the wrong value, or the mapping that lacks or contains a key; None for an empty file.
    owner: the mapping or list that `node` is written in; None for the root. entry: the key that leads to it, if any.
    key: the badly named or unknown key, when the error is about one; then `node` is the mapping that it is written in.
    """

    error: StructureError
    span: Span
    node: Node | None
    owner: Mapping | Sequence | None = None
    entry: Entry | None = None
    key: Entry | None = None

    @property
    def consequence(self) -> Consequence | None:
        """What becomes of the job where the rest-server takes what is wrong; None where it refuses it."""
        path = self.error.path
        is_extended = path[:1] == ("prerequisites",) and len(path) > 2 and path[2] in _UNCHECKED
        if not is_extended and path[:2] != ("extras", "reference_prerequisites") and not self.error.is_accepted:
            return None
        is_unreadable = isinstance(self.node, Scalar) and isinstance(self.node.runtime_value, ValueError)
        return Consequence.DIES if is_unreadable else Consequence.FAILS


# Only expansion reads them; the rest-server checks the type of `require`, too. Source: config/v2/protocol.js.
_UNCHECKED = frozenset(EXTENDED_KEYS) - {"require"}


def places(job: Job, kind: str) -> Iterator[ErrorPlace]:
    """The errors of one kind with their places; each place once, however often it is used."""
    seen: set[tuple[Node | Span | None, str | None]] = set()
    known: _Entries = {}
    for error in job.structure_errors:
        place = _place(job, error, known) if error.kind == kind else None
        if place is None or _is_in_misread_role(job, error):
            continue
        what = (place.node if kind == "missing-key" else place.span, error.key)
        if what not in seen:
            seen.add(what)
            if not _is_near_unread_text(job, place):
                yield place


def reported(job: Job, kind: str, fixes: Callable[[Job, ErrorPlace], Fixes]) -> Iterator[Finding]:
    """The errors of one kind as they are described, with the fixes that a function makes for each."""
    return (Finding(one.span, one.error.message, fixes(job, one)) for one in places(job, kind))


def _is_in_misread_role(job: Job, error: StructureError) -> bool:
    """Whether an error only follows from keys of a task role that are not below its name."""
    path = (*error.path, error.key)
    return path[0] == "taskRoles" and len(path) > 1 and path[1] in job.misread_roles


def _place(job: Job, error: StructureError, known: _Entries) -> ErrorPlace | None:
    """The place of one error; None if the path does not exist in the text."""
    node = job.content
    owner: Mapping | Sequence | None = None
    entry: Entry | None = None
    for step in error.path:
        if isinstance(step, str):
            found = _written(node, step, known) if isinstance(node, Mapping) else None
            if found is None:
                return None
            owner, entry = found
            node = entry.value
        else:
            if not isinstance(node, Sequence) or step >= len(node.items):
                return None
            owner, entry, node = node, None, node.items[step]
    if error.key is None:
        return ErrorPlace(error, _value_span(job.text, node, entry), node, owner, entry)
    if not isinstance(node, Mapping):
        return None
    if error.kind == "missing-key":
        misspelt = _written(node, error.expected[0], known) if error.expected else None
        span = key_name_span(misspelt[1]) if misspelt else _label(node, entry)
        return ErrorPlace(error, span, node, owner, entry)
    found = _written(node, error.key, known)
    if found is None:
        return None
    mapping, key = found
    span = key_name_span(key)
    return ErrorPlace(error, span if len(span) else key.span, mapping, owner, entry, key)


def _written(mapping: Mapping, name: str, known: _Entries) -> tuple[Mapping, Entry] | None:
    """The effective entry of a name (the last of duplicates), and the mapping that it is written in.

    known: cache of entries by name for each mapping; without it, a file with only wrong keys would be slow.
    """
    own = known.get(mapping)
    if own is None:
        own = known[mapping] = {entry.name: entry for entry in mapping.entries if not entry.is_merge}
    if name in own:
        return mapping, own[name]
    for source in mapping.merged:
        if found := _written(source, name, known):
            return found
    return None


def _value_span(text: str, node: Node | None, entry: Entry | None) -> Span:
    """A value, or its key if the value is empty or has several lines."""
    if node is None:
        return line_of_content(text)
    if entry is not None:
        is_short = len(node.span) and (isinstance(node, Scalar) or "\n" not in text[node.span.start : node.span.end])
        return node.span if is_short else entry.key.span
    if not len(node.span):
        dash = text.rfind("-", 0, node.span.start)
        return Span(dash, dash + 1) if dash >= 0 else node.span
    if isinstance(node, Scalar):
        return node.span
    end = text.find("\n", node.span.start, node.span.end)
    return Span(node.span.start, len(text[:end].rstrip()) if end >= 0 else node.span.end)


def line_of_content(text: str) -> Span:
    """The first line that holds anything, without the blanks around it."""
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    return Span(start, start + len(text[start : end_of_line(text, start)].rstrip()))


def _label(mapping: Mapping, entry: Entry | None) -> Span:
    """The span to mark for a whole mapping: the key that leads to it, otherwise its own first key."""
    if entry is not None:
        return entry.key.span
    return mapping.entries[0].key.span if mapping.entries else mapping.span


def _is_near_unread_text(job: Job, place: ErrorPlace) -> bool:
    """Whether text that could not be read may be what is missing, or may have spoilt or moved the value."""
    if not job.syntax.problems:
        return False
    unread, left_out = job.once(_unread_lines)
    if place.node is None or any_overlaps(unread, place.span):
        return any_overlaps(unread, place.span)
    span = place.node.span
    if place.key is not None:
        # Where a line was left out, what follows may hang in the wrong mapping.
        return any_overlaps(left_out, span)
    start = min(span.start, place.entry.key.span.start) if place.entry else span.start
    return any_overlaps(unread, _with_next_line(job.text, Span(start, max(span.end, start))))


def _unread_lines(job: Job) -> tuple[list[Span], list[Span]]:
    """The lines that could not be read, and those of them that were left out; in order and apart from each other."""
    problems = [problem for problem in job.syntax.problems if problem.kind in _UNREAD]
    lines = apart(line_span(job.text, problem.span) for problem in problems)
    return lines, apart(line_span(job.text, problem.span) for problem in problems if problem.fix is None)


def _with_next_line(text: str, span: Span) -> Span:
    """A value with the next line of content: a line with a syntax error is not inside the value it belongs to."""
    following = len(text) - len(text[line_span(text, span).end :].lstrip())
    return Span(span.start, line_span(text, Span(following, following)).end)
