"""Marketplace servers and single web addresses: the cached answers, and requesting new ones.

Reads and writes the cache; uses the network in `refresh_server` and `refresh_pages` only. When a request fails, the
last good answer is used.

A marketplace server answers with a list of items, each with a whole job as YAML text. Source: openpaimarketplace,
rest_server: `GET /items` gives every item that the user may see, with its `protocol` byte for byte; `PUT` does not
check it, so it need not be YAML.

A web address in a job is requested only if the configuration allows its host and the user refreshes. User names and
queries of addresses, which may be keys, are not stored; the cache knows a whole address only by its hash.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pai_lsp.catalog.definition_text import Content, DefinitionText, first_line, read_definition_text
from pai_lsp.catalog.store import FRESH, LoadedSource, SourceState, Stored, age
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from collections.abc import Mapping as MappingOf

    from pai_lsp.catalog.fetching import Limits
    from pai_lsp.catalog.setup import ServerSource
    from pai_lsp.catalog.store import Store


UNTRUSTED_NOTE = "not requested, because the folder is not trusted; see 'pai-lsp trust --help'"
_WEB_PAGE = "the answer is a web page, perhaps the login page of a gateway; check the address and the access token"
NOT_LOADED_NOTE = "not loaded yet; run 'pai-lsp marketplace refresh'"

# The largest number of web addresses of a project, and the largest size of the file at one, in bytes.
MOST_PAGES = 200
MOST_BYTES = 1_000_000
# The largest number of items of a server, and of texts and marks in its answer: as Python's objects, an answer of a few
# megabytes without any text would take gigabytes.
MOST_ITEMS = 20_000
MOST_TOKENS = 2_000_000
_TOKENS = lazy_pattern(rb'[\[{,]|"[^"\\]*(?:\\[\x00-\xff][^"\\]*)*(?:"|\Z)')
_LONGEST_ITEM_NAME = 80
_BLANKS = lazy_pattern(r"[ \t\r\n]*")


def load_server(
    server: ServerSource, store: Store, before: LoadedSource | None = None, *, is_trusted: bool = True
) -> LoadedSource:
    """The cached answer of a server; `before` is returned when it is still up to date. Does not use the network."""
    asked = store.asked(server_key(server))
    if before is not None and before.asked == asked and is_trusted == (before.state is not SourceState.UNTRUSTED):
        return before
    stored = store.load(server_key(server))
    if stored is None:
        if is_trusted:
            return LoadedSource(server.url, state=SourceState.UNREACHABLE, note=NOT_LOADED_NOTE)
        return LoadedSource(server.url, state=SourceState.UNTRUSTED, note=UNTRUSTED_NOTE)
    seconds = time.time() - stored.asked
    state = SourceState.STALE if seconds > FRESH else SourceState.READY
    note = _updated(seconds)
    if not is_trusted:
        state, note = SourceState.UNTRUSTED, f"{UNTRUSTED_NOTE}; last {note}"
    return LoadedSource(server.url, stored.texts, state, note, stored.skipped, asked=asked)


def server_asked(server: ServerSource, store: Store) -> float | None:
    """When a server last answered, in seconds since 1970; None for never."""
    return store.asked(server_key(server))


def refresh_server(
    server: ServerSource,
    store: Store,
    environment: MappingOf[str, str],
    folder: str,
    *,
    limits: Limits | None = None,
    pause: Callable[[], None] = lambda: None,
) -> LoadedSource:
    """Request a server's items. Never raises: the state and the note describe a failure.

    Args:
        server: the server.
        store: the cache for its answer.
        environment: the environment variables, for the token.
        folder: the working directory of a token command.
        limits: the limits of the request.
        pause: called between items, so that the caller can let other work run.
    """
    from pai_lsp.catalog.fetching import (  # noqa: PLC0415 - loads asyncio and ssl; most runs send no request
        FetchFailure,
        NoTokenError,
        access_token,
        fetch,
        keeps_secrets,
    )

    key, base = server_key(server), server.url.rstrip("/")
    stored = store.load(key)
    if (server.token_env or server.token_command) and not keeps_secrets(server.url):
        return _failed_server(server, stored, f"a token is sent only over https; '{server.url}' begins with 'http://'")
    try:
        token = access_token(server, environment, folder)
        answer = fetch(
            f"{base}/items",
            accept="application/json",
            etag=stored.etag if stored else "",
            token=token,
            limits=limits,
        )
        if isinstance(answer, FetchFailure):
            return _failed_server(server, stored, answer.note)
        if answer.is_unchanged and stored is not None:
            store.touch(key)
            return LoadedSource(
                server.url, stored.texts, note=_updated(0), skipped=stored.skipped, asked=store.asked(key)
            )
        if answer.is_web_page:
            return _failed_server(server, stored, _WEB_PAGE)
        known = {text.path: text for text in stored.texts} if stored else {}
        texts, skipped = read_items(answer.body, base, known, pause)
    except (NoTokenError, NoItemsError) as error:
        return _failed_server(server, stored, str(error))
    loaded = LoadedSource(server.url, texts, note=_updated(0), skipped=skipped)
    try:
        store.save(key, Stored(texts, {}, answer.etag, skipped))
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        return replace(loaded, note=f"{loaded.note}; the answer cannot be saved in the cache: {reason}")
    return replace(loaded, asked=store.asked(key))


def _failed_server(server: ServerSource, stored: Stored | None, reason: str) -> LoadedSource:
    if stored is None:
        return LoadedSource(server.url, state=SourceState.UNREACHABLE, note=reason)
    note = f"{reason}; last {_updated(time.time() - stored.asked)}"
    return LoadedSource(server.url, stored.texts, SourceState.STALE, note, stored.skipped, asked=stored.asked)


def server_key(server: ServerSource) -> str:
    """The cache key of a server. It has the origin of the token, on which the items depend, but not the token."""
    return "\n".join(("server", server.url, server.token_env or "", *server.token_command))


def _updated(seconds: float) -> str:
    return f"updated {age(seconds)}"


class NoItemsError(Exception):
    """An answer is not a list of items; the message has the reason."""


def read_items(
    body: bytes,
    base: str,
    known: MappingOf[str, DefinitionText] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> tuple[tuple[DefinitionText, ...], tuple[str, ...]]:
    """The items' definitions, and messages about the items that cannot be read.

    The oldest item comes first: of two definitions with one name, the older one is used.

    Args:
        body: the answer.
        base: the server's address, the first part of each item's address.
        known: by path, texts that were read before; unchanged ones are not read again.
        pause: called between items.

    Raises:
        NoItemsError: if the answer is not a list of items.
    """
    if any(number >= MOST_TOKENS for number, _ in enumerate(_TOKENS.finditer(body))):
        raise NoItemsError(f"the answer has more than {MOST_TOKENS:,} values")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise NoItemsError("the answer is not JSON; check the server's address") from None
    if not isinstance(answer, list):
        raise NoItemsError("the answer is not a list of items; check the server's address")
    if len(answer) > MOST_ITEMS:
        raise NoItemsError(f"the answer has more than {MOST_ITEMS:,} items")
    known = known or {}
    texts: list[DefinitionText] = []
    skipped: list[str] = []
    for item in sorted((one for one in answer if isinstance(one, dict)), key=_by_age):
        if item.get("status") == "rejected":
            continue
        path = f"{base}/items/{_word(item, 'id')}"
        text = _prerequisites(item.get("protocol"))
        before = known.get(path)
        if before is not None and text == before.text:
            texts.append(before)
            continue
        pause()
        read = None if text is None else _read_item(item, path, text)
        if read is None:
            skipped.append(f"item '{_named(item)}' has no readable job")
        elif read.headers:
            texts.append(read)
    others = sum(not isinstance(one, dict) for one in answer)
    if others:
        skipped.append(f"entries of the answer that are not items: {others}")
    return tuple(texts), tuple(skipped)


def _read_item(item: Any, path: str, text: str) -> DefinitionText | None:
    summary = first_line(_word(item, "summary") or _word(item, "name"))
    read = read_definition_text(path, text, item=_word(item, "id"), summary=summary, content=Content.JOB)
    return None if read.fault else read


def _prerequisites(protocol: Any) -> str | None:
    """The part of a protocol's text that is stored: its prerequisites, empty without any; None if it is not a job.

    The job's secrets are never stored. In a text with faults their place is unknown, so nothing of it is stored.
    """
    if not isinstance(protocol, str):
        return None
    syntax = parse(protocol)
    root = syntax.root
    if syntax.problems or not isinstance(root, Mapping):
        return None
    entry = root.own("prerequisites")
    if entry is None:
        return ""
    start, end = entry.key.span.start, entry.value.span.end
    if end < start:  # an alias of something further up
        return None
    blanks = _BLANKS.match(protocol, end)
    part = protocol[start : blanks.end() if blanks else end]
    if root.is_flow:
        return f"{{{part}}}"
    return " " * (start - (protocol.rfind("\n", 0, start) + 1)) + part


def _by_age(item: Any) -> tuple[str, str]:
    return _word(item, "createdAt"), _word(item, "id")


def _word(item: Any, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _named(item: Any) -> str:
    name = "".join(character for character in _word(item, "name") if character.isprintable())
    return name[:_LONGEST_ITEM_NAME] or _word(item, "id")[:_LONGEST_ITEM_NAME] or "without a name"


@dataclass(frozen=True, slots=True)
class WebPage:
    """What is known of one web address.

    text: None when there is nothing at the address or, with UNREACHABLE, when nothing is known of it.
    """

    text: DefinitionText | None
    state: SourceState = SourceState.READY
    note: str = ""


def load_pages(folder: str, store: Store) -> dict[str, WebPage]:
    """The cached web addresses of a project, by `page_key`. Does not use the network."""
    stored = store.load(_pages_key(folder))
    if stored is None:
        return {}
    seconds = time.time() - stored.asked
    state = SourceState.STALE if seconds > FRESH else SourceState.READY
    return {text.item: _page(text, state, _updated(seconds)) for text in stored.texts}


def pages_asked(folder: str, store: Store) -> float | None:
    """When the addresses of a project last answered, in seconds since 1970; None for never."""
    return store.asked(_pages_key(folder))


def refresh_pages(
    folder: str,
    addresses: Iterable[str],
    allowed_hosts: Collection[str],
    store: Store,
    limits: Limits | None = None,
) -> dict[str, WebPage]:
    """Request the first `MOST_PAGES` of the allowed addresses, and store the answers. Never raises."""
    wanted = [one for one in dict.fromkeys(addresses) if not why_not_asked(one, allowed_hosts)][:MOST_PAGES]
    before = load_pages(folder, store)
    if not wanted:
        return before
    stored = store.load(_pages_key(folder))
    texts = {text.item: text for text in stored.texts} if stored else {}
    stamps = dict(stored.stamps) if stored else {}
    last = _updated(time.time() - stored.asked) if stored else ""
    pages: dict[str, WebPage] = {}
    for address in wanted:
        pages[page_key(address)] = _requested(address, texts, stamps, last, limits)
    if any(page.state is SourceState.READY for page in pages.values()):
        try:
            store.save(_pages_key(folder), Stored(tuple(texts.values()), stamps))
        except OSError:  # they are requested again next time
            return {**before, **pages}
    return {**before, **pages}


def _requested(
    address: str, texts: dict[str, DefinitionText], stamps: dict[str, str], last: str, limits: Limits | None
) -> WebPage:
    """The page at an address now; what is to be stored of it is put into `texts` and `stamps`."""
    from pai_lsp.catalog.fetching import (  # noqa: PLC0415 - loads asyncio and ssl; most runs send no request
        FetchFailure,
        Limits,
        fetch,
    )

    key, path = page_key(address), page_path(address)
    before = texts.get(key)
    answer = fetch(
        address,
        accept="application/yaml, text/*;q=0.9, */*;q=0.5",
        etag=stamps.get(path, "") if before else "",
        limits=limits or Limits(size=MOST_BYTES),
    )
    if isinstance(answer, FetchFailure):
        if answer.is_absent:
            stamps.pop(path, None)
            texts[key] = DefinitionText(path, "", key, (), Content.EITHER)
            return WebPage(None, note=answer.note)
        return _failed_page(before, answer.note, last)
    if answer.is_unchanged and before is not None:
        return _page(before, SourceState.READY, _updated(0))
    if answer.is_web_page:
        return _failed_page(before, _WEB_PAGE, last)
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _failed_page(before, "the file is not UTF-8", last)
    texts[key] = read_definition_text(path, text, item=key, content=Content.EITHER)
    stamps[path] = answer.etag
    return _page(texts[key], SourceState.READY, _updated(0))


def _failed_page(before: DefinitionText | None, reason: str, last: str) -> WebPage:
    if before is None:
        return WebPage(None, SourceState.UNREACHABLE, reason)
    return _page(before, SourceState.STALE, f"{reason}; last {last}")


def _page(text: DefinitionText, state: SourceState, note: str) -> WebPage:
    """The page of a stored text; an empty text means that there was nothing at the address."""
    return WebPage(text if text.text else None, state, note)


def _pages_key(folder: str) -> str:
    return f"pages\n{folder}"


def page_key(address: str) -> str:
    """The hash by which the cache knows an address."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def page_path(address: str) -> str:
    """An address for display: without a user name; the first digits of its hash replace a query."""
    parts = urlsplit(address)
    shown = f"{parts.scheme}://{(parts.netloc or '').rpartition('@')[2]}{parts.path}"
    return f"{shown}#{page_key(address)[:8]}" if parts.query or parts.fragment else shown


def why_not_asked(address: str, allowed_hosts: Collection[str]) -> str:
    """Why an address is not requested, as a message; empty if it may be requested.

    An allowed host is a name, for all ports, or a name with a port.
    """
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "this is not a valid web address"
    if parts.username is not None or parts.password is not None:
        return "an address with a user name or a password is never requested"
    allowed = {one.lower() for one in allowed_hosts}
    name = f"[{host}]" if ":" in host else host
    if host and not allowed.isdisjoint({host, name, f"{name}:{port}"}):
        return ""
    return f"add the host '{host}' to 'allowed_hosts' under 'marketplace' in the configuration"
