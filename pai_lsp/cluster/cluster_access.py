"""How the user reaches a cluster: the user's own file of clusters, and the access token.

Addresses come from that file alone, never from a job or a project. The token comes from the environment, from a
command, or from the key store of the system, and is sent only over https or to this machine, unless the file says
`allow_http`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from pai_lsp.cluster.profile import CLUSTERS_EXAMPLE, ProfileError, clusters_file
from pai_lsp.source.failures import why
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import visible
from pai_lsp.web.access_token import AccessToken, NoTokenError, access_token, keeps_secrets
from pai_lsp.web.addresses import DEFAULT_PORTS, address_parts

if TYPE_CHECKING:
    from typing import Any

_TYPES = {
    "url": str,
    "portal": str,
    "user": str,
    "token_env": str,
    "token_command": list,
    "token_keyring": bool,
    "platform": str,
    "allow_http": bool,
    "ca_file": str,
}
_TYPES_IN_WORDS = {str: "a string", list: "a list", bool: "true or false"}
_ORIGINS = ("token_env", "token_command", "token_keyring")
# The name under which tokens are in the system's key store.
KEYRING_SERVICE = "pai-lsp"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How the user reaches a cluster: the address of its REST API, and the origin of the access token.

    user: the name in the file, which only says whom to expect; the token says who the user is.
    token_keyring: whether the system's key store holds the token, under the name of the cluster.
    portal: the address of the web portal, where it is not beside the rest-server.
    ca_file: certificates to trust besides the public ones.
    """

    url: str
    user: str | None = None
    token_env: str | None = None
    token_command: tuple[str, ...] = ()
    token_keyring: bool = False
    platform: str = "openpai"
    portal: str | None = None
    allow_http: bool = False
    ca_file: str | None = None

    def address(self, place: str) -> str:
        """The address of a path below `/api/v2/` of the REST API."""
        return f"{self.url}/api/v2/{place}"

    @property
    def site(self) -> str | None:
        """The address of the portal; None where it is not known, as for a rest-server at its own port.

        Source: microsoft/pai, src/pylon/deploy/pylon-config/location.conf.template: the portal is at the root, the
        rest-server below `/rest-server`, the logs below `/log-manager`. No answer of the REST API names the portal.
        """
        if self.portal is not None:
            return self.portal
        return self.url.removesuffix("/rest-server") if self.url.endswith("/rest-server") else None

    def page_of(self, user: str, job: str) -> str | None:
        """The address of a job's page in the portal; None where the portal's address is not known.

        Source: microsoft/pai, src/webportal/src/app/job/job-view/fabric/job-list/Table.jsx.
        """
        if self.site is None:
            return None
        return f"{self.site}/job-detail.html?username={quote(user, safe='')}&jobName={quote(job, safe='')}"


def named_access(name: str) -> ClusterAccess:
    """The entry of a cluster in the user's own file.

    Raises:
        ProfileError: if the file cannot be read, has no such entry, or the entry is not valid.
    """
    return cluster_access(_clusters_text(), name)


def only_cluster() -> str | None:
    """The name of the cluster in the user's own file, if it has exactly one."""
    try:
        clusters = plain_value(parse(_clusters_text()).root)
    except ProfileError:
        return None
    return str(next(iter(clusters))) if isinstance(clusters, dict) and len(clusters) == 1 else None


def _clusters_text() -> str:
    path = clusters_file()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        step = f"write the address of your cluster into this file:\n\n{CLUSTERS_EXAMPLE.rstrip()}"
        raise ProfileError(f"{visible(str(path))}: {why(error)}; {step}") from None


