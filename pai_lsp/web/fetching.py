"""HTTP requests with limits for time, size, redirects, and the part of an answer that messages quote.

Proxies and certificates come from the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR), unless the
caller names a file of certificates. httpx is imported with the first request.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from functools import cache
from typing import TYPE_CHECKING

from pai_lsp.source.foreign import as_text, json_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import visible
from pai_lsp.version import USER_AGENT
from pai_lsp.web.addresses import DEFAULT_PORTS, address_below, address_parts, host_and_port

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from typing import Any

    import httpx

    from pai_lsp.web.access_token import AccessToken

_CHECK_ENVIRONMENT = "check the variables HTTPS_PROXY, HTTP_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
_NOT_VALID = "this is not a valid web address"
_MOST_REDIRECTS = 3
_MOST_QUOTED = 120
# How much of an unsuccessful answer is read.
_MOST_EXPLAINED = 64 * 1024
# Statuses that lead to another address. RFC 9110, section 15.4.
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Statuses of a gateway that has no answer: the server behind it may still be at work. RFC 9110, 15.6.3 and 15.6.5.
GATEWAY_FAILURES = frozenset({502, 504})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a request: times in seconds, sizes in bytes.

    A server sends all items in one answer (30 items are 121 KB); the size is enough for ten thousand items.
    """

    connect: float = 5.0
    silence: float = 15.0
    total: float = 60.0
    size: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """The message about a failed request; `is_absent` if the server has nothing at the address (404, 410).

    was_sent: whether the server may have received the request.
    """

    note: str
    is_absent: bool = False
    was_sent: bool = True


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer of any status; the names of headers in lower case. `is_cut`: the body was larger than the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    is_cut: bool = False

    @property
    def etag(self) -> str:
        """What identifies the body; empty for nothing."""
        return self.headers.get("etag", "")

    @property
    def refusal(self) -> str:
        """The message about an unsuccessful status, with the start of the body if it is text.

        When to ask again is shown in seconds, not as a date. RFC 9110, section 10.2.3.
        """
        message, seconds = message_in(self.body), self.headers.get("retry-after", "").strip()
        if self.status == 429:
            is_soon = seconds.isascii() and seconds.isdecimal() and len(seconds) < 7
            when = f"in {seconds} seconds" if is_soon else "later"
            return f"the server refuses further requests for now (429); try again {when}"
        quoted = f": '{message[:_MOST_QUOTED]}'" if message else ""
        unknown = "the server failed" if self.status >= 500 else "unexpected answer of the server"
        return f"{_REFUSALS.get(self.status, unknown)} ({self.status}){quoted}"


def fetch(
    url: str, *, accept: str, etag: str = "", token: AccessToken | None = None, limits: Limits | None
) -> HttpAnswer | FetchFailure:
    """Send a GET request, follow redirects on its host, and wait for the answer: status 200, or 304 for the same ETag.

    Never raises; must not be called while an event loop runs.
    """
    limits = limits or Limits()
    headers = {"Accept": accept}
    if etag:
        headers["If-None-Match"] = etag
    if token is not None:
        headers["Authorization"] = f"Bearer {token.secret}"
    outcome = asyncio.run(_within(url, headers, limits, lambda client: _fetched(client, url, limits)))
    if isinstance(outcome, FetchFailure) and token is not None:
        return FetchFailure(token.hidden_in(outcome.note), outcome.is_absent)
    return outcome


def exchange(
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    body: bytes = b"",
    limits: Limits,
    ca_file: str | None = None,
) -> HttpAnswer | FetchFailure:
    """Send one request and wait for the answer, whatever its status; no redirect is followed.

    ca_file: certificates to trust besides the public ones, instead of those that the environment names.

    Never raises; must not be called while an event loop runs.
    """
    sent = _within(url, headers, limits, lambda client: _received(client, method, url, limits, body), ca_file)
    return asyncio.run(sent)


