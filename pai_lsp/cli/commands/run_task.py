"""`pai-lsp run`: runs tasks of a job on this machine as a cluster would run them, or shows what would run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pai_lsp.cli import FINDINGS, failed, json_text
from pai_lsp.cli.commands.job_file import job_of
from pai_lsp.cluster.protocol_stage import is_accepted
from pai_lsp.cluster.task_plan import NoTaskError, TaskPlan, task_plan
from pai_lsp.project.targets import run_projects
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pai_lsp.job.job import Job


_MOST_TASKS = 64


def run(arguments: argparse.Namespace) -> int:
    """Run the task, or print its plan."""
    document = job_of(arguments.job, run_projects())
    job = document.job
    if document.is_catalog or not is_accepted(job):
        message = f"{visible(arguments.job)}: a cluster would refuse this job; run pai-lsp check to see why"
        return failed("run", message, FINDINGS)
    if arguments.all and (arguments.dry or arguments.role is not None or arguments.index):
        return failed("run", "--all runs every task; it cannot be combined with --dry, --role or --index")
    role = arguments.role or (job.task_roles[0].name if job.task_roles else "")
    tasks = [(one.name, number) for one in job.task_roles for number in range(one.instances)]
    wanted = tasks if arguments.all else [(role, arguments.index)]
    if len(wanted) > _MOST_TASKS:
        return failed(
            "run", f"the job has {len(wanted)} tasks; --all runs at most {_MOST_TASKS} on one machine", FINDINGS
        )

    def plans(*, shows_secrets: bool) -> list[TaskPlan]:
        return [task_plan(job, name, index, arguments.user, shows_secrets=shows_secrets) for name, index in wanted]

    try:
        shown = plans(shows_secrets=arguments.show_secrets and arguments.dry)
        runs = [] if arguments.dry else plans(shows_secrets=True)
    except NoTaskError as error:
        return failed("run", visible(job.hidden.without(str(error))))
    if arguments.dry:
        return _print(shown[0], job, arguments.format, shows_secrets=arguments.show_secrets)
    if stopped := next((plan for plan in runs if plan.failed_step is not None), None):
        sys.stdout.write(_failure(stopped, job))
        return FINDINGS
    from pai_lsp.cli.commands.local_run import run_here  # noqa: PLC0415 - a dry run starts nothing

    return run_here(runs, shown, job, arguments)


def _print(plan: TaskPlan, job: Job, form: str, *, shows_secrets: bool) -> int:
    clean = str if shows_secrets else job.hidden.without
    if form == "json":
        sys.stdout.write(json_text(_as_json(plan, clean)))
    elif plan.failed_step is not None:
        sys.stdout.write(_failure(plan, job))
    else:
        sys.stdout.write(clean(_as_text(plan)))
    return 0 if plan.failed_step is None else FINDINGS


def _failure(plan: TaskPlan, job: Job) -> str:
    message = f"{job.hidden.without(plan.failure)} (step {plan.failed_step}, exit code 1)"
    return f"the task ends before its first command: {message}; run pai-lsp check to see why\n"


def _as_json(plan: TaskPlan, clean: Callable[[str], str]) -> dict[str, Any]:
    if plan.failed_step is not None:
        return {"initFails": plan.failed_step, "initError": clean(plan.failure), "exitCode": 1}
    return {
        "initFails": None,
        "image": plan.image,
        "env": {name: clean(value) for name, value in sorted(plan.environment.items())},
        "dynamic": dict(sorted(plan.later.items())),
        "files": {path: clean(text) for path, text in sorted(plan.files.items())},
        "order": list(plan.order),
        "mounts": [{"path": path, "name": name} for path, name in plan.mounts],
        "shmMB": plan.shared_memory,
    }


def _as_text(plan: TaskPlan) -> str:
    lines = [f"# task {plan.index} of '{plan.role.name}' in {plan.image}", "", "# environment"]
    lines += [f"{name}={value}" for name, value in sorted(plan.environment.items())]
    lines += [f"{name}=<{kind}>" for name, kind in sorted(plan.later.items())]
    lines += ["", "# mounts", *(f"{path} ({name})" for path, name in plan.mounts)]
    for path, text in plan.files.items():
        lines += ["", f"# {path}", text.rstrip("\n")]
    lines += ["", "# order", *plan.order]
    return "\n".join(lines) + "\n"
