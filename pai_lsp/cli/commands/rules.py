"""`pai-lsp rules`: lists the rules."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pai_lsp.rules import KNOWN_RULES

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
List all rules with code, default severity and summary. `pai-lsp explain CODE` explains one.

Change the severity of a rule, or turn it off, under 'rules' in .pai-lsp.yaml. To ignore one finding, put the comment
`# pai-lsp: ignore[code] reason` on its line or on the line above.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp rules`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    if arguments.format == "json":
        rows = [
            {"code": rule.code, "severity": rule.severity.label, "summary": rule.summary, "url": rule.url}
            for rule in KNOWN_RULES
        ]
        sys.stdout.write(json.dumps(rows, indent=1) + "\n")
        return 0
    codes = max(len(rule.code) for rule in KNOWN_RULES)
    severities = max(len(rule.severity.label) for rule in KNOWN_RULES)
    for rule in KNOWN_RULES:
        sys.stdout.write(f"{rule.code:<{codes}}  {rule.severity.label:<{severities}}  {rule.summary}\n")
    return 0
