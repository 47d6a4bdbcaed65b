"""Whether a job fits a cluster: what the rest-server refuses, and what is accepted and never starts.

All answers hold for an empty and healthy cluster: "fits" never means that the nodes are free now.

HiveD places a group of tasks in one chain, greedily and without looking back: the free pieces of the chain from big to
small, used ones first, the tasks from small to big. A cluster without HiveD needs one node for each task.
Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, findNodesForPods.
"""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import groupby
from typing import TYPE_CHECKING

from pai_lsp.cluster.hived_stage import Cells, HivedRequest, RoleRequest, has_barrier, hived_request
from pai_lsp.cluster.job_stage import job_refusals, mounted_storages, quota_refusals
from pai_lsp.cluster.protocol_stage import Refusal, Wait, protocol_refusals, render_refusals
from pai_lsp.job.parts import MOST_COUNTED, MOST_INSTANCES
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.scalar import Reader, server_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pai_lsp.cluster.hived_stage import Pieces
    from pai_lsp.cluster.profile import Profile
    from pai_lsp.job.job import Job

_SECTION = ("extras", "hivedScheduler", "taskRoles")


@dataclass(frozen=True, slots=True)
class Fit:
    """What a cluster makes of a job.

    refusals: in the order in which the rest-server looks; it answers with the first one only.
    request: what the job asks HiveD for; None without HiveD, or where the job is not understood.
    is_known: whether the profile has enough facts to answer whether the job can start.
    """

    refusals: tuple[Refusal, ...]
    wait: Wait | None = None
    request: HivedRequest | None = None
    storages: tuple[str, ...] = ()
    is_known: bool = True

    @property
    def outcome(self) -> str:
        """`refused`, `waits-forever`, `runs` (on an empty cluster) or `accepted` (the profile has no more facts)."""
        if self.refusals:
            return "refused"
        if self.wait is not None:
            return "waits-forever"
        return "runs" if self.is_known else "accepted"


def fit(job: Job, profile: Profile, now: datetime | None = None) -> Fit:
    """What the cluster makes of a job; `now` decides which rights have ended."""
    refusals = list(protocol_refusals(job, profile))
    if any(one.code in {None, "InvalidProtocolError"} for one in refusals):
        return Fit(tuple(refusals))
    refusals += render_refusals(job)
    values = job.plain
    request = hived_request(values, profile) if profile.has_hived else None
    refusals += request.refusals if request else ()
    refusals += quota_refusals(values, job, profile, now or datetime.now(timezone.utc))
    rights = list(job_refusals(values, profile))
    named = {one.path for one in refusals}
    refusals += [one for one in rights if one.rule != "virtual-cluster-not-allowed" or one.path not in named]
    if crash := _database_refusal(values, request, profile):
        refusals.append(crash)
    mounted = mounted_storages(values, profile)
    wait, is_known = _controller_wait(values), True
    # No scheduler places a job that names the nodes it runs on.
    is_forced = profile.platform.forces_nodes and as_mapping(values.get("extras")).get("forceNodes")
    if wait is None and not is_forced:
        if request is None:
            is_known = "nodes" in profile.document
            wait = _default_wait(values, profile) if is_known else None
        else:
            is_known = request.roles is not None and profile.hived is not None
            wait = _hived_wait(values, request, profile) if is_known and not refusals else None
    return Fit(tuple(refusals), wait, request, mounted if isinstance(mounted, tuple) else (), is_known=is_known)


def _controller_wait(values: Any) -> Wait | None:
    """A role with more tasks than Kubernetes takes for a framework, whatever the cluster has."""
    for name, role in values["taskRoles"].items():
        if role.get("instances", 1) > MOST_INSTANCES:
            text = f"a task role can have at most {MOST_INSTANCES} instances"
            path = ("taskRoles", name, "instances")
            reason = "CreateFrameworkPermanentFailed"
            return Wait(name, reason, text, path, is_refused=True, is_of_all_clusters=True)
    return None


def _database_refusal(values: Any, request: HivedRequest | None, profile: Profile) -> Refusal | None:
    """A role without `instances`, and totals that the database cannot hold.

    The rest-server sums up GPUs and tasks for two columns of type INTEGER; without `instances`, the sum is NaN.
    With HiveD, OpenPAI fails earlier: js-yaml 3 cannot write `undefined` into an affinity group.
    Source: rest-server, models/v2/job/k8s.js; database-controller, sdk/index.js.
    """
    roles: Mapping[str, Any] = values["taskRoles"]
    missing = next((name for name, role in roles.items() if "instances" not in role), None)
    if missing is not None:
        message = 'invalid input syntax for type integer: "NaN"'
        code: str | None = "UnknownError"
        grouped = (one.instances is None and one.group is not None for one in ((request and request.roles) or ()))
        if profile.platform.reader is Reader.JS_YAML_3 and any(grouped):
            message, code = "unacceptable kind of an object to dump [object Undefined]", None
        text = f"task role '{missing}' has no 'instances'; the server fails without it"
        return Refusal("job", 500, code, message, text, ("taskRoles", missing, "instances"), None)
    gpus = sum(role["resourcePerInstance"]["gpu"] * role["instances"] for role in roles.values())
    tasks = sum(role["instances"] or 1 for role in roles.values())
    for total, what in ((gpus, "GPUs"), (tasks, "tasks")):
        if not -MOST_COUNTED <= total <= MOST_COUNTED:
            message = f'value "{server_text(total)}" is out of range for type integer'
            text = f"the job has {server_text(total)} {what}, more than the server can count"
            return Refusal("job", 500, "UnknownError", message, text, ("taskRoles",), None)
    return None


