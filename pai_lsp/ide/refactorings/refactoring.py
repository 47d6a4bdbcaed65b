"""A refactoring: a named change of a job's text that its author asks for, or the reason why it is not possible.

After a change, a job must run the same commands in the same order, and have no new findings.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.expand.effective import effective_job
from pai_lsp.expand.write.released_job import expanded
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.job.job import Job
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import keeping_comments, line_end
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.document import Document
    from pai_lsp.source.nodes import Syntax
    from pai_lsp.source.text import Span


class RefactoringKind(Enum):
    """The kind of change; the values are those of LSP."""

    EXTRACT = "refactor.extract"
    INLINE = "refactor.inline"
    REWRITE = "refactor.rewrite"
    QUICK_FIX = "quickfix"


@dataclass(frozen=True, slots=True, eq=False)
class Refactoring:
    """One change that can be offered at a place.

    make: returns the edits, or raises `CanNotRefactorError` if only making them shows that it is impossible.
        None if that is known already; `disabled_reason` is then the message. See `made`.
    """

    title: str
    kind: RefactoringKind
    make: Callable[[], tuple[TextEdit, ...]] | None
    disabled_reason: str = ""


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
        return ready(title, kind, make())
    except CanNotRefactorError as error:
        return refused(title, kind, str(error))


def made(refactoring: Refactoring) -> Refactoring:
    """The refactoring with its edits made, or the reason why it is not possible after all."""
    make = refactoring.make
    return attempted(refactoring.title, refactoring.kind, make) if make else refactoring


def ready(title: str, kind: RefactoringKind, edits: tuple[TextEdit, ...]) -> Refactoring:
    """A refactoring whose edits are known."""
    return Refactoring(title, kind, lambda: edits)


def refused(title: str, kind: RefactoringKind, reason: str) -> Refactoring:
    """A refactoring that is not possible, and the reason."""
    return Refactoring(title, kind, None, reason)


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
    return tuple(TextEdit(edit.span, _with_line_ends(edit.new_text, line_end(syntax.text))) for edit in sorted(kept))


def _with_line_ends(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


# Lines that only change how the others run: shell options, brackets of a shell of their own, comments.
_FRAME = re.compile(r"set (?:[-+]o \w+ ?)+|[()]|#.*")


def refuse_another_run(job: Job, text: str) -> None:
    """Raise the reason if the changed `text` of a job does not run what the job runs.

    Raises:
        CanNotRefactorError: in this case, and if it cannot be known.
    """
    if what_runs(job) != what_runs(Job(parse(text), job.site_plugins, job.lookup)):
        raise CanNotRefactorError("the job would not run the same commands in the same order any more")


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
