"""The command line.

Exit statuses: 0 for success, those below, and `OWN_FAILURE` of source/failures.py.
"""

from __future__ import annotations

import sys

from pai_lsp.source.text import visible
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FINDINGS = 1
WRONG_USAGE = 2


class CommandError(Exception):
    """Ends a command, or its work on one of several files.

    The message is why; it is empty where that is printed already. status: the exit status.
    """

    def __init__(self, message: str, status: int = WRONG_USAGE) -> None:
        super().__init__(message)
        self.status = status


def tell(command: str, message: str) -> None:
    """Print a message of a subcommand on standard error."""
    sys.stderr.write(f"pai-lsp {command}: {message}\n")


def ended(command: str, error: CommandError) -> int:
    """Print why a subcommand ends, and return the exit status."""
    if message := str(error):
        tell(command, message)
    return error.status


def failed(command: str, message: str, status: int = WRONG_USAGE) -> int:
    """Print why a subcommand ends, and return the given exit status."""
    tell(command, message)
    return status


def json_text(answer: object) -> str:
    """What a subcommand prints with `--format json`.

    A value that JSON does not have, such as a date, becomes its text, and half a surrogate pair its escape.
    """
    import json  # noqa: PLC0415 - a check that prints text does without

    text = json.dumps(answer, indent=2, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def table(rows: Iterable[Iterable[str]]) -> str:
    """Rows of words as text, each column as wide as its longest word."""
    shown = [[visible(word) for word in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in shown)


def write_answer(answer: Any, text: str, form: str) -> None:
    """Print an answer as JSON, or as its text."""
    sys.stdout.write(json_text(answer) if form == "json" else text)
