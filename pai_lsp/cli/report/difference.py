"""A unified diff of two texts, as patch and git read it."""

from __future__ import annotations

import difflib
import re

from pai_lsp.cli.report.terminal import Style, Terminal

# The line ends of a text, as text.py has them: difflib's own splitting knows more of them than editors do.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_STYLES = {"+": Style.ADDED, "-": Style.REMOVED, "@": Style.INFORMATION}


def unified_difference(path: str, before: str, after: str) -> str:
    """The diff that turns `before` into `after`; empty when they are equal."""
    lines = difflib.unified_diff(_LINE.findall(before), _LINE.findall(after), path, path)
    return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines)


def styled_difference(difference: str, terminal: Terminal) -> str:
    """The diff with colours, where the terminal has them."""
    if not terminal.colour:
        return difference
    lines = [line if line.endswith("\n") else f"{line}\n" for line in difference.split("\n") if line]
    return "".join(
        terminal.styled(line[:-1], _STYLES[line[0]]) + "\n" if line[0] in _STYLES else line for line in lines
    )
