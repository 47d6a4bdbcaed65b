"""`pai-lsp convert`: reads the file, and leaves the conversion to the module that knows both formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed, job_file, show_findings
from pai_lsp.cli.report.results import CheckedFile
from pai_lsp.project.targets import missing
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Convert the file and print it; an existing file is never written over."""
    if arguments.output is not None and Path(arguments.output).exists():
        return failed("convert", f"{visible(arguments.output)} already exists", WRONG_USAGE)
    if message := missing([arguments.job]):
        return failed("convert", message, WRONG_USAGE)
    old = job_file(arguments.job)
    if isinstance(old, CheckedFile):
        show_findings(old)
        return FINDINGS
    if arguments.to == "v2":
        from pai_lsp.cli.commands.convert_v1 import convert_job  # noqa: PLC0415 - one of the two is needed

        return convert_job(old, arguments.output)
    from pai_lsp.cli.commands.convert_mpijob import convert_manifest  # noqa: PLC0415 - as above

    return convert_manifest(old, arguments.to, arguments.output, is_json=arguments.format == "json")
