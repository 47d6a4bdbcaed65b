"""A cluster's profile: what is known about one cluster as one user sees it, read from JSON.

The format is schemas/cluster.schema.json. A profile holds no token, host name, e-mail address or account key.
"""

from __future__ import annotations

import json
import re

from pai_lsp.platform.platforms import platform_named
from pai_lsp.platform.tables import table
from pai_lsp.source.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pai_lsp.platform.platforms import Platform

PROFILE_VERSION = 1
# Leading whole number and the unit; the rest-server knows no other unit (rest-server, utils/k8sUtils.js).
_MEMORY = re.compile(r"\s*([+-]?[0-9]+)(.*)", re.DOTALL)
_MEBIBYTES = {"Ti": 1024.0 * 1024, "Gi": 1024.0, "Mi": 1.0, "Ki": 1 / 1024}
_WHOLE = re.compile(r"\s*([+-]?[0-9]+)")


class ProfileError(ValueError):
    """A text is not a cluster's profile; the message names the wrong key."""


@dataclass(frozen=True, slots=True)
class Sku:
    """The resources of one SKU, as the rest-server reads them; memory in MiB."""

    gpu: int
    cpu: int
    memory: int


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What is known about a cluster.

    document: the profile as JSON gives it, valid for the schema.
    """

    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The user's name for the cluster."""
        return str(self.document["name"])

    @property
    def platform(self) -> Platform:
        """The platform that the cluster runs."""
        return platform_named(self.document["platform"])

    @property
    def has_hived(self) -> bool:
        """Whether HiveD schedules the jobs."""
        return bool(self.document["scheduler"] == "hived")

    @property
    def hived(self) -> Mapping[str, Any] | None:
        """HiveD's configuration, as the administrator wrote it."""
        return self.document.get("hived")

    @property
    def user(self) -> Mapping[str, Any] | None:
        """What the cluster knows about the user; None when the profile does not say."""
        return self.document.get("user")

    @property
    def sku_types(self) -> dict[str, Sku]:
        """The SKU types of the cluster by name."""
        if "skuTypes" in self.document:
            return {name: Sku(**units) for name, units in self.document["skuTypes"].items()}
        return sku_types_of(self.hived["skuTypes"]) if self.hived else {}

    @property
    def virtual_clusters(self) -> tuple[str, ...]:
        """The virtual clusters that the scheduler has; without HiveD those that the cluster reports."""
        if self.has_hived and self.hived:
            return tuple(self.hived["virtualClusters"])
        return tuple(self.document.get("virtualClusters", ()))

    @property
    def taken_at(self) -> str | None:
        """When the facts were collected, as ISO 8601 text."""
        taken: str | None = self.document.get("source", {}).get("takenAt")
        return taken


def read_profile(text: str) -> Profile:
    """The profile in a JSON text.

    Raises:
        ProfileError: if the text is not JSON, or not valid for the schema.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"not JSON: {error}") from None
    if isinstance(document, dict) and document.get("profileVersion", PROFILE_VERSION) != PROFILE_VERSION:
        raise ProfileError(f"'profileVersion' is not {PROFILE_VERSION}; this version of pai-lsp cannot read it")
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import; only a profile needs it

    errors = sorted(Draft202012Validator(table("cluster.schema.json")).iter_errors(document), key=lambda one: one.path)
    if errors:
        place = ".".join(str(step) for step in errors[0].path)
        raise ProfileError(f"{f'{place!r}: ' if place else ''}{errors[0].message}")
    return Profile(document)


def sku_types_of(written: Mapping[str, Mapping[str, Any]]) -> dict[str, Sku]:
    """SKU types as the rest-server reads them from HiveD's configuration.

    A missing number counts as 0. Memory in another unit than Ti, Gi, Mi and Ki counts as bytes.
    Source: rest-server, config/vc.js and utils/k8sUtils.js, convertMemoryMb.
    """
    return {
        name: Sku(_whole(units.get("gpu")), _whole(units.get("cpu")), _mebibytes(str(units.get("memory", ""))))
        for name, units in written.items()
    }


def _whole(value: object) -> int:
    found = _WHOLE.match(str(value))
    return int(found[1]) if found else 0


def _mebibytes(text: str) -> int:
    found = _MEMORY.match(text)
    if not found:
        return 0
    return int(int(found[1]) * _MEBIBYTES.get(found[2].strip(), 1 / 1024 / 1024))
