"""Makes rules about MPIJobs of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.mpijob.manifest import Manifest


def manifest_rule(severity: Severity) -> Callable[[Callable[[Manifest], Iterable[Finding]]], Rule]:
    """Make a rule about a manifest of a function: its name is the code, its docstring the documentation."""

    def make(check: Callable[[Manifest], Iterable[Finding]]) -> Rule:
        return Rule(check.__name__.replace("_", "-"), severity, check, check.__doc__ or "")

    return make
