"""`pai-lsp convert`: converts a protocol v1 job to version 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli.commands.job_file import failed, job_file, put, show_findings
from pai_lsp.cli.main import FINDINGS, WRONG_USAGE
from pai_lsp.cli.report.results import CheckedFile, checked_file
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.refactorings.protocol_v1 import converted
from pai_lsp.project.targets import missing, path_argument
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Convert a job of protocol version 1 (JSON, also with // comments, or the same keys in YAML) to version 2.

Comments are kept. Task roles are renamed where the runtime cannot handle their names, also in environment variables in
commands. Defaults of version 1 are written out where version 2 has a different default. Comments at the top list what
clusters no longer support.
"""

_EPILOG = """\
Findings in the new job are printed to standard error.

exit status:
  0  success      1  the file is not a protocol v1 job, or cannot be read      2  wrong usage
  3  pai-lsp failed, or the output could not be written

examples:
  pai-lsp convert train.json > train.pai.yaml
  pai-lsp convert train.json --output train.pai.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp convert`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("job", type=path_argument, metavar="JOB", help="a job file, or - for standard input")
    parser.add_argument("--output", type=path_argument, metavar="FILE", help="write to this file, which must not exist")


def run(arguments: argparse.Namespace) -> int:
    """Convert the job and print it."""
    if arguments.output is not None and Path(arguments.output).exists():
        return failed("convert", f"{visible(arguments.output)} already exists", WRONG_USAGE)
    if message := missing([arguments.job]):
        return failed("convert", message, WRONG_USAGE)
    old = job_file(arguments.job)
    if isinstance(old, CheckedFile):
        show_findings(old)
        return FINDINGS
    found = converted(old.syntax)
    if found.text is None:
        return failed("convert", f"{visible(old.path or '')}: {found.problem}", FINDINGS)
    show_findings(_checked(arguments.output or "<converted>", found.text))
    return put("convert", found.text, arguments.output)


def _checked(name: str, text: str) -> CheckedFile:
    """The findings of the new job, with the values of secrets hidden."""
    document = Document(text, path=name)
    return checked_file(document, (one for one in document.diagnostics if one.severity <= Severity.WARNING))
