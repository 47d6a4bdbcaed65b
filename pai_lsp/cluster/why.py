"""Why a task failed: the cause, the line of its log that decided, who can fix it, the line of the job, what to change.

Three things tell it, wherever they come from: the text (the end of a log, the diagnostics of the portal, an event), the
exit code of the commands, and the code that the platform reports. The two codes are different numbers and have tables
of their own.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.cluster.exit_code_text import explained_code, retry_text
from pai_lsp.cluster.failure_causes import Weight, causes, message_patterns
from pai_lsp.cluster.failure_report import FailureReport, has_silent_command, line_of, read_report
from pai_lsp.cluster.log_errors import verdict
from pai_lsp.cluster.log_reading import log_of
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.cluster.failure_causes import Cause
    from pai_lsp.cluster.log_errors import LogError, LogVerdict
    from pai_lsp.cluster.log_reading import Log, LogLine
    from pai_lsp.job.job import Job

NO_FAILURE, NOT_KNOWN = "no-failure", "not-known"

# Causes of the platform's codes that say enough by themselves.
CAUSES_OF_CODES = {
    -101: "stopped", -200: "pod-refused", -210: "stopped", -220: "other-role-ended", -230: "stopped",
    -1000: "evicted", -1001: "node-lost", -1002: "resources", -1003: "preempted", -1100: "job-refused-late",
    -1200: "host-memory", -1203: "image-without-bash", -1205: "gpu-missing", -310: "priority-class",
    0: "no-failure", 128: "gpu-hardware", 130: "stopped", 132: "program-crash", 134: "program-crash",
    135: "shared-memory", 136: "program-crash", 137: "host-memory", 139: "program-crash", 141: "broken-pipe",
    143: "stopped", 220: "command-not-found", 221: "gpu-memory", 222: "program-crash", 223: "gpu-hardware",
    224: "gpu-driver", 225: "gpu-driver", 226: "gpu-memory", 228: "wrong-option", 231: "python-error",
    232: "python-import", 233: "python-error", 234: "program-crash", 235: "program-crash", 249: "ssh-barrier",
    251: "gang-timeout", 253: "port-conflict", 254: "image-not-found",
}  # fmt: skip

_SIGNALS = tuple(code for code in CAUSES_OF_CODES if 128 < code < 144)
# Causes of the commands' own exit codes that say enough by themselves; the runtime passes these signals on.
CAUSES_OF_COMMAND_CODES = {code: CAUSES_OF_CODES[code] for code in _SIGNALS} | {
    0: "no-failure", 124: "time-limit", 126: "permission-denied", 127: "command-not-found",
}  # fmt: skip

_BARRIER_ENDED = 10
# What the platform says when something else ended the task, which its log may name.
_SECONDARY = frozenset({"job-failed-by-rule", "other-role-ended"})
# What a log says while a signal ends the program, and afterwards.
_AROUND_SIGNALS = frozenset({"python-error", "file-not-found", "stopped", "permission-denied", "child-failed"})
# What ends a program with a signal itself: the watchdog of NCCL aborts the process.
_SENDS_SIGNAL = frozenset({"collective-timeout"})
# Signals that a program brings on itself; that of `abort`, which it calls after an error.
_OF_ITSELF, _ABORTED = frozenset({132, 134, 135, 136, 139}), 134
_CRASHES = frozenset({"program-crash", "shared-memory"})
# Codes of a shell that could not start a command.
_OF_START = frozenset({126, 127})
_SIGNALLED = re.compile(
    r"Aborted|Bus error|Segmentation fault|Floating point exception|Illegal instruction|core dumped|\b[Ss]ignal\b|"
    r"\bSIG[A-Z]+|exitcode\s*: ?-\d|return code = -\d"
)
_REASON = re.compile(r"(?i)\b(?:errors?|fatal|fail(?:ed|ure)|exception|cannot|unable|invalid|unexpected)\b|^[EF]\d{4} ")
_COMPLAINT = re.compile(r"error|fail|abort|exception|fatal|cannot|warn|nan\b", re.IGNORECASE)
# An event has few lines; a longer text is a log, unless it has the platform's own sections.
_LINES_OF_EVENT = 8
# What `kubectl describe`, `get` and events begin lines with.
_KUBERNETES = re.compile(r"(?m)^\s*(?:NAME\s+READY\s|Events:\s|- apiVersion: |involvedObject:|Namespace:\s+\S)")
# What the event of a container that runs says. Source: Kubernetes, pkg/kubelet/kuberuntime/kuberuntime_container.go.
_STARTED = "Started container"
# So much of a long log before and after the deciding line leads to the line of the job.
_LINES_AROUND = 60


class Sureness(Enum):
    """How sure an answer is."""

    CERTAIN = "certain"
    PROBABLE = "probable"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure explained.

    code: as the portal shows it; None if it is not known. line: of the job, from 1; None where no line led to it, or
    no job is given. evidence: the line of the log that decided; None for a cause by code alone. names: what that line
    names, by kind. worth_reading: lines of the log, where the cause is not known.
    """

    cause: Cause
    code: int | None
    line: int | None = None
    evidence: LogLine | None = None
    names: tuple[tuple[str, str], ...] = ()
    sureness: Sureness = Sureness.CERTAIN
    worth_reading: tuple[LogLine, ...] = ()


