"""One line a finding, `path:line:column: severity[code] message`, for editors' error lists, grep and cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import Style
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Results
    from pai_lsp.cli.report.terminal import Terminal


def render(results: Results, terminal: Terminal) -> str:
    """The lines; nothing at all when nothing was found."""
    lines: list[str] = []
    for item in placed(results):
        diagnostic = item.diagnostic
        style = Style[diagnostic.severity.name]
        label = terminal.styled(diagnostic.severity.label, style)
        code = terminal.linked(diagnostic.code, diagnostic.url)
        where = f"{visible(item.path)}:{item.start.line}:{item.start.column}"
        lines.append(f"{terminal.styled(where, Style.STRONG)}: {label}[{code}] {visible(diagnostic.message)}\n")
    return "".join(lines)
