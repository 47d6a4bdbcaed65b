"""The findings of the MPIJobs in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.mpijob.manifest import is_template, manifests
from pai_lsp.mpijob.manifest_rules import MANIFEST_RULES, mpijob_unreadable
from pai_lsp.source.nodes import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.findings.diagnostic import Rule, Settings
    from pai_lsp.source.nodes import Syntax

# What OpenPAI's readers refuse and Kubernetes does not.
_ACCEPTED = frozenset({ProblemKind.DUPLICATE_KEY, ProblemKind.SEVERAL_DOCUMENTS})


def rules_by_code() -> dict[str, Rule]:
    """The rules about MPIJobs."""
    return {rule.code: rule for rule in MANIFEST_RULES}


def checked_manifests(syntax: Syntax, settings: Settings) -> Iterator[Diagnostic]:
    """The findings, by rule; of a text that cannot be read, only why."""
    problems = [problem for problem in syntax.problems if problem.kind not in _ACCEPTED]
    if problems:
        severity = settings.severity_of(mpijob_unreadable)
        if severity is not None and not is_template(syntax.text):
            for problem in problems:
                yield Diagnostic(mpijob_unreadable.code, severity, problem.span, problem.message)
        return
    for manifest in manifests(syntax):
        for rule in MANIFEST_RULES:
            if rule.code in settings.severities and settings.severities[rule.code] is None:
                continue
            written = settings.severities.get(rule.code)
            for found in rule.check(manifest):
                severity = written or Severity(found.severity or rule.severity)
                yield Diagnostic(
                    rule.code, severity, found.span, found.message, found.fixes, found.related, found.tags, found.field
                )
