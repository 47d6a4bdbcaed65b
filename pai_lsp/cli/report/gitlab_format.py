"""The findings as a Code Quality report, which GitLab shows in merge requests.

Source: docs.gitlab.com, "Code Quality", section "Code Quality report format": a JSON array of objects with
`description`, `check_name`, `fingerprint`, `location` and `severity`; the path counts from the root of the repository
and does not begin with `./`. A finding is new to GitLab when its fingerprint is.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.cli.report.results import placed
from pai_lsp.findings.diagnostic import Severity

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Placed, Results

_SEVERITIES = {
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.INFORMATION: "minor",
    Severity.HINT: "info",
}


def render(results: Results) -> str:
    """The array, one line for each finding; empty without findings, because GitLab needs a report."""
    seen: dict[tuple[str, str, str], int] = {}
    lines: list[str] = []
    for item in placed(results):
        path = Path(item.path).as_posix()
        same = (path, item.diagnostic.code, item.diagnostic.message)
        seen[same] = seen.get(same, 0) + 1
        lines.append(json.dumps(_entry(item, path, seen[same])))
    return "[" + ",".join(f"\n{line}" for line in lines) + ("\n]\n" if lines else "]\n")


def _entry(item: Placed, path: str, count: int) -> dict[str, Any]:
    """One finding; `count` distinguishes it from earlier ones with the same message in the same file.

    The line is not part of the fingerprint: an edit above a finding does not make it a new one.
    """
    diagnostic = item.diagnostic
    words = "\0".join((path, diagnostic.code, diagnostic.message, str(count)))
    return {
        "description": f"{diagnostic.message} ({diagnostic.url})",
        "check_name": diagnostic.code,
        "fingerprint": hashlib.sha256(words.encode("utf-8", "surrogateescape")).hexdigest(),
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {"path": path, "lines": {"begin": item.start.line, "end": item.end.line}},
    }
