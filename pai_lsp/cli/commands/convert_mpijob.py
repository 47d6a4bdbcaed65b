"""`pai-lsp convert --to v2beta1`, `pai` or `mpijob`: MPIJob manifests of other versions, and jobs made from them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS
from pai_lsp.cli.commands.job_file import failed, put
from pai_lsp.mpijob.conversion import ConversionError, kept_comments
from pai_lsp.mpijob.manifest import manifests
from pai_lsp.mpijob.writing_manifest import job_text, manifest_text
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.mpijob.conversion import Converted


def convert_manifest(old: Document, to: str, output: str | None, *, is_json: bool) -> int:
    """Convert the file and print it, and what the result does not have; returns the exit status."""
    try:
        converted = _converted(old, to)
    except ConversionError as error:
        if is_json:
            put("convert", json.dumps({"error": error.code, "message": str(error)}) + "\n", output)
            return FINDINGS
        return failed("convert", f"{visible(old.path or '')}: {error}", FINDINGS)
    comments = "".join(f"{line}\n" for line in kept_comments(old.syntax))
    text = comments + (job_text if to == "pai" else manifest_text)(converted.result)
    if is_json:
        lost = [{"field": one.field, "reason": one.reason} for one in converted.lost]
        answer = {"result": converted.result, "text": text, "lost": lost}
        return put("convert", json.dumps(answer) + "\n", output)
    for one in converted.lost:
        sys.stderr.write(f"pai-lsp convert: lost: {one.field}: {one.reason}\n")
    return put("convert", text, output)


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
