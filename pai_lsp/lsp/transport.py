"""Reads and writes messages: a header with a length, a blank line, a body (LSP 3.17, "Base Protocol").

All messages that have arrived are read before anything else happens in the event loop: so a cancellation is heard
before the request in front of it is begun, and of several changes only the last text is checked.

Watches the process that started the server: LSP asks a server to end when its client is gone.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


_CHUNK = 1 << 16
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*\r?\n", re.IGNORECASE)


class Writer(Protocol):
    """Where bytes for the client go."""

    def write(self, data: bytes) -> None:
        """Send them all."""

    def close(self) -> None:
        """Send no more."""


class FileWriter:
    """Writes to a file that may be a pipe nobody reads any more: then the end of the input will end us.

    `failure` is the first other reason why something could not be written.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.failure: OSError | None = None

    def write(self, data: bytes) -> None:
        """Send them all."""
        try:
            self._file.write(data)
            self._file.flush()
        except (BrokenPipeError, ValueError):
            return
        except OSError as error:
            self.failure = self.failure or error

    def close(self) -> None:
        """Send no more."""
        try:
            self._file.close()
        except OSError:
            return


async def bodies(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The bodies of all messages up to the end of the input; a header without a length is passed over."""
    length = None
    while True:
        try:
            line = await reader.readline()
            if not line:
                return
            if match := _LENGTH.fullmatch(line):
                length = int(match[1])
            if not line.strip() and length is not None:
                body = await reader.readexactly(length)
                length = None
                yield body
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            return


def standard_streams() -> tuple[asyncio.StreamReader, FileWriter]:
    """The client at standard input and output.

    Standard output then leads to standard error, so that nothing else that is printed can get among the messages.
    """
    source, output = sys.stdin.fileno(), sys.stdout.fileno()
    writer = FileWriter(os.fdopen(os.dup(output), "wb"))
    os.dup2(sys.stderr.fileno(), output)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()

    def pump() -> None:
        # Reads the descriptor itself: a thread that is stopped inside of a buffered reader stops the interpreter's end.
        try:
            while data := os.read(source, _CHUNK):
                loop.call_soon_threadsafe(reader.feed_data, data)
        except OSError:
            data = b""
        except RuntimeError:  # the loop has ended
            return
        try:
            loop.call_soon_threadsafe(reader.feed_eof)
        except RuntimeError:
            return

    threading.Thread(target=pump, name="pai-lsp input", daemon=True).start()
    return reader, writer


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
