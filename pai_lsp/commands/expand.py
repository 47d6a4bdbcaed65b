"""`pai-lsp expand`: what a job runs, and the job to submit that every released cluster runs so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS
from pai_lsp.commands.known_rules import BY_CODE, KNOWN_RULES
from pai_lsp.commands.targets import STANDARD_INPUT, Configurations
from pai_lsp.diagnostic import Diagnostic, Severity
from pai_lsp.document import Document, check
from pai_lsp.expand.as_is import released_run
from pai_lsp.files import UnreadableFile, decoded, read_bytes
from pai_lsp.hidden_values import hidden_spans, without_hidden_words
from pai_lsp.report import render
from pai_lsp.report.results import CheckedFile, Results, with_hidden
from pai_lsp.report.terminal import terminal_for
from pai_lsp.rules.files import unreadable_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from pai_lsp.expand.as_is import ReleasedRun, RoleRun

_VERSION = 1

_DESCRIPTION = """\
Shows what a job runs.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp expand`."""
    parser.description = _DESCRIPTION
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file, or - for standard input")
    add("--as-is", action="store_true", help="what a released cluster runs when the file is submitted as it is")
    add("--format", choices=("json",), help="form of the output")
    add("--task-role", metavar="ROLE", help="only this task role")


def run(arguments: argparse.Namespace) -> int:
    """Expand the job and print what comes of it."""
    document = _document(arguments.job)
    if isinstance(document, CheckedFile):
        _report(document)
        return FINDINGS
    found = [*check(document)]
    run = released_run(document.job) if not document.syntax.problems else None
    if run is None or run.stops:
        found += [
            Diagnostic("cannot-be-expanded", Severity.ERROR, stop.span, stop.message)
            for stop in (run.stops if run else ())
        ]
        _report(_reported(document, found))
        return FINDINGS
    _report(_reported(document, found))
    sys.stdout.write(run_as_json(run))
    return 0


def run_as_json(run: ReleasedRun) -> str:
    """The scripts and commands by task role, as one JSON object."""
    roles = {name: _role_as_json(role) for name, role in run.roles.items()}
    return json.dumps({"version": _VERSION, "taskRoles": roles}, indent=2) + "\n"


def _role_as_json(role: RoleRun) -> dict[str, object]:
    return {"pre": list(role.pre), "command": role.command, "post": list(role.post)}


def _document(path: str) -> Document | CheckedFile:
    """The job file; or, where nobody can read it, what is to be reported."""
    is_input = path == STANDARD_INPUT
    name = "<stdin>" if is_input else path
    data = sys.stdin.buffer.read() if is_input else read_bytes(name)
    source = data if isinstance(data, UnreadableFile) else decoded(name, data)
    if isinstance(source, UnreadableFile):
        diagnostic = Diagnostic(unreadable_file.code, Severity.ERROR, source.span, source.message)
        return CheckedFile(name, source.text, (diagnostic,))
    configuration = Configurations(BY_CODE).of_folder(str(Path(name).parent))
    return Document(source.text, configuration.settings, name)


def _reported(document: Document, found: Iterable[Diagnostic]) -> CheckedFile:
    """The findings that matter, with the values of secrets hidden."""
    diagnostics = tuple(sorted((one for one in found if one.severity <= Severity.WARNING), key=_place))
    hidden = hidden_spans(document, diagnostics) if diagnostics else ()
    shown = tuple(without_hidden_words(one, document.text, hidden) for one in diagnostics)
    return CheckedFile(document.path or "", with_hidden(document.text, hidden), shown, hidden)


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    return diagnostic.span.start, diagnostic.span.end


def _report(file: CheckedFile) -> None:
    if file.diagnostics:
        terminal = terminal_for("auto", os.environ, is_terminal=sys.stderr.isatty(), width=0)
        sys.stderr.write(render("text", Results((file,)), terminal, KNOWN_RULES))
