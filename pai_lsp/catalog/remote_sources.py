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
from contextlib import suppress
from typing import TYPE_CHECKING

from pai_lsp.catalog.definition_text import DefinitionText, first_line, read_definition_text
from pai_lsp.catalog.setup import SourceState
from pai_lsp.catalog.store import FRESH, LoadedSource, age
from pai_lsp.job.job import Job
from pai_lsp.job.lookup import JobTemplate
from pai_lsp.source.failures import why
from pai_lsp.source.foreign import as_text, as_whole, json_value, mappings_in
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import column
from pai_lsp.source.writing import scalar_line
from pai_lsp.web.addresses import DEFAULT_PORTS, address_parts, host_and_port

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from collections.abc import Mapping as MappingOf
    from typing import Any

    from pai_lsp.catalog.setup import CatalogSetup, ServerSource
    from pai_lsp.catalog.store import Store, Surroundings
    from pai_lsp.web.fetching import Limits


UNTRUSTED_NOTE = "not requested, because the folder is not trusted; see 'pai-lsp trust --help'"
# A gateway without a valid session answers every address with its login page, and with status 200.
_WEB_PAGE_NOTE = "the answer is a web page, perhaps a login page,"
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
_ITEM_ADDRESS = lazy_pattern(r"(?P<portal>https?://[^/@]+)/marketplace/api/items/(?P<id>[a-zA-Z0-9_-]+)")
_BLANKS = lazy_pattern(r"[ \t\r\n]*")


def load_server(server: ServerSource, store: Store, before: LoadedSource | None, *, is_trusted: bool) -> LoadedSource:
    """The cached answer of a server; `before` is returned when it is still up to date. Does not use the network."""
    key = server_key(server)
    asked = _last_asked(key, store)
    if before is not None and before.asked == asked and is_trusted == (before.state is not SourceState.UNTRUSTED):
        return before
    stored, failed = store.load(key), store.load(_failure_key(key))
    reason = f"{failed.skipped[0]}; asked {age(failed.seconds)}" if failed and failed.skipped else ""
    found = _stored_server(server, stored, reason, asked)
    if is_trusted:
        return found
    note = f"{UNTRUSTED_NOTE}; last {_updated(stored)}" if stored else UNTRUSTED_NOTE
    return replace(found, state=SourceState.UNTRUSTED, note=note)


def _stored_server(server: ServerSource, stored: LoadedSource | None, reason: str, asked: float | None) -> LoadedSource:
    """What the cache has of a server; `reason` is why the last request failed, empty if it did not."""
    if stored is None:
        return LoadedSource(server.url, state=SourceState.UNREACHABLE, note=reason or NOT_LOADED_NOTE, asked=asked)
    state = SourceState.STALE if reason or stored.seconds > FRESH else SourceState.READY
    note = f"{reason}; last {_updated(stored)}" if reason else _updated(stored)
    return replace(stored, label=server.url, state=state, note=note, asked=asked)


def refresh_server(server: ServerSource, folder: str, surroundings: Surroundings) -> LoadedSource:
    """Request a server's items. Never raises: the state and the note describe a failure.

    folder: the working directory of a token command.
    """
    from pai_lsp.web.access_token import NoTokenError, access_token, keeps_secrets  # noqa: PLC0415 - as below
    from pai_lsp.web.fetching import FetchFailure, fetch  # noqa: PLC0415 - loads asyncio and ssl; often not needed

    key, base, store = server_key(server), server.url.rstrip("/"), surroundings.store
    stored = store.load(key)
    if (server.token_env or server.token_command) and not keeps_secrets(server.url):
        reason = f"a token is sent only over https; '{server.url}' begins with 'http://'"
        return _failed_server(server, store, stored, reason)
    try:
        token = access_token(server.token_env, server.token_command, surroundings.environment, folder)
        etag = stored.etag if stored else ""
        limits, accept = surroundings.limits, "application/json"
        answer = fetch(f"{base}/items", accept=accept, etag=etag, token=token, limits=limits)
        if isinstance(answer, FetchFailure):
            return _failed_server(server, store, stored, answer.note)
        store.forget(_failure_key(key))
        if answer.status == 304 and stored is not None:
            store.touch(key)
            return load_server(server, store, None, is_trusted=True)
        known = {text.path: text for text in stored.texts} if stored else {}
        texts, skipped = read_items(answer.body, base, known, surroundings.pause)
    except (NoTokenError, NoItemsError) as error:
        return _failed_server(server, store, stored, str(error))
    loaded = LoadedSource(server.url, texts, note=_UPDATED_NOW, skipped=skipped, etag=answer.etag)
    try:
        store.save(key, loaded)
    except OSError as error:
        return replace(loaded, note=f"{loaded.note}; the answer cannot be saved in the cache: {why(error)}")
    return replace(loaded, asked=store.asked(key))


