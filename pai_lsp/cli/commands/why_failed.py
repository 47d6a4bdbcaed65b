"""`pai-lsp why` for exit codes, without what texts need: see why_log.py."""

from __future__ import annotations

import json
import sys

from pai_lsp.cli import WRONG_USAGE
from pai_lsp.cluster.exit_code_text import RETRIES, code_readings, code_text, command_code, command_text
from pai_lsp.platform.tables import as_exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


def run(arguments: argparse.Namespace) -> int | None:
    """Explain a code; returns the exit status, or None for a text."""
    text = arguments.text
    if text is None and arguments.exit_code is None:
        return refused("give an exit code, a file or the end of a log, or --exit-code")
    if text is None:
        return _command_code(arguments.exit_code, arguments.format)
    if (code := as_exit_code(text)) is not None:
        return _code(code, arguments.format)
    return None


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


def write_answer(answer: dict[str, Any], text: str, form: str) -> None:
    """Print an answer as JSON, or as its text."""
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n" if form == "json" else text)


def refused(message: str) -> int:
    """Print why nothing is explained, and return the exit status."""
    sys.stderr.write(f"pai-lsp why: {message}\n")
    return WRONG_USAGE
