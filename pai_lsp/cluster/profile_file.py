"""Where profiles are kept: a file that the user names, or a name in the user's own folder of profiles."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pai_lsp.cluster.profile import Profile, ProfileError, read_profile
from pai_lsp.source.failures import why
from pai_lsp.source.text import visible
from pai_lsp.source.user_folders import user_config_folder

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A profile of a large cluster has a few hundred kilobytes.
_MOST_BYTES = 16_000_000


def profiles_folder() -> Path:
    """The folder of the user's profiles, which need not exist."""
    return user_config_folder(os.environ) / "clusters"


def clusters_file() -> Path:
    """The user's own file with the addresses of clusters; no other file may name one."""
    return user_config_folder(os.environ) / "clusters.yaml"


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
    if not path.is_file() and _NAME.fullmatch(name):
        path = path_of_name(name)
        if not path.is_file():
            known = ", ".join(sorted(one.stem for one in profiles_folder().glob("*.json"))) or "none"
            raise ProfileError(f"no file and no cluster is named '{visible(name)}'; known clusters: {known}")
    elif not path.is_file():
        raise ProfileError(f"no such file: {visible(name)}")
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ProfileError(f"{visible(str(path))}: {why(error)}") from None
    if len(data) > _MOST_BYTES:
        raise ProfileError(f"{visible(str(path))}: too large for a cluster's profile")
    try:
        return read_profile(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ProfileError(f"{visible(str(path))}: not UTF-8") from None
    except ProfileError as error:
        raise ProfileError(f"{visible(str(path))}: {error}") from None