def _failed_server(server: ServerSource, store: Store, stored: LoadedSource | None, reason: str) -> LoadedSource:
    """The server after a request that failed; the reason is stored, so that every later run can report it."""
    key = server_key(server)
    with suppress(OSError):
        store.save(_failure_key(key), LoadedSource(skipped=(reason,)))
    return _stored_server(server, stored, reason, _last_asked(key, store))


def server_key(server: ServerSource) -> str:
    """The cache key of a server. It has the origin of the token, on which the items depend, but not the token."""
    return "\n".join(("server", server.url, server.token_env or "", *server.token_command))


def _failure_key(key: str) -> str:
    """The cache key of why the last requests of a source failed; nothing is stored there after a success."""
    return f"failed\n{key}"


def _last_asked(key: str, store: Store) -> float | None:
    """When a source was last asked, whether it answered or not, in seconds since 1970; None for never."""
    times = (store.asked(key), store.asked(_failure_key(key)))
    return max((one for one in times if one is not None), default=None)


_UPDATED_NOW = f"updated {age(0)}"


def _updated(stored: LoadedSource) -> str:
    return f"updated {age(stored.seconds)}"


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
        answer = json_value(body)
    except ValueError:
        if _is_web_page(body):
            raise NoItemsError(f"{_WEB_PAGE_NOTE} instead of JSON; check the address and the access token") from None
        raise NoItemsError("the answer is not JSON; check the server's address") from None
    if not isinstance(answer, list):
        raise NoItemsError("the answer is not a list of items; check the server's address")
    if len(answer) > MOST_ITEMS:
        raise NoItemsError(f"the answer has more than {MOST_ITEMS:,} items")
    known = known or {}
    texts: list[DefinitionText] = []
    skipped: list[str] = []
    known_items = mappings_in(answer)
    for item in sorted(known_items, key=lambda item: (_word(item, "createdAt"), _word(item, "id"))):
        if item.get("status") == "rejected":
            continue
        path = f"{base}/items/{_word(item, 'id')}"
        protocol = as_text(item.get("protocol"))
        text = None if protocol is None else _prerequisites(protocol)
        template = _template(item) if text is not None and _word(item, "type") == "template" else None
        before = known.get(path)
        title = _named(item)
        if before is not None and (text, template, title) == (before.text, before.template, before.title):
            texts.append(before)
            continue
        pause()
        summary = first_line(_word(item, "summary") or _word(item, "name"))
        read = read_definition_text(path, text or "", item=_word(item, "id"), summary=summary, reads_jobs=True)
        if text is None or read.fault:
            skipped.append(f"item '{_named(item)}' has no readable job")
        elif read.headers or template is not None:
            texts.append(replace(read, template=template, title=title))
    if others := len(answer) - len(known_items):
        skipped.append(f"entries of the answer that are not items: {others}")
    return tuple(texts), tuple(skipped)


