"""Single web addresses as a source: what is kept of them, and asking for them again.

Touches the disk, and in `refresh_pages` the network.

Single web addresses in references: which may be asked, and what is kept of them.

Nothing is asked because a job names it: the configuration must list the host, and somebody must refresh. What is kept
says neither a user's name nor a query, which may be a key; the whole address is only known by its hash.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pai_lsp.catalog.definition_text import Content, DefinitionText, read_definition_text
from pai_lsp.catalog.index import FRESH, SourceState, age
from pai_lsp.catalog.store import Stored
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pai_lsp.catalog.fetching import Limits
    from pai_lsp.catalog.store import Store


MOST_PAGES = 200
MOST_BYTES = 1_000_000


def load_pages(folder: str, store: Store) -> dict[str, WebPage]:
    """What is kept of the addresses of a project, by `page_key`."""
    stored = store.load(_key(folder))
    if stored is None:
        return {}
    seconds = time.time() - stored.asked
    state = SourceState.STALE if seconds > FRESH else SourceState.READY
    return {text.item: _page(text, state, f"asked {age(seconds)}") for text in stored.texts}


def pages_asked(folder: str, store: Store) -> float | None:
    """When the addresses of a project last answered, in seconds since 1970; None for never."""
    return store.asked(_key(folder))


def refresh_pages(
    folder: str,
    addresses: Iterable[str],
    allowed_hosts: Collection[str],
    store: Store,
    limits: Limits | None = None,
) -> dict[str, WebPage]:
    """Ask for the addresses that may be asked, the first of too many, and keep what comes. Never raises."""
    wanted = [one for one in dict.fromkeys(addresses) if not why_not_asked(one, allowed_hosts)][:MOST_PAGES]
    before = load_pages(folder, store)
    if not wanted:
        return before
    stored = store.load(_key(folder))
    texts = {text.item: text for text in stored.texts} if stored else {}
    stamps = dict(stored.stamps) if stored else {}
    last = age(time.time() - stored.asked) if stored else ""
    pages: dict[str, WebPage] = {}
    for address in wanted:
        key = page_key(address)
        pages[key] = _asked(address, texts, stamps, last, limits)
    if any(page.state is SourceState.READY for page in pages.values()):
        try:
            store.save(_key(folder), Stored(tuple(texts.values()), stamps))
        except OSError:  # they are asked again next time
            return {**before, **pages}
    return {**before, **pages}


def _asked(
    address: str, texts: dict[str, DefinitionText], stamps: dict[str, str], last: str, limits: Limits | None
) -> WebPage:
    """What an address says now; `texts` and `stamps` get what is to be kept of it."""
    from pai_lsp.catalog.fetching import Failure, Limits, fetch  # noqa: PLC0415 - loads asyncio and ssl, to ask only

    key, path = page_key(address), page_path(address)
    before = texts.get(key)
    answer = fetch(
        address,
        accept="application/yaml, text/*;q=0.9, */*;q=0.5",
        etag=stamps.get(path, "") if before else "",
        limits=limits or Limits(size=MOST_BYTES),
    )
    if isinstance(answer, Failure):
        if answer.is_absent:
            stamps.pop(path, None)
            texts[key] = DefinitionText(path, "", key, (), Content.EITHER)
            return WebPage(None, note=answer.note)
        return _failed(before, answer.note, last)
    if answer.is_unchanged and before is not None:
        return _page(before, SourceState.READY, f"asked {age(0)}")
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _failed(before, "its answer is not UTF-8", last)
    texts[key] = read_definition_text(path, text, item=key, content=Content.EITHER)
    stamps[path] = answer.etag
    return _page(texts[key], SourceState.READY, f"asked {age(0)}")


def _failed(before: DefinitionText | None, reason: str, last: str) -> WebPage:
    if before is None:
        return WebPage(None, SourceState.UNREACHABLE, reason)
    return _page(before, SourceState.STALE, f"{reason}; it was last asked {last}")


def _page(text: DefinitionText, state: SourceState, note: str) -> WebPage:
    """What a kept text says; an empty one stands for an address where there was nothing."""
    return WebPage(text if text.text else None, state, note)


def _key(folder: str) -> str:
    return f"pages\n{folder}"


@dataclass(frozen=True, slots=True)
class WebPage:
    """What is known of one address: its text; None when nothing is there, or with UNREACHABLE nothing is known."""

    text: DefinitionText | None
    state: SourceState = SourceState.READY
    note: str = ""


def page_key(address: str) -> str:
    """What stands for an address where it is kept."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def page_path(address: str) -> str:
    """An address as it may be shown: without a user's name or a query, which the start of its hash stands for."""
    parts = urlsplit(address)
    shown = f"{parts.scheme}://{(parts.netloc or '').rpartition('@')[2]}{parts.path}"
    return f"{shown}#{page_key(address)[:8]}" if parts.query or parts.fragment else shown


def why_not_asked(address: str, allowed_hosts: Collection[str]) -> str:
    """Why an address may not be asked, in words; empty when it may.

    An allowed host is a name, for all ports, or a name with a port.
    """
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "this is no address that can be asked"
    if parts.username is not None or parts.password is not None:
        return "an address with a user's name or a password in it is never asked"
    allowed = {one.lower() for one in allowed_hosts}
    name = f"[{host}]" if ":" in host else host
    if host and not allowed.isdisjoint({host, name, f"{name}:{port}"}):
        return ""
    return f"the configuration does not list the host '{host}' under 'allowed_hosts' of 'marketplace'"
