"""`pai-lsp why`: explains exit codes, ends of logs, diagnostics and events."""

from __future__ import annotations

import json
import sys

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed, job_file
from pai_lsp.cli.report.results import CheckedFile
from pai_lsp.cluster.exit_code_text import RETRIES, code_readings, code_text, command_code, command_text
from pai_lsp.cluster.why import NOT_KNOWN, failure, failure_text
from pai_lsp.platform.tables import as_exit_code
from pai_lsp.project.targets import STANDARD_INPUT, missing
from pai_lsp.source.files import UnreadableFile, read_bytes
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from pai_lsp.job.job import Job


def run(arguments: argparse.Namespace) -> int:
    """Explain a code or a text."""
    text = arguments.text
    if text is None:
        if arguments.exit_code is None:
            return failed("why", "give an exit code, a file or the end of a log, or --exit-code", WRONG_USAGE)
        return _command_code(arguments.exit_code, arguments.format)
    if (code := as_exit_code(text)) is not None:
        return _code(code, arguments.format)
    if not text.strip():
        return failed("why", "the text is empty; give an exit code, a file or the end of a log", WRONG_USAGE)
    if _is_unknown_word(text):
        return failed("why", f"'{visible(text)}' is neither an exit code, a file nor a known message", WRONG_USAGE)
    return _explain(text, arguments)


def _is_unknown_word(given: str) -> bool:
    """Whether a word is neither a file nor a message by itself, such as `OOMKilled`."""
    is_word = given != STANDARD_INPUT and "\n" not in given and " " not in given and missing([given])
    return bool(is_word) and failure(given).cause is NOT_KNOWN


def _explain(given: str, arguments: argparse.Namespace) -> int:
    job: Job | None = None
    if arguments.job is not None:
        if message := missing([arguments.job]):
            return failed("why", message, WRONG_USAGE)
        document = job_file(arguments.job)
        if isinstance(document, CheckedFile):
            return failed("why", f"{visible(arguments.job)}: {document.diagnostics[0].message}", WRONG_USAGE)
        job = document.job
    text = _text(given)
    platform_log = "" if arguments.platform_log is None else _text(arguments.platform_log)
    for one in (text, platform_log):
        if isinstance(one, UnreadableFile):
            return failed("why", f"{visible(one.path)}: {one.message}", WRONG_USAGE)
    if isinstance(text, str) and isinstance(platform_log, str):
        return _print(text, platform_log, job, arguments)
    return 0


def _text(given: str) -> str | UnreadableFile:
    """The text of a file or of standard input; what is not a file is a pasted text itself."""
    if given == STANDARD_INPUT:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if missing([given]):
        return given
    data = read_bytes(given)
    return data if isinstance(data, UnreadableFile) else data.decode("utf-8", "replace")


def _code(code: int, form: str) -> int:
    found = code_readings(code)
    known, commands = found.platform, found.commands
    answer = {
        "code": code,
        "phrase": known.phrase,
        "retry": RETRIES[known.retry],
        "cause": known.cause,
        "description": known.description,
        "do": known.hint,
        "trap": known.trap,
        "commands": None if commands is None else {"description": commands.description, "do": commands.hint},
    }
    _write(answer, code_text(code), form)
    return 0


def _command_code(code: int, form: str) -> int:
    """The meaning of an exit code of the commands, without a log."""
    known = command_code(code)
    answer = {"code": code, "commands": {"description": known.description, "do": known.hint}}
    _write(answer, f"{code} as the exit code of the commands\n\n{command_text(known)}", form)
    return 0


def _print(text: str, platform_log: str, job: Job | None, arguments: argparse.Namespace) -> int:
    found = failure(text, job, arguments.exit_code, platform_log, arguments.role)
    cause = found.cause
    answer = {
        "code": found.code,
        "cause": cause.name,
        "blame": cause.blame.value,
        "line": found.line,
        "explanation": cause.explanation,
        "do": cause.fix,
    }
    _write(answer, failure_text(found, job, visible(arguments.job or "")), arguments.format)
    return FINDINGS if cause is NOT_KNOWN else 0


def _write(answer: dict[str, Any], text: str, form: str) -> None:
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n" if form == "json" else text)
