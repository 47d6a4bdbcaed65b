"""A refactoring: a named change of a job's text that its author asks for, or the reason why it is not possible.

After a change, a job must run the same commands in the same order, and have no new findings. The functions at the end
make the edits that several refactorings need, or raise `CanNotRefactorError` if no small edit is possible.
"""

from __future__ import annotations

from enum import Enum
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.platform.job_schema import key_order
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import add_to_section, append_item, insert_entry, keeping_comments, line_end
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.line_changes import changed_lines
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit, apply_edits, column
from pai_lsp.source.tree_edits import append_value, insert_values
from pai_lsp.source.writing import indented, value_lines, written_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Entry, Node, Syntax


class RefactoringKind(Enum):
    """The kind of change; the values are those of LSP."""

    EXTRACT = "refactor.extract"
    INLINE = "refactor.inline"
    REWRITE = "refactor.rewrite"
    QUICK_FIX = "quickfix"


@dataclass(frozen=True, slots=True)
class Refactoring:
    """One change that can be offered at a place.

    make: returns the edits, or raises `CanNotRefactorError` if only making them shows that it is impossible.
        None if that is known already; `disabled_reason` is then the message. See `made`.
    beside: the format that the whole file is converted to, for clients that open the result beside it instead;
        `EXPANDED` for the job for submission, which never replaces its source.
    """

    title: str
    kind: RefactoringKind
    make: Callable[[], tuple[TextEdit, ...]] | None
    disabled_reason: str = ""
    beside: str = ""


EXPANDED = "expanded"


class CanNotRefactorError(Exception):
    """The reason why a refactoring is not possible at its place; contains no secret."""


def attempted(
    title: str,
    kind: RefactoringKind,
    make: Callable[[], tuple[TextEdit, ...]],
    check: Callable[[], object] | None = None,
) -> Refactoring:
    """The refactoring, or the reason that `check` raises; without it, the one that `make` raises, which is run now."""
    try:
        if check is not None:
            check()
            return Refactoring(title, kind, make)
        edits = make()
        return Refactoring(title, kind, lambda: edits)
    except CanNotRefactorError as error:
        return Refactoring(title, kind, None, str(error))


def made(refactoring: Refactoring) -> Refactoring:
    """The refactoring with its edits made, or the reason why it is not possible after all."""
    make = refactoring.make
    if make is None:
        return refactoring
    return replace(attempted(refactoring.title, refactoring.kind, make), beside=refactoring.beside)


def covers(place: Span, span: Span) -> bool:
    """Whether a selection, or the cursor, is within a place."""
    return place.touches(span.start) and place.touches(span.end)


def trimmed(text: str, span: Span) -> Span:
    """A selection without the white space at its ends; empty if it has nothing else."""
    chosen = text[span.start : span.end]
    start = span.start + len(chosen) - len(chosen.lstrip())
    return Span(start, max(start, span.start + len(chosen.rstrip())))


