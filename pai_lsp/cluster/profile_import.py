"""Makes a profile from the administrator's files, `services-configuration.yaml` and `hivedscheduler.yaml`, or the API.

Only what the profile's schema names is taken; addresses, keys and users' names of the files are left out.
Source: microsoft/pai, docs of services-configuration.yaml and src/hivedscheduler/deploy.

The REST API is asked with GET only. It does not know the cells of HiveD, so such a profile cannot say whether an
accepted job can start.
Source: rest-server, src/docs/swagger.yaml; models/v2/virtual-cluster/k8s.js, models/v2/user.js, models/v2/storage.js.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING
from urllib.parse import quote

from pai_lsp.cluster.hived_stage import Cells
from pai_lsp.cluster.profile import PROFILE_VERSION, ProfileError, fault_in, sku_types_of
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.source.foreign import (
    as_list,
    as_mapping,
    as_number,
    as_text,
    as_whole,
    mappings_in,
    texts_in,
    whole_number,
)
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from pai_lsp.cluster.rest_server import ClusterConnection

# rest-server, deploy/rest-server.yaml.template; the end is not included.
_PORTS = {"start": 15000, "end": 40000}
_CODE_KEYS = {
    "git-repo-infra": "repoInfra",
    "git-repo-model": "repoModel",
    "git-branch-infra": "branchInfra",
    "git-branch-model": "branchModel",
    "script-prefix": "scriptPrefix",
    "script-name": "scriptName",
}
_CELL_TYPE_KEYS = ("childCellType", "childCellNumber", "isNodeLevel")
_CELL_KEYS = ("cellType", "pinnedCellId")


def profile_of_files(
    texts: Iterable[tuple[str, str]], name: str, platform: str | None, groups: Sequence[str], now: datetime
) -> dict[str, Any]:
    """The profile that the files describe, as the schema has it.

    texts: the files' paths and texts, in any order. platform: None to decide by the files.
    groups: the user's groups, whose rights the profile gets; without groups it has no rights.

    Raises:
        ProfileError: if a file cannot be read, or is neither of the two.
    """
    services: Mapping[str, Any] = {}
    hived: Mapping[str, Any] | None = None
    values = [(path, value) for path, text in texts for value in _configurations(_read(text, path), path)]
    for path, value in values:
        if "physicalCluster" in value:
            hived = value
        elif {"rest-server", "hivedscheduler", "authentication", "cluster"} & set(value):
            services = value
        else:
            raise ProfileError(f"{path}: neither 'hivedscheduler.yaml' nor 'services-configuration.yaml'")
    config = as_mapping(services.get("hivedscheduler")).get("config")
    if hived is None and isinstance(config, str) and len(config) > 1:
        hived = _read(config, "hivedscheduler.config")
    server = as_mapping(services.get("rest-server"))
    rules = _rules(server)
    scheduler = "hived" if hived is not None else "default" if services else "unknown"
    profile = _beginning(name, platform or ("ltp" if rules else "openpai"), "files", now, scheduler)
    if hived is not None:
        profile |= _hived(hived)
    else:
        profile["virtualClusters"] = {"default": {}}
    if user := _user(services, groups, list(profile["virtualClusters"])):
        profile["user"] = user
    ports = {key: whole_number(str(server.get(f"schedule-port-{key}"))) for key in _PORTS}
    profile["ports"] = {key: number or _PORTS[key] for key, number in ports.items()}
    return profile | ({"rules": rules} if rules else {})


def _beginning(name: str, platform: str, kind: str, now: datetime, scheduler: str) -> dict[str, Any]:
    source = {"kind": kind, "takenAt": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
    known = {"name": name, "platform": platform, "source": source, "scheduler": scheduler}
    return {"profileVersion": PROFILE_VERSION, **known}


def _read(text: str, path: str) -> Mapping[str, Any]:
    syntax = parse(text)
    if syntax.problems:
        raise ProfileError(f"{path}: {syntax.problems[0].message}")
    value = plain_value(syntax.root)
    if not isinstance(value, dict):
        raise ProfileError(f"{path}: not a mapping")
    return value


def _configurations(value: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    """A file's configuration; of a ConfigMap, as `kubectl get configmap --output yaml` prints it, those of HiveD in it.

    Raises:
        ProfileError: if it is a ConfigMap without one.
    """
    if value.get("kind") != "ConfigMap":
        return [value]
    texts = [one for one in as_mapping(value.get("data")).values() if "physicalCluster" in (as_text(one) or "")]
    if not texts:
        raise ProfileError(f"{path}: this ConfigMap has no configuration of HiveD")
    return [_read(text, path) for text in texts]


def _hived(config: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of HiveD's configuration that decide where jobs fit, with the names of machines left out."""
    physical = as_mapping(config.get("physicalCluster"))
    if "skuTypes" not in physical and "gpuTypes" in physical:
        raise ProfileError("'gpuTypes' is of an older OpenPAI; the rest-server now reads 'skuTypes'")
    hived: dict[str, Any] = {
        "skuTypes": _parts(physical.get("skuTypes"), ("gpu", "cpu", "memory")),
        "cellTypes": _parts(physical.get("cellTypes"), _CELL_TYPE_KEYS),
        "physicalCells": _physical_cells(physical.get("physicalCells")),
        "virtualClusters": {name: _cells(vc) for name, vc in as_mapping(config.get("virtualClusters")).items()},
    }
    if fault := fault_in(hived, "hived"):
        raise ProfileError(f"the configuration of HiveD is not complete: {fault}")
    skus = {name: Cells(hived).skus(name) for name in hived["virtualClusters"]}
    clusters = {name: {"skus": skus[name]} if name in skus else {} for name in sorted({*skus, "default"})}
    return {"hived": hived, "skuTypes": sku_types_of(hived["skuTypes"]), "virtualClusters": clusters}


