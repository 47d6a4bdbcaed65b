"""Rules about what `pai-lsp expand` can not do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Severity, rule
from pai_lsp.platform import EventForm, events

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.job import Job


@rule(Severity.ERROR)
def cannot_be_expressed(job: Job) -> Iterator[Finding]:
    """What the job means to run has no form that a released cluster knows, so it can not be expanded.

    Commands for `taskFails` and `containerExit` become an EXIT trap in front of the task role's own commands. A role
    that sets an EXIT trap itself, or gives its shell away with `exec`, would lose it; in a subshell, `( exec … )`, it
    would not. A secret with `&`, `<`, `>` or a quote in it can not stand among such commands: the runtime writes it
    there as HTML. Task roles that share their commands through an alias must need the same trap.
    Source: docs/protocol.md, "Events"; openpai-runtime, src/common/utils.py, render_string_with_secrets.

        prerequisites:
          - name: report
            type: script
            callbacks:
              - event: taskFails
                commands: [echo failed]
        taskRoles:
          worker:
            prerequisites: [report]
            commands:
              - exec python train.py
              # ^^^^ error

    Good:

        prerequisites:
          - name: report
            type: script
            callbacks:
              - event: taskFails
                commands: [echo failed]
        taskRoles:
          worker:
            prerequisites: [report]
            commands:
              - python train.py
    """
    if job.is_catalogue or not _has_hooks(job):
        return
    from pai_lsp.expand.write import inexpressible  # noqa: PLC0415 - most jobs have no such events

    for problem in inexpressible(job):
        yield Finding(problem.span, problem.message, related=problem.related)


def _has_hooks(job: Job) -> bool:
    """Whether anything that the job may run waits for an event that becomes a trap."""
    names = {event.name for event in events().values() if event.released_form is EventForm.TRAP}
    used = {callback.event_name for one in job.require_graph.definitions for callback in one.callbacks}
    return not names.isdisjoint(used | {callback.event_name for plugin in job.plugins for callback in plugin.callbacks})


@rule(Severity.ERROR)
def cannot_be_expanded(job: Job) -> Iterable[Finding]:
    """`pai-lsp expand` can not turn the job into one that a released cluster runs as it is meant.

    Something that the job needs is not known (a marketplace could not be asked), is no text where a text must stand, or
    has a form that can not be kept through the runtime's reading. Only `pai-lsp expand` says so; what a mistake in the
    file is to blame for has a finding of its own.
    Source: docs/protocol.md, "What expand gives".
    """
    del job  # the command finds it
    return ()


RULES = (cannot_be_expressed,)
COMMAND_RULES = (cannot_be_expanded,)
