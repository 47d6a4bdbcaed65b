"""A marketplace server as a source: what is kept of its last answer, and asking it again.

The last good answer is used whenever the server can not be asked. Touches the disk, and the network in
`refresh_server`.

The definitions in what a marketplace server answers: a list of items, each with a whole job as YAML text.

Source: openpaimarketplace, rest_server: `GET /items` gives every item that the user may see, with its `protocol` byte
for byte; what was changed by `PUT` was never checked, so it need not be YAML.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from pai_lsp.catalog.definition_text import Content, first_line, read_definition_text
from pai_lsp.catalog.index import FRESH, Shelf, SourceState, age
from pai_lsp.catalog.store import Stored
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping as MappingOf

    from pai_lsp.catalog.definition_text import DefinitionText
    from pai_lsp.catalog.fetching import Limits
    from pai_lsp.catalog.settings import ServerSource
    from pai_lsp.catalog.store import Store


UNTRUSTED_NOTE = "it is not asked, because the folder is not trusted"


def load_server(source: ServerSource, store: Store, before: Shelf | None = None, *, is_trusted: bool = True) -> Shelf:
    """What is kept of a server, without asking it; `before` is what was known, and stays when there is no more."""
    asked = store.asked(server_key(source))
    if before is not None and before.asked == asked and is_trusted == (before.state is not SourceState.UNTRUSTED):
        return before
    stored = store.load(server_key(source))
    if stored is None:
        note = "it was not asked yet; see 'pai-lsp marketplace refresh'" if is_trusted else UNTRUSTED_NOTE
        return Shelf(source.url, state=SourceState.UNREACHABLE if is_trusted else SourceState.UNTRUSTED, note=note)
    seconds = time.time() - stored.asked
    state = SourceState.STALE if seconds > FRESH else SourceState.READY
    note = f"asked {age(seconds)}"
    if not is_trusted:
        state, note = SourceState.UNTRUSTED, f"{UNTRUSTED_NOTE}; it was last asked {age(seconds)}"
    return Shelf(source.url, stored.texts, state, note, stored.skipped, asked=asked)


def server_asked(source: ServerSource, store: Store) -> float | None:
    """When a server last answered, in seconds since 1970; None for never."""
    return store.asked(server_key(source))


def refresh_server(
    source: ServerSource,
    store: Store,
    environment: MappingOf[str, str],
    folder: str,
    *,
    limits: Limits | None = None,
    pause: Callable[[], None] = lambda: None,
) -> Shelf:
    """Ask a server for its items. Never raises: what went wrong is told by the state and the note.

    Args:
        source: the server.
        store: where its answer is kept.
        environment: the environment variables, for the token.
        folder: where a token command runs.
        limits: the limits of the request.
        pause: called between items, for a caller that wants others to have their turn.
    """
    from pai_lsp.catalog.fetching import (  # noqa: PLC0415 - loads asyncio and ssl; most runs ask nobody
        Failure,
        NoTokenError,
        access_token,
        fetch,
    )

    key, base = server_key(source), source.url.rstrip("/")
    stored = store.load(key)
    try:
        token = access_token(source, environment, folder)
        answer = fetch(
            f"{base}/items",
            accept="application/json",
            etag=stored.etag if stored else "",
            token=token,
            limits=limits,
        )
        if isinstance(answer, Failure):
            return _failed(source, stored, answer.note)
        if answer.is_unchanged and stored is not None:
            store.touch(key)
            note = f"asked {age(0)}"
            return Shelf(source.url, stored.texts, note=note, skipped=stored.skipped, asked=store.asked(key))
        known = {text.path: text for text in stored.texts} if stored else {}
        texts, skipped = read_items(answer.body, base, known, pause)
    except (NoTokenError, NoItemsError) as error:
        return _failed(source, stored, str(error))
    shelf = Shelf(source.url, texts, note=f"asked {age(0)}", skipped=skipped)
    try:
        store.save(key, Stored(texts, {}, answer.etag, skipped))
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        return replace(shelf, note=f"{shelf.note}; what it said can not be kept: {reason}")
    return replace(shelf, asked=store.asked(key))


def _failed(source: ServerSource, stored: Stored | None, reason: str) -> Shelf:
    if stored is None:
        return Shelf(source.url, state=SourceState.UNREACHABLE, note=reason)
    note = f"{reason}; it was last asked {age(time.time() - stored.asked)}"
    return Shelf(source.url, stored.texts, SourceState.STALE, note, stored.skipped, asked=stored.asked)


def server_key(source: ServerSource) -> str:
    """What a user sees depends on the token, so its origin is a part of the key; the token itself is not."""
    return "\n".join(("server", source.url, source.token_env or "", *source.token_command))


_MOST_NAMED = 80
_BLANKS = re.compile(r"[ \t\r\n]*")


class NoItemsError(Exception):
    """An answer is no list of items; the text says what it is."""


def read_items(
    body: bytes,
    base: str,
    known: MappingOf[str, DefinitionText] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> tuple[tuple[DefinitionText, ...], tuple[str, ...]]:
    """The items' definitions, and which items could not be read.

    The oldest item comes first: where two have a definition of the same name, a later one does not take its place.

    Args:
        body: the answer.
        base: the server's address; that of an item is made of it.
        known: by path, texts that were read before; those that are the same are not read again.
        pause: called between items.

    Raises:
        NoItemsError: if the answer is no list of items.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise NoItemsError("its answer is no JSON") from None
    if not isinstance(answer, list):
        raise NoItemsError("its answer is no list of items")
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
        read = None if text is None else _read(item, path, text)
        if read is None:
            skipped.append(f"item '{_named(item)}' holds no job that could be read")
        elif read.cards:
            texts.append(read)
    others = sum(not isinstance(one, dict) for one in answer)
    if others:
        skipped.append(f"{others} of the answers are no items")
    return tuple(texts), tuple(skipped)


def _read(item: Any, path: str, text: str) -> DefinitionText | None:
    summary = first_line(_word(item, "summary") or _word(item, "name"))
    read = read_definition_text(path, text, item=_word(item, "id"), summary=summary, content=Content.JOB)
    return None if read.fault else read


def _prerequisites(protocol: Any) -> str | None:
    """The part of a protocol's text that is kept: its prerequisites, empty without any; None for what is no job.

    So its secrets are nowhere kept. A text with faults is not kept at all: nobody could say where in it secrets are.
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
    behind = _BLANKS.match(protocol, end)
    part = protocol[start : behind.end() if behind else end]
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
    return name[:_MOST_NAMED] or _word(item, "id")[:_MOST_NAMED] or "without a name"
