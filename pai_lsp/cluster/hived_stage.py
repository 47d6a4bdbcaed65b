"""HiveD: the cells of virtual clusters, how many SKUs each task of a job needs, and what the rest-server refuses.

A cell is a group of SKUs that belong together, such as a GPU, a PCIe switch, a node or a rack. All physical cells with
one top type form a chain; a virtual cluster has cells of chains, and cells that the administrator pinned to it.
Sources: microsoft/hivedscheduler, pkg/algorithm/config.go and pkg/api/config.go; rest-server, config/v2/hived.js and
middlewares/v2/hived.js, hivedValidate.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pai_lsp.cluster.protocol_stage import Refusal, refusal
from pai_lsp.embedded.server_rendering import OBJECT_PROTOTYPE_NAMES
from pai_lsp.job.parts import HIVED_PRIORITIES
from pai_lsp.source.foreign import as_list, as_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from pai_lsp.cluster.profile import Profile


# More than any cluster has; a profile can name any number.
_MOST_NODES = 100_000


@dataclass(slots=True)
class Pieces:
    """Cells that the scheduler fills one by one, in its order: the SKUs of each, those taken of it, and their type."""

    sku_type: str
    sizes: list[int]
    used: list[float]

    def place(self, tasks: Iterable[float]) -> bool:
        """Place a group of tasks, given by their SKUs; changes nothing if they do not fit together."""
        order = sorted(range(len(self.sizes)), key=lambda number: -self.used[number])
        sizes, used = [self.sizes[number] for number in order], [self.used[number] for number in order]
        waiting = sorted(tasks, reverse=True)
        for number, size in enumerate(sizes):
            while waiting and size - used[number] >= waiting[-1]:
                used[number] += waiting.pop()
        if waiting:
            return False
        self.sizes, self.used = sizes, used  # the view of the scheduler keeps its order between groups
        return True


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that HiveD's configuration describes; `document` is `hivedscheduler.config` as YAML reads it."""

    document: Mapping[str, Any]

    def skus(self, virtual_cluster: str) -> dict[str, int]:
        """The number of SKUs of a virtual cluster by type, pinned cells included."""
        found: dict[str, int] = {}
        cells = [(path[-1], number) for path, number in self._virtual_cells(virtual_cluster)]
        for cell_type, number in (*cells, *((one, 1) for _, _, one in self._pinned_cells(virtual_cluster))):
            sku_type = self._leaf(cell_type)
            found[sku_type] = found.get(sku_type, 0) + number * math.prod(self._numbers(cell_type))
        return found

    def pinned(self, virtual_cluster: str) -> dict[str, Pieces]:
        """The pinned cells of a virtual cluster by their identifier."""
        cells = self._pinned_cells(virtual_cluster)
        return {name: self._pieces(chain, [(cell_type, 1)]) for name, chain, cell_type in cells}

    def chains(self, virtual_cluster: str) -> list[Pieces]:
        """The pieces of a virtual cluster that are not pinned, one entry a chain."""
        by_chain: dict[str, list[tuple[str, int]]] = {}
        for path, number in self._virtual_cells(virtual_cluster):
            by_chain.setdefault(path[0], []).append((path[-1], number))
        return [self._pieces(chain, cells) for chain, cells in by_chain.items()]

    def physical_chains(self) -> list[Pieces]:
        """The pieces of the whole cluster, one entry a chain."""
        numbers = Counter(cell["cellType"] for cell in self.document["physicalCells"])
        return [self._pieces(chain, [(chain, number)]) for chain, number in numbers.items()]

    def _cells(self, virtual_cluster: str, key: str) -> list[Mapping[str, Any]]:
        return as_list(as_mapping(self.document["virtualClusters"].get(virtual_cluster)).get(key))

    def _virtual_cells(self, virtual_cluster: str) -> Iterator[tuple[list[str], int]]:
        """The types from the top of the chain to the cells, and the number of these."""
        for one in self._cells(virtual_cluster, "virtualCells"):
            if one["cellNumber"]:
                yield one["cellType"].split("."), one["cellNumber"]

    def _pinned_cells(self, virtual_cluster: str) -> Iterator[tuple[str, str, str]]:
        """The identifiers of cells that exist, with their chain and their type."""
        for one in self._cells(virtual_cluster, "pinnedCells"):
            if found := self._pinned.get(one["pinnedCellId"]):
                yield one["pinnedCellId"], *found

    @cached_property
    def _pinned(self) -> dict[str, tuple[str, str]]:
        """By identifier, the chain and the type of a pinned cell, which may be at any level."""
        found: dict[str, tuple[str, str]] = {}

        def visit(cell: Mapping[str, Any], cell_type: str, chain: str) -> None:
            if cell.get("pinnedCellId"):
                found[cell["pinnedCellId"]] = (chain, cell_type)
            child = self.document["cellTypes"].get(cell_type, {}).get("childCellType", "")
            for one in cell.get("cellChildren") or ():
                visit(one, one.get("cellType") or child, chain)

        for cell in self.document["physicalCells"]:
            visit(cell, cell["cellType"], cell["cellType"])
        return found

    def _levels(self, cell_type: str) -> list[Mapping[str, Any]]:
        """The descriptions of a type and of the types of its parts, down to the SKUs; one that has itself ends them."""
        found: dict[str, Mapping[str, Any]] = {}
        while cell_type in self.document["cellTypes"] and cell_type not in found:
            found[cell_type] = self.document["cellTypes"][cell_type]
            cell_type = found[cell_type]["childCellType"]
        return list(found.values())

    def _leaf(self, cell_type: str) -> str:
        return next((str(one["childCellType"]) for one in reversed(self._levels(cell_type))), cell_type)

    def _numbers(self, cell_type: str) -> list[int]:
        """How many parts each of the levels has."""
        return [one["childCellNumber"] for one in self._levels(cell_type)]

    def _pieces(self, chain: str, cells: list[tuple[str, int]]) -> Pieces:
        """The cells cut down to nodes; a cell below a node, or of a type without nodes, stays whole.

        Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, newClusterView.
        """
        sizes: list[int] = []
        for cell_type, number in cells:
            numbers = self._numbers(cell_type)
            levels = enumerate(self._levels(cell_type))
            node = next((at for at, level in levels if level.get("isNodeLevel")), 0)
            parts = min(math.prod(numbers[:node]) * number, _MOST_NODES - len(sizes))
            sizes += [math.prod(numbers[node:])] * parts
        return Pieces(self._leaf(chain), sorted(sizes, reverse=True), [0] * len(sizes))


