"""Findings as lines for programs: `concise` for editors and grep, `github` for annotations on GitHub.

Source of the workflow commands: docs.github.com, "Workflow commands for GitHub Actions"; the escapes are those of
actions/toolkit, packages/core/src/command.ts. GitHub shows ten annotations of each level for each step, and ignores the
columns of findings over several lines (https://docs.github.com/en/rest/checks/runs, `start_column`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import Style
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import PlacedDiagnostic, Results
    from pai_lsp.cli.report.terminal import Terminal

_GITHUB_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def concise(results: Results, terminal: Terminal) -> str:
    """One line for each finding, `path:line:column: severity[code] message`; empty without findings."""
    lines: list[str] = []
    for item in placed(results):
        diagnostic = item.diagnostic
        style = Style[diagnostic.severity.name]
        label = terminal.styled(diagnostic.severity.label, style)
        code = terminal.linked(diagnostic.code, diagnostic.url)
        where = f"{visible(item.path)}:{item.start.line}:{item.start.column}"
        lines.append(f"{terminal.styled(where, Style.STRONG)}: {label}[{code}] {visible(diagnostic.message)}\n")
    return "".join(lines)


def github(results: Results) -> str:
    """One workflow command for each finding; empty without findings."""
    return "".join(f"{_github_command(item)}\n" for item in placed(results))


def _github_command(item: PlacedDiagnostic) -> str:
    diagnostic = item.diagnostic
    properties = {"title": f"pai-lsp: {diagnostic.code}", "file": item.path, "line": str(item.start.line)}
    properties["endLine"] = str(item.end.line)
    if item.start.line == item.end.line:
        properties["col"] = str(item.start.column)
        properties["endColumn"] = str(max(item.end.column, item.start.column))
    listed = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
    message = f"{diagnostic.message} ({diagnostic.url})"
    return f"::{_GITHUB_LEVELS[diagnostic.severity]} {listed}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
