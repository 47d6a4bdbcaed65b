"""`pai-lsp convert`: protocol v1 jobs as version 2, MPIJob manifests as another version, and jobs as manifests.

Each direction imports its own half: most of this package is about one of the two formats.
"""

# ruff: noqa: PLC0415 - see the docstring
from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed, json_text, tell
from pai_lsp.cli.commands.job_file import each_job, job_of, put, show_findings
from pai_lsp.cli.report.results import checked_file
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.project.projects import Projects


def run(arguments: argparse.Namespace) -> int:
    """Convert the files and print or write the results."""
    folders = [path for path in arguments.jobs if os.path.isdir(path)]
    if folders:
        return failed("convert", f"{visible(folders[0])} is a folder; name the files to convert")
    is_json = arguments.format == "json" and arguments.to != "v2"
    ending = ".json" if is_json else ".pai.yaml" if arguments.to in {"v2", "pai"} else ".yaml"
    return each_job("convert", arguments.jobs, arguments.output, partial(_convert, arguments.to, is_json), ending)


def _convert(to: str, is_json: bool, path: str, output: str | None, projects: Projects) -> int:
    """Convert one file."""
    old = job_of(path, projects)
    return _convert_job(old, output) if to == "v2" else _convert_manifest(old, to, output, is_json=is_json)


def _convert_job(old: Document, output: str | None) -> int:
    """Convert the job and print it, or write it to the file `output`; returns the exit status."""
    from pai_lsp.ide.refactorings.conversions import converted
    from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError

    try:
        text = converted(old.syntax)
    except CanNotRefactorError as error:
        return failed("convert", f"{visible(old.path or '')}: {error}", FINDINGS)
    new = Document(text, path=output or "<converted>")
    show_findings(checked_file(new, (one for one in new.diagnostics if one.severity <= Severity.WARNING)))
    put(text, output)
    return 0


def _convert_manifest(old: Document, to: str, output: str | None, *, is_json: bool) -> int:
    """Convert the file and print it, and what the result does not have; returns the exit status."""
    from pai_lsp.mpijob.conversion import ConversionError
    from pai_lsp.mpijob.converted_text import converted_text

    try:
        converted = converted_text(old.job, to)
    except ConversionError as error:
        if is_json:
            put(json_text({"error": error.code, "message": str(error)}), output)
            return FINDINGS
        return failed("convert", f"{visible(old.path or '')}: {error}", FINDINGS)
    if is_json:
        lost = [{"field": path, "reason": reason} for path, reason in converted.lost.items()]
        answer = {"result": converted.result, "text": converted.text, "lost": lost}
        put(json_text(answer), output)
        return 0
    for path, reason in converted.lost.items():
        tell("convert", f"not converted: {path}: {reason}")
    put(converted.text, output)
    return 0
