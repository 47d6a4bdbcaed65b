"""Findings -> a report: text with code frames, lines, JSON, SARIF, and what GitHub and GitLab show.

The functions that write a format are pure: `Results` in, a string out.
"""

# ruff: noqa: PLC0415 - a format is imported only when it is asked for: a run needs one
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import Style, severity_style
from pai_lsp.findings.diagnostic import Severity

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Results
    from pai_lsp.cli.report.terminal import Terminal
    from pai_lsp.findings.diagnostic import Rule

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab")


def render(name: str, results: Results, terminal: Terminal, rules: tuple[Rule, ...]) -> str:
    """The report in the format called `name`, one of FORMATS; `rules` are those that SARIF describes."""
    if name in {"json", "gitlab"}:
        from pai_lsp.cli.report import json_formats

        return json_formats.report(results) if name == "json" else json_formats.code_quality(results)
    if name == "sarif":
        from pai_lsp.cli.report import sarif_format

        return sarif_format.render(results, rules)
    if name in {"concise", "github"}:
        from pai_lsp.cli.report import line_formats

        return line_formats.concise(results, terminal) if name == "concise" else line_formats.github(results)
    if not any(file.diagnostics for file in results.files):
        return f"{summary(results, terminal)}\n"
    from pai_lsp.cli.report import text_report

    return f"{text_report.findings(results, terminal)}{summary(results, terminal)}\n"


def summary(results: Results, terminal: Terminal) -> str:
    """One line: the number of findings of each severity and of files; what was fixed and what is not shown."""
    found = Counter(diagnostic.severity for file in results.files for diagnostic in file.diagnostics)
    with_findings = sum(bool(file.diagnostics) for file in results.files)
    checked = len(results.files)
    count = _count(results.fixed, "finding")
    is_done = not results.is_trial
    fixed = (f"fixed {count}; " if is_done else f"{count} can be fixed (run with --fix); ") if results.fixed else ""
    hidden = sum(file.not_shown for file in results.files)
    below = f"; {_count(hidden, 'finding')} below the threshold, shown with --severity hint" if hidden else ""
    if not checked:
        return "no job files found"
    if not found:
        good = "" if results.fixed and not is_done else f"{terminal.styled('all good', Style.HINT)}: "
        return f"{fixed}{good}{_count(checked, 'file')} checked{below}"
    severities = [
        terminal.styled(_count(found[severity], severity.label), severity_style(severity))
        for severity in Severity
        if found[severity]
    ]
    fixable = sum(any(fix.safe for fix in item.fixes) for item in placed(results))
    more = f"; {fixable} can be fixed with --fix" if fixable else ""
    return f"{fixed}{', '.join(severities)} in {_count(with_findings, 'file')} ({checked} checked){more}{below}"


def _count(number: int, noun: str) -> str:
    """The number with the noun in singular or plural; `information` has no plural."""
    if noun == Severity.INFORMATION.label:
        return f"{number} {noun}"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