_ROLE_KEY = re.compile(r"[A-Za-z0-9._~]+")
_TEXT_KEYS = ("skuType", "pinnedCellId", "affinityGroupName")
# The unit of a SKU, the key of a job, and the name in the message of the rest-server, in its order.
_RESOURCES = (("gpu", "gpu", "GPU"), ("cpu", "cpu", "CPU"), ("memory", "memoryMB", "memory"))
_UNLIMITED = 2**53 - 1
_SECTION = ("extras", "hivedScheduler")
_ROLES = (*_SECTION, "taskRoles")
_VIRTUAL_CLUSTER = ("defaults", "virtualCluster")
_NOT_ALLOWED = "virtual-cluster-not-allowed"
_refusal = partial(refusal, stage="hived")


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """What the tasks of a role ask the scheduler for.

    number: SKUs of each task; a whole number or infinity. instances: None where the job leaves them out.
    group: the affinity group; None for single tasks, `default` for the group of all roles.
    resource: the resource that decides the number.
    """

    name: str
    instances: int | None
    number: float
    sku_type: str | None
    pinned_cell: str | None
    priority: int
    group: str | None
    resource: str


@dataclass(frozen=True, slots=True)
class HivedRequest:
    """What a job asks HiveD for; `roles` is None where the rest-server cannot compute it."""

    virtual_cluster: Any
    roles: tuple[RoleRequest, ...] | None
    refusals: tuple[Refusal, ...]
    is_opportunistic: bool = False

    @property
    def total(self) -> float:
        """The SKUs of all tasks; instances that are left out count as 1."""
        return sum((role.instances or 1) * role.number for role in self.roles or ())


def hived_section(values: Any) -> Any:
    """The value of `extras.hivedScheduler`; None where it is absent."""
    return as_mapping(values.get("extras")).get("hivedScheduler")


