"""`pai-lsp convert --to v2beta1`, `pai` or `mpijob`: MPIJob manifests of other versions, and jobs made from them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS
from pai_lsp.cli.commands.job_file import failed, put
from pai_lsp.mpijob.conversion import ConversionError
from pai_lsp.mpijob.converted_text import converted_text
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from pai_lsp.document import Document


def convert_manifest(old: Document, to: str, output: str | None, *, is_json: bool) -> int:
    """Convert the file and print it, and what the result does not have; returns the exit status."""
    try:
        converted = converted_text(old.job, to)
    except ConversionError as error:
        if is_json:
            put("convert", json.dumps({"error": error.code, "message": str(error)}) + "\n", output)
            return FINDINGS
        return failed("convert", f"{visible(old.path or '')}: {error}", FINDINGS)
    if is_json:
        lost = [{"field": one.field, "reason": one.reason} for one in converted.lost]
        answer = {"result": converted.result, "text": converted.text, "lost": lost}
        return put("convert", json.dumps(answer) + "\n", output)
    for one in converted.lost:
        sys.stderr.write(f"pai-lsp convert: lost: {one.field}: {one.reason}\n")
    return put("convert", converted.text, output)
