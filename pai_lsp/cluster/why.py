"""Why a task failed: the cause, who can fix it, the line of the job to look at, and what to change."""

from __future__ import annotations

import re

from pai_lsp.cluster.failure_causes import (
    LOG_CAUSES,
    PLATFORM_CAUSES,
    Cause,
    cause_named,
    cause_of_code,
    first_in,
)
from pai_lsp.cluster.failure_line import has_silent_command, line_of
from pai_lsp.cluster.failure_report import FailureReport, known_code, read_report
from pai_lsp.platform.tables import converted_role_name, exit_codes
from pai_lsp.source.frozen import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.job.job import Job
    from pai_lsp.platform.tables import ExitCode

# What an exit code means, in the words of `pai-lsp why`.
RETRIES = {"always": "always", "backoff": "always-with-pause", "limited": "limited", "never": "never"}
_RETRY_TEXTS = {
    "always": "retried without limit",
    "backoff": "retried without limit, with growing pauses",
    "limited": "retried `jobRetryCount` times",
    "never": "not retried",
}
_COMPLAINT = re.compile(r"error|fail|abort|exception|fatal|cannot|warn|nan\b", re.IGNORECASE)
_BARRIER_ENDED = 10
_OUT_OF_WORDS = frozenset({"python-error", "file-not-found", "stopped", "permission-denied"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure explained. `line`: of the job, from 1; None where no line led to it, or no job is given."""

    cause: Cause
    code: int | None
    line: int | None = None


def explained_code(code: int) -> ExitCode:
    """The entry of the platform's table for a code, whatever it is."""
    return exit_codes()[known_code(code)]


def retry_text(code: ExitCode) -> str:
    """Whether the platform tries again, in words."""
    return _RETRY_TEXTS[code.retry]


def failure(
    text: str,
    job: Job | None = None,
    exit_code: int | None = None,
    platform_log: str = "",
    role: str | None = None,
) -> Failure:
    """The explanation of a pasted text: the end of a log, diagnostics, an event.

    exit_code: of the commands, where it is known. platform_log: the log of the runtime. role: the task role that
    failed; without it the one that the text names, else the first.
    """
    report = read_report(text, exit_code, platform_log)
    if role is not None:
        report = replace(report, role=converted_role_name(role))
    cause = _cause(report, job)
    return Failure(cause, report.code, line_of(cause.name, report, job) if job is not None else None)


def code_text(code: int) -> str:
    """What an exit code means, in lines."""
    known = explained_code(code)
    note = "" if known.code == code else f", described by the entry {known.code}"
    lines = [f"{code} {known.phrase}{note} ({retry_text(known)})", "", known.description]
    lines += [known.hint] if known.hint else []
    lines += ["", f"Note: {known.trap}"] if known.trap else []
    return "\n".join(lines) + "\n"


def failure_text(found: Failure, job: Job | None, path: str) -> str:
    """The explanation in lines, with the line of the job, which is called `path`; no secret in it."""
    text = f"{found.cause.name}: {found.cause.explanation}\n{found.cause.fix}\n"
    if found.line is not None and job is not None:
        line = job.hidden.without(job.text.splitlines()[found.line - 1].strip())
        text += f"\n{path}:{found.line}: {line}\n"
    if found.code is not None:
        known = explained_code(found.code)
        text += f"\ncode {found.code} {known.phrase} ({retry_text(known)})\n"
    return text


def _cause(report: FailureReport, job: Job | None) -> Cause:
    is_log = report.user_code is not None and report.child is None and report.pod is None
    if not is_log:
        if found := _platform_cause(report):
            return found
    elif report.user_code == _BARRIER_ENDED and job is not None and _has_ssh_barrier(job) and not report.text.strip():
        return cause_named("ssh-barrier")
    by_code = cause_of_code(report.user_code) or cause_of_code(report.code)
    logs = f"{report.text}\n{report.platform_log}"
    if found := first_in(LOG_CAUSES, logs):
        is_signal = report.user_code is not None and report.user_code > 128
        return by_code if by_code and is_signal and found.name in _OUT_OF_WORDS else found
    if by_code is not None:
        return by_code
    if not is_log and (found := first_in(PLATFORM_CAUSES, report.text)):
        return found
    is_quiet = job is not None and has_silent_command(job, report) and not _COMPLAINT.search(report.text)
    is_silent = is_quiet or not report.text.strip()
    return cause_named("silent-failure" if is_silent else "program-error")


def _platform_cause(report: FailureReport) -> Cause | None:
    if report.pod is not None and report.code in {-1203, -1204} and not re.search("device|nvidia", report.text):
        return cause_named("image-without-bash")
    if report.child == "PLUGIN_INITIALIZER" and re.search(r"KeyError: '", report.text):
        return None if cause_named("plugin-unknown").is_in(report.text) else cause_named("plugin-parameters")
    if report.pod is not None and (found := cause_of_code(report.code)):
        return found
    return first_in(PLATFORM_CAUSES, report.text)


def _has_ssh_barrier(job: Job) -> bool:
    return any(plugin.plugin == "ssh" for plugin in job.plugins)
