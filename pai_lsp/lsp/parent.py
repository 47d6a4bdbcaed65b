"""Watches the process that started the server: LSP asks a server to end when its client is gone."""

from __future__ import annotations

import asyncio
import os
import sys

INTERVAL = 5.0


async def parent_end(identifier: int) -> None:
    """Return when there is no process `identifier` any more."""
    while is_alive(identifier):  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(INTERVAL)


if sys.platform == "win32":

    def is_alive(identifier: int) -> bool:
        """Whether the process runs; where that can not be told, it does."""
        import ctypes  # noqa: PLC0415 - only for this

        synchronize, timeout = 0x00100000, 0x00000102
        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(synchronize, 0, identifier)
        if not handle:
            return bool(ctypes.GetLastError() == 5)  # it is there, and is not ours to look at
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == timeout)
        finally:
            kernel.CloseHandle(handle)

else:

    def is_alive(identifier: int) -> bool:
        """Whether the process runs; where that can not be told, it does."""
        try:
            os.kill(identifier, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            return True
        return True
