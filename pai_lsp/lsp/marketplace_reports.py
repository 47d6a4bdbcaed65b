"""What the user sees of the marketplaces: their status, progress, and messages, each of them once."""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.catalog.setup import SourceState
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.spelling import plural

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.lsp.connection import Connection


HOW_TO_TRUST = "'pai-lsp trust --help'"
# What the client gets where no definitions come from outside of the jobs.
NO_STATE = "none"
# Our own notification, with what `status_of` gives.
STATUS_METHOD = "pai-lsp/marketplaceStatus"
_TITLE = "OpenPAI marketplace"
# How long a client may take to accept a progress display, in seconds; the work does not wait longer.
_PATIENCE = 2.0

# The answers to the question about trust.
TRUST, DO_NOT_TRUST = "Trust", "Do Not Trust"
# How much of what a configuration wants is shown, in characters.
_MOST_SHOWN = 1_000

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


# When all definitions are known; None: none come from outside of the jobs.
GOOD = (None, SourceState.READY)


def status_of(catalogs: Sequence[Catalog]) -> dict[str, str]:
    """The worst `state`, as an editor shows it, and as `note` those of all catalogs that are in it."""
    worst = max((one.state for one in catalogs), key=[None, *SourceState].index, default=None)
    notes = dict.fromkeys(note for one in catalogs if one.state is worst for note in one.doubts)
    if worst in GOOD:
        count = sum(source.count for one in catalogs for source in one.sources)
        notes = {plural(count, "definition"): None} if count else {}
    return {"state": worst.value if worst else NO_STATE, "note": "; ".join(notes)}


class MarketplaceReports:
    """Sends the reports of one server to its client."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._server = connection.server
        self._status: dict[str, str] | None = None
        self._messages: set[str] = set()
        self._questions: set[tuple[str, str]] = set()

    def status(self, catalogs: Sequence[Catalog]) -> dict[str, str]:
        """Send the state of all marketplaces, if it has changed; returns it."""
        status = status_of(catalogs)
        if status != self._status:
            self._status = status
            self._server.protocol.notify(STATUS_METHOD, status)
        return status

    def untrusted(self, folder: str) -> None:
        """Log that a configuration is not used, where the client refuses all trust and shows that itself."""
        self._once(f"{_whose(folder)} is not used: the workspace is not trusted", lsp.MessageType.Info, is_shown=False)

    async def trust_answer(self, folder: str, wanted: Sequence[str], shown: str) -> bool | None:
        """Ask the user whether a configuration is trusted; at most once for each.

        Args:
            folder: the configuration's; empty for the editor's settings.
            wanted: what would happen.
            shown: identifies the configuration as it is now.

        Returns:
            The answer; None without one.
        """
        if (folder, shown) in self._questions:
            return None
        self._questions.add((folder, shown))
        step = f"run 'pai-lsp trust {folder}' in a terminal" if folder else f"see {HOW_TO_TRUST}"
        question = f"Trust {_whose(folder)}? It would {_listed(wanted)}."
        logged = f"{question} Answer the question, or {step}."
        self._server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, logged))
        actions = [lsp.MessageActionItem(title) for title in (TRUST, DO_NOT_TRUST)]
        asked = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, question, actions)
        try:
            answer = await self._server.window_show_message_request_async(asked)
        except JsonRpcException:  # the client cannot ask
            self._once(f"{_whose(folder)} is not trusted; {step}", lsp.MessageType.Info, is_shown=True)
            return None
        title = getattr(answer, "title", None)
        return title == TRUST if title in {TRUST, DO_NOT_TRUST} else None

    def unsaved_answer(self, reason: str) -> None:
        """Report that an answer about trust cannot be saved, so that nothing is trusted."""
        self._once(f"the answer cannot be saved: {reason}", lsp.MessageType.Error, is_shown=True)

    def failure(self, error: Exception) -> None:
        """Report that a marketplace cannot be read because of a fault of ours."""
        rest = "jobs are checked without it; please report this bug in pai-lsp"
        message = f"the marketplace cannot be read: {kind_and_place(error)}; {rest}"
        if message not in self._messages:
            _log.error("the marketplace cannot be read", exc_info=error)
        self._once(message, lsp.MessageType.Error, is_shown=True)

    def _once(self, message: str, kind: lsp.MessageType, *, is_shown: bool) -> None:
        if message in self._messages:
            return
        self._messages.add(message)
        if is_shown:
            self._server.window_show_message(lsp.ShowMessageParams(kind, message))
        else:
            self._server.window_log_message(lsp.LogMessageParams(kind, message))

    @asynccontextmanager
    async def progress(self) -> AsyncIterator[Callable[[str], None]]:
        """Show progress while the body runs; it gets a function, for any thread, that reports the current step."""
        token = f"pai-lsp-{next(_numbers)}"
        if not self._connection.client.shows_progress or not await self._accepts_progress(token):
            yield lambda _: None
            return
        loop, display = asyncio.get_running_loop(), self._server.work_done_progress

        def report(step: str) -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(display.report, token, lsp.WorkDoneProgressReport(message=step))

        display.begin(token, lsp.WorkDoneProgressBegin(title=_TITLE))
        try:
            yield report
        finally:
            display.end(token, lsp.WorkDoneProgressEnd())

    async def _accepts_progress(self, token: str) -> bool:
        try:
            await asyncio.wait_for(self._server.work_done_progress.create_async(token), _PATIENCE)
        except (asyncio.TimeoutError, JsonRpcException):
            return False
        return True


def _whose(folder: str) -> str:
    return f"the marketplace configuration of '{folder}'" if folder else "the marketplace in the editor's settings"


def _listed(wanted: Sequence[str]) -> str:
    """What a configuration wants, in a sentence; what is too long to be read here is not trusted by accident."""
    text = "; ".join(wanted)
    rest = "… (this is not all; read the configuration before you trust it)" if len(text) > _MOST_SHOWN else ""
    return text[:_MOST_SHOWN] + rest
