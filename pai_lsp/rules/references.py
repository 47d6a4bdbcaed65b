"""Rules about names that stand for something: each must be defined, and be of the right kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Severity, rule
from pai_lsp.edits import replace_fixes
from pai_lsp.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job


@rule(Severity.ERROR)
def unknown_prerequisite(job: Job) -> Iterator[Finding]:
    """A task role names a prerequisite that the job does not define.

    The rest-server refuses the job: "Prerequisite ... does not exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: justecho
            type: script
        taskRoles:
          worker:
            prerequisites: [justecho_wrong]
            #               ^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: justecho
            type: script
        taskRoles:
          worker:
            prerequisites: [justecho]
    """
    names = tuple(job.definitions_by_name)
    for role in job.task_roles:
        for reference in role.prerequisites:
            if not reference.is_address and reference.name not in job.definitions_by_name:
                message = f"no prerequisite is named '{reference.name}'{did_you_mean(reference.name, names)}"
                yield Finding(reference.span, message, replace_fixes(reference.span, reference.name, names))


RULES = (unknown_prerequisite,)
