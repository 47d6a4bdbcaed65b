"""Work that waits for others, in a thread of its own: the analysis goes on meanwhile, and the program can end."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    """The result of `work`; its thread is a daemon, so that nobody waits for it at the end.

    Raises:
        Exception: what `work` raises.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def end(result: Result | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]  # there is one when there is no error
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as raised:  # noqa: BLE001 - it is raised again where the result is awaited
            error = raised
        try:
            loop.call_soon_threadsafe(end, result, error)
        except RuntimeError:  # the loop has ended meanwhile, and nobody waits
            return

    threading.Thread(target=run, name="pai-lsp background", daemon=True).start()
    return await future
