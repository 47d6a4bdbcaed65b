"""Which rule looks at which MPIJob of a text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding
from pai_lsp.mpijob.manifest import is_template, manifests
from pai_lsp.mpijob.manifest_rules import MANIFEST_RULES, mpijob_unreadable
from pai_lsp.source.nodes import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.source.nodes import Syntax

# What OpenPAI's readers refuse and Kubernetes does not.
_ACCEPTED = frozenset({ProblemKind.DUPLICATE_KEY, ProblemKind.SEVERAL_DOCUMENTS})


def rules_by_code() -> dict[str, Rule]:
    """The rules about MPIJobs."""
    return {rule.code: rule for rule in MANIFEST_RULES}


def manifest_checks(syntax: Syntax) -> Iterator[tuple[Rule, Callable[[], Iterable[Finding]]]]:
    """Each rule with its check of a manifest, to be run; of a text that cannot be read, only why."""
    problems = [problem for problem in syntax.problems if problem.kind not in _ACCEPTED]
    if problems:
        if not is_template(syntax.text):
            yield mpijob_unreadable, lambda: [Finding(problem.span, problem.message) for problem in problems]
        return
    for manifest in manifests(syntax):
        for rule in MANIFEST_RULES:
            yield rule, partial(rule.check, manifest)