def _parts(value: object, keys: Sequence[str]) -> dict[str, Any]:
    """These keys of the mappings in a mapping; the schema of a profile says what is missing or wrong."""
    return {name: _part(one, keys) for name, one in as_mapping(value).items()}


def _part(value: object, keys: Sequence[str]) -> dict[str, Any]:
    found = as_mapping(value)
    return {key: found[key] for key in keys if key in found}


def _physical_cells(value: object) -> list[dict[str, Any]]:
    cells = []
    for one in as_list(value):
        cell = _part(one, _CELL_KEYS)
        if children := _physical_cells(as_mapping(one).get("cellChildren")):
            cell["cellChildren"] = children
        cells.append(cell)
    return cells


def _cells(virtual_cluster: object) -> dict[str, Any]:
    found = as_mapping(virtual_cluster)
    keys = {"virtualCells": ("cellType", "cellNumber"), "pinnedCells": ("pinnedCellId",)}
    return {key: [_part(one, own) for one in as_list(found[key])] for key, own in keys.items() if found.get(key)}


def _user(services: Mapping[str, Any], groups: Sequence[str], virtual_clusters: list[str]) -> dict[str, Any]:
    """The rights of the user's groups; one group of administrators gives the cluster's list instead.

    With basic authentication, the server puts every user into the default group as well.
    Source: rest-server, models/v2/group.js, getVCsWithGroupInfo, and controllers/v2/user.js, createUser.
    """
    if not groups:
        return {}
    if not services:
        step = "leave --group out, or run 'pai-lsp cluster pull', which knows your rights"
        raise ProfileError(f"only 'services-configuration.yaml' has groups: {step}")
    known = _groups(services, virtual_clusters)
    if missing := [name for name in groups if name not in known]:
        text = f"no group is named '{missing[0]}'; known groups: {', '.join(known)}"
        if "group-manager" in services:
            text += "; the cluster reads 'group-manager' only below 'authentication'"
        raise ProfileError(text)
    default = as_mapping(_group_manager(services).get("default-group")).get("groupname")
    always = [str(default)] if _is_basic(services) and str(default) in known else []
    acls = [known[name] for name in dict.fromkeys((*groups, *always))]
    is_admin = any(acl["admin"] for acl in acls)
    granted = virtual_clusters if is_admin else [one for acl in acls for one in acl["virtualClusters"]]
    storages = [one for acl in acls for one in texts_in(acl.get("storageConfigs"))]
    firsts = [one for acl in acls for one in texts_in(acl.get("storageConfigs"))[:1]]
    return {
        "admin": is_admin,
        "virtualClusters": list(dict.fromkeys(granted)),
        "storages": list(dict.fromkeys(storages)),
        "defaultStorages": list(dict.fromkeys(firsts)),
    }


