"""Checks the open documents and publishes what is found.

The newest text is checked, and its diagnostics are published with its version. One check of a document runs at a time:
when the text changes meanwhile, the check is abandoned before its next rule, and the new text is checked after the
requests. A client that pulls diagnostics gets none published: it would show them twice.

A finding that touches the word that the user is typing is shown after a short pause, or when the user types elsewhere:
half a word is not yet a mistake. All others are shown at once.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.lsp.convert import lsp_diagnostic
from pai_lsp.lsp.documents import FileKind, file_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pai_lsp.lsp.connection import Connection
    from pai_lsp.lsp.documents import OpenDocument


# How long the user must not type before what waits for it is done, in seconds.
PAUSE = 0.5
# A check that takes longer, in seconds, is given up: its text is far larger than a cluster accepts.
LONGEST_CHECK = 30.0

_log = logging.getLogger(__name__)


class Publisher:
    """The checks that are running, and the files that the client shows diagnostics of."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._shown: set[str] = set()
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        # To free a large document takes milliseconds: the former version goes when the newer one has been published.
        self._published: dict[str, OpenDocument] = {}

    def check_soon(self, uri: str) -> None:
        """Check the newest text of a document, after all messages that have arrived were read."""
        if uri not in self._checks and not self._connection.client.pulls_diagnostics:
            # In a context of its own: the context of the message keeps the old documents alive.
            self._checks[uri] = Context().run(asyncio.get_running_loop().create_task, self._check(uri))

    def forget(self, uri: str) -> None:
        """Free a document that was closed."""
        self._published.pop(uri, None)
        self._end_pause(uri)

    def show(self, uri: str, found: Sequence[lsp.Diagnostic]) -> None:
        """Show the diagnostics of a file that is not open; none in place of those that are shown."""
        if found or uri in self._shown:
            self._shown = self._shown | {uri} if found else self._shown - {uri}
            self._send(lsp.PublishDiagnosticsParams(uri, found))

    def refresh(self) -> None:
        """Ask a client that pulls diagnostics to pull them again."""
        client = self._connection.client
        if client.pulls_diagnostics and client.refreshes_diagnostics:
            self._connection.in_background(self._refresh())

    def stop(self) -> None:
        """Cancel all checks."""
        for check in self._checks.values():
            check.cancel()
        for uri in tuple(self._pauses):
            self._end_pause(uri)

    def _end_pause(self, uri: str) -> None:
        if uri in self._pauses:
            self._pauses.pop(uri).cancel()

    async def _check(self, uri: str) -> None:
        try:
            await self._connection.ready_to_check()
            while (document := self._connection.documents.get(uri)) is not None:
                check = self._connection.lane.run(
                    partial(_diagnostics_while, document, self._is_newest), is_request=False
                )
                found = await in_time(check, len(document.text))
                if self._is_newest(document):
                    self._end_pause(uri)
                    if found is not None:
                        self._show_in_turn(document, found)
                    self._published[uri] = document
                    return
        finally:
            del self._checks[uri]

    def _is_newest(self, document: OpenDocument) -> bool:
        return self._connection.documents.get(document.uri) is document

    def _show_in_turn(self, document: OpenDocument, found: list[lsp.Diagnostic]) -> None:
        """Show the findings: at once, or after a pause if they are about a word that is being typed."""
        word = document.unfinished
        around = document.places.range(word) if word is not None else None
        now = [one for one in found if around is None or not _touch(one.range, around)]
        self._show(document, now)
        if len(now) < len(found):
            later = asyncio.get_running_loop().call_later(PAUSE, self._show_after_pause, document, found)
            self._pauses[document.uri] = later

    def _show_after_pause(self, document: OpenDocument, found: list[lsp.Diagnostic]) -> None:
        self._pauses.pop(document.uri, None)
        if self._is_newest(document):
            self._show(document, found)

    def _show(self, document: OpenDocument, found: list[lsp.Diagnostic]) -> None:
        uri = document.uri
        if document.kind is not FileKind.OTHER:
            self._shown.add(uri)
        elif uri in self._shown:
            self._shown.discard(uri)
        else:
            return
        self._send(lsp.PublishDiagnosticsParams(uri, found, document.version))

    def _send(self, params: lsp.PublishDiagnosticsParams) -> None:
        self._connection.server.text_document_publish_diagnostics(params)

    async def _refresh(self) -> None:
        try:
            await self._connection.server.workspace_diagnostic_refresh_async(None)
        except JsonRpcException as error:
            _log.warning("the client does not refresh diagnostics: error %s", error.code)


def _touch(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _diagnostics_while(
    document: OpenDocument, is_wanted: Callable[[OpenDocument], bool]
) -> list[lsp.Diagnostic] | None:
    """The diagnostics of a document; None as soon as they are not wanted."""
    from pai_lsp.document import IS_WANTED, CheckAbandoned  # noqa: PLC0415 - loaded when the client is connected

    former = IS_WANTED.set(partial(is_wanted, document))
    try:
        return diagnostics_of(document) if is_wanted(document) else None
    except CheckAbandoned:
        return None
    finally:
        IS_WANTED.reset(former)


async def in_time(check: Awaitable[list[lsp.Diagnostic] | None], length: int) -> list[lsp.Diagnostic] | None:
    """The result of a check of a text with `length` characters; None when it failed or took too long."""
    try:
        return await asyncio.wait_for(check, LONGEST_CHECK)
    except asyncio.TimeoutError:
        _log.warning("a check of %d characters was given up after %d seconds", length, LONGEST_CHECK)
    except Exception:  # noqa: BLE001 - the next text may do better
        _log.exception("a check failed")
    return None


def diagnostics_of(document: OpenDocument) -> list[lsp.Diagnostic]:
    """The diagnostics of a document as LSP values; none for a file that is neither a job nor a configuration."""
    places, client = document.places, document.client
    other_file = partial(file_at, document)
    return [lsp_diagnostic(one, document.uri, places, client, other_file) for one in document.diagnostics]
