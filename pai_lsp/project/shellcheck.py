"""ShellCheck's findings about the commands of a job, at their places in the file; only where a user asks for it.

ShellCheck is a program of its own and is not a part of this package. It reads each script behind the options that the
platform sets. Not shown are codes that the platform makes moot, that templates cause, or that are a matter of taste.
Source: ShellCheck 0.11, shellcheck(1); openpai-runtime, src/runtime.d/user.sh.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.variable_places import ScriptPlace

_HEADER = "#!/bin/bash\nset -o errexit\nset -o nounset\nset -o pipefail\n"
_HEADER_LINES = _HEADER.count("\n")
_LONGEST = 30  # seconds for one script
_TEMPLATE = lazy_pattern(r"<%.*?%>|\{\{.*?\}\}", re.DOTALL)
_SEVERITIES = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "info": Severity.INFORMATION,
    "style": Severity.HINT,
}
# Of the checks of the syntax, those that only repeat another one, or that are about what job files do on purpose.
_SYNTAX_NOT_SHOWN = frozenset({1007, 1009, 1010, 1047, 1062, 1072, 1083, 1090, 1091, 1111})
# Of the other checks, those that find mistakes the platform does not make moot.
_SHOWN = frozenset(
    {
        2031, 2034, 2051, 2061, 2071, 2077, 2088, 2097, 2098, 2107, 2115, 2121, 2170, 2210, 2215, 2281, 2283, 2290,
        2317, 2318,
    }
)  # fmt: skip


class ShellCheckError(Exception):
    """ShellCheck could not be run, or its answer is not what version 0.9 or later prints; the message is the reason."""


def shellcheck_diagnostics(document: Document, program: str) -> tuple[Diagnostic, ...]:
    """What ShellCheck finds in the commands of the task roles, each finding once.

    Raises:
        ShellCheckError: if the program does not answer.
    """
    found: dict[Diagnostic, None] = {}
    for place in document.job.role_scripts if document.is_job else ():
        if place.script.text:
            found |= dict.fromkeys(_found(place, program))
    return tuple(found)


def _found(place: ScriptPlace, program: str) -> Iterator[Diagnostic]:
    script = place.script.text
    lines = script.split("\n")
    for comment in _comments(_without_templates(script), program):
        number, row = int(comment["code"]), int(comment["line"]) - _HEADER_LINES - 1
        is_shown = number in _SHOWN or (1000 <= number < 2000 and number not in _SYNTAX_NOT_SHOWN)
        if not is_shown or row < 0:
            continue
        start = _offset(lines, row, int(comment["column"]) - 1)
        end = _offset(lines, int(comment["endLine"]) - _HEADER_LINES - 1, int(comment["endColumn"]) - 1)
        span = place.span(Span(start, max(start, end)))
        yield Diagnostic(f"SC{number}", _SEVERITIES.get(comment["level"], Severity.WARNING), span, comment["message"])


def _comments(script: str, program: str) -> list[dict[str, Any]]:
    command = [program, "--shell=bash", "--format=json1", "--norc", "-"]
    try:
        ended = subprocess.run(  # noqa: S603 - the program that the user names
            command, input=(_HEADER + script).encode(), capture_output=True, timeout=_LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        raise ShellCheckError(f"ShellCheck did not end within {_LONGEST} seconds") from None
    except OSError as error:
        raise ShellCheckError(f"ShellCheck could not be started: {error.strerror}") from None
    try:
        comments: list[dict[str, Any]] = json.loads(ended.stdout)["comments"]
    except (ValueError, KeyError, TypeError):
        raise ShellCheckError(f"ShellCheck failed with code {ended.returncode}") from None
    return comments


def _without_templates(script: str) -> str:
    """The script with each template as a word of the same length, so that columns stay."""
    return _TEMPLATE.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), script)


def _offset(lines: list[str], row: int, column: int) -> int:
    """The offset of a row and column, both from 0, at most the end of the line."""
    row = min(row, len(lines) - 1)
    return sum(len(line) + 1 for line in lines[:row]) + min(column, len(lines[row]))