def failure(
    text: str | Log,
    job: Job | None = None,
    exit_code: int | None = None,
    platform_log: str = "",
    role: str | None = None,
    diagnostics: str = "",
) -> Failure:
    """The explanation of a text: a log, diagnostics, an event.

    exit_code: of the commands, where it is known. platform_log: the log of the runtime. role: the task role that
    failed; without it the one that the text names, else the first. diagnostics: what the portal shows of the task
    beside its log; the text is then the log alone.
    """
    log = log_of(text) if isinstance(text, str) else text
    said = log_of(diagnostics) if diagnostics else log
    report = read_report(diagnostics or _plain_text(text, log), log.end, exit_code, platform_log)
    if role is not None:
        report = replace(report, role=converted_role_name(role))
    found = _explained(report, log, said, platform_log, job)
    if job is None or found.cause.name in {NO_FAILURE, NOT_KNOWN}:
        return found
    if diagnostics and found.evidence in log.lines:
        report = replace(report, text=_plain_text(text, log))
    return replace(found, line=line_of(found.cause.name, _near(report, found.evidence, log), job))


def failure_text(found: Failure, job: Job | None, path: str) -> str:
    """The explanation in lines, with the line of the job, which is called `path`; no secret in it."""

    def shown(text: str) -> str:
        return visible(job.hidden.without(text) if job is not None else text)

    cause = found.cause
    text = f"{cause.name}: {cause.explanation}\n"
    text += f"{cause.fix}\n" if cause.name != NO_FAILURE else ""
    if found.evidence is not None:
        text += f"\nlog line {found.evidence.number}: {shown(found.evidence.text.strip())}\n"
        text += "".join(f"  {name.replace('_', ' ')}: {shown(value)}\n" for name, value in found.names)
    if found.worth_reading:
        text += "\nThese lines are worth reading:\n"
        text += "".join(f"  {line.number}: {shown(line.text.strip())}\n" for line in found.worth_reading)
    if found.line is not None and job is not None:
        text += f"\n{path}:{found.line}: {shown(job.text.splitlines()[found.line - 1].strip())}\n"
    if cause.name not in {NO_FAILURE, NOT_KNOWN}:
        text += f"\nwho can fix it: {cause.blame}; this cause is {found.sureness.value}\n"
    if found.code is not None:
        known = explained_code(found.code)
        text += f"\ncode {found.code} {known.phrase} ({retry_text(known)})\n"
    return text


def failure_answer(found: Failure, job: Job | None) -> dict[str, Any]:
    """The explanation as JSON has it, without a secret of the job."""

    def shown(text: str) -> str:
        return job.hidden.without(text) if job is not None else text

    evidence = found.evidence
    return {
        "code": found.code,
        "cause": found.cause.name,
        "blame": found.cause.blame,
        "sureness": found.sureness.value,
        "line": found.line,
        "evidence": None if evidence is None else {"line": evidence.number, "text": shown(evidence.text)},
        "names": {name: shown(value) for name, value in found.names},
        "worthReading": [{"line": line.number, "text": shown(line.text)} for line in found.worth_reading],
        "explanation": found.cause.explanation,
        "do": found.cause.fix,
    }


def _plain_text(text: str | Log, log: Log) -> str:
    return text if isinstance(text, str) else "\n".join(line.text for line in log.lines)


def _near(report: FailureReport, evidence: LogLine | None, log: Log) -> FailureReport:
    """The report with the surroundings of the deciding line instead of a long log; the line alone if it is of bash."""
    if evidence is not None and "user.sh: line " in evidence.text:
        return replace(report, text=evidence.text)
    if evidence is None or len(log.lines) <= _LINES_AROUND:
        return report
    lines = [line.text for line in log.lines if abs(line.number - evidence.number) <= _LINES_AROUND]
    return replace(report, text="\n".join(lines))


