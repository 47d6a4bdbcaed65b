"""Rules that need the facts of a cluster: `check --cluster` runs them, see on_cluster.py.

They never run on a job alone, so they are not in `RULES`; explanations, settings and reports find them in
`KNOWN_RULES`. What cannot change without a change of the cluster's configuration is an error; rights, storages and
quotas are warnings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.job.job import Job


@rule(Severity.WARNING)
def virtual_cluster_not_allowed(job: Job) -> Iterable[Finding]:
    """The virtual cluster does not exist, or you may not use it.

    The rest-server refuses the job: "User ... is not allowed to do operation in ...". On a cluster with HiveD, the
    message may be about SKUs instead, because the rights are checked last. The name is case-sensitive.
    Source: rest-server, models/v2/job/k8s.js, put; middlewares/v2/hived.js, getCellStatus.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.ERROR)
def sku_type_unknown(job: Job) -> Iterable[Finding]:
    """The cluster, or the virtual cluster, has no SKU of this type.

    For a type that the cluster does not have, the rest-server answers "Cannot read property 'gpu' of undefined"; for
    one of another virtual cluster, "... only allows ...". Jobs with the priority `oppo` may use all types.
    Source: rest-server, middlewares/v2/hived.js, hivedValidate.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.ERROR)
def sku_without_resource(job: Job) -> Iterable[Finding]:
    """A task requests a resource that its SKU does not have, such as a GPU of a CPU SKU.

    Without `skuType`, the smallest value of each resource over all SKU types of the virtual cluster counts. In a
    virtual cluster with CPU and GPU SKUs, every task role with GPUs therefore needs `skuType`.
    Source: rest-server, middlewares/v2/hived.js, hivedValidate.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.WARNING)
def sku_quota_exceeded(job: Job) -> Iterable[Finding]:
    """The job requests more SKUs than the virtual cluster has.

    Each task needs as many SKUs as its scarcest resource does; the sum over all tasks must not exceed the SKUs of the
    virtual cluster. It is not checked for the priority `oppo`, and not without gang allocation.
    Source: rest-server, middlewares/v2/hived.js, hivedValidate.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.WARNING)
def storage_not_found(job: Job) -> Iterable[Finding]:
    """The storage does not exist, or you may not use it.

    The rest-server refuses the job: "Storage ... is not found."
    Source: rest-server, models/v2/job/k8s.js, put.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.WARNING, only_on="ltp")
def image_not_allowed(job: Job) -> Iterable[Finding]:
    """The administrator of the LTP cluster does not allow the image.

    The first docker image of `prerequisites` must match the pattern `image-regex` of the cluster; others are not looked
    at.
    Source: ltp-platform, src/rest-server/src/middlewares/v2/protocol.js, protocolValidate.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.WARNING, only_on="ltp")
def cluster_limit(job: Job) -> Iterable[Finding]:
    """A limit of the LTP cluster: GPUs of a job, the right to `prod`, restricted commands, local storage, nodes.

    Source: ltp-platform, src/rest-server/src/middlewares/v2/quota.js and models/v2/job/k8s.js.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.ERROR)
def instances_required_by_hived(job: Job) -> Iterable[Finding]:
    """A task role without `instances` on a cluster with HiveD.

    OpenPAI answers "unacceptable kind of an object to dump [object Undefined]". Write `instances: 1`.
    Source: rest-server, models/v2/job/k8s.js, generateTaskRole.
    """
    del job  # it needs a cluster
    return ()


@rule(Severity.ERROR)
def job_does_not_fit(job: Job) -> Iterable[Finding]:
    """The cluster accepts the job, but it can never start, even if the cluster is empty.

    HiveD places each group of tasks in cells of one kind, and each task in one node. A task that needs more SKUs than
    the largest node has waits for ever, and so does a group that does not fit together.
    Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, findNodesForPods.
    """
    del job  # it needs a cluster
    return ()


CLUSTER_RULES = (
    virtual_cluster_not_allowed,
    sku_type_unknown,
    sku_without_resource,
    sku_quota_exceeded,
    storage_not_found,
    image_not_allowed,
    cluster_limit,
    instances_required_by_hived,
    job_does_not_fit,
)
