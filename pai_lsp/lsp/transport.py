"""Reads and writes messages: a header with a length, a blank line, a body (LSP 3.17, "Base Protocol").

All messages that have arrived are read before anything else happens in the event loop: so a cancellation is noticed
before the request that it cancels starts, and after several changes only the last text is checked.

Watches the process that started the server: LSP requires a server to end when its client is gone.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import BinaryIO


_CHUNK = 1 << 16
# A length of a gigabyte is not a message: waiting for it would block all others.
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,9})[ \t]*\r?\n", re.IGNORECASE)


class FileWriter:
    """Writes to a file. Errors of a pipe that is closed are ignored: the end of the input then ends the server.

    `failure` is the first other error.
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
        with suppress(OSError):
            self._file.close()


async def bodies(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The bodies of all messages up to the end of the input; a header without a length is skipped."""
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
        except ValueError:  # a header line that is longer than the reader's limit; what was read of it is dropped
            continue
        except (asyncio.IncompleteReadError, ConnectionError):
            return


def standard_streams() -> tuple[asyncio.StreamReader, FileWriter]:
    """Streams to the client on standard input and output.

    Standard output is redirected to standard error, so that nothing else that is printed gets among the messages.
    """
    source, output = sys.stdin.fileno(), sys.stdout.fileno()
    writer = FileWriter(os.fdopen(os.dup(output), "wb"))
    os.dup2(sys.stderr.fileno(), output)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()

    def pump() -> None:
        # Reads the descriptor itself: a thread that is stuck in a buffered reader blocks the interpreter's exit.
        with suppress(RuntimeError):  # the loop has ended
            with suppress(OSError):
                while data := os.read(source, _CHUNK):
                    loop.call_soon_threadsafe(reader.feed_data, data)
            loop.call_soon_threadsafe(reader.feed_eof)

    threading.Thread(target=pump, name="pai-lsp input", daemon=True).start()
    return reader, writer


INTERVAL = 5.0


async def parent_end(identifier: int) -> None:
    """Return when the process `identifier` has ended."""
    while is_alive(identifier):  # noqa: ASYNC110 - no event reports it
        await asyncio.sleep(INTERVAL)


if sys.platform == "win32":

    def is_alive(identifier: int) -> bool:
        """Whether the process runs; also true where that cannot be found out."""
        import ctypes  # noqa: PLC0415 - only for this

        synchronize, timeout = 0x00100000, 0x00000102
        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(synchronize, 0, identifier)
        if not handle:
            return bool(ctypes.GetLastError() == 5)  # it exists, and belongs to another user
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == timeout)
        finally:
            kernel.CloseHandle(handle)

else:

    def is_alive(identifier: int) -> bool:
        """Whether the process runs; also true where that cannot be found out."""
        try:
            os.kill(identifier, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            return True
        return True
