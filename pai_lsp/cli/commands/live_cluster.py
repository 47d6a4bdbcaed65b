"""The cluster of a command that asks one: which, with what access, and as which user."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, CommandError, tell
from pai_lsp.cluster.cluster_access import only_cluster
from pai_lsp.cluster.profile import ProfileError
from pai_lsp.cluster.rest_server import ClusterError, connection
from pai_lsp.source.files import full_path
from pai_lsp.source.text import visible
from pai_lsp.web.access_token import keeps_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.cluster.rest_server import ClusterConnection
    from pai_lsp.project.projects import Projects


@contextmanager
def clusters_known() -> Iterator[None]:
    """Ends the command where a cluster, or its token, is not known, or where it does not answer, or refuses."""
    try:
        yield
    except ProfileError as error:
        raise CommandError(str(error)) from None
    except ClusterError as error:
        raise CommandError(str(error), FINDINGS) from None


def cluster_name(given: str | None, projects: Projects, path: str | None = None) -> str | None:
    """The name of the cluster: as given, else `cluster` in the configuration; to ask, also the user's only one.

    path: a job to send; None to ask, with the configuration of the current folder.
    """
    if given:
        return given
    configured = projects.configuration_of(full_path(path or "job.pai.yaml")).cluster
    if configured and not configured.endswith(".json"):  # a project's file names no address
        return configured
    return only_cluster() if path is None else None


def connected(command: str, name: str | None) -> ClusterConnection:
    """The connection to a cluster of the user's own file; prints one warning if others can read what is sent.

    Raises:
        ProfileError: if there is no such cluster, or its token is not available.
    """
    if name is None:
        raise ProfileError(
            "give --cluster NAME, or write 'cluster: NAME' into .pai-lsp.yaml; 'pai-lsp cluster list' lists yours"
        )
    found = connection(name)
    if not keeps_secrets(found.access.url):
        tell(command, f"'{visible(name)}' is reached over http: others on the network can read the token and the job")
    return found


def user_of(command: str, cluster: ClusterConnection) -> str:
    """The user whom the token belongs to; prints a warning if the user's own file names another one.

    Raises:
        ClusterError: if the token is not valid, or the cluster does not answer.
    """
    user = cluster.user()
    if cluster.access.user not in {None, user}:
        written = visible(str(cluster.access.user))
        tell(command, f"the token belongs to '{visible(user)}', not to '{written}', the 'user' in clusters.yaml")
    return user


def owner_and_name(user: str, named: str) -> tuple[str, str]:
    """Whose job is meant, and its name: `NAME`, or `USER~NAME` for that of another user."""
    owner, tilde, name = named.partition("~")
    return (owner, name) if tilde else (user, named)


def pause() -> None:
    """Wait before a cluster is asked again."""
    time.sleep(5)
