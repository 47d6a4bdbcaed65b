"""Sends diagnostics: the newest text's, with its version, as soon as they are known.

Of one document one check runs at a time. What has changed meanwhile is checked next, and what was found in the old text
is dropped. To a client that asks for diagnostics itself none are sent: it would show them twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.lsp.convert import lsp_diagnostic
from pai_lsp.lsp.open_document import Kind
from pai_lsp.lsp.other_files import file_at
from pai_lsp.lsp.workspace_settings import known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.lsp.session import Session

# A check that takes longer, in seconds, is given up: its text is far beyond what a cluster takes.
LONGEST_CHECK = 30.0
# How long a request waits for the check of a document at most, in seconds, but for the longest part of one.
MOMENT = 0.002

_log = logging.getLogger(__name__)


class Publisher:
    """The checks under way, and the files that the client shows diagnostics of."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._shown: set[str] = set()

    def check_soon(self, uri: str) -> None:
        """Check the newest text of a document once all messages that have arrived are read."""
        if uri not in self._checks and not self._session.client.pulls_diagnostics:
            # In a context of its own: that of the message holds the documents as they were, for as long as any timer.
            self._checks[uri] = Context().run(asyncio.get_running_loop().create_task, self._check(uri))

    def clear(self, uri: str) -> None:
        """A document was closed: nothing is shown of it any more."""
        if uri in self._shown:
            self._shown.discard(uri)
            self._send(lsp.PublishDiagnosticsParams(uri, []))

    def refresh(self) -> None:
        """Tell a client that asks itself to ask again."""
        client = self._session.client
        if client.pulls_diagnostics and client.refreshes_diagnostics:
            self._session.in_background(self._refresh())

    def stop(self) -> None:
        """Begin no check any more."""
        for check in self._checks.values():
            check.cancel()

    async def _check(self, uri: str) -> None:
        try:
            await known(self._session.settings_known)
            await self._session.marketplaces.read()
            while (document := self._session.documents.get(uri)) is not None:
                found = await self._found(document)
                if self._session.documents.get(uri) is document:
                    if found is not None:
                        self._show(document, found)
                    return
        finally:
            del self._checks[uri]

    async def _found(self, document: OpenDocument) -> list[lsp.Diagnostic] | None:
        """What is found in a document; None when that can not be told, or when there is a newer text."""
        try:
            return await asyncio.wait_for(self._check_in_parts(document), LONGEST_CHECK)
        except asyncio.TimeoutError:
            _log.warning("a check of %d characters was given up after %d seconds", len(document.text), LONGEST_CHECK)
        except Exception:  # noqa: BLE001 - the next text may do better
            _log.exception("a check failed")
        return None

    async def _check_in_parts(self, document: OpenDocument) -> list[lsp.Diagnostic] | None:
        """Check a little at a time: requests come in between, and a text that is no longer wanted is left."""
        lane, parts = self._session.lane, document.check_in_parts()
        await lane.run(document.read, is_request=False, gives_way=True)
        while await lane.run(partial(_goes_on, parts), is_request=False):
            if self._session.documents.get(document.uri) is not document:
                return None
        return await lane.run(partial(diagnostics_of, document), is_request=False)

    def _show(self, document: OpenDocument, found: list[lsp.Diagnostic]) -> None:
        uri = document.uri
        if document.kind is not Kind.OTHER:
            self._shown.add(uri)
        elif uri in self._shown:
            self._shown.discard(uri)
        else:
            return
        self._send(lsp.PublishDiagnosticsParams(uri, found, document.version))

    def _send(self, params: lsp.PublishDiagnosticsParams) -> None:
        self._session.server.text_document_publish_diagnostics(params)

    async def _refresh(self) -> None:
        try:
            await self._session.server.workspace_diagnostic_refresh_async(None)
        except JsonRpcException as error:
            _log.warning("the client does not refresh diagnostics: error %s", error.code)


def _goes_on(parts: Iterator[None]) -> bool:
    """Do parts of a check for a moment; whether there are more."""
    end = time.monotonic() + MOMENT
    return any(time.monotonic() > end for _ in parts)


def diagnostics_of(document: OpenDocument) -> list[lsp.Diagnostic]:
    """What is found in a document, in the client's words; nothing in a file that is not ours."""
    places, client = document.places, document.client
    other_file = partial(file_at, document)
    return [lsp_diagnostic(one, document.uri, places, client, other_file) for one in document.diagnostics]
