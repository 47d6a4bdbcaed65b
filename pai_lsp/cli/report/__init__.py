"""Findings -> a report: text with code frames, lines, JSON, and the formats of CI systems.

The functions that write a format are pure: `Results` in, a string out.
"""

# ruff: noqa: PLC0415 - a format is imported only when it is asked for: a run needs one
from __future__ import annotations

from collections import Counter

from pai_lsp.cli import json_text
from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import Style, severity_style
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.spelling import plural
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Results
    from pai_lsp.cli.report.terminal import Terminal
    from pai_lsp.findings.diagnostic import Rule

FORMATS = ("text", "concise", "json", "ndjson", "sarif", "github", "gitlab", "azure", "junit", "rdjson")


def render(
    name: str, results: Results, terminal: Terminal, rules: tuple[Rule, ...], *, has_summary: bool = True
) -> str:
    """The report in the format called `name`, one of FORMATS.

    rules: those that SARIF describes. has_summary: whether the text ends with a line that counts the findings.
    """
    if name in {"json", "ndjson", "gitlab", "rdjson", "sarif"}:
        from pai_lsp.cli.report import json_formats

        if name == "sarif":
            return json_formats.sarif(results, rules)
        writers = {"json": json_formats.report, "ndjson": json_formats.lines}
        writers |= {"gitlab": json_formats.code_quality, "rdjson": json_formats.reviewdog}
        return writers[name](results)
    if name in {"concise", "github", "azure", "junit"}:
        from pai_lsp.cli.report import line_formats

        if name == "concise":
            return line_formats.concise(results, terminal)
        return {"github": line_formats.github, "azure": line_formats.azure, "junit": line_formats.junit}[name](results)
    last = f"{summary(results, terminal)}\n" if has_summary else ""
    if not any(file.diagnostics for file in results.files):
        return last
    from pai_lsp.cli.report import text_report

    return f"{text_report.findings(results, terminal)}{last}"


def statistics(results: Results, terminal: Terminal, rules: tuple[Rule, ...], *, is_json: bool) -> str:
    """One line, or one object, for each rule that found something, the one with most findings first."""
    summaries = {rule.code: rule.summary for rule in rules}
    found = [diagnostic for file in results.files for diagnostic in file.diagnostics]
    counts = Counter((diagnostic.code, diagnostic.severity) for diagnostic in found)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if is_json:
        rows = [{"code": code, "severity": severity.label, "count": count} for (code, severity), count in ordered]
        return json_text(rows)
    most = max(counts.values(), default=0)
    widest = max((len(code) for code, _ in counts), default=0)
    lines = [
        f"{count:>{len(str(most))}}  {terminal.styled(f'{severity.label:<11}', severity_style(severity))}  "
        f"{code:<{widest}}  {summaries.get(code, '')}".rstrip()
        for (code, severity), count in ordered
    ]
    return "".join(f"{line}\n" for line in lines)


def summary(results: Results, terminal: Terminal) -> str:
    """One line: the number of findings of each severity and of files; what was fixed and what is not shown."""
    found = Counter(diagnostic.severity for file in results.files for diagnostic in file.diagnostics)
    with_findings = sum(bool(file.diagnostics) for file in results.files)
    checked = len(results.files)
    count = plural(results.changed, "finding")
    done = f"{results.verb} {count}; " if results.verb else f"{count} can be fixed (run with --fix); "
    fixed = done if results.changed else ""
    hidden = sum(file.not_shown for file in results.files)
    below = f"; {plural(hidden, 'finding')} below the threshold, shown with --severity hint" if hidden else ""
    if accepted := sum(file.accepted for file in results.files):
        below = f"; {plural(accepted, 'finding')} accepted by the baseline{below}"
    if not checked:
        return "no job files found"
    if not found:
        good = "" if results.changed and not results.verb else f"{terminal.styled('all good', Style.HINT)}: "
        return f"{fixed}{good}{plural(checked, 'file')} checked{below}"
    severities = [
        # `information` has no plural.
        terminal.styled(plural(found[one], one.label).replace("informations", "information"), severity_style(one))
        for one in Severity
        if found[one]
    ]
    fixable = sum(any(fix.safe for fix in item.fixes) for item in placed(results))
    more = f"; {fixable} can be fixed with --fix" if fixable else ""
    if results.verb == "ignored":
        more += "; a comment is not possible on these lines"
    return f"{fixed}{', '.join(severities)} in {plural(with_findings, 'file')} ({checked} checked){more}{below}"
