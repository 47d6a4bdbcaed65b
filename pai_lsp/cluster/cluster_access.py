"""How the user reaches a cluster: the user's own file of clusters, the access token, and requests to its REST API.

Addresses come from that file alone, never from a job or a project. The token comes from the environment, from a
command, or from the key store of the system, and is sent only over https or to this machine. No redirect is followed.
"""

from __future__ import annotations

import os
from urllib.parse import quote, urljoin

from pai_lsp.catalog.fetching import (
    REDIRECTS,
    AccessToken,
    FetchFailure,
    Limits,
    NoTokenError,
    access_token,
    exchange,
    keeps_secrets,
    unfollowed_redirect,
)
from pai_lsp.catalog.setup import ServerSource
from pai_lsp.cluster.profile import CLUSTERS_EXAMPLE, ProfileError, clusters_file
from pai_lsp.source.failures import why
from pai_lsp.source.foreign import as_mapping, as_text, json_value
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEYS = frozenset({"url", "user", "token_env", "token_command", "token_keyring", "platform"})
_ORIGINS = ("token_env", "token_command", "token_keyring")
# The name under which tokens are in the system's key store.
KEYRING_SERVICE = "pai-lsp"
LIMITS = Limits(connect=10.0, silence=30.0, total=60.0, size=1024 * 1024)


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How the user reaches a cluster: the address of its REST API, and the origin of the access token.

    token_keyring: whether the system's key store holds the token, under the name of the cluster.
    """

    url: str
    user: str | None = None
    token_env: str | None = None
    token_command: tuple[str, ...] = ()
    token_keyring: bool = False
    platform: str = "openpai"

    def address(self, place: str) -> str:
        """The address of a path below `/api/v2/` of the REST API."""
        return f"{self.url}/api/v2/{place}"

    def page_of(self, job: str) -> str | None:
        """The address of a job's page in the portal, which is beside its rest-server; None without the user's name.

        Source: microsoft/pai, src/webportal/src/app/job/job-view/fabric/job-list/Table.jsx.
        """
        if self.user is None:
            return None
        portal = self.url.removesuffix("/rest-server")
        return f"{portal}/job-detail.html?username={quote(self.user, safe='')}&jobName={quote(job, safe='')}"


def named_access(name: str) -> ClusterAccess:
    """The entry of a cluster in the user's own file.

    Raises:
        ProfileError: if the file cannot be read, has no such entry, or the entry is not valid.
    """
    path = clusters_file()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = why(error) if isinstance(error, OSError) else "not UTF-8"
        step = f"write the address of your cluster into this file:\n\n{CLUSTERS_EXAMPLE.rstrip()}"
        raise ProfileError(f"{visible(str(path))}: {reason}; {step}") from None
    return cluster_access(text, name)


def cluster_access(text: str, name: str) -> ClusterAccess:
    """The entry of a cluster in the text of the user's own file of clusters.

    Raises:
        ProfileError: if the file has no such entry, or it is not valid.
    """
    syntax = parse(text)
    if syntax.problems:
        raise ProfileError(syntax.problems[0].message)
    clusters = plain_value(syntax.root)
    entry = clusters.get(name) if isinstance(clusters, dict) else None
    if not isinstance(entry, dict):
        known = ", ".join(clusters) if isinstance(clusters, dict) else ""
        raise ProfileError(f"no cluster is named '{visible(name)}'; known clusters: {known or 'none'}")
    if unknown := sorted(set(entry) - _KEYS):
        raise ProfileError(f"'{name}': unknown key '{unknown[0]}'; the keys are {', '.join(sorted(_KEYS))}")
    url, command, in_keyring = entry.get("url"), entry.get("token_command", []), entry.get("token_keyring", False)
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or "@" in url:
        raise ProfileError(f"'{name}': 'url' must be an address with http:// or https://, without a user name")
    if entry.get("platform", "openpai") not in {"openpai", "ltp"}:
        raise ProfileError(f"'{name}': 'platform' must be 'openpai' or 'ltp'")
    texts = [entry.get(key) for key in ("user", "token_env")]
    if not all(isinstance(one, str | None) for one in texts) or not isinstance(command, list):
        raise ProfileError(f"'{name}': 'user' and 'token_env' must be strings, 'token_command' a list")
    if not isinstance(in_keyring, bool):
        raise ProfileError(f"'{name}': 'token_keyring' must be true or false")
    if len(given := [key for key in _ORIGINS if entry.get(key)]) > 1:
        raise ProfileError(f"'{name}': the token comes from '{given[0]}' or from '{given[1]}', not from both")
    platform = entry.get("platform", "openpai")
    return ClusterAccess(url.rstrip("/"), texts[0], texts[1], tuple(map(str, command)), in_keyring, platform)


def token_of(access: ClusterAccess, name: str) -> AccessToken | None:
    """The access token of a cluster; None if none is configured.

    Raises:
        ProfileError: if a configured token is not available, or must not be sent to the cluster's address.
    """
    try:
        if access.token_keyring:
            token: AccessToken | None = AccessToken(_from_keyring(name))
        else:
            source = ServerSource(access.url, access.token_env, access.token_command)
            token = access_token(source, os.environ, str(clusters_file().parent))
    except NoTokenError as error:
        raise ProfileError(str(error)) from None
    if token is not None and not keeps_secrets(access.url):
        message = f"'{visible(name)}': the token is sent only over https, or to this machine, not to {access.url}"
        raise ProfileError(message)
    return token


def _from_keyring(name: str) -> str:
    found = SystemKeyStore().get(name)
    if not found:
        raise ProfileError(
            f"the system's key store has no token for '{visible(name)}'; store one with: pai-lsp cluster login {name}"
        )
    return found


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


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An answer of the REST API, without the token in any part of it.

    is_json: whether the body is a JSON object; the page of a login or of a proxy is not.
    code, message: those of the API's errors; empty if there are none.
    refusal: the message about an unsuccessful status.
    """

    status: int
    is_json: bool = False
    code: str = ""
    message: str = ""
    refusal: str = ""


class NoAnswerError(Exception):
    """No answer came. `was_sent`: the cluster may have received the request nevertheless."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


def send(access: ClusterAccess, token: AccessToken | None, method: str, place: str, body: str = "") -> ApiAnswer:
    """Send one request to a path below `/api/v2/`; a body is a job.

    Raises:
        NoAnswerError: if no answer comes.
    """
    headers = {"Accept": "application/json"}
    if body:
        headers["Content-Type"] = "text/yaml"
    if token is not None:
        headers["Authorization"] = f"Bearer {token.secret}"
    url = access.address(place)
    found = exchange(method, url, headers, body=body.encode(), limits=LIMITS)
    if isinstance(found, FetchFailure):
        raise NoAnswerError(found.note, was_sent=found.was_sent)
    hide = token.hidden_in if token is not None else str
    refusal = hide(visible(found.refusal))
    if found.status in REDIRECTS:
        refusal = unfollowed_redirect(url, urljoin(url, found.headers.get("location", "")))
    try:
        answer = json_value(found.body)
    except ValueError:
        answer = None
    code, message = (hide(visible(as_text(as_mapping(answer).get(key)) or "")) for key in ("code", "message"))
    return ApiAnswer(found.status, is_json=isinstance(answer, dict), code=code, message=message, refusal=refusal)