# --- clusters with HiveD ---


def _hived_wait(values: Any, request: HivedRequest, profile: Profile) -> Wait | None:
    name = request.virtual_cluster
    if name is None:
        text = "'virtualCluster' is null, so the job is sent to a scheduler that does not exist"
        first = next(iter(values["taskRoles"]), None)
        return Wait(first, "VirtualCluster is empty", text, ("defaults", "virtualCluster"), is_refused=True)
    return _HivedPlacement(values, request, profile.hived or {}, server_text(name)).wait()


class _HivedPlacement:
    """Places the tasks of one job on the empty cluster."""

    def __init__(self, values: Any, request: HivedRequest, document: Mapping[str, Any], virtual_cluster: str) -> None:
        self._values = values
        self._roles = request.roles or ()
        self._cells = Cells(document)
        self._virtual_cluster = virtual_cluster
        self._is_opportunistic = request.is_opportunistic
        self._reset()

    def _reset(self) -> None:
        self._pinned = self._cells.pinned(self._virtual_cluster)
        # What a role without a pinned cell can use.
        own = self._cells.chains(self._virtual_cluster)
        self._usable = self._cells.physical_chains() if self._is_opportunistic else own

    def wait(self) -> Wait | None:
        is_together = has_barrier(self._values)
        for group in self._groups():
            if not is_together:
                self._reset()
            if found := self._group_wait(group, is_alone=not is_together):
                return found
        return None

    def _groups(self) -> list[list[RoleRequest]]:
        """The groups in the order of their first tasks; a role without a group is one entry."""
        found: dict[tuple[str | None, str], list[RoleRequest]] = {}
        for role in self._roles:
            found.setdefault((role.group, role.name if role.group is None else ""), []).append(role)
        return list(found.values())

    def _group_wait(self, group: Sequence[RoleRequest], *, is_alone: bool) -> Wait | None:
        leader = group[0]
        if fault := self._refused(group):
            return fault
        if leader.group is not None:
            return self._placed([role.number for role in group for _ in range(role.instances or 1)], group)
        waits = (self._placed([leader.number], group) for _ in range(1 if is_alone else leader.instances or 1))
        return next(filter(None, waits), None)

    def _refused(self, group: Sequence[RoleRequest]) -> Wait | None:
        """What the scheduler refuses to place at all, by `hivedscheduler` a user error."""
        leader, name = group[0], self._virtual_cluster
        if zero := next((role for role in group if role.number <= 0), None):
            text = f"task role '{zero.name}' requests no SKU, so the scheduler refuses it; request at least 1 CPU"
            path = ("taskRoles", zero.name, "resourcePerInstance")
            return Wait(leader.name, "LeafCellNumber is non-positive", text, path, is_refused=True)
        key, cell, sku_type = "pinnedCellId", leader.pinned_cell, leader.sku_type
        if name not in self._cells.document["virtualClusters"]:
            text = f"you may use the virtual cluster '{name}', but the scheduler does not have it"
            reason = f"VC {name} does not exists!"
            return Wait(leader.name, reason, text, ("defaults", "virtualCluster"), is_refused=True)
        if not cell:
            if sku_type is None or any(chain.sku_type == sku_type for chain in self._usable):
                return None
            key, text = "skuType", f"virtual cluster '{name}' has SKUs of type '{sku_type}' only in pinned cells"
            reason = f"Pod requesting leaf cell type {sku_type} which VC {name} does not have"
        elif cell not in self._pinned:
            text = f"virtual cluster '{name}' has no pinned cell '{cell}'; it has {', '.join(self._pinned) or 'none'}"
            reason = f"VC {name} does not have pinned cell {cell}"
        elif self._is_opportunistic:
            text = "a job with the priority 'oppo' cannot use a pinned cell"
            reason = f"opportunistic pod not supported to use pinned cell {cell}"
        else:
            return None
        return Wait(leader.name, reason, text, (*_SECTION, leader.name, key), is_refused=True)

    def _placed(self, tasks: Sequence[float], group: Sequence[RoleRequest]) -> Wait | None:
        """Place the tasks where the group's first task wants them; the wait if there is no such place."""
        leader, biggest = group[0], max(group, key=lambda role: role.number)
        if leader.pinned_cell:
            places = [self._pinned[leader.pinned_cell]]
        else:
            places = [one for one in self._usable if leader.sku_type in {None, one.sku_type}]
        if any(place.place(tasks) for place in places):
            return None
        where = "physical cluster" if self._is_opportunistic else f"VC {self._virtual_cluster}"
        reason = f"insufficient capacity when scheduling in {where}" if places else ""
        text = self._explanation(sum(tasks), group, places)
        return Wait(leader.name, reason, text, ("taskRoles", biggest.name, "resourcePerInstance"))

    def _explanation(self, total: float, group: Sequence[RoleRequest], places: list[Pieces]) -> str:
        """Why the group finds no place, with the numbers that an author can change."""
        leader, biggest = group[0], max(group, key=lambda role: role.number)
        where = "the cluster" if self._is_opportunistic else f"virtual cluster '{self._virtual_cluster}'"
        if leader.pinned_cell:
            where = f"pinned cell '{leader.pinned_cell}'"
        if not places:
            return f"{where} has no cells except pinned ones; set 'pinnedCellId'"
        largest = max((size for place in places for size in place.sizes), default=0)
        if biggest.number > largest:
            reason = f" because of {biggest.resource}" if biggest.resource != "gpu" else ""
            text = f"each task of '{biggest.name}' needs {server_text(biggest.number)} SKUs{reason} in one node"
            return f"{text}; the largest node of {where} has {largest}"
        if leader.group is None:
            return f"{total} more SKUs for '{leader.name}' do not fit {where} together with the other tasks"
        sizes = " or ".join(_sizes(place.sizes) for place in places)
        wanted = ", ".join(f"{role.instances or 1} × {role.number} ({role.name})" for role in group)
        return f"the tasks must run together in cells of one kind, but {wanted} SKUs do not fit into {sizes} of {where}"


