"""Shows progress in clients that support it, and runs slow work in a thread of its own.

The analysis goes on meanwhile, and the program can end before that thread does.
"""

from __future__ import annotations

import asyncio
import itertools
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pygls.lsp.server import LanguageServer


_TITLE = "OpenPAI marketplace"
# How long a client may take to accept a progress display, in seconds; the work does not wait longer.
_PATIENCE = 2.0

_numbers = itertools.count(1)


@asynccontextmanager
async def progress(server: LanguageServer, *, is_shown: bool) -> AsyncIterator[Callable[[str], None]]:
    """Show progress while the body runs; it gets a function, for any thread, that reports the current step."""
    token = f"pai-lsp-{next(_numbers)}"
    if is_shown:
        try:
            await asyncio.wait_for(server.work_done_progress.create_async(token), _PATIENCE)
        except (asyncio.TimeoutError, JsonRpcException):
            is_shown = False
    if not is_shown:
        yield lambda _: None
        return
    loop = asyncio.get_running_loop()

    def say(what: str) -> None:
        report = lsp.WorkDoneProgressReport(message=what)
        try:
            loop.call_soon_threadsafe(server.work_done_progress.report, token, report)
        except RuntimeError:  # the loop has ended meanwhile
            return

    server.work_done_progress.begin(token, lsp.WorkDoneProgressBegin(title=_TITLE))
    try:
        yield say
    finally:
        server.work_done_progress.end(token, lsp.WorkDoneProgressEnd())
