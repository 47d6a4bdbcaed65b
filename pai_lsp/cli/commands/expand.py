"""`pai-lsp expand`: the job that every released cluster runs as it is meant, and what runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed, json_text
from pai_lsp.cli.commands.job_file import each_job, job_of, put, show_findings
from pai_lsp.cli.report.results import checked_file
from pai_lsp.document import check_expanded, diagnostics_of_expansion
from pai_lsp.expansion.effective import CANNOT_BE_EXPANDED, effective_job, problem
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.released_run import ReleasedRun, released_run
from pai_lsp.expansion.script import released_script, scripts, together
from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.source.failures import why
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import ProblemKind
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.document import Document
    from pai_lsp.job.hidden import Hidden
    from pai_lsp.job.job import Job
    from pai_lsp.project.projects import Projects

_VERSION = 1


def run(arguments: argparse.Namespace) -> int:
    """Expand the jobs and print or write the results."""
    form = arguments.format or ("json" if arguments.as_is else "yaml")
    if problem := _wrong_usage(arguments, form):
        return failed("expand", problem)
    ending = {"yaml": None, "json": ".json", "script": ".sh"}[form]
    work = partial(_expand, arguments, form)
    return each_job("expand", arguments.jobs, arguments.output, work, ending, writes=not arguments.check)


def _expand(arguments: argparse.Namespace, form: str, path: str, output: str | None, projects: Projects) -> int:
    """Expand one job."""
    document = job_of(path, projects, arguments.platform)
    if document.is_catalog:
        step = "contains definitions, not a job; expand a job that uses them"
        return failed("expand", f"{visible(path)} {step}", FINDINGS)
    roles = [role.name for role in document.job.task_roles]
    if arguments.task_role is not None and arguments.task_role not in roles:
        near = did_you_mean(arguments.task_role, roles)
        return failed("expand", f"the job has no task role '{visible(arguments.task_role)}'{near}")
    result = _as_is(document.job, form, arguments) if arguments.as_is else _expanded(document, form, arguments)
    ignored = frozenset() if arguments.as_is else ANSWERED_BY_EXPANSION
    show_findings(checked_file(document, diagnostics_of_expansion(document, result.problems, result.findings, ignored)))
    if result.output is None:
        return FINDINGS
    if result.is_wrong and form == "yaml" and not arguments.force:
        return failed("expand", "no output, because the expanded job has errors; --force prints it anyway", FINDINGS)
    if arguments.check:
        return _compared(output or "", result.output)
    put(result.output, output)
    return FINDINGS if result.is_wrong else 0


@dataclass(frozen=True, slots=True)
class _Result:
    """The text to print; None if it cannot be made, for the reasons in `problems`.

    findings: what the checker finds in the job that runs; None if that is the file itself.
    """

    output: str | None
    problems: tuple[Diagnostic, ...] = ()
    findings: tuple[Diagnostic, ...] | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the expanded job has errors."""
        found = () if self.findings is None else (*self.findings, *self.problems)
        return any(one.severity is Severity.ERROR for one in found)


def _as_is(job: Job, form: str, arguments: argparse.Namespace) -> _Result:
    # The rest-server reads an alias inside of what it names; every other problem makes it refuse the file.
    if any(problem.kind is not ProblemKind.SELF_ALIAS for problem in job.syntax.problems):
        return _Result(None, effective_job(job).problems)
    run = released_run(job, shows_secrets=arguments.show_secrets)
    return _run_result(run if arguments.show_secrets else _without_secrets(run, job.hidden), form, arguments)


def _expanded(document: Document, form: str, arguments: argparse.Namespace) -> _Result:
    job = document.job
    inlined = [role.name for role in job.task_roles if arguments.task_role in {None, role.name}]
    found = expanded(job, inlined if arguments.inline else ())
    if found.text is None or found.run is None:
        return _Result(None, found.problems)
    # In a role that runs in one shell, the rule would not see the callbacks any more.
    exports = () if arguments.inline else (one for one in document.diagnostics if one.code == "export-in-callback")
    findings = tuple({(one.code, one.span): one for one in (*check_expanded(document, found), *exports)}.values())
    if form == "yaml":
        return _Result(found.text, found.problems, findings)
    if form == "script" and not arguments.inline:
        text = job.hidden.without(scripts(job, effective_job(job), arguments.task_role))
        return _Result(text, found.problems, findings)
    # The spans of the stops are in the new text. Only a role's name can still stop it, and the old text has it too.
    missing = [role.name_span for role in job.task_roles if role.name not in found.run.roles]
    stops = tuple(replace(stop, span=span) for stop, span in zip(found.run.stops, missing, strict=False))
    result = _run_result(_without_secrets(replace(found.run, stops=stops), job.hidden), form, arguments)
    return result if result.output is None else replace(result, problems=found.problems, findings=findings)


def _without_secrets(run: ReleasedRun, hidden: Hidden) -> ReleasedRun:
    """The run, with asterisks instead of the passwords that the job has in clear text."""

    def cleaned(scripts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(hidden.without, scripts))

    roles = {
        name: replace(role, pre=cleaned(role.pre), command=hidden.without(role.command), post=cleaned(role.post))
        for name, role in run.roles.items()
    }
    return replace(run, roles=roles)


def _run_result(run: ReleasedRun, form: str, arguments: argparse.Namespace) -> _Result:
    if run.stops:
        return _Result(None, tuple(problem(CANNOT_BE_EXPANDED, stop.span, stop.message) for stop in run.stops))
    roles = {name: role for name, role in run.roles.items() if arguments.task_role in {None, name}}
    if form == "script":
        return _Result(together({name: released_script(role) for name, role in roles.items()}))
    values = {
        name: {"pre": role.pre, "command": role.command, "post": role.post, "platformPlugins": role.platform}
        for name, role in roles.items()
    }
    return _Result(json_text({"version": _VERSION, "taskRoles": values}))


def _wrong_usage(arguments: argparse.Namespace, form: str) -> str | None:
    if arguments.as_is and arguments.inline:
        return "--as-is and --inline cannot be combined: --as-is shows the unchanged file"
    if arguments.show_secrets and not (arguments.as_is and form == "json"):
        return "--show-secrets works only with --as-is and --format json"
    if arguments.as_is and form == "yaml":
        return "--as-is does not support --format yaml, which would be the file itself"
    if arguments.check and arguments.output in {None, "-"}:
        return "--check needs --output, the file to compare with"
    if arguments.task_role is not None and form == "yaml" and not arguments.inline:
        return "--task-role works only with --format script, --format json or --inline; yaml has the whole job"
    return None


def _compared(path: str, output: str) -> int:
    try:
        is_same = Path(path).read_bytes() == output.encode("utf-8")
    except OSError as error:
        return failed("expand", f"{visible(path)}: {why(error)}", FINDINGS)
    step = "run the same command without --check"
    return 0 if is_same else failed("expand", f"{visible(path)} is not up to date; {step}", FINDINGS)
