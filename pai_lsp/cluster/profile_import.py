"""Makes a profile from the administrator's files: `services-configuration.yaml` and `hivedscheduler.yaml`.

Only what the profile's schema names is taken; addresses, keys and users' names of the files are left out.
Source: microsoft/pai, docs of services-configuration.yaml and src/hivedscheduler/deploy.
"""

from __future__ import annotations

import re

from pai_lsp.cluster.cells import Cells
from pai_lsp.cluster.profile import PROFILE_VERSION, ProfileError, sku_types_of
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

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
_DIGITS = re.compile(r"[0-9]+")


def profile_of_files(
    texts: Iterable[tuple[str, str]], name: str, platform: str | None, groups: Sequence[str], now: datetime
) -> dict[str, Any]:
    """The profile that the files describe, as the schema has it.

    texts: the files' paths and texts, in any order. platform: None to decide by the files.
    groups: the user's groups, whose rights the profile gets; without groups it says nothing about rights.

    Raises:
        ProfileError: if a file cannot be read, or is neither of the two.
    """
    services: Mapping[str, Any] = {}
    hived: Mapping[str, Any] | None = None
    for path, text in texts:
        value = _read(text, path)
        if "physicalCluster" in value:
            hived = value
        elif {"rest-server", "hivedscheduler", "group-manager", "cluster"} & set(value):
            services = value
        else:
            raise ProfileError(f"{path}: neither 'hivedscheduler.yaml' nor 'services-configuration.yaml'")
    has_services = bool(services)
    config = _mapping(services.get("hivedscheduler")).get("config")
    if hived is None and isinstance(config, str) and len(config) > 1:
        hived = _read(config, "hivedscheduler.config")
    server = _mapping(services.get("rest-server"))
    rules = _rules(server)
    profile: dict[str, Any] = {
        "profileVersion": PROFILE_VERSION,
        "name": name,
        "platform": platform or ("ltp" if rules else "openpai"),
        "source": {"kind": "files", "takenAt": now.strftime("%Y-%m-%dT%H:%M:%SZ")},
        "scheduler": "hived" if hived is not None else "default" if has_services else "unknown",
    }
    if hived is not None:
        profile |= _hived(hived)
    else:
        profile["virtualClusters"] = {"default": {}}
    if user := _user(services, groups, list(profile["virtualClusters"])):
        profile["user"] = user
    start, end = (_port(server, f"schedule-port-{key}", _PORTS[key]) for key in ("start", "end"))
    profile["ports"] = {"start": start, "end": end}
    return profile | ({"rules": rules} if rules else {})


def _read(text: str, path: str) -> Mapping[str, Any]:
    syntax = parse(text)
    if syntax.problems:
        raise ProfileError(f"{path}: {syntax.problems[0].message}")
    value = plain_value(syntax.root)
    if not isinstance(value, dict):
        raise ProfileError(f"{path}: not a mapping")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _hived(config: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of HiveD's configuration that decide where jobs fit, with the names of machines left out."""
    physical = _mapping(config.get("physicalCluster"))
    try:
        hived: dict[str, Any] = {
            "skuTypes": {
                name: {key: units[key] for key in ("gpu", "cpu", "memory") if key in units}
                for name, units in _mapping(physical.get("skuTypes")).items()
            },
            "cellTypes": {
                name: {key: cell[key] for key in _CELL_TYPE_KEYS if key in cell}
                for name, cell in _mapping(physical.get("cellTypes")).items()
            },
            "physicalCells": [_physical_cell(cell) for cell in physical.get("physicalCells") or ()],
            "virtualClusters": {name: _cells(vc) for name, vc in _mapping(config.get("virtualClusters")).items()},
        }
        skus = {name: Cells(hived).skus(name) for name in hived["virtualClusters"]}
        types = sku_types_of(hived["skuTypes"])
    except (TypeError, KeyError, AttributeError):
        raise ProfileError("the configuration of HiveD is not complete") from None
    clusters = {name: {"skus": skus[name]} if name in skus else {} for name in sorted({*skus, "default"})}
    units = {name: {"gpu": one.gpu, "cpu": one.cpu, "memory": one.memory} for name, one in types.items()}
    return {"hived": hived, "skuTypes": units, "virtualClusters": clusters}


def _physical_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: cell[key] for key in _CELL_KEYS if key in cell}
    if children := cell.get("cellChildren"):
        found["cellChildren"] = [_physical_cell(child) for child in children]
    return found


def _cells(virtual_cluster: Any) -> dict[str, Any]:
    found = _mapping(virtual_cluster)
    cells: dict[str, Any] = {}
    if virtual := found.get("virtualCells"):
        cells["virtualCells"] = [{key: one[key] for key in ("cellType", "cellNumber")} for one in virtual]
    if pinned := found.get("pinnedCells"):
        cells["pinnedCells"] = [{"pinnedCellId": one["pinnedCellId"]} for one in pinned]
    return cells


def _user(services: Mapping[str, Any], groups: Sequence[str], virtual_clusters: list[str]) -> dict[str, Any]:
    """The rights of the user's groups; one group of administrators gives the cluster's list instead.

    Source: rest-server, models/v2/group.js, getGroupsAccess, and models/v2/user.js.
    """
    known = {
        one["groupname"]: _mapping(_mapping(one.get("extension")).get("acls"))
        for one in _mapping(services.get("group-manager")).get("grouplist") or ()
        if isinstance(one, dict) and "groupname" in one
    }
    if missing := [name for name in groups if name not in known]:
        raise ProfileError(f"no group is named '{missing[0]}'; known groups: {', '.join(known) or 'none'}")
    if not groups:
        return {}
    acls = [known[name] for name in groups]
    is_admin = any(acl.get("admin") is True for acl in acls)
    granted = virtual_clusters if is_admin else [one for acl in acls for one in acl.get("virtualClusters") or ()]
    storages = [one for acl in acls for one in acl.get("storageConfigs") or ()]
    firsts = [acl["storageConfigs"][0] for acl in acls if acl.get("storageConfigs")]
    return {
        "admin": is_admin,
        "virtualClusters": list(dict.fromkeys(granted)),
        "storages": list(dict.fromkeys(storages)),
        "defaultStorages": list(dict.fromkeys(firsts)),
    }


def _rules(server: Mapping[str, Any]) -> dict[str, Any]:
    """The administrator's rules on LTP. Source: ltp-platform, src/rest-server/config/rest-server.yaml."""
    found: dict[str, Any] = {}
    if isinstance(pattern := server.get("image-regex"), str) and pattern:
        found["imageRegex"] = pattern
    code = _mapping(server.get("code-restriction"))
    if "virtual-cluster" in code and isinstance(code.get("gpu-number"), int):
        found["code"] = {"virtualClusters": str(code["virtual-cluster"]), "gpus": code["gpu-number"]}
        found["code"] |= {ours: str(code[key]) for key, ours in _CODE_KEYS.items() if code.get(key) is not None}
    return found


def _port(server: Mapping[str, Any], key: str, otherwise: int) -> int:
    written = str(server.get(key, otherwise))
    return int(written) if _DIGITS.fullmatch(written) else otherwise