def _explained(report: FailureReport, log: Log, said: Log, platform_log: str, job: Job | None) -> Failure:
    """The cause. log: that of the task. said: what the platform says, which is the same text if there is only one."""
    is_log = report.user_code is not None and report.child is None and report.pod is None
    if is_log and report.user_code == 0:
        return Failure(causes()[NO_FAILURE], report.code)
    read = verdict(log)
    has_ssh = job is not None and any(plugin.plugin == "ssh" for plugin in job.plugins)
    if not is_log:
        found = _of_platform(report, said)
        is_trigger = found is not None and found.cause.name in _SECONDARY
        if found is not None and read.error is not None and read.error.cause == found.cause.name:
            return _of_error(read.error, report) if found.evidence is None else found
        is_named = read.error is not None and read.error.weight >= Weight.GENERAL and read.error.is_explained
        if found is not None and not (is_trigger and is_named):
            return found
    elif has_ssh and report.user_code == _BARRIER_ENDED and not report.text.strip():
        return Failure(causes()["ssh-barrier"], report.code, sureness=Sureness.PROBABLE)
    by_code = CAUSES_OF_COMMAND_CODES.get(report.user_code) if report.user_code is not None else None
    if by_code is None and report.code is not None:
        by_code = CAUSES_OF_CODES.get(report.code)
    error = read.error or (verdict(log_of(platform_log)).error if platform_log else None)
    has_failed = report.code not in {None, 0} or report.user_code is not None
    if error is not None and error.is_survived and not has_failed:
        error = None
    if by_code is not None and (error is None or _says_more(report, error)):
        found = Failure(causes()[by_code], report.code, sureness=Sureness.PROBABLE)
        if error is not None and report.user_code in _OF_START:
            found = replace(found, evidence=error.line, names=error.names)
    elif error is not None and error.is_explained:
        found = _of_error(error, report)
    else:
        return _unexplained(report, read, job)
    return _unexplained(report, read, job) if _is_left_open(found, error, report, read) else found


def _says_more(report: FailureReport, error: LogError) -> bool:
    """Whether a code, for which a cause is known, says more than an error of the log."""
    is_weak = error.weight < Weight.GENERAL and error.cause not in _SENDS_SIGNAL
    if report.user_code in _OF_START:  # of a path, the message says which file
        return is_weak and "/" not in dict(error.names).get("file", "")
    if report.user_code not in _SIGNALS:
        return not error.is_explained
    return is_weak or (error.cause in _AROUND_SIGNALS and not _is_unreported(report))


def _is_unreported(report: FailureReport) -> bool:
    """Whether a code of a signal that a program brings on itself may be an ordinary one: shells report signals."""
    return report.user_code in _OF_ITSELF and not _SIGNALLED.search(report.text)


def _is_left_open(found: Failure, error: LogError | None, report: FailureReport, read: LogVerdict) -> bool:
    """Whether a crash is how a program ended after an error that its log has in words that are not known."""
    is_abort = report.user_code == _ABORTED or (error is not None and error.weight is Weight.FOLLOWS)
    is_crash = found.cause.name in _CRASHES and (error is None or error.weight < Weight.GENERAL)
    if not is_crash or not (is_abort or _is_unreported(report)):
        return False
    return any(_REASON.search(line.text) for line in read.worth_reading if error is None or line != error.line)


def _of_error(error: LogError, report: FailureReport) -> Failure:
    sureness = Sureness.CERTAIN if error.weight is Weight.ROOT and not error.is_inferred else Sureness.PROBABLE
    if error.is_survived or error.weight < Weight.GENERAL:
        sureness = Sureness.POSSIBLE
    return Failure(causes()[error.cause], report.code, None, error.line, error.names, sureness)


def _unexplained(report: FailureReport, read: LogVerdict, job: Job | None) -> Failure:
    if report.user_code is None and report.code is None:
        if read.is_success:
            return Failure(causes()[NO_FAILURE], None, sureness=Sureness.PROBABLE)
        return Failure(causes()[NOT_KNOWN], None, worth_reading=read.worth_reading)
    is_quiet = job is not None and has_silent_command(job, report) and not _COMPLAINT.search(report.text)
    if is_quiet or not report.text.strip():
        return Failure(causes()["silent-failure"], report.code, sureness=Sureness.POSSIBLE)
    return Failure(causes()["program-error"], report.code, sureness=Sureness.POSSIBLE, worth_reading=read.worth_reading)


def _of_platform(report: FailureReport, log: Log) -> Failure | None:
    """What the platform says about the end: in its own sections, or in the lines of an event."""
    if report.pod is not None and report.code is not None:
        is_of_bash = report.code in {-1203, -1204} and not re.search("device|nvidia", report.text)
        if name := "image-without-bash" if is_of_bash else CAUSES_OF_CODES.get(report.code):
            return Failure(causes()[name], report.code)
    is_of_platform = (report.child, report.pod, report.code) != (None, None, None) or _KUBERNETES.search(report.text)
    if not is_of_platform and len([line for line in log.lines if line.text.strip()]) > _LINES_OF_EVENT:
        return None
    if report.child == "PLUGIN_INITIALIZER" and "KeyError: '" in report.text and "/plugins/" not in report.text:
        return Failure(causes()["plugin-parameters"], report.code)
    started = max((line.number for line in log.lines if _STARTED in line.text), default=0)
    for pattern in message_patterns("platform"):
        for line in log.lines:
            if line.number < started and pattern.cause.startswith("waits-"):
                continue  # it waited, and no longer does
            if found := pattern.search(line.text):
                names = tuple((key, value) for key, value in found.groupdict().items() if value)
                return Failure(causes()[pattern.cause], report.code, None, line, names)
    return None
