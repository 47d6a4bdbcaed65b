"""The findings as GitHub workflow commands, which the runner shows as annotations on the changed lines.

Source: docs.github.com, "Workflow commands for GitHub Actions"; the escapes are those of actions/toolkit,
packages/core/src/command.ts. GitHub shows ten annotations of each level a step, and ignores columns of findings
over several lines; https://docs.github.com/en/rest/checks/runs documents that for `start_column`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.report.results import placed
from pai_lsp.findings.diagnostic import Severity

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Placed, Results

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def render(results: Results) -> str:
    """One command a line; nothing at all when nothing was found."""
    return "".join(f"{_command(item)}\n" for item in placed(results))


def _command(item: Placed) -> str:
    diagnostic = item.diagnostic
    properties = {"title": f"pai-lsp: {diagnostic.code}", "file": item.path, "line": str(item.start.line)}
    properties["endLine"] = str(item.end.line)
    if item.start.line == item.end.line:
        properties["col"] = str(item.start.column)
        properties["endColumn"] = str(max(item.end.column, item.start.column))
    listed = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
    message = f"{diagnostic.message} ({diagnostic.url})"
    return f"::{_LEVELS[diagnostic.severity]} {listed}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
