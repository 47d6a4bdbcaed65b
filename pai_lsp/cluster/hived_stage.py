"""HiveD: the cells of virtual clusters, how many SKUs each task of a job needs, and what the rest-server refuses.

A cell is a group of SKUs that belong together, such as a GPU, a PCIe switch, a node or a rack. All physical cells with
one top type form a chain; a virtual cluster has cells of chains, and cells that the administrator pinned to it.
Sources: microsoft/hivedscheduler, pkg/algorithm/config.go and pkg/api/config.go; rest-server, config/v2/hived.js and
middlewares/v2/hived.js, hivedValidate.
"""

from __future__ import annotations

import math
import re
from functools import cached_property

from pai_lsp.cluster.protocol_stage import Refusal, ServerStage
from pai_lsp.embedded.server_rendering import OBJECT_PROTOTYPE_NAMES
from pai_lsp.job.parts import HIVED_PRIORITIES
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pai_lsp.cluster.profile import Profile, Sku


# More than any cluster has; a profile can name any number.
_MOST_NODES = 100_000


@dataclass(frozen=True, slots=True)
class Pieces:
    """Cells that the scheduler fills one by one: the number of SKUs in each, in its order, and their SKU type.

    chain: the top cell type of the chain they belong to.
    """

    chain: str
    sku_type: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that HiveD's configuration describes; `document` is `hivedscheduler.config` as YAML reads it."""

    document: Mapping[str, Any]

    def has_virtual_cluster(self, name: str) -> bool:
        """Whether the scheduler has the virtual cluster."""
        return name in self.document["virtualClusters"]

    def skus(self, virtual_cluster: str) -> dict[str, int]:
        """The number of SKUs of a virtual cluster by type, pinned cells included."""
        found: dict[str, int] = {}
        for cell_type, number in self._cells_of(virtual_cluster):
            sku_type = self._leaf(cell_type)
            found[sku_type] = found.get(sku_type, 0) + number * self._size(cell_type)
        return found

    def pinned(self, virtual_cluster: str) -> dict[str, Pieces]:
        """The pinned cells of a virtual cluster by their identifier."""
        names = [one["pinnedCellId"] for one in self._entry(virtual_cluster).get("pinnedCells") or ()]
        return {
            name: self._pieces(chain, [(cell_type, 1)])
            for name in names
            if (found := self._pinned.get(name))
            for chain, cell_type in (found,)
        }

    def chains(self, virtual_cluster: str) -> list[Pieces]:
        """The pieces of a virtual cluster that are not pinned, one entry a chain."""
        by_chain: dict[str, list[tuple[str, int]]] = {}
        for one in self._entry(virtual_cluster).get("virtualCells") or ():
            path = one["cellType"].split(".")
            if one["cellNumber"]:
                by_chain.setdefault(path[0], []).append((path[-1], one["cellNumber"]))
        return [self._pieces(chain, cells) for chain, cells in by_chain.items()]

    def physical_chains(self) -> list[Pieces]:
        """The pieces of the whole cluster, one entry a chain."""
        numbers: dict[str, int] = {}
        for cell in self.document["physicalCells"]:
            numbers[cell["cellType"]] = numbers.get(cell["cellType"], 0) + 1
        return [self._pieces(chain, [(chain, number)]) for chain, number in numbers.items()]

    def _entry(self, virtual_cluster: str) -> Mapping[str, Any]:
        entry: Mapping[str, Any] | None = self.document["virtualClusters"].get(virtual_cluster)
        return entry or {}

    def _cells_of(self, virtual_cluster: str) -> Iterator[tuple[str, int]]:
        entry = self._entry(virtual_cluster)
        for one in entry.get("virtualCells") or ():
            if one["cellNumber"]:
                yield one["cellType"].split(".")[-1], one["cellNumber"]
        for one in entry.get("pinnedCells") or ():
            if found := self._pinned.get(one["pinnedCellId"]):
                yield found[1], 1

    @cached_property
    def _pinned(self) -> dict[str, tuple[str, str]]:
        """By identifier, the chain and the type of a pinned cell, which may be at any level."""
        found: dict[str, tuple[str, str]] = {}

        def visit(cell: Mapping[str, Any], cell_type: str, chain: str) -> None:
            if cell.get("pinnedCellId"):
                found[cell["pinnedCellId"]] = (chain, cell_type)
            child = self._types.get(cell_type, {}).get("childCellType", "")
            for one in cell.get("cellChildren") or ():
                visit(one, one.get("cellType") or child, chain)

        for cell in self.document["physicalCells"]:
            visit(cell, cell["cellType"], cell["cellType"])
        return found

    @property
    def _types(self) -> Mapping[str, Mapping[str, Any]]:
        types: Mapping[str, Mapping[str, Any]] = self.document["cellTypes"]
        return types

    def _leaf(self, cell_type: str) -> str:
        seen: set[str] = set()
        while cell_type in self._types and cell_type not in seen:
            seen.add(cell_type)
            cell_type = self._types[cell_type]["childCellType"]
        return cell_type

    def _size(self, cell_type: str) -> int:
        size, seen = 1, set[str]()
        while cell_type in self._types and cell_type not in seen:
            seen.add(cell_type)
            size *= self._types[cell_type]["childCellNumber"]
            cell_type = self._types[cell_type]["childCellType"]
        return size

    def _pieces(self, chain: str, cells: list[tuple[str, int]]) -> Pieces:
        """The cells cut down to nodes; a cell below a node, or of a type without nodes, stays whole.

        Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, newClusterView.
        """
        sizes: list[int] = []
        for cell_type, number in cells:
            parts, size = self._nodes(cell_type)
            sizes += [size] * min(parts * number, _MOST_NODES - len(sizes))
        return Pieces(chain, self._leaf(chain), tuple(sorted(sizes, reverse=True)))

    def _nodes(self, cell_type: str) -> tuple[int, int]:
        """How many nodes a cell has, and the SKUs of each."""
        parts, current, seen = 1, cell_type, set[str]()
        while current in self._types and current not in seen:
            if self._types[current].get("isNodeLevel"):
                return parts, self._size(current)
            seen.add(current)
            parts *= self._types[current]["childCellNumber"]
            current = self._types[current]["childCellType"]
        return 1, self._size(cell_type)


