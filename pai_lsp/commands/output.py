"""What the commands about one file do alike with what they have to say: a file to write, findings to show."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.commands.known_rules import KNOWN_RULES
from pai_lsp.commands.targets import STANDARD_INPUT
from pai_lsp.failures import OWN_FAILURE, why
from pai_lsp.report import render
from pai_lsp.report.results import Results
from pai_lsp.report.terminal import terminal_for
from pai_lsp.text import visible

if TYPE_CHECKING:
    from pai_lsp.report.results import CheckedFile


def names_input(output: str | None, path: str) -> bool:
    """Whether the file to write is the one that was read."""
    if output is None or path == STANDARD_INPUT:
        return False
    try:
        return Path(output).samefile(path)
    except OSError:
        return False


def put(command: str, content: str | bytes, output: str | None) -> int:
    """Write to a file, or without one to standard output; the exit status, after saying what went wrong."""
    if output is None:
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.buffer.write(content)
        return 0
    try:
        Path(output).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        return said(command, f"{visible(output)}: {why(error)}", OWN_FAILURE)
    return 0


def said(command: str, message: str, status: int) -> int:
    """Say something on standard error; the exit status that was given."""
    sys.stderr.write(f"pai-lsp {command}: {message}\n")
    return status


def show_findings(file: CheckedFile) -> None:
    """Print what was found in a file, if anything, as text on standard error."""
    if file.diagnostics:
        terminal = terminal_for("auto", os.environ, is_terminal=sys.stderr.isatty(), width=0)
        sys.stderr.write(render("text", Results((file,)), terminal, KNOWN_RULES))
