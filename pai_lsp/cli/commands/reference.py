"""`pai-lsp rules`, `explain` and `schema`: print what pai-lsp knows."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import failed, json_text, tell
from pai_lsp.cli.report.terminal import Style, Terminal, severity_style, terminal_for
from pai_lsp.findings.diagnostic import RuleStatus
from pai_lsp.platform.job_schema import published_schema
from pai_lsp.platform.tables import as_exit_code
from pai_lsp.rules import GROUPS, UnknownCodeError, families, family_names, known, renaming
from pai_lsp.rules.record import facts, fix_kind, record
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean

if TYPE_CHECKING:
    import argparse

    from pai_lsp.findings.diagnostic import Rule

_CODE = lazy_pattern(r"`([^`\n]+)`")


def list_rules(arguments: argparse.Namespace) -> int:
    """Print the list of rules: those of a family, with a safe fix, or with a word, if the arguments say so."""
    name = arguments.family
    if name and name not in family_names():
        return failed("rules", f"no family is named '{name}'{did_you_mean(name, family_names())}")
    shown = {
        family: [rule for rule in rules if _is_wanted(rule, arguments)]
        for family, rules in families().items()
        if name in {None, family} or family in GROUPS.get(name, ())
    }
    found = [rule for rules in shown.values() for rule in rules]
    if arguments.format == "json":
        sys.stdout.write(json_text([record(rule) for rule in found]))
        return 0
    if not found:
        tell("rules", "no rule matches")
        return 0
    codes = max(len(rule.code) for rule in found)
    severities = max(len(rule.severity.label) for rule in found)
    for family, rules in shown.items():
        if rules:
            sys.stdout.write(f"{family}:\n")
        for rule in rules:
            label = f"{rule.severity.label:<{severities}}"
            sys.stdout.write(f"  {rule.code:<{codes}}  {label}  {rule.summary}{_only(rule)}\n")
    return 0


def _is_wanted(rule: Rule, arguments: argparse.Namespace) -> bool:
    """Whether a rule has a safe fix and the words that are searched, if they are asked for."""
    if arguments.fixable and fix_kind(rule) != "safe":
        return False
    text = " ".join((rule.code, *rule.former, *rule.about, rule.documentation)).lower()
    return all(word in text for word in (arguments.search or "").lower().split())


def _only(rule: Rule) -> str:
    """For which platform the rule is, where it is not for all, and whether it is in preview."""
    limits = [f"only on {rule.platform.title}"] if rule.platform else []
    limits += ["preview"] if rule.status is RuleStatus.PREVIEW else []
    return f" ({', '.join(limits)})" if limits else ""


def print_schema(arguments: argparse.Namespace) -> int:
    """Print a JSON schema, for editors that support schemas but no language servers."""
    sys.stdout.write(json_text(published_schema(arguments.name)))
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Print the documentation of one rule, or of an exit code."""
    if (code := as_exit_code(arguments.code)) is not None:
        from pai_lsp.cluster.exit_code_text import code_text  # noqa: PLC0415 - rules are asked for more often

        sys.stdout.write(code_text(code))
        return 0
    try:
        rule = known(arguments.code)
    except UnknownCodeError as error:
        return failed("explain", f"{error} (pai-lsp rules lists all rules)")
    if message := renaming(arguments.code):
        tell("explain", message)
    terminal = terminal_for(arguments.color, os.environ, is_terminal=sys.stdout.isatty(), width=0)
    sys.stdout.write(explanation(rule, terminal))
    return 0


def explanation(rule: Rule, terminal: Terminal) -> str:
    """The code, the documentation with its examples, and the address of the page."""
    title = terminal.styled(rule.code, Style.STRONG)
    severity = terminal.styled(rule.severity.label, severity_style(rule.severity))
    lines = [_line(line, terminal) for line in (*rule.documentation.splitlines(), "", *facts(rule))]
    page = [terminal.linked(rule.url, rule.url), ""] if rule.url else []
    return "\n".join([f"{title} ({severity}){_only(rule)}", "", *lines, "", *page])


def _line(line: str, terminal: Terminal) -> str:
    """A line of Markdown, unchanged without colors."""
    if not terminal.colour:
        return line
    if line.startswith("    "):
        mark = line.strip().startswith("#") and "^" in line
        return terminal.styled(line, Style.ERROR if mark else Style.FRAME)
    return _CODE.sub(lambda match: terminal.styled(match[1], Style.STRONG), line)
