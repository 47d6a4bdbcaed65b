"""`pai-lsp cluster`: makes and lists the profiles of clusters."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.catalog.setup import ServerSource
from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed
from pai_lsp.cluster.profile import ProfileError, read_profile
from pai_lsp.cluster.profile_file import clusters_file, path_of_name, profiles_folder
from pai_lsp.cluster.profile_import import profile_of_files
from pai_lsp.cluster.profile_pull import cluster_access, profile_of_api
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import UnreadableFile, decoded, read_bytes
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if arguments.action == "list":
        return _list()
    try:
        output = arguments.output or str(path_of_name(arguments.name))
        profile = _imported(arguments) if arguments.action == "import" else _pulled(arguments.name)
    except ProfileError as error:
        return failed(f"cluster {arguments.action}", str(error), WRONG_USAGE)
    return _written(arguments.action, profile, output)


def _list() -> int:
    """Print the names of the user's profiles."""
    for path in sorted(profiles_folder().glob("*.json")):
        try:
            profile = read_profile(path.read_text(encoding="utf-8"))
        except (ProfileError, OSError, UnicodeDecodeError):
            sys.stdout.write(f"{visible(path.stem)}  cannot be read\n")
            continue
        taken = f", from {profile.taken_at}" if profile.taken_at else ""
        clusters = ", ".join(profile.virtual_clusters) or "none"
        sys.stdout.write(f"{visible(path.stem)}  {profile.document['platform']}, virtual clusters: {clusters}{taken}\n")
    return 0


def _imported(arguments: argparse.Namespace) -> dict[str, Any]:
    """The profile that the named files describe.

    Raises:
        ProfileError: if a file cannot be read.
    """
    texts: list[tuple[str, str]] = []
    for path in arguments.files:
        data = read_bytes(path)
        source = data if isinstance(data, UnreadableFile) else decoded(path, data)
        if isinstance(source, UnreadableFile):
            raise ProfileError(f"{visible(path)}: {source.message}")
        texts.append((visible(path), source.text))
    now = datetime.now(timezone.utc)
    return profile_of_files(texts, arguments.name, arguments.platform, arguments.group, now)


def _pulled(name: str) -> dict[str, Any]:
    """The profile that the REST API of a cluster of the user's own file describes.

    Raises:
        ProfileError: if the cluster is not known, or does not answer.
    """
    from pai_lsp.catalog.fetching import FetchFailure, NoTokenError, access_token, fetch  # noqa: PLC0415 - only to ask
    from pai_lsp.cluster.registry_access import is_safe  # noqa: PLC0415 - as above

    path = clusters_file()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = why(error) if isinstance(error, OSError) else "not UTF-8"
        raise ProfileError(f"{visible(str(path))}: {reason}; see docs/cluster.md for this file") from None
    access = cluster_access(text, name)
    try:
        source = ServerSource(access.url, access.token_env, access.token_command)
        token = access_token(source, os.environ, str(path.parent))
    except NoTokenError as error:
        raise ProfileError(str(error)) from None
    if token is not None and not is_safe(access.url):
        raise ProfileError("the token is sent only over https, or to this machine")

    def ask(place: str) -> Any:
        found = fetch(f"{access.url}/api/v2/{place}", accept="application/json", token=token)
        if isinstance(found, FetchFailure):
            if found.is_absent:
                return None
            raise ProfileError(f"/api/v2/{place.partition('?')[0]}: {found.note}")
        try:
            return json.loads(found.body)
        except (ValueError, RecursionError):
            raise ProfileError(f"/api/v2/{place.partition('?')[0]}: the answer is not JSON") from None

    return profile_of_api(ask, name, access, datetime.now(timezone.utc))


def _written(action: str, profile: dict[str, Any], output: str) -> int:
    text = json.dumps(profile, indent=1, ensure_ascii=False) + "\n"
    try:
        read_profile(text)
    except ProfileError as error:
        return failed(f"cluster {action}", f"the files do not describe a usable cluster: {error}", FINDINGS)
    if output == "-":
        sys.stdout.write(text)
        return 0
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        return failed(f"cluster {action}", f"{visible(output)}: {why(error)}", OWN_FAILURE)
    clusters = ", ".join(read_profile(text).virtual_clusters) or "none"
    sys.stderr.write(f"pai-lsp: wrote {visible(output)}; virtual clusters: {clusters}\n")
    return 0
