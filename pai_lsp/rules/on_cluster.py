"""What a cluster's profile finds in a job, as findings of the rules in cluster_rules.py."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pai_lsp.cluster.fit import fit
from pai_lsp.findings.diagnostic import Finding
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.job.definition import key_name_span, name_span
from pai_lsp.rules.cluster_rules import CLUSTER_RULES, job_does_not_fit
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.cluster.profile import Profile
    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry, Node

# From this age on, a message says how old the facts are.
_DAYS_UNTIL_OLD = 30
_BY_CODE = {rule.code: rule for rule in CLUSTER_RULES}


# Rules about what only a cluster with HiveD refuses.
_OF_HIVED = frozenset(
    {
        "hived-priority-invalid",
        "hived-wrong-type",
        "hived-sku-and-pinned",
        "hived-affinity-inconsistent",
        "hived-unknown-role",
        "hived-needs-instances",
    }
)


def irrelevant_rules(profile: Profile) -> frozenset[str]:
    """The codes of rules whose mistakes do no harm on this cluster."""
    return _OF_HIVED if profile.document["scheduler"] == "default" else frozenset()


def cluster_findings(job: Job, profile: Profile, now: datetime | None = None) -> Iterator[tuple[Rule, Finding]]:
    """What the cluster would refuse or never start, with its rule; nothing that a rule without a cluster finds."""
    moment = now or datetime.now(timezone.utc)
    found = fit(job, profile, moment)
    ending = _age(profile, moment)
    for one in found.refusals:
        if one.rule is not None:
            span, text = _place(job, one.path)
            fixes = near_name_fixes(span, text, one.choices, safe=False) if text else ()
            yield _BY_CODE[one.rule], Finding(span, one.explanation + ending, fixes)
    if found.wait is not None and not found.refusals:
        span, _ = _place(job, found.wait.path)
        yield job_does_not_fit, Finding(span, f"the job can never start: {found.wait.explanation}{ending}")


def _age(profile: Profile, now: datetime) -> str:
    """A note about the age of the profile's facts, if they are old."""
    if profile.taken_at is None:
        return ""
    try:
        taken = datetime.fromisoformat(profile.taken_at.replace("Z", "+00:00"))
    except ValueError:
        return ""
    days = (now - (taken if taken.tzinfo else taken.replace(tzinfo=timezone.utc))).days
    return f" (facts of {profile.name} are {days} days old)" if days >= _DAYS_UNTIL_OLD else ""


def _place(job: Job, path: tuple[str | int, ...]) -> tuple[Span, str]:
    """The place of a value, and its text if it is a name; where a key is missing, the key above it."""
    node: Node | None = job.syntax.root
    entry: Entry | None = None
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str):
            found = node.entry(step)
            if found is None:
                return (key_name_span(entry) if entry else Span(0, 0)), ""
            entry, node = found, found.value
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
    if isinstance(node, Scalar) and node.text:
        return name_span(node), node.text
    return (key_name_span(entry) if entry else Span(0, 0)), ""
