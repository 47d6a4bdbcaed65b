"""`pai-lsp why`: explains exit codes here, and texts in why_log.py, which needs much more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pai_lsp.cli import failed, write_answer
from pai_lsp.cluster.exit_code_text import RETRIES, code_readings, code_text, command_code, command_text
from pai_lsp.platform.tables import as_exit_code

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Explain a code or a text."""
    if arguments.job is not None and (message := _unusable(arguments.job)):
        return failed("why", message)
    text = arguments.text
    if arguments.cluster is not None and text is not None:
        from pai_lsp.cli.commands.why_job import explain_job  # noqa: PLC0415 - a code needs no cluster

        return explain_job(arguments, arguments.cluster)
    if text is None and arguments.exit_code is None:
        return failed("why", "give an exit code, a file or the end of a log, or --exit-code")
    if text is None:
        return _command_code(arguments.exit_code, arguments.format)
    if (code := as_exit_code(text)) is not None:
        return _code(code, arguments.format)
    from pai_lsp.cli.commands.why_log import explain_text  # noqa: PLC0415 - see above

    return explain_text(arguments)


def _unusable(path: str) -> str | None:
    """Why a path is not that of one job; None for a file."""
    from pai_lsp.project.targets import missing  # noqa: PLC0415 - a code needs no job
    from pai_lsp.source.text import visible  # noqa: PLC0415 - as above

    if os.path.isdir(path):
        return f"--job: '{visible(path)}' is a folder; give the job that failed"
    return missing([path])


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
    write_answer(answer, code_text(code), form)
    return 0


def _command_code(code: int, form: str) -> int:
    """The meaning of an exit code of the commands, without a log."""
    known = command_code(code)
    answer = {"code": code, "commands": {"description": known.description, "do": known.hint}}
    write_answer(answer, f"{code} as the exit code of the commands\n\n{command_text(known)}", form)
    return 0
