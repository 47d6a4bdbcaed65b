"""`pai-lsp explain`: prints the documentation of one rule."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli.main import WRONG_USAGE
from pai_lsp.cli.report.terminal import Style, Terminal, terminal_for
from pai_lsp.rules import UnknownCodeError, known

if TYPE_CHECKING:
    import argparse

    from pai_lsp.findings.diagnostic import Rule

_CODE = re.compile(r"`([^`\n]+)`")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp explain`."""
    parser.description = "Explain a rule: what is wrong, what the cluster does, the source for that, and examples."
    parser.add_argument("code", metavar="CODE", help="the code of a rule, as shown in reports and by pai-lsp rules")
    choices = ("auto", "always", "never")
    parser.add_argument("--color", choices=choices, default="auto", help="use colors (default: auto)")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation."""
    try:
        rule = known(arguments.code)
    except UnknownCodeError as error:
        sys.stderr.write(f"pai-lsp explain: {error} (pai-lsp rules lists all rules)\n")
        return WRONG_USAGE
    terminal = terminal_for(arguments.color, os.environ, is_terminal=sys.stdout.isatty(), width=0)
    sys.stdout.write(explanation(rule, terminal))
    return 0


def explanation(rule: Rule, terminal: Terminal) -> str:
    """The code, the documentation with its examples, and the address of the page."""
    title = terminal.styled(rule.code, Style.STRONG)
    severity = terminal.styled(rule.severity.label, Style[rule.severity.name])
    lines = [_line(line, terminal) for line in rule.documentation.splitlines()]
    return "\n".join([f"{title} ({severity})", "", *lines, "", terminal.linked(rule.url, rule.url), ""])


def _line(line: str, terminal: Terminal) -> str:
    """A line of Markdown, unchanged without colors."""
    if not terminal.colour:
        return line
    if line.startswith("    "):
        mark = line.strip().startswith("#") and "^" in line
        return terminal.styled(line, Style.ERROR if mark else Style.FRAME)
    return _CODE.sub(lambda match: terminal.styled(match[1], Style.STRONG), line)
