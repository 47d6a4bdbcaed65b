"""Starts the language server and serves one client, on standard input and output or on a TCP connection.

Failures of pai-lsp are logged without any text of the user: the text of an exception may quote a job, and a job may
hold secrets. Only the kind of an exception and its places in our code are logged.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import queue
import sys
import threading
import time
import traceback
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from pai_lsp.lsp.protocol import Protocol, handlers
from pai_lsp.lsp.transport import standard_streams
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.version import __version__

if TYPE_CHECKING:
    from types import TracebackType

    from cattrs import Converter

    from pai_lsp.lsp.transport import FileWriter


_log = logging.getLogger(__name__)
# As of `gc.set_threshold`: a tree of thousands of nodes does not justify a search of everything for cycles.
COLLECTION_THRESHOLDS = (200_000, 20, 50)
# How many messages wait to be written to standard error, and how long they are waited for at the end, in seconds.
_MOST_WAITING = 1_000
_PATIENCE = 0.5


@cache
def _converter() -> Converter:
    """One for all servers of a process: it generates code for each type of message on first use."""
    made: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls leaves it untyped
    return made


class Server(LanguageServer):
    """pygls' server with our protocol and all features of the table."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("pai-lsp", __version__, protocol_cls=Protocol, converter_factory=_converter)
        for method, options, handler in handlers(self.protocol.session):
            self.feature(method, options)(handler)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log it; the client has its answer, and the user can do nothing about it."""
        places = getattr(error, "data", None)
        if isinstance(places, dict):  # what we have not logged ourselves comes with the way it came
            _log.error("a message failed: %s\n%s", source.__name__, "".join(places.get("traceback", ())))


def main(tcp: tuple[str, int] | None = None) -> int:
    """Serve one client and return the exit status: 0 after a proper end, 1 without one.

    Args:
        tcp: the host and port to listen at; None for standard input and output.
    """
    log_to_stderr()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    # The loop must not wait long for the thread that analyses: 5 ms, Python's usual turn, is a whole small check.
    sys.setswitchinterval(0.0005)
    try:
        return asyncio.run(_serve_standard_streams() if tcp is None else _serve_connection(*tcp))
    finally:
        logging.shutdown()


async def _serve_standard_streams() -> int:
    reader, writer = standard_streams()
    status = await _serve(reader, writer, ends_with_parent=True)
    if writer.failure is not None:
        raise writer.failure
    return status


async def _serve_connection(host: str, port: int) -> int:
    """Serve the first client that connects; its process may be on another machine."""
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
        asyncio.get_running_loop().create_future()
    )

    def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result((reader, writer))

    try:
        listener = await asyncio.start_server(connect, host, port)
    except OSError as error:
        sys.stderr.write(f"pai-lsp server: cannot listen at {host}:{port}: {error.strerror or error}\n")
        return OWN_FAILURE
    address = listener.sockets[0].getsockname()
    sys.stderr.write(f"pai-lsp server: listening at {address[0]}:{address[1]}\n")
    sys.stderr.flush()
    reader, writer = await connected
    listener.close()
    status = await _serve(reader, writer, ends_with_parent=False)
    writer.close()
    return status


async def _serve(
    reader: asyncio.StreamReader, writer: FileWriter | asyncio.StreamWriter, *, ends_with_parent: bool
) -> int:
    protocol = Server().protocol
    protocol.set_writer(writer)
    return await protocol.serve(reader, ends_with_parent=ends_with_parent)


class QuietFormatter(logging.Formatter):
    """Formats a record with the traceback of its exception and without the exception's text."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; a traceback formatted by another formatter is not used."""
        kept, record.exc_text = record.exc_text, None
        try:
            return super().format(record)
        finally:
            record.exc_text = kept

    def formatException(  # noqa: N802 - the name is the base class'
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        """One line for each frame, the innermost last, and the type of the exception."""
        kind, _, place = ei
        frames = traceback.extract_tb(place)
        return "\n".join([*(f"  {_place(frame)}" for frame in frames), kind.__name__ if kind else ""])


class BackgroundHandler(logging.Handler):
    """Writes records to standard error in a thread of its own, so that a client that does not read it blocks nothing.

    Records that do not fit are dropped.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str] = queue.Queue(_MOST_WAITING)
        threading.Thread(target=self._write, name="pai-lsp log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record."""
        with suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def flush(self) -> None:
        """Wait, but not for long, until everything is written."""
        end = time.monotonic() + _PATIENCE
        while self._lines.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            with suppress(OSError, ValueError):
                # With sys.stderr, the end of the program would wait for a write that nobody reads: they share a lock.
                os.write(sys.stderr.fileno(), f"{line}\n".encode(errors="backslashreplace"))
            self._lines.task_done()


def log_to_stderr() -> None:
    """Let only our own loggers write to standard error, which editors show.

    pygls logs whole messages with the texts in them, on every level.
    """
    handler = BackgroundHandler()
    handler.setFormatter(QuietFormatter("%(levelname)s %(name)s: %(message)s"))
    ours = logging.getLogger("pai_lsp")
    ours.addHandler(handler)
    ours.setLevel(logging.WARNING)
    ours.propagate = False
    for name in ("pygls", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False


def _place(frame: traceback.FrameSummary) -> str:
    name = frame.filename.replace("\\", "/")
    here = name.rfind("/pai_lsp/")
    return f"{name[here + 1 :] if here >= 0 else name.rsplit('/', 1)[-1]}:{frame.lineno} ({frame.name})"