DEFAULT_GROUP = "default"
_ROLE_KEY = re.compile(r"[A-Za-z0-9._~]+")
_TEXT_KEYS = ("skuType", "pinnedCellId", "affinityGroupName")
# The unit of a SKU, the key of a job, and the name in the message of the rest-server, in its order.
_RESOURCES = (("gpu", "gpu", "GPU"), ("cpu", "cpu", "CPU"), ("memory", "memoryMB", "memory"))
_UNLIMITED = 2**53 - 1
_SECTION = ("extras", "hivedScheduler")


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
    resource: str = ""


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


def is_gang(values: Any) -> bool:
    """Whether HiveD places the job as one group: `extras.gangAllocation` is absent or the boolean true."""
    return as_mapping(values.get("extras")).get("gangAllocation", True) is True


def has_barrier(values: Any) -> bool:
    """Whether tasks wait for one another in their containers. Source: rest-server, models/v2/job/k8s.js."""
    return as_mapping(values.get("extras")).get("gangAllocation", True) is not False


def virtual_cluster_of(values: Any) -> Any:
    """The virtual cluster as HiveD's validation reads it: a null stays null."""
    return as_mapping(values.get("defaults")).get("virtualCluster", "default")


def hived_request(values: Any, profile: Profile) -> HivedRequest:
    """What the job asks HiveD for; `values` is a job that the protocol stage accepts."""
    virtual_cluster = virtual_cluster_of(values)
    schema = tuple(_schema_refusals(values))
    if schema:
        return HivedRequest(virtual_cluster, None, schema)
    if profile.hived is None and "skuTypes" not in profile.document:
        return HivedRequest(virtual_cluster, None, ())
    return _Validation(values, profile, virtual_cluster).request()


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
        place = (*_SECTION, "jobPriorityClass")
        yield _refusal("'jobPriorityClass' must be 'prod', 'test' or 'oppo'", place)
    roles = section.get("taskRoles", {"": {}})
    place = (*_SECTION, "taskRoles")
    if isinstance(roles, dict) and not roles:
        yield _refusal("'taskRoles' has no task role; remove the key", place)
    for name, role in roles.items() if isinstance(roles, dict) and "taskRoles" in section else ():
        if not _ROLE_KEY.fullmatch(name):
            text = f"'{name}' cannot be used here; only letters, digits, '.', '_' and '~' are allowed"
            yield _refusal(text, (*place, name))
        elif not isinstance(role, dict):
            yield _refusal(f"the value of '{name}' must be a mapping", (*place, name))
        else:
            for key in _TEXT_KEYS:
                if not isinstance(role.get(key), str | None):
                    yield _refusal(f"'{key}' must be a string", (*place, name, key))