def together(syntax: Syntax, edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """Edits that were made one by one, as one change: in order, each once, with the text's own line ends.

    Insertions at one place keep the order in which they were given. A comment in a removed range stays.
    """
    found: dict[Span, TextEdit] = {}
    for edit in dict.fromkeys(edits):
        before = found.get(edit.span)
        new_text = edit.new_text if before is None or len(edit.span) else before.new_text + edit.new_text
        found[edit.span] = TextEdit(edit.span, new_text)
    kept = keeping_comments(syntax.text, tuple(found.values()), comments(syntax))
    newline = line_end(syntax.text)
    return tuple(
        TextEdit(edit.span, edit.new_text.replace("\r\n", "\n").replace("\n", newline)) for edit in sorted(kept)
    )


# Lines that only change how the others run: shell options, brackets of a shell of their own, comments.
_FRAME = lazy_pattern(r"set (?:[-+]o \w+ ?)+|[()]|#.*")


def refuse_another_run(job: Job, text: str) -> None:
    """Raise the reason if the changed `text` of a job does not run what the job runs.

    Raises:
        CanNotRefactorError: in this case, and if it cannot be known.
    """
    if what_runs(job) != what_runs(job.of_text(text)):
        raise CanNotRefactorError("the job would no longer run the same commands in the same order")


def refuse_unknown(job: Job) -> None:
    """Raise the reason if it is unknown what the job runs.

    Raises:
        CanNotRefactorError: with the first problem.
    """
    problems = effective_job(job).problems
    if problems:
        raise CanNotRefactorError(problems[0].message)


def refuse_new_findings(document: Document, edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...]:
    """The edits, if they cause no new finding.

    Raises:
        CanNotRefactorError: with the new finding.
    """
    after = replace(document, text=apply_edits(document.text, edits))
    known = {one.code for one in document.diagnostics}
    for one in after.diagnostics:
        if one.severity <= Severity.WARNING and one.code not in known:
            raise CanNotRefactorError(one.message)
    return edits


def what_runs(job: Job) -> dict[str, list[str]]:
    """By task role the lines of everything that runs, in order, as callbacks or as commands.

    Raises:
        CanNotRefactorError: if the job cannot be expanded, or would not start.
    """
    found = expanded(job)
    if found.text is None or found.run is None:
        raise CanNotRefactorError(found.problems[0].message)
    run = found.run
    return {name: list(_lines((*role.pre, role.command, *role.post))) for name, role in run.roles.items()} | {
        stop.message: [] for stop in run.stops
    }


def _lines(texts: Iterable[str]) -> Iterable[str]:
    lines = (line.strip() for text in texts for line in text.split("\n"))
    return (line for line in lines if line and not _FRAME.fullmatch(line))


def definition_added(job: Job, value: dict[str, Any], lines: list[str] | None = None) -> TextEdit:
    """Add a prerequisite after the last one; in block style as in `lines`."""
    lines = lines or value_lines(value)
    root = job.root
    entry = job.section("prerequisites")
    if root is None or not root.entries:
        raise CanNotRefactorError("there is no job in this file")
    if entry is None:
        before = list(takewhile(lambda one: one.name != "taskRoles", root.entries))
        preceding = before[-1] if before else None
        if root.is_flow:
            return insert_values(job.text, root, {"prerequisites": [value]}, preceding)
        item = [f"  - {lines[0]}", *indented(lines[1:], "    ")]
        return insert_entry(job.text, root, "\n".join(["prerequisites:", *item]), preceding)
    node = entry.value
    if not isinstance(node, Sequence) or root.own("prerequisites") is None:
        raise CanNotRefactorError("'prerequisites' is not a list in this job, or is shared through an anchor")
    node = _written_here(node, entry.key)
    return append_value(job.text, node, value) if node.is_flow else append_item(job.text, node, "\n".join(lines))


def listed_in_role(job: Job, role: TaskRole, name: str) -> TextEdit:
    """Add a name after the others in a task role's `prerequisites`; a new key comes where people write it."""
    if role.node is None:
        raise CanNotRefactorError(f"'{role.name}' is not a mapping")
    entry = role.node.own("prerequisites")
    if entry is None:
        if role.get("prerequisites") is not None:
            raise CanNotRefactorError(f"'{role.name}' shares its prerequisites through '<<'")
        before = frozenset(takewhile(lambda key: key != "prerequisites", key_order(("taskRoles", "*"))))
        preceding = [one for one in role.node.entries if one.name in before]
        return insert_entry(job.text, role.node, f"prerequisites: [{name}]", preceding[-1] if preceding else None)
    if isinstance(entry.value, Scalar) and entry.value.value is None:
        return below_key(job.text, entry, [name])
    if not isinstance(entry.value, Sequence):
        raise CanNotRefactorError(f"the prerequisites of '{role.name}' are not a list")
    return append_item(job.text, _written_here(entry.value, entry.key), name)


def below_key(text: str, entry: Entry, value: Any) -> TextEdit:
    """A value below a key that has none, in place of an empty value (`~`, `null`, `""`)."""
    key_end = entry.key.span.end
    pad = " " * (column(text, entry.key.span.start) + 2)
    # An empty value may not be written at all; then the colon is replaced.
    end = entry.value.span.end if entry.value.span.end > key_end else max(key_end, text.find(":", key_end) + 1)
    return TextEdit(Span(key_end, end), "\n".join([":", *indented(value_lines(value), pad)]))


def value_added(job: Job, section: str, name: str, written: str) -> TextEdit:
    """Add a value, written as YAML, to `parameters` or `secrets`; a missing section is added."""
    line = f"{written_key(name)}: {written}"
    edit = add_to_section(job.text, job.root, section, line)
    if edit is None and job.root is not None and job.root.is_flow and job.section(section) is None and job.root.entries:
        edit = insert_entry(job.text, job.root, f"{section}: {{{line}}}")
    if edit is None:
        raise CanNotRefactorError(f"'{section}' is not a mapping in this job, or is shared through an anchor")
    return edit


def is_shared(job: Job, span: Span) -> bool:
    """Whether a place is also used elsewhere, through an alias or `<<`."""
    return any(
        alias.anchor.node.span.start <= span.start and span.end <= max(alias.anchor.node.span.end, span.start)
        for alias in job.syntax.aliases
        if alias.anchor is not None
    )


def refuse_shared(job: Job, node: Node, what: str) -> None:
    """Raise the reason if a node is used in several places."""
    if is_shared(job, node.span):
        raise CanNotRefactorError(f"{what} are shared through an anchor; write them out first")


def _written_here(sequence: Sequence, key: Node) -> Sequence:
    """The list, if it is written after its key and ends with its last item."""
    last = sequence.items[-1] if sequence.items else None
    is_last_elsewhere = last is not None and (
        last.span.start < sequence.span.start or (isinstance(last, Mapping) and not last.entries and not last.is_flow)
    )
    if sequence.span.start < key.span.start or is_last_elsewhere:
        raise CanNotRefactorError("the list is shared through an anchor; write it out first")
    return sequence


def line_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    """Edits of whole lines that make one text the other, and leave alone what is the same."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, old))]
    return tuple(
        TextEdit(Span(starts[begin], starts[end]), "".join(new[new_begin:new_end]))
        for begin, end, new_begin, new_end in changed_lines(old, new)
    )
