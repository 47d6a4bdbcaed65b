"""What task roles run, as a text to read beside the job: with everything that they require, and no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.expand.effective import effective_job
from pai_lsp.expand.script import scripts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic


def preview(document: Document, role: str | None = None, folder: str = "") -> str:
    """What a task role runs, or without a name what each one runs, as far as it is known.

    Problems that prevent expansion come first, as comments. Values of secrets stay references; what looks like a
    password in clear is shown as asterisks. Paths below `folder` are shown relative to it.
    """
    job = document.job
    effective = effective_job(job)
    text = scripts(job, effective, role, folder)
    if role is not None and role not in job.task_roles_by_name:
        text = f"# no task role is named '{role}'\n"
    return "".join([*_problems(document, effective.problems), job.hidden.without(text)])


def _problems(document: Document, problems: Sequence[Diagnostic]) -> Iterator[str]:
    """The problems, a line each."""
    for problem in (one.without_secrets(document.job.hidden) for one in problems):
        yield f"# line {document.lines.line_of(problem.span.start) + 1}: {' '.join(problem.message.split())}\n"
