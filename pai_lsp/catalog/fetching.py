"""HTTP requests with a limit to everything: time, size, redirects, and how much of an answer is repeated to people.

Proxies and certificates come from the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR). The access
token of a marketplace server comes from the environment or a command, never from a file of the project. httpx is
imported when something is asked.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from pai_lsp import __version__
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx

    from pai_lsp.catalog.setup import ServerSource


_MOST_REDIRECTS = 3
_MOST_QUOTED = 120
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much; times in seconds, sizes in bytes.

    A whole catalog comes in one answer (30 items are 121 KB), so that ten thousand items fit.
    """

    connect: float = 5.0
    silence: float = 15.0
    total: float = 60.0
    size: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came; `is_unchanged` when it is still what `etag` in the request stands for."""

    body: bytes = b""
    etag: str = ""
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """Why nothing came, in words; `is_absent` when the server said that there is nothing."""

    note: str
    is_absent: bool = False


def fetch(
    url: str, *, accept: str, etag: str = "", token: AccessToken | None = None, limits: Limits | None = None
) -> Answer | FetchFailure:
    """Ask for an address and wait for the answer; not to be called where an event loop runs. Never raises."""
    limits = limits or Limits()
    if not _host(url):
        return FetchFailure("this is no address that can be asked")
    headers = {"Accept": accept, "User-Agent": f"pai-lsp/{__version__}"}
    if etag:
        headers["If-None-Match"] = etag
    if token is not None:
        headers["Authorization"] = f"Bearer {token.secret}"
    outcome = asyncio.run(_within(url, headers, limits))
    if isinstance(outcome, FetchFailure) and token is not None:
        return FetchFailure(token.hidden_in(outcome.note), outcome.is_absent)
    return outcome


async def _within(url: str, headers: dict[str, str], limits: Limits) -> Answer | FetchFailure:
    import httpx  # noqa: PLC0415 - as the file says

    timeout = httpx.Timeout(limits.silence, connect=limits.connect)
    try:
        async with httpx.AsyncClient(headers=headers, timeout=timeout) as client:
            return await asyncio.wait_for(_asked(client, url, limits), limits.total)
    except (asyncio.TimeoutError, httpx.TimeoutException):
        return FetchFailure("it does not answer in time")
    except httpx.ProxyError:
        return FetchFailure("the proxy does not let us through")
    except httpx.ConnectError as error:
        return FetchFailure(_unconnected(error))
    except httpx.DecodingError:
        return FetchFailure("its answer is packed in a way that can not be read")
    except (httpx.InvalidURL, UnicodeError):
        return FetchFailure("this is no address that can be asked")
    except httpx.TransportError:
        return FetchFailure("the connection broke off")
    except (OSError, ValueError) as error:
        # What the environment names for certificates or as a proxy makes no sense.
        return FetchFailure(f"it can not be asked: {type(error).__name__} in the settings of the environment")
    except Exception as error:  # noqa: BLE001 - whatever a library has not foreseen, the editor goes on
        return FetchFailure(f"it can not be asked: {type(error).__name__}")


async def _asked(client: httpx.AsyncClient, url: str, limits: Limits) -> Answer | FetchFailure:
    for _ in range(_MOST_REDIRECTS + 1):
        async with client.stream("GET", url) as response:
            if response.has_redirect_location:
                target = urljoin(url, response.headers["location"])
                if not _is_same_host(url, target):
                    return FetchFailure(f"it sends us to another host, '{_host(target)}', where we do not go")
                url = target
                continue
            return await _answer(response, limits)
    return FetchFailure("it sends us round and round")


async def _answer(response: httpx.Response, limits: Limits) -> Answer | FetchFailure:
    if response.status_code == 304:
        return Answer(is_unchanged=True)
    is_good = response.status_code == 200
    most = limits.size if is_good else _MOST_QUOTED * 4
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            break
    if not is_good:
        return _refusal(response.status_code, bytes(body))
    if len(body) > most:
        return FetchFailure(f"its answer is larger than {most:,} bytes")
    return Answer(bytes(body), response.headers.get("etag", ""))


def _refusal(status: int, body: bytes) -> FetchFailure:
    """What a status means for the user, with the server's own words where they are words."""
    said = " ".join(body.decode("utf-8", "replace").split())
    said = "".join(character for character in said if character.isprintable())[:_MOST_QUOTED]
    quoted = f": '{said}'" if said and "<" not in said else ""
    if status == 401:
        return FetchFailure(f"it does not accept the access token (401){quoted}")
    if status == 403:
        return FetchFailure(f"it forbids this (403){quoted}")
    if status in {404, 410}:
        return FetchFailure(f"there is nothing at this address ({status}){quoted}", is_absent=True)
    if status >= 500:
        return FetchFailure(f"it has a failure of its own ({status}){quoted}")
    return FetchFailure(f"it answers with status {status}{quoted}")


