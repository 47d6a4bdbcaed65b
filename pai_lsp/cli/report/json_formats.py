"""Findings as JSON: `report` and `lines` for programs, what GitLab and reviewdog show in merge requests, and SARIF.

In our own format, lines and columns count from 1, offsets from 0, all in code points (a byte order mark is not
counted); `end` is the place after the last character. `start` and `end` of a related place in a file that could not be
read are null. Everything outside ASCII is escaped, so that no pipe's encoding can damage it.

Source of GitLab's: docs.gitlab.com, "Code Quality", section "Code Quality report format": a JSON array of objects with
`description`, `check_name`, `fingerprint`, `location` and `severity`; the path counts from the root of the repository
and does not begin with `./`. A finding is new to GitLab when its fingerprint is.

Source of reviewdog's: its proto/rdf/reviewdog.proto; lines and columns count from 1, columns in bytes of UTF-8.

Source of SARIF's: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; the section numbers are
its own. Paths below the working directory are relative to the base `%SRCROOT%`, all others are absolute file URIs
(3.4). A replacement that would show a hidden value is left out.
"""

# ruff: noqa: PTH117, PTH118 - paths are only text here, and pathlib does not shorten "..", which may be a link
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.cli.report.results import fingerprints, placed
from pai_lsp.findings.diagnostic import RuleStatus, Severity
from pai_lsp.rules import family_of
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.version import __version__

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import PlacedDiagnostic, PlacedRelated, Results
    from pai_lsp.findings.diagnostic import Fix, Rule
    from pai_lsp.source.text import LineIndex, Place, Span

# It changes when a program that reads the report has to change.
VERSION = 1

_GITLAB_SEVERITIES = dict(zip(Severity, ("critical", "major", "minor", "info"), strict=True))
_REVIEWDOG_SEVERITIES = dict(zip(Severity, ("ERROR", "WARNING", "INFO", "INFO"), strict=True))


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
        "consequence": diagnostic.consequence.value,
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


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")

# 3.27.10: there is no level below "note" but "none", which means that nothing was found.
_LEVELS = dict(zip(Severity, ("error", "warning", "note", "note"), strict=True))
# 3.27.17: the number at the end is to change when the fingerprints of the same findings do.
_FINGERPRINT = "paiLspFinding/v1"
# docs.github.com, "SARIF support for code scanning", `properties.security-severity`: above 7.0 high, above 4.0 medium.
_SECURITY_SEVERITIES = dict(zip(Severity, ("8.0", "6.0", "3.0", "1.0"), strict=True))


def sarif(results: Results, rules: tuple[Rule, ...]) -> str:
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
        # 3.14.14: the URI of a folder ends with a slash.
        "originalUriBaseIds": {_ROOT: {"uri": Path(results.folder).absolute().as_uri().rstrip("/") + "/"}},
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
        if rule.former:
            description["deprecatedIds"] = list(rule.former)  # 3.49.4
        description["shortDescription"] = {"text": rule.summary}
        description["fullDescription"] = {"text": rule.documentation.split("\n\n", 2)[0]}
        description["help"] = {"text": rule.documentation, "markdown": rule.documentation}
    severity = rule.severity if rule is not None else diagnostic.severity
    properties: dict[str, Any] = {"precision": "high", "tags": [family_of(code)]}
    if rule is not None:
        properties |= {"stage": rule.stage.value, "consequence": rule.consequence.value, "status": rule.status.value}
    if family_of(code) == "secrets":
        properties["tags"].append("security")
        properties["security-severity"] = _SECURITY_SEVERITIES[severity]
    default: dict[str, Any] = {"level": _LEVELS[severity]}
    if rule is not None and rule.status is RuleStatus.PREVIEW:
        default = {"enabled": False, **default}  # 3.50.2
    return {**description, "defaultConfiguration": default, "properties": properties}


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


def _result(item: PlacedDiagnostic, index: int, folder: str, fingerprint: str) -> dict[str, Any]:
    diagnostic = item.diagnostic
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": [{"physicalLocation": _location(item.path, item.lines, diagnostic.span, folder)}],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
        "properties": {"consequence": diagnostic.consequence.value},
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
    from urllib.parse import quote  # noqa: PLC0415 - the other formats have no URIs

    below = full.removeprefix(root).replace(os.sep, "/")
    return {"uri": quote(below, errors="surrogateescape"), "uriBaseId": _ROOT}