class _Validation:
    """The rest-server's validation of one job, in its order."""

    def __init__(self, values: Any, profile: Profile, virtual_cluster: Any) -> None:
        self._values = values
        self._node = profile.platform.node
        self._virtual_cluster = virtual_cluster
        self._name = server_text(virtual_cluster)
        self._known = profile.virtual_clusters
        self._section: dict[str, Any] = hived_section(values) or {}
        self._is_opportunistic = self._section.get("jobPriorityClass") == "oppo"
        self._sku_types = profile.sku_types
        self._units, self._quota = _vc_units(profile, self._name)

    def request(self) -> HivedRequest:
        if self._name == "":
            # The address without a name is that of the list of all virtual clusters.
            text = "'virtualCluster' is empty; the cluster fails with an internal error"
            refusal = Refusal(
                ServerStage.HIVED, 500, None, "vcStatus.map is not a function", text, ("defaults", "virtualCluster"),
                "virtual-cluster-not-allowed",
            )  # fmt: skip
            return HivedRequest(self._virtual_cluster, None, (refusal,), self._is_opportunistic)
        numbers: dict[str, tuple[float, str]] = {}
        refusals: list[Refusal] = []
        for name, role in self._values["taskRoles"].items():
            found = self._number(name, role["resourcePerInstance"])
            if isinstance(found, Refusal):
                refusals.append(found)
            else:
                numbers[name] = found
        refusals += self._entry_refusals()
        if len(numbers) < len(self._values["taskRoles"]):
            return HivedRequest(self._virtual_cluster, None, tuple(refusals), self._is_opportunistic)
        roles = tuple(self._role(name, *found) for name, found in numbers.items())
        refusals += self._quota_refusals(roles)
        return HivedRequest(self._virtual_cluster, roles, tuple(refusals), self._is_opportunistic)

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
        units = [self._sku_types[sku_type]] if sku_type is not None else self._usable().values()
        best: float = 0
        deciding = ""
        is_first = True
        for unit_key, key, word in _RESOURCES:
            unit = min((getattr(one, unit_key) for one in units), default=math.inf)
            wanted = resources.get(key, 0)
            if unit == 0 and wanted > 0:
                return self._without_resource(role, key, word, sku_type, wanted)
            number = 0 if wanted == 0 or unit == 0 else _rounded_up(wanted, unit)
            if number > best or is_first:
                best, deciding = number, key
            is_first = False
        return best, deciding

    def _usable(self) -> Mapping[str, Sku]:
        """The SKU types that a role without `skuType` may get."""
        return self._sku_types if self._is_opportunistic else self._units

    def _unknown_sku(self, role: str, sku_type: str) -> Refusal:
        # Node.js words this anew since version 16.
        what = "properties of undefined (reading 'gpu')" if self._node >= 16 else "property 'gpu' of undefined"
        message = f"Cannot read {what}"
        known = ", ".join(self._sku_types) or "none"
        near = did_you_mean(sku_type, self._sku_types)
        text = f"the cluster has no SKU type '{sku_type}'{near or f'; it has {known}'}"
        path = (*_SECTION, "taskRoles", role, "skuType")
        choices = tuple(self._sku_types)
        return Refusal(ServerStage.HIVED, 500, None, message, text, path, "sku-type-unknown", role, choices)

    def _without_resource(self, role: str, key: str, word: str, sku_type: str | None, wanted: float) -> Refusal:
        message = (
            f"Taskrole {role} requests {server_text(wanted)} {word}, but SKU does not configure {word}. "
            f"Please contact admin if the taskrole needs {word} resources."
        )
        rule = "sku-without-resource"
        path: tuple[str | int, ...] = ("taskRoles", role, "resourcePerInstance", key)
        attribute = "memory" if key == "memoryMB" else key
        if sku_type is not None:
            text = f"SKU type '{sku_type}' has no {word}, but each task requests {server_text(wanted)}"
        elif self._name not in self._known and not self._is_opportunistic:
            near = did_you_mean(self._name, self._known)
            text = f"the cluster has no virtual cluster '{self._name}'{near}"
            rule, path = "virtual-cluster-not-allowed", ("defaults", "virtualCluster")
        else:
            usable = self._usable()
            having = [name for name, sku in usable.items() if getattr(sku, attribute)]
            lacking = ", ".join(name for name, sku in usable.items() if not getattr(sku, attribute))
            text = f"without 'skuType' the smallest SKU is used, and {lacking} has no {word}"
            if having:
                text += f"; set 'skuType' to {' or '.join(having)} for this task role"
        choices = tuple(self._known) if rule == "virtual-cluster-not-allowed" else ()
        return Refusal(ServerStage.HIVED, 400, "InvalidProtocolError", message, text, path, rule, role, choices)

    def _entry_refusals(self) -> Iterator[Refusal]:
        groups: dict[str, tuple[Any, Any]] = {}
        for name, entry in self._entries.items():
            place = (*_SECTION, "taskRoles", name)
            if name not in self._values["taskRoles"]:
                near = did_you_mean(name, self._values["taskRoles"])
                text = f"the job has no task role '{name}'{near}"
                yield _refusal(text, place, message=f"Taskrole {name} does not exist.", role=name)
                continue
            sku_type, pinned = entry.get("skuType"), entry.get("pinnedCellId")
            if sku_type is not None and pinned is not None:
                message = f"Taskrole {name} has both skuType and pinnedCellId, only one is allowed."
                text = f"'{name}' has both 'skuType' and 'pinnedCellId'; only one is allowed"
                yield _refusal(text, (*place, "pinnedCellId"), message=message, role=name)
            elif sku_type in self._sku_types and not self._is_opportunistic and sku_type not in self._units:
                yield self._foreign_sku(name, sku_type)
            group = entry.get("affinityGroupName")
            # JavaScript finds a group of such a name before there is one.
            is_found = group is not None and group in OBJECT_PROTOTYPE_NAMES
            if is_found or (group is not None and groups.setdefault(group, (sku_type, pinned)) != (sku_type, pinned)):
                message = f"AffinityGroup {group} has inconsistent skuType or pinnedCellId."
                text = f"all task roles of affinity group '{group}' must have the same 'skuType' or 'pinnedCellId'"
                yield _refusal(text, (*place, "affinityGroupName"), message=message)

    def _foreign_sku(self, role: str, sku_type: str) -> Refusal:
        only = ",".join(self._units)
        message = f"Taskrole {role} has skuType {sku_type}, VC {self._name} only allows {only}."
        has = f"; it has {', '.join(self._units)}" if self._units else ""
        text = f"virtual cluster '{self._name}' has no SKU of type '{sku_type}'{has}"
        path = (*_SECTION, "taskRoles", role, "skuType")
        choices = tuple(self._units)
        return Refusal(
            ServerStage.HIVED, 400, "InvalidProtocolError", message, text, path, "sku-type-unknown", role, choices
        )

    def _quota_refusals(self, roles: tuple[RoleRequest, ...]) -> Iterator[Refusal]:
        if not is_gang(self._values) or self._is_opportunistic or any(role.instances is None for role in roles):
            return
        total = sum((role.instances or 0) * role.number for role in roles)
        if self._quota is not None and total > self._quota:
            requested = server_text(total)
            parts = [f"{one.instances} × {server_text(one.number)} ({one.name})" for one in roles if one.number]
            sums = " + ".join(parts)
            text = f"the job requests {requested} SKUs: {sums}; virtual cluster '{self._name}' has {self._quota}"
            message = f"Job requests {requested} SKUs, exceeds maximum {self._quota} SKUs in VC {self._name}."
            largest = max(roles, key=lambda role: (role.instances or 0) * role.number)
            path = ("taskRoles", largest.name, "instances")
            yield _refusal(text + _deciding(largest), path, message=message, rule="sku-quota-exceeded")

    def _role(self, name: str, number: float, resource: str) -> RoleRequest:
        entry = self._entry(name)
        names_group = any(self._entry(one).get("affinityGroupName") is not None for one in self._entries)
        group = entry.get("affinityGroupName")
        if not names_group and is_gang(self._values):
            group = DEFAULT_GROUP
        return RoleRequest(
            name,
            self._values["taskRoles"][name].get("instances"),
            number,
            entry.get("skuType"),
            entry.get("pinnedCellId"),
            HIVED_PRIORITIES[self._section.get("jobPriorityClass", "test")],
            group,
            resource,
        )