def _prerequisites(protocol: str) -> str | None:
    """The part of a protocol's text that is stored: its prerequisites, empty without any; None if it is not a job.

    The job's secrets are never stored. In a text with faults their place is unknown, so nothing of it is stored.
    """
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
    return " " * column(protocol, start) + part


def _template(item: dict[str, Any]) -> JobTemplate | None:
    """The whole job of an item, without the values of its secrets; None where these cannot be cut out."""
    text = str(item.get("protocol"))
    job = Job(parse(text))
    root = job.root
    if root is None or root.is_flow:
        return None
    if section := root.own("secrets"):
        after = (entry.key.span.start for entry in root.entries if entry.key.span.start > section.key.span.start)
        names = "".join(f'  {scalar_line(name)}: ""\n' for name in job.secrets)
        rest = text[next(after, len(text)) :]
        text = f"{text[: section.key.span.start]}secrets:{f'{chr(10)}{names}' if names else f' {{}}{chr(10)}'}{rest}"
    return JobTemplate(_named(item), first_line(_word(item, "summary")), job.hidden.without(text))


def item_page(path: str) -> str:
    """The page of the web portal that shows an item, by the item's address; empty if it is not known.

    A cluster's gateway serves the marketplace's API below its own address, and the portal's first plugin is the
    marketplace. Sources: openpaimarketplace, docs/admin; examples/item_descriptions.
    """
    match = _ITEM_ADDRESS.fullmatch(path)
    return f"{match['portal']}/plugin.html?index=0#/market_detail?itemId={match['id']}" if match else ""


def _word(item: dict[str, Any], key: str) -> str:
    number = as_whole(item.get(key))
    return as_text(item.get(key)) or ("" if number is None else str(number))


def _named(item: dict[str, Any]) -> str:
    name = "".join(character for character in _word(item, "name") if character.isprintable())
    return (name or _word(item, "id") or "without a name")[:_LONGEST_ITEM_NAME]


def _is_web_page(body: bytes) -> bool:
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"


@dataclass(frozen=True, slots=True)
class WebPage:
    """What is known of one web address.

    path: the address for display; see `page_path`.
    text: None when there is nothing at the address or, with UNREACHABLE, when nothing is known of it.
    """

    path: str
    text: DefinitionText | None
    state: SourceState = SourceState.READY
    note: str = ""


def load_pages(folder: str, store: Store) -> dict[str, WebPage]:
    """The cached web addresses of a project, by `page_key`. Does not use the network."""
    stored, failed = store.load(pages_key(folder)), store.load(_failure_key(pages_key(folder)))
    pages: dict[str, WebPage] = {}
    if stored is not None:
        state = SourceState.STALE if stored.seconds > FRESH else SourceState.READY
        pages = {text.item: _page(text, state, _updated(stored)) for text in stored.texts}
    if failed is not None:
        for failure in failed.texts:
            before = pages.get(failure.item)
            text, note = (before.text, before.note) if before else (None, "")
            reason = f"{failure.fault}; asked {age(failed.seconds)}"
            pages[failure.item] = _failed_page(failure.path, text, reason, note)
    return pages


def pages_last_asked(folder: str, store: Store) -> float | None:
    """When the addresses of a project were last asked, whether they answered or not; None for never."""
    return _last_asked(pages_key(folder), store)


