"""The words of a file that tell which rules can find something in it.

Most rules are about one program, key, plugin or fault that most jobs do not have: a check asks only the others.
"""

from __future__ import annotations

from pai_lsp.rules.commands.command_uses import programs_of
from pai_lsp.rules.commands.mpi import MPI, may_launch
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.job.job import Job


def rules_about(job: Job, rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules that can find something in the file of a job as it is meant."""
    words = _words(job)
    return rules if words is None else [one for one in rules if not one.about or not words.isdisjoint(one.about)]


def _words(job: Job) -> set[str] | None:
    """What a file is about; None where the job is more than its file, so that every rule may find something.

    The words are its scalars, keys included; the programs that its scripts run; the plugins that it uses, and `plugin`
    for any, known or not; the kinds of its structure errors with what they expect, and of its syntax problems; and the
    outcomes of its templates.
    """
    graph = job.require_graph
    if graph.leaves_file:
        return None
    words = {scalar.text for scalar in job.syntax.scalars}
    words.update(programs_of(job))
    if may_launch(job):
        words.add(MPI)
    if job.plugin_uses or job.plugins:
        words.add("plugin")
        words.update(use.plugin.name for use in job.plugin_uses)
    for error in job.structure_errors:
        words.update((error.kind, *error.expected))  # a misspelled key counts as the one that is meant
    words.update(problem.kind.value for problem in job.syntax.problems)
    words.update(outcome.value for outcome in job.template_outcomes)
    return words
