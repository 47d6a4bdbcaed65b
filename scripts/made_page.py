"""A page of the documentation that a script makes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_or_compare(page: Path, text: str, target: str) -> int:
    """Write the page, or with `--check` compare it; returns the exit status. `make target` writes the page."""
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.exists() and page.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{page} is not up to date; run 'make {target}'\n")
    return 1