def refresh_pages(setup: CatalogSetup, addresses: Iterable[str], surroundings: Surroundings) -> dict[str, WebPage]:
    """Request the first `MOST_PAGES` of the allowed addresses, and store the answers. Never raises."""
    hosts, store, key = surroundings.hosts_of(setup), surroundings.store, pages_key(setup.folder)
    wanted = [one for one in dict.fromkeys(addresses) if not why_not_asked(one, hosts)][:MOST_PAGES]
    before = load_pages(setup.folder, store)
    if not wanted:
        return before
    stored, failed = store.load(key), store.load(_failure_key(key))
    texts = {text.item: text for text in stored.texts} if stored else {}
    failures = {text.item: text for text in failed.texts} if failed else {}
    pages: dict[str, WebPage] = {}
    for address in wanted:
        answer, place = _requested(address, surroundings.limits), page_key(address)
        failures.pop(place, None)
        if isinstance(answer, DefinitionText):
            texts[place] = answer
            pages[place] = _page(answer, SourceState.READY, _UPDATED_NOW)
        else:
            path = page_path(address)
            failures[place] = DefinitionText(path, "", place, (), reads_jobs=True, fault=answer)
            pages[place] = _failed_page(path, texts.get(place), answer, _updated(stored) if stored else "")
    with suppress(OSError):  # what is not stored is requested again next time
        if any(page.state is SourceState.READY for page in pages.values()):
            store.save(key, LoadedSource(texts=tuple(texts.values())))
        if failures:
            store.save(_failure_key(key), LoadedSource(texts=tuple(failures.values())[-MOST_PAGES:]))
        else:
            store.forget(_failure_key(key))
    return {**before, **pages}


def _requested(address: str, limits: Limits | None) -> DefinitionText | str:
    """What is at an address now, an empty text where nothing is; or why that is not known."""
    from pai_lsp.web.fetching import FetchFailure, Limits, fetch  # noqa: PLC0415 - loads asyncio and ssl; rarely needed

    key, path, accept = page_key(address), page_path(address), "application/yaml, text/*;q=0.9, */*;q=0.5"
    answer = fetch(address, accept=accept, limits=limits or Limits(size=MOST_BYTES))
    if isinstance(answer, FetchFailure):
        absent = DefinitionText(path, "", key, (), reads_jobs=True, fault=answer.note)
        return absent if answer.is_absent else answer.note
    if _is_web_page(answer.body):
        return f"{_WEB_PAGE_NOTE} instead of YAML"
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "the file is not UTF-8"
    return read_definition_text(path, text, item=key, reads_jobs=True)


def _failed_page(path: str, before: DefinitionText | None, reason: str, last: str) -> WebPage:
    if before is None:
        return WebPage(path, None, SourceState.UNREACHABLE, reason)
    page = _page(before, SourceState.STALE, f"{reason}; last {last}")
    return page if page.text else replace(page, state=SourceState.UNREACHABLE)


def _page(text: DefinitionText, state: SourceState, note: str) -> WebPage:
    """The page of a stored text; an empty text means that there was nothing at the address."""
    absent = f"{text.fault or 'the file at this address is empty'}, {note}"
    return WebPage(text.path, text if text.text else None, state, note if text.text else absent)


def pages_key(folder: str) -> str:
    """The cache key of the web addresses of a project."""
    return f"pages\n{folder}"


def page_key(address: str) -> str:
    """The hash by which the cache knows an address."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def page_path(address: str) -> str:
    """An address for display: without a user name; the first digits of its hash replace a query."""
    parts = address_parts(address)
    if not parts.netloc:
        return f"(not a valid address)#{page_key(address)[:8]}"
    shown = f"{parts.scheme}://{host_and_port(address)}{parts.path}"
    return f"{shown}#{page_key(address)[:8]}" if parts.query or parts.fragment else shown


def why_not_asked(address: str, allowed_hosts: Collection[str]) -> str:
    """Why an address is not requested, as a message; empty if it may be requested.

    An allowed host is a name, for all ports, or a name with a port.
    """
    parts = address_parts(address)
    host, port = (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS.get(parts.scheme)
    if not host:
        return "this is not a valid web address"
    if parts.username is not None or parts.password is not None:
        return "an address that contains a user name or a password is not requested"
    allowed = {one.lower() for one in allowed_hosts}
    name = f"[{host}]" if ":" in host else host
    if not allowed.isdisjoint({host, name, f"{name}:{port}"}):
        return ""
    return f"add the host '{host}' to 'allowed_hosts' under 'marketplace' in the configuration"