def has_barrier(values: Any) -> bool:
    """Whether tasks wait for one another in their containers. Source: rest-server, models/v2/job/k8s.js."""
    return as_mapping(values.get("extras")).get("gangAllocation", True) is not False


def virtual_cluster_of(values: Any) -> Any:
    """The virtual cluster as HiveD's validation reads it: a null stays null."""
    return as_mapping(values.get("defaults")).get("virtualCluster", "default")


def hived_request(values: Any, profile: Profile) -> HivedRequest:
    """What the job asks HiveD for; `values` is a job that the protocol stage accepts."""
    virtual_cluster = virtual_cluster_of(values)
    if schema := tuple(_schema_refusals(values)):
        return HivedRequest(virtual_cluster, None, schema)
    if profile.hived is None and "skuTypes" not in profile.document:
        return HivedRequest(virtual_cluster, None, ())
    validation = _Validation(values, profile, virtual_cluster)
    return HivedRequest(virtual_cluster, *validation.answer(), validation.is_opportunistic)


def hived_quota(profile: Profile, name: str) -> int | None:
    """The number of SKUs of a virtual cluster; None if the cluster does not have it, or the profile does not say."""
    return _vc_units(profile, name)[1] if name in profile.virtual_clusters else None


def _schema_refusals(values: Any) -> Iterator[Refusal]:
    extras = as_mapping(values.get("extras"))
    if "hivedScheduler" not in extras:
        return
    section = extras["hivedScheduler"]
    if not isinstance(section, dict):
        yield _refusal("'hivedScheduler' must be a mapping", _SECTION)
        return
    if "jobPriorityClass" in section and section["jobPriorityClass"] not in tuple(HIVED_PRIORITIES):
        yield _refusal("'jobPriorityClass' must be 'prod', 'test' or 'oppo'", (*_SECTION, "jobPriorityClass"))
    roles = section.get("taskRoles")
    if roles == {}:
        yield _refusal("'taskRoles' has no task role; remove the key", _ROLES)
    for name, role in as_mapping(roles).items():
        place = (*_ROLES, name)
        if not _ROLE_KEY.fullmatch(name):
            text = f"'{name}' cannot be used here; only letters, digits, '.', '_' and '~' are allowed"
            yield _refusal(text, place)
        elif not isinstance(role, dict):
            yield _refusal(f"the value of '{name}' must be a mapping", place)
        else:
            for key in _TEXT_KEYS:
                if not isinstance(role.get(key), str | None):
                    yield _refusal(f"'{key}' must be a string", (*place, key))


