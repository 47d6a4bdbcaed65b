"""What a job on a cluster waits for: the events of its pods, and what its virtual cluster has, uses and is asked for.

An ordinary user may read both, and neither the queue nor the cells of HiveD: OpenPAI's proxy does not lead to its
inspect API, and the rest-server gives the sums of a virtual cluster only. Sources: microsoft/pai,
src/pylon/deploy/pylon-config/location.conf.template; src/rest-server/src/models/v2/virtual-cluster/k8s.js.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cluster.live_jobs import submitted_config
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.cluster.why import NOT_KNOWN, failure
from pai_lsp.source.foreign import as_list, as_mapping, as_text, as_whole
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.cluster.live_jobs import LiveJob
    from pai_lsp.cluster.rest_server import ClusterConnection

_MOST_EVENTS = 3
_UNKNOWN = "not known: the place in the queue and the free cells, which the cluster does not show to its users"


def waits_for(cluster: ClusterConnection, job: LiveJob) -> tuple[str, ...]:
    """What a job waits for, in lines; empty if it does not wait.

    Raises:
        ClusterError: if the cluster does not answer, or refuses.
    """
    if job.state != "WAITING":
        return ()
    if job.sub_state in {"AttemptCreationPending", "AttemptCreationRequested"} and not job.tasks:
        return ("the platform has not created its pods yet",)
    return (*_events(cluster, job), *_amounts(cluster, job, submitted_config(cluster, job)), _UNKNOWN)


def _events(cluster: ClusterConnection, job: LiveJob) -> Iterator[str]:
    """The last warnings about its pods, each once, with what they mean."""
    try:
        found = as_list(as_mapping(cluster.value(f"jobs/{job.place}/events?type=Warning")).get("data"))
    except ClusterError as error:
        if error.status is None:
            raise
        found = []
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for event in map(as_mapping, found):
        reason, message = (as_text(event.get(key)) or "" for key in ("reason", "message"))
        seen.setdefault((reason, message), event)
    for (reason, message), event in list(seen.items())[:_MOST_EVENTS]:
        times = as_whole(event.get("count")) or 1
        yield visible(f"{reason}: {message}" + (f" ({times} times)" if times > 1 else ""))
        cause = failure(f"{reason}: {message}").cause
        if cause.name != NOT_KNOWN:
            yield f"{cause.name}: {cause.explanation} {cause.fix}"
    if not seen:
        yield "the cluster reports no problem of its pods"


def _amounts(cluster: ClusterConnection, job: LiveJob, config: dict[str, Any]) -> Iterator[str]:
    name = job.virtual_cluster
    try:
        found = as_mapping(cluster.value("virtual-clusters")).get(name)
    except ClusterError:
        found = None
    total, healthy, used = (
        as_whole(as_mapping(as_mapping(found).get(key)).get("gpu"))
        for key in ("resourcesTotal", "resourcesGuaranteed", "resourcesUsed")
    )
    if total is None or healthy is None or used is None:
        yield f"the cluster does not say what virtual cluster '{visible(name)}' has"
        return
    asked = sum(_gpus(as_mapping(role)) for role in as_mapping(config.get("taskRoles")).values())
    broken = f", {total - healthy} of them on broken nodes" if healthy < total else ""
    yield f"GPUs: {asked} asked for; virtual cluster '{visible(name)}' has {total}{broken}, and jobs use {used}"
    hived = as_mapping(as_mapping(config.get("extras")).get("hivedScheduler"))
    if hived.get("jobPriorityClass") == "oppo":
        yield "its priority 'oppo' uses what all virtual clusters leave free"
    elif asked > total:
        yield "it waits forever: it asks for more than its virtual cluster has"
    elif asked > healthy - used:
        yield "it waits for other jobs to end" + (", or for the nodes" if broken else "")
    else:
        yield "so many are free; the job waits if no node, or no cell of its SKU type, has enough of them at once"


def _gpus(role: dict[str, Any]) -> int:
    instances = as_whole(role.get("instances"))
    gpus = as_whole(as_mapping(role.get("resourcePerInstance")).get("gpu")) or 0
    return gpus * (1 if instances is None else instances)
