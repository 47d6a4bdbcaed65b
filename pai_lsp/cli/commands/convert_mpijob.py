"""`pai-lsp convert --to v2beta1`, `pai` or `mpijob`: MPIJob manifests of other versions, and jobs made from them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed, job_file, put, show_findings
from pai_lsp.cli.report.results import CheckedFile
from pai_lsp.mpijob.conversion import ConversionError, kept_comments
from pai_lsp.mpijob.manifest import manifests
from pai_lsp.mpijob.writing_manifest import job_text, manifest_text
from pai_lsp.project.targets import missing
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.document import Document
    from pai_lsp.mpijob.conversion import Converted


def run(arguments: argparse.Namespace) -> int:
    """Convert the file and print it, and what the result does not have."""
    if arguments.output is not None and Path(arguments.output).exists():
        return failed("convert", f"{visible(arguments.output)} already exists", WRONG_USAGE)
    if message := missing([arguments.job]):
        return failed("convert", message, WRONG_USAGE)
    old = job_file(arguments.job)
    if isinstance(old, CheckedFile):
        show_findings(old)
        return FINDINGS
    is_json = arguments.format == "json"
    try:
        converted = _converted(old, arguments.to)
    except ConversionError as error:
        if is_json:
            put("convert", json.dumps({"error": error.code, "message": str(error)}) + "\n", arguments.output)
            return FINDINGS
        return failed("convert", f"{visible(old.path or '')}: {error}", FINDINGS)
    comments = "".join(f"{line}\n" for line in kept_comments(old.syntax))
    text = comments + (job_text if arguments.to == "pai" else manifest_text)(converted.result)
    if is_json:
        lost = [{"field": one.field, "reason": one.reason} for one in converted.lost]
        answer = {"result": converted.result, "text": text, "lost": lost}
        return put("convert", json.dumps(answer) + "\n", arguments.output)
    for one in converted.lost:
        sys.stderr.write(f"pai-lsp convert: lost: {one.field}: {one.reason}\n")
    return put("convert", text, arguments.output)


def _converted(document: Document, to: str) -> Converted:
    if to == "mpijob":
        from pai_lsp.mpijob.job_to_manifest import job_to_manifest  # noqa: PLC0415 - only for this direction

        return job_to_manifest(document.job)
    found = next(manifests(document.syntax), None)
    manifest = {} if found is None else found.root.plain
    if to == "pai":
        from pai_lsp.mpijob.manifest_to_job import manifest_to_job  # noqa: PLC0415 - only for this direction

        return manifest_to_job(manifest)
    from pai_lsp.mpijob.upgrade import upgraded  # noqa: PLC0415 - as above

    return upgraded(manifest)
