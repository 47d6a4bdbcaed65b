"""`pai-lsp convert`: converts a protocol v1 job to version 2."""

from __future__ import annotations

from pai_lsp.cli import FINDINGS
from pai_lsp.cli.commands.job_file import failed, put, show_findings
from pai_lsp.cli.report.results import CheckedFile, checked_file
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.refactorings.protocol_v1 import converted
from pai_lsp.source.text import visible


def convert_job(old: Document, output: str | None) -> int:
    """Convert the job and print it, or write it to the file `output`; returns the exit status."""
    found = converted(old.syntax)
    if found.text is None:
        return failed("convert", f"{visible(old.path or '')}: {found.problem}", FINDINGS)
    show_findings(_checked(output or "<converted>", found.text))
    return put("convert", found.text, output)


def _checked(name: str, text: str) -> CheckedFile:
    """The findings of the new job, with the values of secrets hidden."""
    document = Document(text, path=name)
    return checked_file(document, (one for one in document.diagnostics if one.severity <= Severity.WARNING))
