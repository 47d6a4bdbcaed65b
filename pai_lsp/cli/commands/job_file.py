"""Reads the one job file of a command, with the configuration and the marketplace of its folder.

Shared output functions of these commands: write a file, print a message, show findings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.check_one import with_related_texts
from pai_lsp.cli.report import render
from pai_lsp.cli.report.results import CheckedFile, Results
from pai_lsp.cli.report.terminal import terminal_for
from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.platform.platforms import platform_named
from pai_lsp.project.targets import STANDARD_INPUT, missing, run_projects
from pai_lsp.rules.command_rules import unreadable_file
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import UnreadableFile, decoded, read_bytes
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.document import Document


def job_file(path: str, platform: str | None = None) -> Document | CheckedFile:
    """The job in a file, or on standard input for `-`; for an unreadable file, its finding.

    A file in a marketplace folder is read as definitions. `platform` is the name of the platform that the command line
    gives; None for that of the file or its configuration.
    """
    is_input = path == STANDARD_INPUT
    name = "<stdin>" if is_input else path
    data = sys.stdin.buffer.read() if is_input else read_bytes(name)
    source = data if isinstance(data, UnreadableFile) else decoded(name, data)
    if isinstance(source, UnreadableFile):
        diagnostic = Diagnostic(unreadable_file.code, Severity.ERROR, source.span, source.message)
        return CheckedFile(name, source.text, (diagnostic,))
    named = None if platform is None else platform_named(platform)
    return run_projects().document_of(source.text, str(Path(name).absolute()), str(Path.cwd()), name, named)


def job_of(command: str, path: str, platform: str | None = None) -> Document | int:
    """The job in a file that the user names; without one, prints why and returns the exit status."""
    if message := missing([path]):
        return failed(command, message, WRONG_USAGE)
    found = job_file(path, platform)
    if isinstance(found, CheckedFile):
        show_findings(found)
        return FINDINGS
    return found


def names_input(output: str | None, path: str) -> bool:
    """Whether the file to write is the one that was read."""
    if output is None or path == STANDARD_INPUT:
        return False
    try:
        return Path(output).samefile(path)
    except OSError:
        return False


def put(command: str, content: str | bytes, output: str | None) -> int:
    """Write to a file, or to standard output without one; prints a message on failure, returns the exit status."""
    if output is None:
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.buffer.write(content)
        return 0
    try:
        Path(output).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        return failed(command, f"{visible(output)}: {why(error)}", OWN_FAILURE)
    return 0


def failed(command: str, message: str, status: int) -> int:
    """Print a message on standard error and return the given exit status."""
    sys.stderr.write(f"pai-lsp {command}: {message}\n")
    return status


def show_findings(file: CheckedFile) -> None:
    """Print the findings of a file, if any, as text on standard error."""
    if file.diagnostics:
        terminal = terminal_for("auto", os.environ, is_terminal=sys.stderr.isatty(), width=0)
        sys.stderr.write(render("text", Results((with_related_texts(file),)), terminal, ()))
