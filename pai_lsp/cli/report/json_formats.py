"""Findings as JSON: `report` and `lines` for programs, and what GitLab and reviewdog show in merge requests.

In our own format, lines and columns count from 1, offsets from 0, all in code points (a byte order mark is not
counted); `end` is the place after the last character. `start` and `end` of a related place in a file that could not be
read are null. Everything outside ASCII is escaped, so that no pipe's encoding can damage it.

Source of GitLab's: docs.gitlab.com, "Code Quality", section "Code Quality report format": a JSON array of objects with
`description`, `check_name`, `fingerprint`, `location` and `severity`; the path counts from the root of the repository
and does not begin with `./`. A finding is new to GitLab when its fingerprint is.

Source of reviewdog's: its proto/rdf/reviewdog.proto; lines and columns count from 1, columns in bytes of UTF-8.
"""

from __future__ import annotations

import json
from pathlib import Path

from pai_lsp.cli.report.results import fingerprints, placed
from pai_lsp.findings.diagnostic import Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.cli.report.results import PlacedDiagnostic, Results
    from pai_lsp.source.text import LineIndex, Place, Span

# It changes when a program that reads the report has to change.
VERSION = 1

_GITLAB_SEVERITIES = {
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.INFORMATION: "minor",
    Severity.HINT: "info",
}

_REVIEWDOG_SEVERITIES = {
    Severity.ERROR: "ERROR",
    Severity.WARNING: "WARNING",
    Severity.INFORMATION: "INFO",
    Severity.HINT: "INFO",
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
        "url": diagnostic.url or None,
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


def lines(results: Results) -> str:
    """One object for each finding, each on its own line, so that a report can be read while it is written."""
    return "".join(f"{json.dumps(_diagnostic(item))}\n" for item in placed(results))


def code_quality(results: Results) -> str:
    """The array, one line for each finding; empty without findings, because GitLab needs a report."""
    lines = [json.dumps(_issue(item, fingerprint)) for item, fingerprint in fingerprints(results)]
    return "[" + ",".join(f"\n{line}" for line in lines) + ("\n]\n" if lines else "]\n")


def _issue(item: PlacedDiagnostic, fingerprint: str) -> dict[str, Any]:
    diagnostic = item.diagnostic
    return {
        "description": f"{diagnostic.message} ({diagnostic.explained})",
        "check_name": diagnostic.code,
        "fingerprint": fingerprint,
        "severity": _GITLAB_SEVERITIES[diagnostic.severity],
        "location": {"path": Path(item.path).as_posix(), "lines": {"begin": item.start.line, "end": item.end.line}},
    }


def reviewdog(results: Results) -> str:
    """The object that reviewdog reads as `rdjson`; fixes of one edit are suggestions."""
    found = [_reviewdog_diagnostic(item) for item in placed(results)]
    return json.dumps({"source": {"name": "pai-lsp"}, "diagnostics": found}) + "\n"


def _reviewdog_diagnostic(item: PlacedDiagnostic) -> dict[str, Any]:
    diagnostic = item.diagnostic
    suggestions = [
        {"range": _reviewdog_range(item.lines, fix.edits[0].span), "text": fix.edits[0].new_text}
        for fix in item.fixes
        if len(fix.edits) == 1
    ]
    return {
        "message": diagnostic.message,
        "location": {"path": Path(item.path).as_posix(), "range": _reviewdog_range(item.lines, diagnostic.span)},
        "severity": _REVIEWDOG_SEVERITIES[diagnostic.severity],
        "code": {"value": diagnostic.code, **({"url": diagnostic.url} if diagnostic.url else {})},
        **({"suggestions": suggestions} if suggestions else {}),
    }


def _reviewdog_range(lines: LineIndex, span: Span) -> dict[str, dict[str, int]]:
    def position(offset: int) -> dict[str, int]:
        found = lines.place(offset)
        before = lines.line_text(found.line - 1)[: found.column - 1]
        return {"line": found.line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}

    return {"start": position(span.start), "end": position(span.end)}
