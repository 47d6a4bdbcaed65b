"""Starts the language server and serves one client, on standard input and output or on a TCP connection."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from pai_lsp import __version__
from pai_lsp.lsp.asking import handlers
from pai_lsp.lsp.log import log_to_stderr
from pai_lsp.lsp.protocol import Protocol
from pai_lsp.lsp.transport import standard_streams
from pai_lsp.source.failures import OWN_FAILURE

if TYPE_CHECKING:
    from cattrs import Converter

    from pai_lsp.lsp.transport import Writer

_log = logging.getLogger(__name__)


@cache
def _converter() -> Converter:
    """One for all servers of a process: it generates code for each type of message on first use."""
    return default_converter()


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
    # What was imported stays; and a tree of thousands of nodes is no reason to search everything for cycles.
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)
    # The loop must not wait long for the thread that analyses: 5 ms, Python's usual turn, is a whole small check.
    sys.setswitchinterval(0.0005)
    return asyncio.run(_serve_standard_streams() if tcp is None else _serve_connection(*tcp))


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


async def _serve(reader: asyncio.StreamReader, writer: Writer, *, ends_with_parent: bool) -> int:
    protocol = Server().protocol
    protocol.set_writer(writer)
    return await protocol.serve(reader, ends_with_parent=ends_with_parent)
