"""Requests to the REST API of a cluster as its user, and the words about what it refuses. No redirect is followed.

Sources: microsoft/pai, src/rest-server/src/routes and controllers; LTP's where it differs, as named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cluster.cluster_access import named_access, token_of
from pai_lsp.source.foreign import as_mapping, as_text, json_value, whole_number
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import visible
from pai_lsp.web.access_token import keeps_secrets
from pai_lsp.web.addresses import address_below, host_and_port
from pai_lsp.web.fetching import REDIRECTS, FetchFailure, Limits, exchange, unfollowed_redirect

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pai_lsp.cluster.cluster_access import ClusterAccess
    from pai_lsp.web.access_token import AccessToken
    from pai_lsp.web.fetching import HttpAnswer

LIMITS = Limits(connect=10.0, silence=30.0, total=60.0, size=16 * 1024 * 1024)
# The log of a task is read in pieces of this size. Its server sends the first megabyte at once, then one each second.
# Source: microsoft/pai, src/log-manager/src/nginx/nginx.conf.default, limit_rate.
PIECE = 1024 * 1024
_LOG_LIMITS = Limits(connect=10.0, silence=30.0, total=60.0, size=PIECE)
_NO_MORE = 416


class ClusterError(Exception):
    """The cluster does not answer, or refuses; the message is for the user, without the token.

    status: of the answer; None without one.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_passing(self) -> bool:
        """Whether the same request can succeed later."""
        return self.status is None or self.status == 429 or self.status >= 500


class NoAnswerError(ClusterError):
    """No answer came. `was_sent`: the cluster may have received the request nevertheless."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An answer of the REST API, without the token in any message.

    value: an object or a list, as in every answer of a rest-server; None for anything else, such as a login page.
    code, message: those of the API's errors; empty if there are none.
    refusal: the message about an unsuccessful status.
    """

    status: int
    value: Any
    code: str = ""
    message: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """A cluster of the user's own file, and the token for it.

    sender: sends the requests, and takes and gives what `exchange` does; a page in a browser has one of its own.
    """

    name: str
    access: ClusterAccess
    token: AccessToken | None
    sender: Callable[..., HttpAnswer | FetchFailure] | None = None

    def send(self, method: str, place: str, body: str = "") -> ApiAnswer:
        """Send one request to a path below `/api/v2/`; a body is a job.

        Raises:
            NoAnswerError: if no answer comes.
        """
        headers = {"Accept": "application/json"}
        if body:
            headers["Content-Type"] = "text/yaml"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.secret}"
        url = self.access.address(place)
        found = self._sent(method, url, headers, body=body.encode(), limits=LIMITS)
        if isinstance(found, FetchFailure):
            raise NoAnswerError(found.note, was_sent=found.was_sent)
        try:
            value = None if found.is_cut else json_value(found.body)
        except ValueError:
            value = None
        value = value if isinstance(value, dict | list) else None
        hide = self.token.hidden_in if self.token is not None else str
        code, message = (hide(visible(as_text(as_mapping(value).get(key)) or "")) for key in ("code", "message"))
        return ApiAnswer(found.status, value, code, message, hide(visible(self._refusal(found, url, code))))

    def _sent(self, *request: Any, **options: Any) -> HttpAnswer | FetchFailure:
        return (self.sender or exchange)(*request, ca_file=self.access.ca_file, **options)

    def _refusal(self, found: HttpAnswer, url: str, code: str) -> str:
        if found.status in REDIRECTS:
            return unfollowed_redirect(url, address_below(url, found.headers.get("location", "")))
        if found.status == 404 and not code:
            return f"no rest-server at '{self.access.url}' (404); check 'url' in your file of clusters"
        if found.status == 401 and self.token is not None:
            return f"{found.refusal}; the token may have expired or be revoked"
        return found.refusal

    def value(self, place: str) -> Any:
        """The JSON at a path below `/api/v2/`.

        Raises:
            ClusterError: if the cluster does not answer, refuses, or answers something else.
        """
        answer = self.send("GET", place)
        if answer.status != 200:
            raise ClusterError(answer.refusal, answer.status)
        if answer.value is None:
            raise ClusterError(f"the answer of '{self.access.url}' is not that of a rest-server", answer.status)
        return answer.value

    def user(self) -> str:
        """The name of the user whom the token belongs to, as the cluster says, or a server that is too old to say it.

        Raises:
            ClusterError: if the token is not valid, or names nobody.
        """
        try:
            name = as_text(as_mapping(self.value("tokens/check")).get("username"))
        except ClusterError as error:
            if error.status != 404:
                raise
            name = self.token.user if self.token is not None else None
        if name is None:
            raise ClusterError("the token does not say whose it is; get one from the portal")
        return name

    def log_piece(self, uri: str, byte_range: str) -> tuple[bytes, int | None]:
        """A part of a log at an address that the rest-server gave, and the number of its first byte, if that is known.

        uri: below the portal, or of another server; it has an access key of its own, and the token is not sent.
        byte_range: as in the header Range, such as `0-` or `-1024`; more than `PIECE` bytes are cut off.

        Raises:
            ClusterError: if there is no answer, or none with a log.
        """
        base = self.access.site
        if base is None and not host_and_port(uri):
            step = f"add 'portal' to '{self.name}' in your file of clusters"
            raise ClusterError(f"logs are below the portal, whose address is not known; {step}", 404)
        url = address_below(f"{base}/", uri)
        host = host_and_port(url)
        if not host:
            raise ClusterError("the address of the log that the cluster gave is not valid", 404)
        if not keeps_secrets(url) and not (self.access.allow_http and host_and_port(base or "") == host):
            raise ClusterError(f"the log is at '{visible(host)}' over http, where others can read it", 403)
        headers = {"Range": f"bytes={byte_range}"}
        found = self._sent("GET", url, headers, limits=_LOG_LIMITS)
        if isinstance(found, FetchFailure):
            raise NoAnswerError(found.note, was_sent=found.was_sent)
        if found.status == _NO_MORE:
            return b"", whole_number(found.headers.get("content-range", "").rpartition("/")[2])
        if found.status not in {200, 206}:
            raise ClusterError(visible(found.refusal), found.status)
        start = found.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
        return found.body, whole_number(start) if found.status == 206 else 0


def connection(name: str) -> ClusterConnection:
    """The connection to a cluster of the user's own file; nothing is sent.

    Raises:
        ProfileError: if the file has no valid entry of that name, or the token is not available.
    """
    access = named_access(name)
    return ClusterConnection(name, access, token_of(access, name))
