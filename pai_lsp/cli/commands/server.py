"""`pai-lsp server`: runs the language server."""

from __future__ import annotations

import argparse

_DESCRIPTION = """\
Run the language server. It uses the Language Server Protocol over standard input and output. With --tcp it uses TCP,
for debugging only: everybody who can reach the address can use the server.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp server`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (default)")
    parser.add_argument("--tcp", type=address, metavar="HOST:PORT", help="listen there, such as on 127.0.0.1:2087")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client sends exit."""
    from pai_lsp.lsp import language_server  # noqa: PLC0415 - --help does not wait for pygls

    return language_server.main(arguments.tcp)


def address(text: str) -> tuple[str, int]:
    """A host and a port; `[::1]:2087` for an IPv6 address.

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT with a port up to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)