class _Validation:
    """The rest-server's validation of one job, in its order."""

    def __init__(self, values: Any, profile: Profile, virtual_cluster: Any) -> None:
        self._roles: dict[str, Any] = values["taskRoles"]
        # HiveD places the job as one group where it is absent or the boolean true.
        self._is_gang = as_mapping(values.get("extras")).get("gangAllocation", True) is True
        self._node = profile.platform.node
        self._name = server_text(virtual_cluster)
        self._known = profile.virtual_clusters
        self._section: dict[str, Any] = hived_section(values) or {}
        self.is_opportunistic = self._section.get("jobPriorityClass") == "oppo"
        self._sku_types = profile.sku_types
        self._units, self._quota = _vc_units(profile, self._name)
        # Those that a role without `skuType` may get.
        self._usable = self._sku_types if self.is_opportunistic else self._units

    def answer(self) -> tuple[tuple[RoleRequest, ...] | None, tuple[Refusal, ...]]:
        """What the roles ask for, None where that cannot be computed, and the refusals."""
        if self._name == "":
            # The address without a name is that of the list of all virtual clusters.
            text = "'virtualCluster' is empty; the cluster fails with an internal error"
            message = "vcStatus.map is not a function"
            return None, (_refusal(text, _VIRTUAL_CLUSTER, message=message, code=None, rule=_NOT_ALLOWED),)
        numbers = {name: self._number(name, role["resourcePerInstance"]) for name, role in self._roles.items()}
        refusals = [*(one for one in numbers.values() if isinstance(one, Refusal)), *self._entry_refusals()]
        known = {name: one for name, one in numbers.items() if not isinstance(one, Refusal)}
        if len(known) < len(numbers):
            return None, tuple(refusals)
        roles = tuple(self._role(name, *found) for name, found in known.items())
        return roles, (*refusals, *self._quota_refusals(roles))

    @cached_property
    def _entries(self) -> dict[str, Any]:
        """The values of `taskRoles` by key, as JavaScript's `Object.keys` finds them."""
        entries = self._section.get("taskRoles")
        if isinstance(entries, list | str):
            return {str(number): entry for number, entry in enumerate(entries)}
        return as_mapping(entries)

    def _entry(self, role: str) -> Mapping[str, Any]:
        return as_mapping(self._entries.get(role))

    def _number(self, role: str, resources: Mapping[str, Any]) -> tuple[float, str] | Refusal:
        """The SKUs of a task, and the resource that decides."""
        sku_type = self._entry(role).get("skuType")
        if sku_type is not None and sku_type not in self._sku_types:
            return self._unknown_sku(role, sku_type)
        units = [self._sku_types[sku_type]] if sku_type is not None else self._usable.values()
        numbers: dict[str, float] = {}
        for unit_key, key, word in _RESOURCES:
            unit = min((one[unit_key] for one in units), default=math.inf)
            wanted = resources.get(key, 0)
            if unit == 0 and wanted > 0:
                return self._without_resource(role, key, unit_key, word, sku_type, wanted)
            numbers[key] = 0 if wanted == 0 or unit == 0 else _rounded_up(wanted, unit)
        deciding = max(numbers, key=numbers.__getitem__)
        return numbers[deciding], deciding

    def _unknown_sku(self, role: str, sku_type: str) -> Refusal:
        # Node.js words this anew since version 16.
        what = "properties of undefined (reading 'gpu')" if self._node >= 16 else "property 'gpu' of undefined"
        message = f"Cannot read {what}"
        known = ", ".join(self._sku_types) or "none"
        near = did_you_mean(sku_type, self._sku_types)
        text = f"the cluster has no SKU type '{sku_type}'{near or f'; it has {known}'}"
        path, rule, choices = (*_ROLES, role, "skuType"), "sku-type-unknown", tuple(self._sku_types)
        return _refusal(text, path, message=message, code=None, rule=rule, role=role, choices=choices)

    def _without_resource(
        self, role: str, key: str, unit_key: str, word: str, sku_type: str | None, wanted: float
    ) -> Refusal:
        message = (
            f"Taskrole {role} requests {server_text(wanted)} {word}, but SKU does not configure {word}. "
            f"Please contact admin if the taskrole needs {word} resources."
        )
        path = ("taskRoles", role, "resourcePerInstance", key)
        if sku_type is not None:
            text = f"SKU type '{sku_type}' has no {word}, but each task requests {server_text(wanted)}"
        elif self._name not in self._known and not self.is_opportunistic:
            text = f"the cluster has no virtual cluster '{self._name}'{did_you_mean(self._name, self._known)}"
            choices = tuple(self._known)
            return _refusal(text, _VIRTUAL_CLUSTER, message=message, rule=_NOT_ALLOWED, role=role, choices=choices)
        else:
            having = [name for name, sku in self._usable.items() if sku[unit_key]]
            lacking = ", ".join(name for name in self._usable if name not in having)
            text = f"without 'skuType' the smallest SKU is used, and {lacking} has no {word}"
            if having:
                text += f"; set 'skuType' to {' or '.join(having)} for this task role"
        return _refusal(text, path, message=message, rule="sku-without-resource", role=role)

    def _entry_refusals(self) -> Iterator[Refusal]:
        groups: dict[str, tuple[Any, Any]] = {}
        for name, entry in self._entries.items():
            place = (*_ROLES, name)
            if name not in self._roles:
                text = f"the job has no task role '{name}'{did_you_mean(name, self._roles)}"
                yield _refusal(text, place, message=f"Taskrole {name} does not exist.", role=name)
                continue
            sku_type, pinned = entry.get("skuType"), entry.get("pinnedCellId")
            if sku_type is not None and pinned is not None:
                message = f"Taskrole {name} has both skuType and pinnedCellId, only one is allowed."
                text = f"'{name}' has both 'skuType' and 'pinnedCellId'; only one is allowed"
                yield _refusal(text, (*place, "pinnedCellId"), message=message, role=name)
            elif sku_type in self._sku_types and not self.is_opportunistic and sku_type not in self._units:
                yield self._foreign_sku(name, sku_type)
            group = entry.get("affinityGroupName")
            # JavaScript finds a group of such a name before there is one.
            is_found = group is not None and group in OBJECT_PROTOTYPE_NAMES
            if is_found or (group is not None and groups.setdefault(group, (sku_type, pinned)) != (sku_type, pinned)):
                message = f"AffinityGroup {group} has inconsistent skuType or pinnedCellId."
                text = f"all task roles of affinity group '{group}' must have the same 'skuType' or 'pinnedCellId'"
                yield _refusal(text, (*place, "affinityGroupName"), message=message)

    def _foreign_sku(self, role: str, sku_type: str) -> Refusal:
        message = f"Taskrole {role} has skuType {sku_type}, VC {self._name} only allows {','.join(self._units)}."
        has = f"; it has {', '.join(self._units)}" if self._units else ""
        text = f"virtual cluster '{self._name}' has no SKU of type '{sku_type}'{has}"
        path, choices = (*_ROLES, role, "skuType"), tuple(self._units)
        return _refusal(text, path, message=message, rule="sku-type-unknown", role=role, choices=choices)

    def _quota_refusals(self, roles: tuple[RoleRequest, ...]) -> Iterator[Refusal]:
        if not self._is_gang or self.is_opportunistic or any(role.instances is None for role in roles):
            return
        total = sum((role.instances or 0) * role.number for role in roles)
        if self._quota is not None and total > self._quota:
            requested = server_text(total)
            parts = (f"{one.instances} × {server_text(one.number)} ({one.name})" for one in roles if one.number)
            sums = " + ".join(parts)
            text = f"the job requests {requested} SKUs: {sums}; virtual cluster '{self._name}' has {self._quota}"
            message = f"Job requests {requested} SKUs, exceeds maximum {self._quota} SKUs in VC {self._name}."
            largest = max(roles, key=lambda role: (role.instances or 0) * role.number)
            if largest.number > 1 and largest.resource != "gpu":
                text += f"; '{largest.resource}' decides the SKUs of each task"
            path = ("taskRoles", largest.name, "instances")
            yield _refusal(text, path, message=message, rule="sku-quota-exceeded")

    def _role(self, name: str, number: float, resource: str) -> RoleRequest:
        entry = self._entry(name)
        names_group = any(self._entry(one).get("affinityGroupName") is not None for one in self._entries)
        group = entry.get("affinityGroupName")
        if not names_group and self._is_gang:
            group = "default"
        priority = HIVED_PRIORITIES[self._section.get("jobPriorityClass", "test")]
        instances, sku_type = self._roles[name].get("instances"), entry.get("skuType")
        return RoleRequest(name, instances, number, sku_type, entry.get("pinnedCellId"), priority, group, resource)


def _rounded_up(wanted: float, unit: float) -> float:
    """`Math.ceil(wanted / unit)`, which can be infinite; not a number is no SKU."""
    try:
        quotient = wanted / unit
    except OverflowError:
        quotient = math.copysign(math.inf, wanted)
    if math.isnan(quotient):
        return 0
    return quotient if math.isinf(quotient) else math.ceil(quotient)


def _vc_units(profile: Profile, name: str) -> tuple[Mapping[str, Mapping[str, int]], int | None]:
    """The SKU types of a virtual cluster and its number of SKUs; None for a number that the profile does not know.

    For a virtual cluster that the scheduler does not have, the rest-server takes all types and no limit.
    """
    types = profile.sku_types
    if name not in profile.virtual_clusters:
        return types, _UNLIMITED
    known = profile.document.get("virtualClusters", {}).get(name, {}).get("skus")
    if profile.hived:
        known = Cells(profile.hived).skus(name)
    if known is None:
        return types, None
    return {one: types[one] for one in known if one in types}, sum(known.values())