def _groups(services: Mapping[str, Any], virtual_clusters: list[str]) -> dict[str, dict[str, Any]]:
    """The rights of the groups that the server makes at its start, by name.

    It drops virtual clusters that do not exist. With basic authentication, it makes a group for each virtual cluster,
    and deletes those that give no right.
    Source: src/authentication/config/authentication.{yaml,py}; rest-server, models/v2/group.js, groupAndUserDataInit.
    """
    manager = _group_manager(services)
    written: list[tuple[Any, dict[str, Any]]] = [
        (manager.get("admin-group"), {"admin": True}),
        (manager.get("default-group"), {"virtualClusters": ["default"]}),
        *((one, {}) for one in as_list(manager.get("grouplist"))),
    ]
    known: dict[str, dict[str, Any]] = {}
    for group, defaults in written:
        if isinstance(group, dict) and isinstance(group.get("groupname"), str):
            own = as_mapping(as_mapping(group.get("extension")).get("acls"))
            acls = {"admin": False, "virtualClusters": [], **defaults, **own}
            acls["virtualClusters"] = [one for one in texts_in(acls["virtualClusters"]) if one in virtual_clusters]
            known.setdefault(group["groupname"], acls)
    if not _is_basic(services):
        return known
    for name in virtual_clusters:
        known.setdefault(name, {"admin": False, "virtualClusters": [name]})
    return {name: acls for name, acls in known.items() if acls["admin"] or acls["virtualClusters"]}


def _group_manager(services: Mapping[str, Any]) -> Mapping[str, Any]:
    default = {"admin-group": {"groupname": "admingroup"}, "default-group": {"groupname": "default"}}
    return as_mapping(as_mapping(services.get("authentication")).get("group-manager")) or default


def _is_basic(services: Mapping[str, Any]) -> bool:
    return not as_mapping(services.get("authentication")).get("OIDC")


def _rules(server: Mapping[str, Any]) -> dict[str, Any]:
    """The administrator's rules on LTP. Source: ltp-platform, src/rest-server/config/rest-server.yaml."""
    found: dict[str, Any] = {"imageRegex": as_text(server.get("image-regex"))}
    code = as_mapping(server.get("code-restriction"))
    if "virtual-cluster" in code and as_whole(code.get("gpu-number")) is not None:
        found["code"] = {"virtualClusters": str(code["virtual-cluster"]), "gpus": code["gpu-number"]}
        found["code"] |= {ours: str(code[key]) for key, ours in _CODE_KEYS.items() if code.get(key) is not None}
    return {key: value for key, value in found.items() if value}


_RESOURCES = ("gpu", "cpu", "memory")


