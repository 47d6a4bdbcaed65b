"""Whether a change leaves a job as good as it was: it runs the same commands in the same order, and checks clean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Severity
from pai_lsp.expand.as_is import released_run
from pai_lsp.expand.effective import effective_job
from pai_lsp.expand.write import expanded
from pai_lsp.frozen import replace
from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError
from pai_lsp.job import Job
from pai_lsp.syntax import parse
from pai_lsp.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.document import Document
    from pai_lsp.text import TextEdit

# Lines that only say how the others run: shell options, brackets of a shell of their own, comments.
_FRAME = re.compile(r"set (?:[-+]o \w+ ?)+|[()]|#.*")


def refuse_another_run(job: Job, text: str) -> None:
    """Stop where the changed `text` of a job does not run what the job runs.

    Raises:
        CanNotRefactorError: for this, and where it can not be known.
    """
    if what_runs(job) != what_runs(Job(parse(text), job.site_plugins, job.lookup)):
        raise CanNotRefactorError("the job would not run the same commands in the same order any more")


def refuse_unknown(job: Job) -> None:
    """Stop where it is not known what the job runs.

    Raises:
        CanNotRefactorError: with what is wrong first.
    """
    problems = effective_job(job).problems
    if problems:
        raise CanNotRefactorError(problems[0].message)


def refuse_new_findings(document: Document, edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...]:
    """The edits, if nothing is wrong after them that was not before.

    Raises:
        CanNotRefactorError: with what would be wrong.
    """
    after = replace(document, text=apply_edits(document.text, edits))
    known = {one.code for one in document.diagnostics}
    for one in after.diagnostics:
        if one.severity <= Severity.WARNING and one.code not in known:
            raise CanNotRefactorError(one.message)
    return edits


def what_runs(job: Job) -> dict[str, list[str]]:
    """By task role the lines of everything that runs, in order, whether as a callback or among the commands.

    Raises:
        CanNotRefactorError: where the job can not be expanded, or would not start.
    """
    found = expanded(job)
    if found.text is None:
        raise CanNotRefactorError(found.problems[0].message)
    run = released_run(Job(parse(found.text), job.site_plugins, job.lookup))
    return {name: list(_lines((*role.pre, role.command, *role.post))) for name, role in run.roles.items()} | {
        stop.message: [] for stop in run.stops
    }


def _lines(texts: Iterable[str]) -> Iterable[str]:
    lines = (line.strip() for text in texts for line in text.split("\n"))
    return (line for line in lines if line and not _FRAME.fullmatch(line))
