"""The rules about the lock file, which pins what definitions outside the jobs say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Related, Severity, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job


@rule(Severity.ERROR)
def broken_lock_file(job: Job) -> Iterator[Finding]:
    """`.pai-lsp.lock` cannot be used, so nothing says which definitions the project has agreed on.

    The file is in the middle of a merge, cut off, or was changed by hand. Nothing is expanded with such a file, because
    others might get another job. Resolve the conflict, or run `pai-lsp marketplace lock` again. It is reported once in
    each job that uses a definition outside it.
    Source: docs/marketplace.md, "The lock file".
    """
    fault = job.require_graph.lock_fault
    if fault:
        entry, message = fault
        yield Finding(entry.reference.span, message)


@rule(Severity.WARNING)
def locked_definition_changed(job: Job) -> Iterator[Finding]:
    """A definition outside the job is not the one that the project has locked.

    `.pai-lsp.lock` holds the hash of every definition that the project's jobs use, and this one was changed since.
    Others may get something else from the same job. Look at the change, then run `pai-lsp marketplace lock`.
    Source: docs/marketplace.md, "The lock file".
    """
    graph = job.require_graph
    for entry in graph.entries:
        name, span = entry.reference.name, entry.reference.span
        if entry.answer.changed:
            yield Finding(span, f"'{name}': {entry.answer.changed}")
        for link in graph.beyond(entry):
            if link.answer.changed:
                related = (Related(link.reference.span, "required here", link.path),)
                message = f"'{name}' needs '{link.reference.name}': {link.answer.changed}"
                yield Finding(span, message, related=related)


RULES = (broken_lock_file, locked_definition_changed)
