"""A marketplace server as a source: what is kept of its last answer, and asking it again.

The last good answer is used whenever the server can not be asked. Touches the disk, and the network in
`refresh_server`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pai_lsp.catalog.shelf import FRESH, Shelf, SourceState, age
from pai_lsp.catalog.store import Stored
from pai_lsp.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pai_lsp.catalog.fetching import Limits
    from pai_lsp.catalog.store import Store
    from pai_lsp.marketplace_settings import ServerSource

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
    environment: Mapping[str, str],
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
    from pai_lsp.catalog.fetching import Failure, fetch  # noqa: PLC0415 - loads asyncio and ssl; most runs ask nobody
    from pai_lsp.catalog.items import NoItemsError, read_items  # noqa: PLC0415 - only what a server answers needs it
    from pai_lsp.catalog.token import NoTokenError, access_token  # noqa: PLC0415 - as above

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
