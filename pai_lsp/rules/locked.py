"""The rule about the lock file, which pins what definitions outside the jobs say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Related, Severity, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job


@rule(Severity.WARNING)
def locked_definition_changed(job: Job) -> Iterator[Finding]:
    """A definition outside the job is not the one that the project has locked.

    `.pai-lsp.lock` holds the hash of every definition that the project's jobs use. This one was changed since, or the
    lock file cannot be used: it is in the middle of a merge, or was changed by hand. Others may get something else from
    the same job. Look at the change, then run `pai-lsp marketplace lock`. A lock file that cannot be used is reported
    once in each job.
    Source: docs/marketplace.md, "The lock file".
    """
    graph = job.require_graph
    for entry in graph.entries:
        faults = [link.answer.lock_fault for link in (entry, *graph.beyond(entry)) if link.answer.lock_fault]
        if faults:
            yield Finding(entry.reference.span, faults[0])
            break
    for entry in graph.entries:
        name, span = entry.reference.name, entry.reference.span
        if entry.answer.changed:
            yield Finding(span, f"'{name}': {entry.answer.changed}")
        for link in graph.beyond(entry):
            if link.answer.changed:
                related = (Related(link.reference.span, "required here", link.path),)
                message = f"'{name}' needs '{link.reference.name}': {link.answer.changed}"
                yield Finding(span, message, related=related)


RULES = (locked_definition_changed,)
