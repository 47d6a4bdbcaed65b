"""What an editor shows of the cluster that the jobs are for: names to complete, and the SKUs that a job requests."""

from __future__ import annotations

from pai_lsp.cluster.cells import Cells
from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.hived_stage import hived_quota, virtual_cluster_of
from pai_lsp.cluster.profile import Profile
from pai_lsp.source.scalar import server_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


_STORAGE_NAMES = "storageConfigNames"


def cluster_names(job: Job, cluster: object, path: tuple[str | int, ...]) -> Iterator[tuple[str, str]]:
    """The names of the cluster that can be the value at `path`, each with a few words about it."""
    if not isinstance(cluster, Profile) or not path:
        return
    if path == ("defaults", "virtualCluster"):
        user = cluster.user or {}
        for name in user.get("virtualClusters", cluster.virtual_clusters):
            yield name, _skus(cluster, name)
    elif path[:2] == ("extras", "hivedScheduler") and path[-1] == "skuType":
        name = _virtual_cluster(job)
        known = Cells(cluster.hived).skus(name) if cluster.hived and name in cluster.virtual_clusters else None
        for sku_type, sku in cluster.sku_types.items():
            if known is None or sku_type in known:
                yield sku_type, f"{sku.gpu} GPU, {sku.cpu} CPU, {sku.memory} MiB"
    elif path[:2] == ("extras", "hivedScheduler") and path[-1] == "pinnedCellId" and cluster.hived:
        for name, pieces in Cells(cluster.hived).pinned(_virtual_cluster(job)).items():
            yield name, f"{sum(pieces.sizes)} SKUs of type {pieces.sku_type}"
    elif (path[:2] == ("extras", "storages") and path[-1] == "name") or _STORAGE_NAMES in path:
        about = cluster.document.get("storages", {})
        for name in (cluster.user or {}).get("storages", about):
            words = [str(about.get(name, {}).get("type", "storage"))]
            words += ["read-only"] if about.get(name, {}).get("readOnly") else []
            yield name, ", ".join(words)


def cluster_name_documentation(job: Job, cluster: object, path: tuple[str | int, ...], name: str) -> str | None:
    """What the cluster knows about the name that is the value at `path`, in Markdown; None if it is no such name.

    A name that the cluster does not have, or that the user may not use, is described as well.
    """
    known = dict(cluster_names(job, cluster, path))
    if not known or not isinstance(cluster, Profile):
        return None
    where = f"_cluster {cluster.name}" + (f", as of {cluster.taken_at[:10]}_" if cluster.taken_at else "_")
    detail = known.get(name)
    if detail is not None:
        return f"**{name}**: {detail}\n\n{where}"
    listed = ", ".join(f"`{one}`" for one in known)
    return f"**{name}**: the cluster does not have it, or you may not use it; known: {listed}\n\n{where}"


def requested_skus(job: Job, cluster: object) -> str | None:
    """The SKUs of all tasks beside those of the virtual cluster, such as `6 of 4 SKUs in vc1`; None if not known."""
    if not isinstance(cluster, Profile) or not cluster.has_hived:
        return None
    request = fit(job, cluster).request
    if request is None or request.roles is None:
        return None
    name = _virtual_cluster(job)
    quota = hived_quota(cluster, name)
    return (
        f"{request.total} {'SKU' if request.total == 1 else 'SKUs'}"
        if quota is None
        else (f"{request.total} of {quota} SKUs in {name}")
    )


def _virtual_cluster(job: Job) -> str:
    return server_text(virtual_cluster_of(job.plain)) if isinstance(job.plain, dict) else "default"


def _skus(cluster: Profile, name: str) -> str:
    if not cluster.hived:
        return "virtual cluster"
    return ", ".join(f"{number} × {sku}" for sku, number in Cells(cluster.hived).skus(name).items()) or "no SKUs"