def _rounded_up(wanted: float, unit: float) -> float:
    """`Math.ceil(wanted / unit)`, which can be infinite; not a number is no SKU."""
    try:
        quotient = wanted / unit
    except OverflowError:
        quotient = math.copysign(math.inf, wanted)
    if math.isnan(quotient):
        return 0
    return quotient if math.isinf(quotient) else math.ceil(quotient)


def _deciding(role: RoleRequest) -> str:
    return f"; '{role.resource}' decides the SKUs of each task" if role.number > 1 and role.resource != "gpu" else ""


def _vc_units(profile: Profile, name: str) -> tuple[dict[str, Sku], int | None]:
    """The SKU types of a virtual cluster and its number of SKUs; None for a number that the profile does not know.

    For a virtual cluster that the scheduler does not have, the rest-server takes all types and no limit.
    """
    types = profile.sku_types
    if name not in profile.virtual_clusters:
        return types, _UNLIMITED
    if profile.hived:
        skus = Cells(profile.hived).skus(name)
        return {one: types[one] for one in skus if one in types}, sum(skus.values())
    known = profile.document.get("virtualClusters", {}).get(name, {}).get("skus")
    if known is None:
        return types, None
    return {one: types[one] for one in known if one in types}, sum(known.values())


def _refusal(
    text: str,
    path: tuple[str | int, ...],
    *,
    message: str | None = None,
    rule: str | None = None,
    role: str | None = None,
) -> Refusal:
    return Refusal(ServerStage.HIVED, 400, "InvalidProtocolError", message or text, text, path, rule, role)