def profile_of_cluster(cluster: ClusterConnection, user: str | None, now: datetime) -> dict[str, Any]:
    """The profile that the REST API of a cluster describes, with the rights of a user.

    Raises:
        ProfileError: if the cluster does not answer, or refuses.
    """

    def ask(place: str) -> Any:
        try:
            answer = cluster.value(place)
        except ClusterError as error:
            if error.status == 404:
                return None
            asked = visible(cluster.access.address(place).partition("?")[0])
            raise ProfileError(f"{asked}: {error}") from None
        if not isinstance(answer, dict):
            raise ProfileError(f"{visible(cluster.access.address(place))}: the answer is not a JSON object")
        return answer

    platform = cluster.access.platform
    version = as_mapping(ask("info")).get("version")
    types = {
        sku: {key: int(number) for key, number in zip(_RESOURCES, numbers, strict=True) if number is not None}
        for sku, units in as_mapping(ask("cluster/sku-types")).items()
        if None not in (numbers := [as_number(as_mapping(units).get(key)) for key in _RESOURCES])
    }
    reported = as_mapping(ask("virtual-clusters"))
    virtual_clusters = {
        one: _virtual_cluster(ask, one, as_mapping(answer), types, platform) for one, answer in sorted(reported.items())
    }
    storages = [one for one in mappings_in(as_mapping(ask("storages")).get("storages")) if as_text(one.get("name"))]
    rights = {} if user is None else _answered_user(as_mapping(ask(f"users/{quote(user, safe='')}")), storages)
    return _beginning(cluster.name, platform, "api", now, "hived" if types else "default") | _known(
        virtualClusters=virtual_clusters,
        platformVersion=as_text(version),
        skuTypes=types or None,
        storages={one["name"]: {"share": one.get("share") is not False} for one in storages},
        user=rights or None,
    )


def _virtual_cluster(
    ask: Callable[[str], Any], name: str, answer: Mapping[str, Any], types: Mapping[str, Any], platform: str
) -> dict[str, Any]:
    """The number of SKUs by type, where the totals of the virtual cluster determine it."""
    answered = ask(f"cluster/sku-types?vc={quote(name, safe='')}") if types else None
    if not isinstance(answered, dict):
        return {}
    own = [sku for sku in answered if sku in types]
    total = as_mapping(answer.get("resourcesTotal"))
    # LTP adds up the first type only, so the totals of mixed virtual clusters are too small.
    if len(own) > 1 and platform == "ltp":
        return {}
    numbers = _numbers([types[sku] for sku in own], total)
    return {} if numbers is None else {"skus": dict(zip(own, numbers, strict=True))}


def _numbers(units: list[Mapping[str, int]], total: Mapping[str, Any]) -> tuple[int, ...] | None:
    """How many SKUs of each type make up the totals; None if that is not determined."""
    if None in (as_number(total.get(key)) for key in _RESOURCES):
        return None
    # Gauss: a row for each resource, with the units of the types and the total.
    rows = [[Fraction(one[key]) for one in units] + [Fraction(total[key])] for key in _RESOURCES]
    for column in range(len(units)):
        pivot = next((row for row in rows[column:] if row[column]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        rows.insert(column, [value / pivot[column] for value in pivot])
        for row in rows:
            if row is not rows[column]:
                row[:] = [value - row[column] * one for value, one in zip(row, rows[column], strict=True)]
    counts = [row[-1] for row in rows[: len(units)]]
    if any(abs(row[-1]) > _ROUNDING for row in rows[len(units) :]):
        return None
    numbers = tuple(round(count) for count in counts)
    is_whole = all(abs(count - round(count)) <= _ROUNDING for count in counts)
    return numbers if is_whole and all(number >= 0 for number in numbers) else None


# Totals are sums of floating-point numbers.
_ROUNDING = Fraction(1, 10**6)


def _answered_user(answer: Mapping[str, Any], storages: list[Any]) -> dict[str, Any]:
    """The user's rights; of the answer, which also has keys and an e-mail address, nothing else is kept."""
    if not isinstance(answer.get("virtualCluster"), list):
        return {}
    extension = as_mapping(answer.get("extension"))
    names = {one["name"] for one in storages}
    quota = as_mapping(extension.get("quota"))
    limit = as_whole(quota.get("maxGpusPerJob"))
    limits = _known(maxGpusPerJob=limit, expiration=as_text(quota.get("expiration")))
    return _known(
        admin=answer.get("admin") is True,
        virtualClusters=texts_in(answer["virtualCluster"]),
        storages=sorted(names.union(texts_in(answer.get("storageConfig")))),
        defaultStorages=[one["name"] for one in storages if one.get("default") is True],
        jobPriority=as_whole(extension.get("jobPriority")),
        jobExpiration=as_text(extension.get("jobExpiration")),
        quota=None if limit is None else limits,
    )


def _known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
