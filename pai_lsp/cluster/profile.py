"""A cluster's profile: what is known about one cluster as one user sees it, and where it is kept.

The format is schemas/cluster.schema.json. A profile holds no token, host name, e-mail address or account key. It is a
file that the user names, or a name in the user's own folder of profiles.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.platform.platforms import platform_named
from pai_lsp.platform.tables import table
from pai_lsp.source.failures import why
from pai_lsp.source.foreign import as_mapping, json_value, number_of
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import visible
from pai_lsp.source.user_folders import user_config_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pai_lsp.findings.diagnostic import Settings
    from pai_lsp.platform.platforms import Platform

PROFILE_VERSION = 1
# The unit is what is left of an amount without its digits (rest-server, utils/k8sUtils.js).
_DIGITS = re.compile(r"[0-9]")
# From a unit to mebibytes, in bits.
_SHIFTS = {"Ti": 20, "Gi": 10, "Mi": 0, "Ki": -10}
_WHOLE = re.compile(r"\s*([+-]?[0-9]+)")


class ProfileError(ValueError):
    """A text is not a cluster's profile; the message names the wrong key."""


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
    def sku_types(self) -> Mapping[str, Mapping[str, int]]:
        """What the SKU types of the cluster have, by name: `gpu`, `cpu`, and `memory` in MiB."""
        if self.hived and "skuTypes" not in self.document:
            return sku_types_of(self.hived["skuTypes"])
        return as_mapping(self.document.get("skuTypes"))

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

    def applied_to(self, settings: Settings) -> Settings:
        """The settings for jobs of this cluster, whose platform counts where none is configured."""
        return replace(settings, cluster=self, platform=settings.platform or self.platform)


def read_profile(text: str) -> Profile:
    """The profile in a JSON text.

    Raises:
        ProfileError: if the text is not JSON, not valid for the schema, or too large.
    """
    if len(text) > _MOST_BYTES:
        raise ProfileError("too large for a cluster's profile")
    try:
        document = json_value(text)
    except ValueError as error:
        raise ProfileError(f"not JSON: {error}") from None
    if isinstance(document, dict) and document.get("profileVersion", PROFILE_VERSION) != PROFILE_VERSION:
        raise ProfileError(f"'profileVersion' is not {PROFILE_VERSION}; this version of pai-lsp cannot read it")
    if fault := fault_in(document):
        raise ProfileError(fault)
    return Profile(document)


def fault_in(document: object, key: str | None = None) -> str | None:
    """What is wrong with a profile by its schema, or with the value of one of its keys; None for nothing."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import; only a profile needs it

    schema = table("cluster.schema.json")
    # A part keeps the definitions that its references name.
    part = schema if key is None else {**schema["properties"][key], "$defs": schema["$defs"]}
    errors = sorted(Draft202012Validator(part).iter_errors(document), key=lambda one: one.path)
    if not errors:
        return None
    place = ".".join(str(step) for step in errors[0].path)
    return f"{f'{place!r}: ' if place else ''}{errors[0].message}"


def sku_types_of(written: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """SKU types as the rest-server reads them from HiveD's configuration.

    A missing number counts as 0. Memory in another unit than Ti, Gi, Mi and Ki counts as bytes.
    Source: rest-server, config/vc.js and utils/k8sUtils.js, convertMemoryMb.
    """
    return {
        name: {key: _whole(units.get(key)) for key in ("gpu", "cpu")}
        | {"memory": _mebibytes(str(units.get("memory", "")))}
        for name, units in written.items()
    }


def _whole(value: object) -> int:
    found = _WHOLE.match(str(value))
    return number_of(found[1]) if found else 0


def _mebibytes(text: str) -> int:
    amount = _whole(text)
    shift = _SHIFTS.get(_DIGITS.sub("", text), -20)
    return amount << shift if shift >= 0 else amount >> -shift


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A profile of a large cluster has a few hundred kilobytes.
_MOST_BYTES = 16_000_000


def profiles_folder() -> Path:
    """The folder of the user's profiles, which need not exist."""
    return user_config_folder(os.environ) / "clusters"


def clusters_file() -> Path:
    """The user's own file with the addresses of clusters; no other file may name one."""
    return user_config_folder(os.environ) / "clusters.yaml"


CLUSTERS_EXAMPLE = """\
    lab:
      url: https://pai.example.com/rest-server
      user: your-name
      token_env: PAI_TOKEN
"""


def path_of_name(name: str) -> Path:
    """The file of a named profile.

    Raises:
        ProfileError: if the name cannot be a file's.
    """
    if not _NAME.fullmatch(name):
        raise ProfileError(f"'{visible(name)}' cannot be a cluster's name; use letters, digits, '.', '_' and '-'")
    return profiles_folder() / f"{name}.json"


def own_profiles() -> list[tuple[str, str]]:
    """The user's profiles by name, each with a line about it."""
    return [(path.stem, _summary(path)) for path in sorted(profiles_folder().glob("*.json"))]


def _summary(path: Path) -> str:
    try:
        profile = read_profile(path.read_text(encoding="utf-8"))
    except (ProfileError, OSError, UnicodeDecodeError):
        return "cannot be read"
    taken = f", from {profile.taken_at}" if profile.taken_at else ""
    return f"{profile.document['platform']}, virtual clusters: {', '.join(profile.virtual_clusters) or 'none'}{taken}"


def profile_named(name: str) -> Profile:
    """The profile in a file, or the one that the user has under that name.

    Raises:
        ProfileError: if there is none, or if it cannot be read.
    """
    path = Path(name)
    if not os.path.isfile(path) and _NAME.fullmatch(name):
        path = path_of_name(name)
        if not os.path.isfile(path):
            known = ", ".join(sorted(one.stem for one in profiles_folder().glob("*.json"))) or "none"
            step = "'pai-lsp cluster list' shows how to make one"
            raise ProfileError(f"no file and no profile is named '{visible(name)}' (profiles: {known}); {step}")
    elif not os.path.isfile(path):
        raise ProfileError(f"no such file: {visible(name)}")
    try:
        with path.open("rb") as file:
            return read_profile(file.read(_MOST_BYTES + 1).decode("utf-8"))
    except (OSError, UnicodeDecodeError, ProfileError) as error:
        reason = str(error) if isinstance(error, ProfileError) else why(error)
        raise ProfileError(f"{visible(str(path))}: {reason}") from None
