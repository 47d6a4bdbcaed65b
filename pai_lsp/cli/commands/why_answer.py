"""What `pai-lsp why` prints; apart from job_file.py, which imports every rule."""

from __future__ import annotations

import sys
from typing import Any

from pai_lsp.cli import WRONG_USAGE, json_text


def write_answer(answer: dict[str, Any], text: str, form: str) -> None:
    """Print an answer as JSON, or as its text."""
    sys.stdout.write(json_text(answer) if form == "json" else text)


def refused(message: str) -> int:
    """Print why nothing is explained, and return the exit status."""
    sys.stderr.write(f"pai-lsp why: {message}\n")
    return WRONG_USAGE
