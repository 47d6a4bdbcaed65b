"""The rule about the lock file, which pins what definitions outside the jobs say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Severity, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job


@rule(Severity.WARNING)
def locked_definition_changed(job: Job) -> Iterator[Finding]:
    """A definition outside the job is not the one that the project has locked.

    `.pai-lsp.lock` holds the hash of every definition that the project's jobs use. This one was changed since, or the
    lock file itself was changed by hand: others may get something else from the same job. Look at the change, then run
    `pai-lsp marketplace lock`.
    Source: docs/marketplace.md, "The lock file".
    """
    for link in job.require_graph.entries:
        if link.answer.changed:
            yield Finding(link.reference.span, f"'{link.reference.name}': {link.answer.changed}")


RULES = (locked_definition_changed,)
