"""`pai-lsp rules`: lists the rules."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pai_lsp.rules.known_rules import KNOWN_RULES

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Lists all rules with their code, usual severity and first sentence. `pai-lsp explain CODE` tells more about one.

A rule's severity is changed, or the rule turned off, under 'rules' in .pai-lsp.yaml; one finding is silenced by
`# pai-lsp: ignore[code] reason` on its line or the line above.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp rules`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the list (default: text)")


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
