"""The findings as a SARIF 2.1.0 log, for code scanning services and SARIF viewers.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; the section numbers are its own.
Paths below the working directory are relative to the base `%SRCROOT%`, all others are absolute file URIs (3.4).
A replacement that would show a hidden value is left out.
"""

# ruff: noqa: PTH117, PTH118 - paths are only text here, and pathlib does not shorten "..", which may be a link
from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from pai_lsp.cli.report.results import fingerprints
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.rules import family_of
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.cli.report.results import PlacedDiagnostic, PlacedRelated, Results
    from pai_lsp.findings.diagnostic import Fix, Rule
    from pai_lsp.source.text import LineIndex, Span

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")

# 3.27.10: there is no level below "note" but "none", which means that nothing was found.
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "note",
}
# 3.27.17: the number at the end is to change when the fingerprints of the same findings do.
_FINGERPRINT = "paiLspFinding/v1"
# docs.github.com, "SARIF support for code scanning", `properties.security-severity`: above 7.0 high, above 4.0 medium.
_SECURITY_SEVERITIES = {
    Severity.ERROR: "8.0",
    Severity.WARNING: "6.0",
    Severity.INFORMATION: "3.0",
    Severity.HINT: "1.0",
}


def render(results: Results, rules: tuple[Rule, ...]) -> str:
    """The log; `rules` are those known, of which the ones that found something are described in it."""
    identified = list(fingerprints(results))
    items = [item for item, _ in identified]
    codes = list(dict.fromkeys(item.diagnostic.code for item in items))
    known = {rule.code: rule for rule in rules}
    run = {
        "tool": {
            "driver": {
                "name": "pai-lsp",
                "version": __version__,
                "rules": [_rule(code, known.get(code), items) for code in codes],
            }
        },
        "invocations": [_invocation(results)],
        "originalUriBaseIds": {_ROOT: _base(results.folder)},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "results": [
            _result(item, codes.index(item.diagnostic.code), results.folder, fingerprint)
            for item, fingerprint in identified
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str, rule: Rule | None, items: list[PlacedDiagnostic]) -> dict[str, Any]:
    diagnostic = next(item.diagnostic for item in items if item.diagnostic.code == code)
    description: dict[str, Any] = {"id": code, **({"helpUri": diagnostic.url} if diagnostic.url else {})}
    if rule is not None:
        description["shortDescription"] = {"text": rule.summary}
        description["fullDescription"] = {"text": rule.documentation.split("\n\n", 2)[0]}
        description["help"] = {"text": rule.documentation, "markdown": rule.documentation}
    severity = rule.severity if rule is not None else diagnostic.severity
    properties: dict[str, Any] = {"precision": "high", "tags": [family_of(code)]}
    if family_of(code) == "secrets":
        properties["tags"].append("security")
        properties["security-severity"] = _SECURITY_SEVERITIES[severity]
    return {**description, "defaultConfiguration": {"level": _LEVELS[severity]}, "properties": properties}


def _invocation(results: Results) -> dict[str, Any]:
    notifications = [
        {
            "level": "error",
            "message": {"text": f"could not check this file: {failure.reason}"},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(failure.path, results.folder)}}],
        }
        for failure in results.failures
    ]
    return {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}


def _base(folder: str) -> dict[str, Any]:
    """3.14.14: the URI of a folder ends with a slash."""
    if not folder:
        return {"description": {"text": "the working directory"}}
    return {"uri": Path(folder).as_uri().rstrip("/") + "/"}


def _result(item: PlacedDiagnostic, index: int, folder: str, fingerprint: str) -> dict[str, Any]:
    diagnostic = item.diagnostic
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": [{"physicalLocation": _location(item.path, item.lines, diagnostic.span, folder)}],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }
    if item.related:
        result["relatedLocations"] = [
            _related(number, related, folder) for number, related in enumerate(item.related, start=1)
        ]
    if item.fixes:
        result["fixes"] = [_fix(fix, item, folder) for fix in item.fixes]
    return result


def _related(number: int, related: PlacedRelated, folder: str) -> dict[str, Any]:
    if related.lines is None:
        location: dict[str, Any] = {"artifactLocation": _artifact(related.path, folder)}
    else:
        location = _location(related.path, related.lines, related.span, folder)
    return {"id": number, "message": {"text": related.message}, "physicalLocation": location}


def _fix(fix: Fix, item: PlacedDiagnostic, folder: str) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(item.lines, edit.span), "insertedContent": {"text": edit.new_text}}
        for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact(item.path, folder), "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _location(path: str, lines: LineIndex, span: Span, folder: str) -> dict[str, Any]:
    return {"artifactLocation": _artifact(path, folder), "region": _region(lines, span)}


def _region(lines: LineIndex, span: Span) -> dict[str, int]:
    """3.30: lines and columns count from 1, and `endColumn` is the one after the last character."""
    start, end = lines.place(span.start), lines.place(span.end)
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _artifact(path: str, folder: str) -> dict[str, str]:
    """3.4: a path below the base is relative to it, any other absolute; no file is looked at."""
    if _ADDRESS.match(path):
        return {"uri": path}
    full = os.path.normpath(os.path.join(folder, path))
    root = os.path.join(os.path.normpath(folder), "")
    if os.path.isabs(full) and not full.startswith(root):
        return {"uri": Path(full).as_uri()}
    below = full.removeprefix(root).replace(os.sep, "/")
    return {"uri": quote(below, errors="surrogateescape"), "uriBaseId": _ROOT}