def _unconnected(error: BaseException) -> str:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}; see SSL_CERT_FILE"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "no secure connection can be made"
    for cause in causes:
        if isinstance(cause, ConnectionRefusedError) or "refused" in str(cause):
            return "connection refused"
    return "no connection can be made"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_same_host(url: str, target: str) -> bool:
    """Whether a redirect stays where it was; from http to https of the same name counts as staying."""
    try:
        here, there = urlsplit(url), urlsplit(target)
        if there.scheme not in _DEFAULT_PORTS or there.username is not None:
            return False
        ports = [one.port or _DEFAULT_PORTS.get(one.scheme) for one in (here, there)]
    except ValueError:
        return False
    if here.hostname != there.hostname:
        return False
    is_upgrade = (here.scheme, there.scheme) == ("http", "https") and ports == [80, 443]
    return is_upgrade or (here.scheme == there.scheme and ports[0] == ports[1])


def _host(url: str) -> str:
    """The host of an address; empty for what can not be asked."""
    try:
        parts = urlsplit(url)
        is_askable = parts.scheme in _DEFAULT_PORTS and parts.port != 0
    except ValueError:
        return ""
    return parts.hostname or "" if is_askable else ""


# How long a command may take, in seconds: it may ask a password store, but not a person.
PATIENCE = 15.0
# What may stand in a header (RFC 6750, section 2.1, and whatever else a server may have made up).
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token; it never shows itself."""

    secret: str

    def __repr__(self) -> str:
        return "AccessToken(***)"

    def hidden_in(self, text: str) -> str:
        """A text without the token in it."""
        return text.replace(self.secret, "***")


class NoTokenError(Exception):
    """The token that is configured can not be had; the text says why, and nothing of what was printed."""


def access_token(source: ServerSource, environment: Mapping[str, str], folder: str) -> AccessToken | None:
    """The token of a server; None when none is configured. Runs the configured command, in `folder`.

    Raises:
        NoTokenError: if one is configured and can not be had.
    """
    if source.token_env is not None:
        text = environment.get(source.token_env, "").strip()
        if not text:
            raise NoTokenError(f"the environment variable '{source.token_env}' holds no token")
        origin = f"the environment variable '{source.token_env}'"
    elif source.token_command:
        text = _printed(source.token_command, folder)
        origin = f"the command '{source.token_command[0]}'"
    else:
        return None
    if not _TOKEN.fullmatch(text):
        raise NoTokenError(f"what {origin} gives is no token")
    return AccessToken(text)


def _printed(command: tuple[str, ...], folder: str) -> str:
    import subprocess  # noqa: PLC0415 - few servers need a command

    name = command[0]
    try:
        ended = subprocess.run(  # noqa: S603 - the user's own configuration, in a workspace that is trusted
            command,
            cwd=folder or None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoTokenError(f"the command '{name}', which prints the token, does not end") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "an error").lower()
        raise NoTokenError(f"the command '{name}', which prints the token, can not be run: {reason}") from None
    if ended.returncode:
        raise NoTokenError(f"the command '{name}', which prints the token, ended with status {ended.returncode}")
    return ended.stdout.decode("utf-8", "replace").strip()
