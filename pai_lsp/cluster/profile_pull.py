"""Makes a profile from the answers of a cluster's REST API: GET only, and only what the profile's schema names.

The API does not know the cells of HiveD, so such a profile cannot say whether an accepted job can start.
Source: rest-server, src/docs/swagger.yaml; models/v2/virtual-cluster/k8s.js, models/v2/user.js, models/v2/storage.js.
"""

from __future__ import annotations

from urllib.parse import quote

from pai_lsp.cluster.profile import PROFILE_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from pai_lsp.cluster.cluster_access import ClusterAccess

_RESOURCES = ("gpu", "cpu", "memory")


def profile_of_api(ask: Callable[[str], Any], name: str, access: ClusterAccess, now: datetime) -> dict[str, Any]:
    """The profile that the answers describe; `ask` takes a path below `/api/v2/` and gives the answer, or None."""
    version = _mapping(ask("info")).get("version")
    types = {
        sku: {key: int(units[key]) for key in _RESOURCES}
        for sku, units in _mapping(ask("cluster/sku-types")).items()
        if isinstance(units, dict) and all(isinstance(units.get(key), (int, float)) for key in _RESOURCES)
    }
    reported = _mapping(ask("virtual-clusters"))
    profile: dict[str, Any] = {
        "profileVersion": PROFILE_VERSION,
        "name": name,
        "platform": access.platform,
        "source": {"kind": "api", "takenAt": now.strftime("%Y-%m-%dT%H:%M:%SZ")},
        "scheduler": "hived" if types else "default",
        "virtualClusters": {
            one: _virtual_cluster(ask, one, _mapping(answer), types, access.platform)
            for one, answer in sorted(reported.items())
        },
    }
    if isinstance(version, str):
        profile["platformVersion"] = version
    if types:
        profile["skuTypes"] = types
    storages = [
        one for one in _mapping(ask("storages")).get("storages") or () if isinstance(one, dict) and one.get("name")
    ]
    profile["storages"] = {one["name"]: {"share": one.get("share") is not False} for one in storages}
    if access.user is not None and (user := _user(_mapping(ask(f"users/{quote(access.user, safe='')}")), storages)):
        profile["user"] = user
    return profile


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _virtual_cluster(
    ask: Callable[[str], Any], name: str, answer: Mapping[str, Any], types: Mapping[str, Any], platform: str
) -> dict[str, Any]:
    """The number of SKUs by type, where the totals of the virtual cluster determine it."""
    if not types:
        return {}
    own = [sku for sku in _mapping(ask(f"cluster/sku-types?vc={quote(name, safe='')}")) if sku in types]
    total = _mapping(answer.get("resourcesTotal"))
    # LTP adds up the first type only, so the totals of mixed virtual clusters are too small.
    if len(own) > 1 and platform == "ltp":
        return {}
    numbers = _numbers([types[sku] for sku in own], total)
    return {} if numbers is None else {"skus": dict(zip(own, numbers, strict=True))}


def _numbers(units: list[Mapping[str, int]], total: Mapping[str, Any]) -> tuple[int, ...] | None:
    """How many SKUs of each of at most two types make up the totals; None if that is not determined."""
    if not all(isinstance(total.get(key), (int, float)) for key in _RESOURCES):
        return None
    if len(units) == 1:
        divisor = next((key for key in ("cpu", "gpu", "memory") if units[0][key]), None)
        return None if divisor is None else (round(total[divisor] / units[0][divisor]),)
    if len(units) != 2:
        return None
    first, second = units
    for one, other in (("cpu", "gpu"), ("cpu", "memory"), ("gpu", "memory")):
        determinant = first[one] * second[other] - second[one] * first[other]
        if determinant:
            x = (total[one] * second[other] - second[one] * total[other]) / determinant
            y = (first[one] * total[other] - total[one] * first[other]) / determinant
            if min(x, y) >= 0 and abs(x - round(x)) + abs(y - round(y)) < 1e-6:
                return round(x), round(y)
    return None


def _user(answer: Mapping[str, Any], storages: list[Any]) -> dict[str, Any]:
    """The user's rights; of the answer, which also has keys and an e-mail address, nothing else is kept."""
    if not isinstance(answer.get("virtualCluster"), list):
        return {}
    extension = _mapping(answer.get("extension"))
    names = {one["name"] for one in storages}
    found: dict[str, Any] = {
        "admin": answer.get("admin") is True,
        "virtualClusters": [one for one in answer["virtualCluster"] if isinstance(one, str)],
        "storages": sorted(names | {one for one in answer.get("storageConfig") or () if isinstance(one, str)}),
        "defaultStorages": [one["name"] for one in storages if one.get("default") is True],
    }
    if isinstance(extension.get("jobPriority"), int):
        found["jobPriority"] = extension["jobPriority"]
    if isinstance(extension.get("jobExpiration"), str):
        found["jobExpiration"] = extension["jobExpiration"]
    quota = _mapping(extension.get("quota"))
    if isinstance(quota.get("maxGpusPerJob"), int):
        ends = quota.get("expiration")
        found["quota"] = {"maxGpusPerJob": quota["maxGpusPerJob"]}
        found["quota"] |= {"expiration": ends} if isinstance(ends, str) else {}
    return found
