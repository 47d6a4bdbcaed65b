"""What is known about a job before it runs: values of templates and variables, resources, names of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.hived_stage import Cells, hived_quota, virtual_cluster_of
from pai_lsp.cluster.profile import Profile
from pai_lsp.cluster.task_environment import known_environment
from pai_lsp.embedded.server_rendering import CallFailedError, looked_up, well_formed, written
from pai_lsp.embedded.template import server_path
from pai_lsp.ide.documentation import block
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.scalar import server_text
from pai_lsp.source.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.platform.tables import EnvironmentVariable

_SHORT = 60


@dataclass(frozen=True, slots=True)
class Resources:
    """What tasks ask for together; None where it is not a number."""

    tasks: int
    gpu: int | None
    cpu: int | None
    memory: int | None

    def sentence(self) -> str:
        """The resources as people say them: `4 GPU, 16 CPU, 32 GiB`."""
        parts = [f"{number} {unit}" for number, unit in ((self.gpu, "GPU"), (self.cpu, "CPU")) if number is not None]
        if self.memory is not None:
            gibibytes = self.memory / 1024
            parts.append(f"{self.memory} MiB" if gibibytes < 1 else f"{gibibytes:.1f} GiB".replace(".0 ", " "))
        return ", ".join(parts)


def role_resources(role: TaskRole) -> Resources:
    """What all tasks of a role ask for together."""
    amounts = map(role.amount, ("gpu", "cpu", "memoryMB"))
    return Resources(role.instances, *(None if one is None else one * role.instances for one in amounts))


def job_resources(job: Job) -> Resources:
    """What the whole job asks for."""
    roles = [role_resources(role) for role in job.task_roles]
    amounts = zip(*((one.gpu, one.cpu, one.memory) for one in roles), strict=True)
    known = ([number for number in numbers if number is not None] for numbers in amounts)
    totals = [sum(numbers) if numbers else None for numbers in known]
    return Resources(sum(one.tasks for one in roles), *(totals or (None, None, None)))


def resources_sentence(role: TaskRole) -> str:
    """How many tasks a role has, what each asks for, and what that is in all."""
    found = role_resources(role)
    tasks = "1 task:" if found.tasks == 1 else f"{found.tasks} tasks, in all"
    return f"{tasks} {found.sentence() or 'resources unknown'}"


def template_text(job: Job, use: TemplateUse) -> str | None:
    """The text that the rest-server puts in for a template; None for secrets, unknown names and other readers."""
    steps = use.tag.steps
    if len(steps) < 2:
        return None
    root = str(steps[0].name)
    values = {}
    if root == "$parameters":
        values = {"$parameters": plain_value(job.mapping("parameters"))}
    elif root in {"$data", "$script", "$output"} and use.role is not None:
        definition = job.named_by(use.role, root[1:])
        values = {root: plain_value(definition.node)} if definition else {}
    try:
        text = written(looked_up(server_path(use.tag.content), values, job.platform.mustache))
    except CallFailedError:
        return None
    return None if text is None else well_formed(text)


def template_value(job: Job, use: TemplateUse) -> str:
    """What a template becomes, in Markdown."""
    root = use.tag.root
    if root == "$secrets":
        return "a secret; its value is filled in inside the container and never shown"
    if root == "this":
        return "a parameter of this definition or of what it requires; filled when the job is expanded"
    text = template_text(job, use)
    return "this name is not defined here" if text is None else block("text", text) if text else "the empty text"


def short(text: str) -> str:
    """A text on one line, without what makes it long."""
    return shortened(text.replace("\n", "⏎"), _SHORT)


def variable_value(job: Job, own: TaskRole | None, variable: EnvironmentVariable, name: str) -> str:
    """The value of an environment variable where the job file decides it; else empty.

    own: the task role whose commands contain it. `variable` has the family of `name`, in which a role may be spelt in
    two ways.
    """
    values = job.once(_values)
    if own not in values:
        values[own] = known_environment(job, own)
    role = (variable.match(name) or {}).get("role")
    spelt = next((one.name for one in job.task_roles if role in {one.name, converted_role_name(one.name)}), role)
    return values[own].get(variable.name.replace("{role}", spelt) if spelt else name, "")


def _values(_job: Job) -> dict[TaskRole | None, dict[str, str]]:
    return {}


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
                yield sku_type, f"{sku['gpu']} GPU, {sku['cpu']} CPU, {sku['memory']} MiB"
    elif path[:2] == ("extras", "hivedScheduler") and path[-1] == "pinnedCellId" and cluster.hived:
        for name, pieces in Cells(cluster.hived).pinned(_virtual_cluster(job)).items():
            yield name, f"{sum(pieces.sizes)} SKUs of type {pieces.sku_type}"
    elif (path[:2] == ("extras", "storages") and path[-1] == "name") or _STORAGE_NAMES in path:
        about = cluster.document.get("storages", {})
        for name in (cluster.user or {}).get("storages", about):
            words = [str(about.get(name, {}).get("type", "storage"))]
            words += ["read-only"] if about.get(name, {}).get("readOnly") else []
            yield name, ", ".join(words)


def cluster_name_documentation(job: Job, cluster: object, path: tuple[str | int, ...], name: str) -> str:
    """What the cluster knows about the name that is the value at `path`, in Markdown; empty for any other name.

    A name that the cluster does not have, or that the user may not use, is described as well.
    """
    known = dict(cluster_names(job, cluster, path))
    if not known or not isinstance(cluster, Profile):
        return ""
    where = f"_cluster {cluster.name}" + (f", as of {cluster.taken_at[:10]}_" if cluster.taken_at else "_")
    listed = ", ".join(f"`{one}`" for one in known)
    detail = known.get(name, f"the cluster does not have it, or you may not use it; known: {listed}")
    return f"**{name}**: {detail}\n\n{where}"


def requested_skus(job: Job, cluster: object) -> str:
    """The SKUs of all tasks beside those of the virtual cluster, such as `6 of 4 SKUs in vc1`; empty if not known."""
    if not isinstance(cluster, Profile) or not cluster.has_hived:
        return ""
    request = fit(job, cluster).request
    if request is None or request.roles is None:
        return ""
    name = _virtual_cluster(job)
    quota = hived_quota(cluster, name)
    if quota is not None:
        return f"{request.total} of {quota} SKUs in {name}"
    return f"{request.total} {'SKU' if request.total == 1 else 'SKUs'}"


def _virtual_cluster(job: Job) -> str:
    return server_text(virtual_cluster_of(job.plain)) if isinstance(job.plain, dict) else "default"


def _skus(cluster: Profile, name: str) -> str:
    if not cluster.hived:
        return "virtual cluster"
    return ", ".join(f"{number} × {sku}" for sku, number in Cells(cluster.hived).skus(name).items()) or "no SKUs"
