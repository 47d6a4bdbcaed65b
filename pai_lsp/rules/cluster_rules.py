"""Rules that need the facts of a cluster: they check a job where its cluster is known, as with `check --cluster`.

`cluster/fit` decides, once for all of them. What cannot change without a change of the cluster's configuration is an
error; rights, storages and quotas are warnings.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.job.definition import key_name_span, name_span
from pai_lsp.source.nodes import Mapping, Scalar, nodes_along
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.cluster.profile import Profile
    from pai_lsp.job.job import Job

# From this age on, a message states how old the facts are, and they give warnings only: clusters change.
_DAYS_UNTIL_OLD = 30


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.REFUSED)
def virtual_cluster_not_allowed(job: Job) -> Iterable[Finding]:
    """The virtual cluster does not exist, or you may not use it.

    The rest-server refuses the job: "User ... is not allowed to do operation in ...". On a cluster with HiveD, the
    message may be about SKUs instead, because the rights are checked last. The name is case-sensitive.
    Source: rest-server, models/v2/job/k8s.js, put; middlewares/v2/hived.js, getCellStatus.
    """
    return _found(job, virtual_cluster_not_allowed.code)


@rule(Severity.ERROR, stage=Stage.SERVER)
def sku_type_unknown(job: Job) -> Iterable[Finding]:
    """The cluster, or the virtual cluster, has no SKU of this type.

    For a type that the cluster does not have, the rest-server answers "Cannot read property 'gpu' of undefined"; for
    one of another virtual cluster, "... only allows ...". Jobs with the priority `oppo` may use all types.
    Source: rest-server, middlewares/v2/hived.js, hivedValidate.
    """
    return _found(job, sku_type_unknown.code)


@rule(Severity.ERROR, stage=Stage.SERVER)
def sku_without_resource(job: Job) -> Iterable[Finding]:
    """A task requests a resource that its SKU does not have, such as a GPU of a CPU SKU.

    Without `skuType`, the platform uses the smallest value of each resource over all SKU types of the virtual cluster.
    In a virtual cluster with CPU and GPU SKUs, every task role with GPUs therefore needs `skuType`.
    Source: rest-server, middlewares/v2/hived.js, hivedValidate.
    """
    return _found(job, sku_without_resource.code)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.REFUSED)
def sku_quota_exceeded(job: Job) -> Iterable[Finding]:
    """The job requests more SKUs than the virtual cluster has.

    Each task needs as many SKUs as its scarcest resource does; the sum over all tasks must not exceed the SKUs of the
    virtual cluster. It is not checked for the priority `oppo`, and not without gang allocation.
    Source: rest-server, middlewares/v2/hived.js, hivedValidate.
    """
    return _found(job, sku_quota_exceeded.code)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.REFUSED)
def storage_not_found(job: Job) -> Iterable[Finding]:
    """The storage does not exist, or you may not use it.

    The rest-server refuses the job: "Storage ... is not found."
    Source: rest-server, models/v2/job/k8s.js, put.
    """
    return _found(job, storage_not_found.code)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.REFUSED, only_on="ltp")
def image_not_allowed(job: Job) -> Iterable[Finding]:
    """The administrator of the LTP cluster does not allow the image.

    The first docker image of `prerequisites` must match the pattern `image-regex` of the cluster; others are not
    checked.
    Source: ltp-platform, src/rest-server/src/middlewares/v2/protocol.js, protocolValidate.
    """
    return _found(job, image_not_allowed.code)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.REFUSED, only_on="ltp")
def cluster_limit(job: Job) -> Iterable[Finding]:
    """The job exceeds a limit of the LTP cluster, such as its GPUs, nodes or the right to `prod`.

    Source: ltp-platform, src/rest-server/src/middlewares/v2/quota.js and models/v2/job/k8s.js.
    """
    return _found(job, cluster_limit.code)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def job_does_not_fit(job: Job) -> Iterable[Finding]:
    """The cluster accepts the job, but it can never start, even if the cluster is empty.

    HiveD places each group of tasks in cells of one kind, and each task in one node. A task that needs more SKUs than
    the largest node has waits forever, and so does a group that does not fit together.
    Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, findNodesForPods.
    """
    return _found(job, job_does_not_fit.code)


def _found(job: Job, code: str) -> Iterator[Finding]:
    """What the rule `code` reports about a job."""
    return (finding for name, finding in job.once(_on_its_cluster) if name == code)


def _on_its_cluster(job: Job) -> tuple[tuple[str, Finding], ...]:
    profile = None if job.is_catalog else _profile(job.cluster)
    return tuple(cluster_findings(job, profile)) if profile else ()


def scheduler_of(cluster: object | None) -> str | None:
    """The scheduler of a cluster."""
    profile = _profile(cluster)
    return profile.document["scheduler"] if profile else None


def _profile(cluster: object | None) -> Profile | None:
    from pai_lsp.cluster.profile import Profile  # noqa: PLC0415 - most checks know no cluster

    return cluster if isinstance(cluster, Profile) else None


def cluster_findings(job: Job, profile: Profile, now: datetime | None = None) -> Iterator[tuple[str, Finding]]:
    """What the cluster would refuse or never start, by rule; nothing that a rule without a cluster finds."""
    from pai_lsp.cluster.fit import fit  # noqa: PLC0415 - most checks know no cluster

    moment = now or datetime.now(timezone.utc)
    found = fit(job, profile, moment)
    ending = _age(profile, moment)
    severity = Severity.WARNING if ending else None
    for one in found.refusals:
        if one.rule is not None:
            span, text = _place(job, one.path)
            fixes = near_name_fixes(span, text, one.choices, safe=False) if text else ()
            yield one.rule, Finding(span, one.explanation + ending, fixes, severity=severity)
    if found.wait is not None and not found.wait.is_of_all_clusters and not found.refusals:
        span, _ = _place(job, found.wait.path)
        message = f"the job can never start: {found.wait.explanation}{ending}"
        yield job_does_not_fit.code, Finding(span, message, severity=severity)


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
    nodes = nodes_along(job.syntax.root, path)
    if len(nodes) > len(path) and isinstance(nodes[-1], Scalar) and nodes[-1].text:
        return name_span(nodes[-1]), nodes[-1].text
    for node, step in reversed(list(zip(nodes, path, strict=False))):
        if isinstance(node, Mapping) and (entry := node.entry(str(step))) is not None:
            return key_name_span(entry), ""
    return Span(0, 0), ""
