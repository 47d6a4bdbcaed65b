"""Findings -> something to read: text with code frames, one line each, JSON, SARIF, what GitHub and GitLab show.

Every format is one module with one function `render`; all are pure: `Results` in, a string out.
"""

# ruff: noqa: PLC0415 - see render
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Results
    from pai_lsp.cli.report.terminal import Terminal
    from pai_lsp.findings.diagnostic import Rule

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab")


def render(name: str, results: Results, terminal: Terminal, rules: tuple[Rule, ...]) -> str:
    """The report in the format called `name`, one of FORMATS; `rules` are those to describe in it.

    Each format is imported only when it is asked for: a run needs one, and the others cost start-up time.
    """
    if name == "json":
        from pai_lsp.cli.report import json_format

        return json_format.render(results)
    if name == "sarif":
        from pai_lsp.cli.report import sarif_format

        return sarif_format.render(results, rules)
    if name == "github":
        from pai_lsp.cli.report import github_format

        return github_format.render(results)
    if name == "gitlab":
        from pai_lsp.cli.report import gitlab_format

        return gitlab_format.render(results)
    if name == "concise":
        from pai_lsp.cli.report import concise_format

        return concise_format.render(results, terminal)
    from pai_lsp.cli.report import text_format

    return text_format.render(results, terminal)
