"""`pai-lsp convert`: converts a protocol v1 job to version 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed, job_file, put, show_findings
from pai_lsp.cli.report.results import CheckedFile, checked_file
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.refactorings.protocol_v1 import converted
from pai_lsp.project.targets import missing
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse


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