def _certificates(ca_file: str | None) -> ssl.SSLContext | bool:
    """The certificates to trust; True lets httpx read those that the environment names, which may have changed."""
    if ca_file is not None:
        import httpx  # noqa: PLC0415 - see the module's docstring

        context = httpx.create_ssl_context(trust_env=False)
        context.load_verify_locations(ca_file)
        return context
    is_named = any(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return is_named or _public_certificates()


@cache
def _public_certificates() -> ssl.SSLContext:
    """Those of public authorities; reading them takes longer than a request to a near server."""
    import httpx  # noqa: PLC0415 - see the module's docstring

    return httpx.create_ssl_context(trust_env=False)


async def _within(
    url: str,
    headers: Mapping[str, str],
    limits: Limits,
    work: Callable[[httpx.AsyncClient], Coroutine[Any, Any, HttpAnswer | FetchFailure]],
    ca_file: str | None = None,
) -> HttpAnswer | FetchFailure:
    """The outcome of `work` with a client; a failure if the address is not valid, or no answer comes in time."""
    if not _host(url):
        return FetchFailure(_NOT_VALID, was_sent=False)
    import httpx  # noqa: PLC0415 - see the module's docstring

    timeout = httpx.Timeout(limits.silence, connect=limits.connect)
    try:
        certificates = _certificates(ca_file)
    except (OSError, ValueError) as error:
        note = f"the certificates in '{visible(ca_file or '')}' cannot be read ({type(error).__name__})"
        return FetchFailure(note, was_sent=False)
    try:
        headers = {"User-Agent": USER_AGENT, **headers}
        made = httpx.AsyncClient(headers=headers, timeout=timeout, verify=certificates)
    except Exception as error:  # noqa: BLE001 - several types; the environment's proxies and certificates are read here
        note = f"the request cannot be made ({type(error).__name__}); {_CHECK_ENVIRONMENT}"
        return FetchFailure(note, was_sent=False)
    try:
        async with made as client:
            return await asyncio.wait_for(work(client), limits.total)
    except (asyncio.TimeoutError, httpx.TimeoutException) as error:
        was_sent = not isinstance(error, httpx.ConnectTimeout)
        return FetchFailure("the server did not answer in time", was_sent=was_sent)
    except httpx.ProxyError as error:
        status = next((word for word in str(error).split() if word.isdecimal()), "")
        return FetchFailure(_proxy_refusal(status), was_sent=False)
    except httpx.ConnectError as error:
        proxy = _proxy_of(url)
        if not proxy:
            return FetchFailure(_unconnected(error), was_sent=False)
        note = f"through the proxy '{proxy}': {_unconnected(error)}; check HTTPS_PROXY and NO_PROXY"
        return FetchFailure(note, was_sent=False)
    except httpx.DecodingError:
        return FetchFailure("the answer cannot be decompressed")
    except (httpx.InvalidURL, UnicodeError):
        return FetchFailure(_NOT_VALID, was_sent=False)
    except httpx.TransportError:
        return FetchFailure("the connection was lost")
    except Exception as error:  # noqa: BLE001 - an error of a library must not stop the editor
        return FetchFailure(f"the request failed ({type(error).__name__}); {_CHECK_ENVIRONMENT}")


async def _fetched(client: httpx.AsyncClient, url: str, limits: Limits) -> HttpAnswer | FetchFailure:
    for _ in range(_MOST_REDIRECTS + 1):
        found = await _received(client, "GET", url, limits)
        if isinstance(found, FetchFailure):
            return found
        target = found.headers.get("location")
        if target is None or found.status not in REDIRECTS:
            return answer_of(found, limits)
        target = address_below(url, target)
        if not _is_same_host(url, target):
            return FetchFailure(unfollowed_redirect(url, target))
        url = target
    return FetchFailure("too many redirects")


async def _received(
    client: httpx.AsyncClient, method: str, url: str, limits: Limits, content: bytes = b""
) -> HttpAnswer | FetchFailure:
    async with client.stream(method, url, content=content or None) as response:
        if response.status_code == 407:
            return FetchFailure(_proxy_refusal("407"), was_sent=False)
        most = limits.size if response.status_code in {200, 206} else min(limits.size, _MOST_EXPLAINED)
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > most:
                break
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpAnswer(response.status_code, headers, bytes(body[:most]), len(body) > most)


def answer_of(found: HttpAnswer, limits: Limits) -> HttpAnswer | FetchFailure:
    """The answer to a GET request, or the message about an unsuccessful status or a body too large."""
    if found.status not in {200, 304}:
        return FetchFailure(found.refusal, found.status in {404, 410})
    return FetchFailure(f"the answer is larger than {limits.size:,} bytes") if found.is_cut else found


def unfollowed_redirect(url: str, target: str) -> str:
    """The message about a redirect that is not followed."""
    if host_and_port(url) != host_and_port(target):
        where = f"another host, '{_host(target)}',"
    elif url.startswith("https:") and not target.startswith("https:"):
        where = "http, where others can read it,"
    else:
        where = f"'{visible(address_parts(target).path)}'"
    return f"a redirect to {where} is not followed; if that is a login page, the request needs a token"


def message_in(body: bytes) -> str:
    """The message in the start of an answer: the `message` of a JSON object, or text in one line; empty for a page."""
    text = body.decode("utf-8", "replace")
    message = as_text(json_mapping(text).get("message"))
    text = text if message is None else message
    text = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return "" if "<" in text[:_MOST_QUOTED] else text


_REFUSALS = {
    401: "the server requires a valid access token",
    403: "access is denied",
    413: "the server does not accept a request of this size",
    **dict.fromkeys((404, 410), "there is nothing at this address"),
}


def _proxy_refusal(status: str) -> str:
    if status == "407":
        return "the proxy requires a user name and a password (407); set them in HTTPS_PROXY"
    return f"the proxy refused the connection{f' ({status})' if status else ''}; check HTTPS_PROXY and NO_PROXY"


def _proxy_of(url: str) -> str:
    """The host and port of the proxy that the environment names for an address; empty for none."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - only for a message

    try:
        proxies = getproxies()
        found = proxies.get(address_parts(url).scheme) or proxies.get("all", "")
        if not found or proxy_bypass(host_and_port(url)):
            return ""
        return visible(host_and_port(found if "://" in found else f"//{found}"))
    except (ValueError, OSError):
        return ""


def _unconnected(error: BaseException) -> str:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate is not trusted: {cause.verify_message}; set SSL_CERT_FILE to the file of your CA"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "no TLS connection can be made"
    is_refused = any(isinstance(cause, ConnectionRefusedError) or "refused" in str(cause) for cause in causes)
    return "connection refused" if is_refused else "no connection can be made"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_same_host(url: str, target: str) -> bool:
    """Whether a redirect leads to the same host and port, or from http to https of the same host."""
    here, there = address_parts(url), address_parts(target)
    if there.scheme not in DEFAULT_PORTS or there.username is not None or here.hostname != there.hostname:
        return False
    ports = [one.port or DEFAULT_PORTS.get(one.scheme) for one in (here, there)]
    is_upgrade = (here.scheme, there.scheme) == ("http", "https") and ports == [80, 443]
    return is_upgrade or (here.scheme == there.scheme and ports[0] == ports[1])


def _host(url: str) -> str:
    """The host of an address; empty if it is not a valid HTTP address."""
    parts = address_parts(url)
    return parts.hostname or "" if parts.scheme in DEFAULT_PORTS and parts.port != 0 else ""