def cluster_access(text: str, name: str) -> ClusterAccess:
    """The entry of a cluster in the text of the user's own file of clusters.

    Raises:
        ProfileError: if the file has no such entry, or it is not valid.
    """
    syntax = parse(text)
    if syntax.problems:
        raise ProfileError(syntax.problems[0].message)
    clusters = as_mapping(plain_value(syntax.root))
    entry = clusters.get(name)
    if not isinstance(entry, dict):
        raise ProfileError(f"no cluster is named '{visible(name)}'; known clusters: {', '.join(clusters) or 'none'}")
    if unknown := sorted(set(entry) - set(_TYPES)):
        raise ProfileError(f"'{name}': unknown key '{unknown[0]}'; the keys are {', '.join(sorted(_TYPES))}")
    entry = {key: value for key, value in entry.items() if value is not None}
    for key, value in entry.items():
        if not isinstance(value, _TYPES[key]):
            raise ProfileError(f"'{name}': '{key}' must be {_TYPES_IN_WORDS[_TYPES[key]]}")
    for key in ("url", "portal"):
        parts = address_parts(entry.get(key, ""))
        is_address = parts.scheme in DEFAULT_PORTS and parts.hostname and "@" not in entry[key]
        if (key == "url" or key in entry) and not is_address:
            raise ProfileError(f"'{name}': '{key}' must be an address with http:// or https://, without a user name")
    if entry.get("platform", "openpai") not in {"openpai", "ltp"}:
        raise ProfileError(f"'{name}': 'platform' must be 'openpai' or 'ltp'")
    if len(given := [key for key in _ORIGINS if entry.get(key)]) > 1:
        raise ProfileError(f"'{name}': the token comes from '{given[0]}' or from '{given[1]}', not from both")
    if "ca_file" in entry:
        entry["ca_file"] = str(clusters_file().parent / os.path.expanduser(entry["ca_file"]))
    entry |= {key: entry[key].rstrip("/") for key in ("url", "portal") if key in entry}
    return ClusterAccess(**entry | {"token_command": tuple(map(str, entry.get("token_command", ())))})


def token_of(access: ClusterAccess, name: str) -> AccessToken | None:
    """The access token of a cluster; None if none is configured.

    Raises:
        ProfileError: if a configured token is not available, or must not be sent to the cluster's address.
    """
    try:
        if not access.token_keyring:
            folder = str(clusters_file().parent)
            token = access_token(access.token_env, access.token_command, os.environ, folder)
        elif stored := SystemKeyStore().get(name):
            token = AccessToken(stored)
        else:
            step = f"store one with: pai-lsp cluster login {name}"
            raise ProfileError(f"the system's key store has no token for '{visible(name)}'; {step}")
    except NoTokenError as error:
        raise ProfileError(str(error)) from None
    if token is not None and not access.allow_http and not keeps_secrets(access.url):
        message = f"'{visible(name)}': the token is sent only over https, or to this machine, not to {access.url}"
        raise ProfileError(f"{message}; 'allow_http: true' in {visible(str(clusters_file()))} permits it")
    return token


class SystemKeyStore:
    """The key store of the system, through the optional package `keyring`.

    Raises:
        ProfileError: if the package is not installed, or by a method if the key store does not work.
    """

    def __init__(self) -> None:
        try:
            import keyring  # type: ignore[import-not-found]  # noqa: PLC0415 - optional
        except ImportError:
            step = "install it beside pai-lsp (with pipx: pipx inject pai-lsp keyring)"
            raise ProfileError(f"the system's key store needs the package 'keyring': {step}") from None
        self._module: Any = keyring

    def get(self, name: str) -> str | None:
        """The token of a cluster; None without one."""
        try:
            found: str | None = self._module.get_password(KEYRING_SERVICE, name)
        except Exception as error:  # noqa: BLE001 - each backend has errors of its own
            raise ProfileError(f"the system's key store cannot be read ({type(error).__name__})") from None
        return found

    def put(self, name: str, token: str) -> None:
        """Store the token of a cluster."""
        try:
            self._module.set_password(KEYRING_SERVICE, name, token)
        except Exception as error:  # noqa: BLE001 - as above
            raise ProfileError(f"the system's key store cannot be written ({type(error).__name__})") from None
