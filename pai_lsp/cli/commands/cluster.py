"""`pai-lsp cluster`: makes and lists the profiles of clusters."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed
from pai_lsp.cli.commands.job_file import put
from pai_lsp.cli.commands.live_cluster import clusters_known, connected, user_of
from pai_lsp.cluster.profile import (
    CLUSTERS_EXAMPLE,
    ProfileError,
    clusters_file,
    own_profiles,
    path_of_name,
    profiles_folder,
    read_profile,
)
from pai_lsp.cluster.profile_import import profile_of_cluster, profile_of_files
from pai_lsp.cluster.rest_server import ClusterError
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.files import UnreadableFile, decoded, read_bytes
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from typing import Any


_NO_PROFILE = """\
There is no profile in {folder}. To create one:

  from the administrator's files
    pai-lsp cluster import services-configuration.yaml --name lab --group default

  from your account: write the cluster's address into {clusters}
{example}  and run
    pai-lsp cluster pull lab
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if arguments.action == "list":
        return _list()
    if arguments.action == "login":
        return _login(arguments.name)
    with clusters_known():
        output = arguments.output or str(path_of_name(arguments.name))
        profile = _imported(arguments) if arguments.action == "import" else _pulled(arguments.name)
    return _written(arguments.action, profile, output)


def _list() -> int:
    """Print the names of the user's profiles; without one, how to make one."""
    profiles = own_profiles()
    if not profiles:
        folder, clusters = (visible(str(one)) for one in (profiles_folder(), clusters_file()))
        sys.stdout.write(_NO_PROFILE.format(folder=folder, clusters=clusters, example=CLUSTERS_EXAMPLE))
    sys.stdout.writelines(f"{visible(name)}  {visible(summary)}\n" for name, summary in profiles)
    return 0


def _login(name: str) -> int:
    """Ask for the access token of a cluster and store it in the key store of the system."""
    from getpass import getpass  # noqa: PLC0415 - only to ask

    from pai_lsp.cluster.cluster_access import SystemKeyStore, named_access  # noqa: PLC0415 - as above

    with clusters_known():
        store, access = SystemKeyStore(), named_access(name)
    if not access.token_keyring:
        step = f"write 'token_keyring: true' into {visible(str(clusters_file()))} first"
        return failed("cluster login", f"'{visible(name)}': {step}")
    token = (getpass(f"Access token of {name}: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not token:
        return failed("cluster login", "no token was given")
    try:
        store.put(name, token)
    except ProfileError as error:
        return failed("cluster login", str(error), OWN_FAILURE)
    sys.stderr.write(f"pai-lsp: the token of '{visible(name)}' is in the key store of the system\n")
    return 0


def _imported(arguments: argparse.Namespace) -> dict[str, Any]:
    """The profile that the named files describe.

    Raises:
        ProfileError: if a file cannot be read.
    """
    texts: list[tuple[str, str]] = []
    for path in arguments.files:
        source = decoded(path, read_bytes(path))
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
    cluster = connected("cluster pull", name)
    try:
        user = user_of("cluster pull", cluster) if cluster.token is not None else None
    except ClusterError as error:
        raise ProfileError(f"{visible(cluster.access.url)}: {error}") from None
    return profile_of_cluster(cluster, user, datetime.now(timezone.utc))


def _written(action: str, profile: dict[str, Any], output: str) -> int:
    text = json.dumps(profile, indent=1, ensure_ascii=False) + "\n"
    try:
        profile_read = read_profile(text)
    except ProfileError as error:
        return failed(f"cluster {action}", f"the files do not describe a usable cluster: {error}", FINDINGS)
    if output != "-":
        Path(output).parent.mkdir(parents=True, exist_ok=True)
    put(text, output)
    if output != "-":
        clusters = ", ".join(profile_read.virtual_clusters) or "none"
        sys.stderr.write(f"pai-lsp: wrote {visible(output)}; virtual clusters: {clusters}\n")
    return 0
