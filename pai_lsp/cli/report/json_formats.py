"""Findings as JSON: `report` for programs, `code_quality` for GitLab, which shows it in merge requests.

In our own format, lines and columns count from 1, offsets from 0, all in code points (a byte order mark is not
counted); `end` is the place after the last character. `start` and `end` of a related place in a file that could not be
read are null. Everything outside ASCII is escaped, so that no pipe's encoding can damage it.

Source of GitLab's: docs.gitlab.com, "Code Quality", section "Code Quality report format": a JSON array of objects with
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
    from pai_lsp.cli.report.results import Place, PlacedDiagnostic, Results

# It changes when a program that reads the report has to change.
VERSION = 1

_GITLAB_SEVERITIES = {
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.INFORMATION: "minor",
    Severity.HINT: "info",
}


def report(results: Results) -> str:
    """The object, with one diagnostic a line so that two reports can be compared by line."""
    diagnostics = [json.dumps(_diagnostic(item)) for item in placed(results)]
    body = "".join(f"\n{text}," for text in diagnostics).removesuffix(",") + ("\n" if diagnostics else "")
    return f'{{"version": {VERSION}, "files": {len(results.files)}, "diagnostics": [{body}]}}\n'


def _diagnostic(item: PlacedDiagnostic) -> dict[str, Any]:
    diagnostic = item.diagnostic
    return {
        "path": item.path,
        **({"field": diagnostic.field} if diagnostic.field else {}),
        "code": diagnostic.code,
        "severity": diagnostic.severity.label,
        "message": diagnostic.message,
        "start": _place(item.start),
        "end": _place(item.end),
        "url": diagnostic.url,
        "fixable": any(fix.safe for fix in diagnostic.fixes),
        "related": [
            {
                "path": related.path,
                "message": related.message,
                "start": _place(related.start),
                "end": _place(related.end),
            }
            for related in item.related
        ],
    }


def _place(place: Place | None) -> dict[str, int] | None:
    return None if place is None else {"line": place.line, "column": place.column, "offset": place.offset}


def code_quality(results: Results) -> str:
    """The array, one line for each finding; empty without findings, because GitLab needs a report."""
    seen: dict[tuple[str, str, str], int] = {}
    lines: list[str] = []
    for item in placed(results):
        path = Path(item.path).as_posix()
        same = (path, item.diagnostic.code, item.diagnostic.message)
        seen[same] = seen.get(same, 0) + 1
        lines.append(json.dumps(_issue(item, path, seen[same])))
    return "[" + ",".join(f"\n{line}" for line in lines) + ("\n]\n" if lines else "]\n")


def _issue(item: PlacedDiagnostic, path: str, count: int) -> dict[str, Any]:
    """One finding; `count` distinguishes it from earlier ones with the same message in the same file.

    The line is not part of the fingerprint: an edit above a finding does not make it a new one.
    """
    diagnostic = item.diagnostic
    words = "\0".join((path, diagnostic.code, diagnostic.message, str(count)))
    return {
        "description": f"{diagnostic.message} ({diagnostic.url})",
        "check_name": diagnostic.code,
        "fingerprint": hashlib.sha256(words.encode("utf-8", "surrogateescape")).hexdigest(),
        "severity": _GITLAB_SEVERITIES[diagnostic.severity],
        "location": {"path": path, "lines": {"begin": item.start.line, "end": item.end.line}},
    }
