"""`pai-lsp why`: explains exit codes, ends of logs, diagnostics and events."""

from __future__ import annotations

import json
import sys

from pai_lsp.cli import WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed, job_file
from pai_lsp.cli.report.results import CheckedFile
from pai_lsp.cluster.why import RETRIES, code_text, explained_code, failure, failure_text
from pai_lsp.platform.tables import as_exit_code
from pai_lsp.project.targets import STANDARD_INPUT, missing
from pai_lsp.source.files import UnreadableFile, read_bytes
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from pai_lsp.job.job import Job


def run(arguments: argparse.Namespace) -> int:
    """Explain a code or a text."""
    if (code := as_exit_code(arguments.text)) is not None:
        return _code(code, arguments.format)
    if not arguments.text.strip():
        return failed("why", "the text is empty; give an exit code, a file or the end of a log", WRONG_USAGE)
    if missing([arguments.text]) and not _is_pasted(arguments.text) and arguments.text != STANDARD_INPUT:
        return failed("why", f"'{visible(arguments.text)}' is neither an exit code nor a file", WRONG_USAGE)
    job: Job | None = None
    if arguments.job is not None:
        if message := missing([arguments.job]):
            return failed("why", message, WRONG_USAGE)
        document = job_file(arguments.job)
        if isinstance(document, CheckedFile):
            return failed("why", f"{visible(arguments.job)}: {document.diagnostics[0].message}", WRONG_USAGE)
        job = document.job
    text = _text(arguments.text)
    platform_log = "" if arguments.platform_log is None else _text(arguments.platform_log)
    for one in (text, platform_log):
        if isinstance(one, UnreadableFile):
            return failed("why", f"{visible(one.path)}: {one.message}", WRONG_USAGE)
    if isinstance(text, str) and isinstance(platform_log, str):
        _print(text, platform_log, job, arguments)
    return 0


def _text(given: str) -> str | UnreadableFile:
    """The text of a file or of standard input; what is not a file is a pasted text itself."""
    if given == STANDARD_INPUT:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if missing([given]) and _is_pasted(given):
        return given
    data = read_bytes(given)
    return data if isinstance(data, UnreadableFile) else data.decode("utf-8", "replace")


def _is_pasted(given: str) -> bool:
    return "\n" in given or " " in given


def _code(code: int, form: str) -> int:
    known = explained_code(code)
    if form == "json":
        answer = {
            "code": code,
            "phrase": known.phrase,
            "retry": RETRIES[known.retry],
            "cause": known.cause,
            "description": known.description,
            "do": known.hint,
            "trap": known.trap,
        }
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
        return 0
    sys.stdout.write(code_text(code))
    return 0


def _print(text: str, platform_log: str, job: Job | None, arguments: argparse.Namespace) -> None:
    found = failure(text, job, arguments.exit_code, platform_log, arguments.role)
    cause = found.cause
    if arguments.format == "json":
        answer = {
            "code": found.code,
            "cause": cause.name,
            "blame": cause.blame.value,
            "line": found.line,
            "explanation": cause.explanation,
            "do": cause.fix,
        }
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
        return
    sys.stdout.write(failure_text(found, job, visible(arguments.job or "")))