def _sizes(sizes: list[int]) -> str:
    """Sizes of nodes in words, such as `2 nodes of 8 and 4 of 1`."""
    groups = [(size, len(list(same))) for size, same in groupby(sorted(sizes, reverse=True))]
    return " and ".join(f"{number} {'nodes' if number > 1 else 'node'} of {size}" for size, number in groups) or "0"


# --- clusters without HiveD ---


def _default_wait(values: Any, profile: Profile) -> Wait | None:
    """Kubernetes' own rules: a task needs one node, and with a barrier all tasks need nodes at the same time."""
    nodes = (one for one in profile.document["nodes"] if one["ready"] and not one.get("unschedulable"))
    available = tuple(Need(node["gpu"], node["cpu"], node["memoryMB"]) for node in nodes)
    needs: list[tuple[Need, int]] = []
    for name, role in values["taskRoles"].items():
        wanted = role["resourcePerInstance"]
        need = Need(wanted.get("gpu", 0), wanted.get("cpu", 0), wanted.get("memoryMB", 0))
        if not any(need.fits(node) for node in available):
            reason = f"no single node offers {need.gpu:g} GPU, {need.cpu:g} CPU and {need.memory:g} MB together"
            text = f"no node has the {need.gpu:g} GPUs, {need.cpu:g} CPU cores and {need.memory:g} MiB "
            text += f"that each task of '{name}' needs"
            return Wait(name, reason, text, ("taskRoles", name, "resourcePerInstance"))
        needs.append((need, role.get("instances") or 1))
    kinds = sorted(needs, key=lambda one: (one[0].gpu, one[0].memory, one[0].cpu), reverse=True)
    if has_barrier(values) and not _packed(kinds, available, 0, iter(range(_MOST_STEPS))):
        reason = "each task fits a node, all tasks together do not; gang barrier"
        text = "all tasks must run at the same time, and the nodes of the cluster cannot take all of them"
        return Wait(None, reason, text, ("taskRoles",))
    return None


# Give up the search for nodes after this many steps; then the job counts as one that fits.
_MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Need:
    """What a task of a cluster without HiveD needs; memory in MiB."""

    gpu: float
    cpu: float
    memory: float

    def fits(self, free: Need) -> bool:
        """Whether that much is free."""
        return self.gpu <= free.gpu and self.cpu <= free.cpu and self.memory <= free.memory

    def without(self, other: Need, count: int) -> Need:
        """What is left without `count` of another."""
        return Need(self.gpu - other.gpu * count, self.cpu - other.cpu * count, self.memory - other.memory * count)


def _packed(kinds: list[tuple[Need, int]], left: tuple[Need, ...], first: int, steps: Iterator[int]) -> bool:
    """Whether all tasks find nodes at the same time: the first kind from node `first` on, in any way, then the others.

    kinds: what a task needs, and how many such tasks there are. left: what each node has left.
    """
    if not kinds:
        return True
    need, number = kinds[0]
    if number == 0:
        return _packed(kinds[1:], left, 0, steps)
    if next(steps, None) is None:
        return True
    for at in range(first, len(left)):
        most, free = 0, left[at]
        while most < number and need.fits(free):
            most, free = most + 1, free.without(need, 1)
        # As many as possible first; fewer may leave a node to a smaller kind.
        for count in range(most, 0, -1):
            rest = (*left[:at], left[at].without(need, count), *left[at + 1 :])
            if _packed([(need, number - count), *kinds[1:]], rest, at + 1, steps):
                return True
    return False
