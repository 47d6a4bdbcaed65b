"""The report for people: each finding with the lines it is in, and one line that sums up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pai_lsp.cli.report.code_frame import code_frame, number_width
from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import Style
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.cli.report.results import Placed, PlacedRelated, Results
    from pai_lsp.cli.report.terminal import Terminal

_STYLES = {
    Severity.ERROR: Style.ERROR,
    Severity.WARNING: Style.WARNING,
    Severity.INFORMATION: Style.INFORMATION,
    Severity.HINT: Style.HINT,
}
_MOST_FIXES = 3


def render(results: Results, terminal: Terminal) -> str:
    """All findings with code frames, then the summary."""
    parts: list[str] = []
    for item in placed(results):
        parts += [*_finding(item, terminal), ""]
    return "".join(f"{line}\n" for line in [*parts, summary(results, terminal)])


def summary(results: Results, terminal: Terminal) -> str:
    """One line: how many findings of each severity, in how many of the files; what was fixed and what is not shown."""
    found = Counter(diagnostic.severity for file in results.files for diagnostic in file.diagnostics)
    with_findings = sum(bool(file.diagnostics) for file in results.files)
    checked = len(results.files)
    verb = "would fix" if results.is_trial else "fixed"
    fixed = f"{verb} {_count(results.fixed, 'finding')}; " if results.fixed else ""
    hidden = sum(file.not_shown for file in results.files)
    below = f"; {_count(hidden, 'finding')} below the threshold, shown with --severity hint" if hidden else ""
    if not checked:
        return "no job files found"
    if not found:
        good = terminal.styled("all good", Style.HINT)
        return f"{fixed}{good}: {_count(checked, 'file')} checked{below}"
    severities = [
        terminal.styled(_count(found[severity], severity.label), _STYLES[severity])
        for severity in Severity
        if found[severity]
    ]
    fixable = sum(any(fix.safe for fix in item.fixes) for item in placed(results))
    more = f"; {fixable} can be fixed with --fix" if fixable else ""
    return f"{fixed}{', '.join(severities)} in {_count(with_findings, 'file')} ({checked} checked){more}{below}"


def _count(number: int, noun: str) -> str:
    """The number with the noun in its right form; `information` has only one."""
    if noun == Severity.INFORMATION.label:
        return f"{number} {noun}"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _finding(item: Placed, terminal: Terminal) -> Iterator[str]:
    diagnostic = item.diagnostic
    style = _STYLES[diagnostic.severity]
    code = terminal.linked(diagnostic.code, diagnostic.url)
    label = terminal.styled(f"{diagnostic.severity.label}[{code}]", style)
    yield f"{label}: {terminal.styled(visible(diagnostic.message), Style.STRONG)}"
    width = max(
        number_width(item.lines, diagnostic.span),
        *(number_width(related.lines, related.span) for related in item.related if related.lines is not None),
        2,
    )
    yield _arrow(item.path, item.start.line, item.start.column, width, terminal)
    if item.lines.text:
        yield from code_frame(item.lines, diagnostic.span, "^", style, terminal, number_width=width)
    for related in item.related:
        yield from _related(related, width, terminal)
    for fix in item.fixes[:_MOST_FIXES]:
        sign = terminal.styled("=", Style.FRAME)
        word = "fix" if fix.safe else "suggestion"
        yield f"{' ' * width} {sign} {terminal.styled(word, Style.STRONG)}: {visible(fix.title)}"


def _related(related: PlacedRelated, width: int, terminal: Terminal) -> Iterator[str]:
    blank = " " * width
    sign, word = terminal.styled("=", Style.FRAME), terminal.styled("note", Style.STRONG)
    yield f"{blank} {sign} {word}: {visible(related.message)}"
    if related.lines is None or related.start is None:
        yield f"{blank}{terminal.styled('-->', Style.FRAME)} {visible(related.path)}"
        return
    yield _arrow(related.path, related.start.line, related.start.column, width, terminal)
    yield from code_frame(related.lines, related.span, "-", Style.FRAME, terminal, number_width=width)


def _arrow(path: str, line: int, column: int, width: int, terminal: Terminal) -> str:
    return f"{' ' * width}{terminal.styled('-->', Style.FRAME)} {visible(path)}:{line}:{column}"
