"""The proof of an expanded job: its text is read again, and runs what it was written to run.

Expansion edits text; where that text is shared through aliases or merge keys, an edit may reach further than it should.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pai_lsp.embedded.server_rendering import trim
from pai_lsp.expansion.effective import CANNOT_BE_EXPANDED, TASK_NEVER_STARTS, Prerequisite, effective_job, problem
from pai_lsp.expansion.released_run import command_source, released_run
from pai_lsp.platform.tables import Moment
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import Span, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.expansion.effective import EffectiveRole
    from pai_lsp.expansion.released_form import ReleasedForm
    from pai_lsp.expansion.released_run import ReleasedRun
    from pai_lsp.expansion.task_shell import Source
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.job import Job

# A plugin with what it runs before and after.
_Run = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Proof:
    """The differences between what an expanded job runs and what it should run; without any, what it runs.

    job: the expanded job, read again.
    """

    job: Job
    problems: tuple[Diagnostic, ...]
    run: ReleasedRun | None = None


def proven(job: Job, text: str, form: ReleasedForm) -> Proof:
    """Read the text of an expanded job, which was written for `form`."""
    after = job.of_text(text)
    again = effective_job(after)
    roles = {role.role.name: role for role in again.roles}
    if again.problems:
        span = next((role.role.name_span for role in form.effective.roles), Span(0, 0))
        return Proof(after, (_problem(span, f"expansion would produce an invalid job: {again.problems[0].message}"),))
    found: list[Diagnostic] = []
    for role in form.effective.roles:
        name = role.role.name
        command = "\n".join(map(trim, form.commands[name].added_to(job.command_parts(role.role))))
        read = roles.get(name)
        meant_runs, read_runs = _meant(role, form), _read(read) if read else []
        meant_parts = [*itertools.chain(*meant_runs), trim(command)]
        read_parts = [*itertools.chain(*read_runs), trim(command_source(after, read.role)) if read else ""]
        if meant_parts != read_parts:
            found.append(_problem(role.role.name_span, _difference(name, meant_parts, read_parts)))
    if found:
        return Proof(after, tuple(found))
    run = released_run(after)
    return Proof(after, tuple(_stops(run, after, form)), run)


def _difference(role: str, meant: list[str], read: list[str]) -> str:
    """The first line that the role would run differently, in words."""
    before, after = ("\n".join(parts).split("\n") for parts in (meant, read))
    pairs = itertools.zip_longest(before, after, fillvalue="")
    wanted, got = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    wanted, got = one_line(wanted, 60), one_line(got, 60)
    runs = f"'{got}' instead of '{wanted}'" if wanted and got else f"'{got or wanted}'"
    verb = "would run" if got else "would not run"
    return f"the expanded '{role}' {verb} {runs}; if text is shared through an alias or '<<', write it out"


def _meant(role: EffectiveRole, form: ReleasedForm) -> list[_Run]:
    def lines(source: Source, moment: Moment) -> str:
        return "\n".join(line for one in source.commands if one.moment is moment for line in form.items.get(one, ()))

    plugins = () if role.role.name in form.moved else role.cmd_plugins
    return _runs((*form.listed[role.role.name], *plugins), lines)


def _read(role: EffectiveRole) -> list[_Run]:
    return _runs(role.sources, lambda source, moment: "\n".join(item.text for item in source.moments(moment)))


def _runs(sources: Iterable[Source], lines: Callable[[Source, Moment], str]) -> list[_Run]:
    """What runs, without empty parts."""
    found: list[_Run] = []
    for source in sources:
        plugin = source.plugin if isinstance(source, Prerequisite) else "cmd"
        policy = "ignore" if source.ignores_failure else "fail"
        run = (plugin or "", lines(source, Moment.START), lines(source, Moment.SUCCESS), f"failurePolicy: {policy}")
        if plugin and (plugin != "cmd" or run[1] or run[2]):
            found.append(run)
    return found


def _stops(run: ReleasedRun, after: Job, form: ReleasedForm) -> Iterator[Diagnostic]:
    """What keeps the expanded job from starting, except a role's name, which expansion does not change."""
    names = {role.name_span for role in after.task_roles}
    places = {
        form.names[one]: one.definition.name_span if one.is_own else one.entry.reference.span
        for one in form.listed_anywhere
    }
    for stop in run.stops:
        if stop.span in names or not len(stop.span):
            continue
        written = after.text[stop.span.start : stop.span.end]
        span = places.get(written, form.effective.roles[0].role.name_span)
        yield problem(TASK_NEVER_STARTS, span, f"the task never starts: {stop.message}")


def _problem(span: Span, message: str) -> Diagnostic:
    return problem(CANNOT_BE_EXPANDED, span, message)
