"""`pai-lsp server`: runs the language server."""

from __future__ import annotations

from pai_lsp.lsp.language_server import main

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Serve one client."""
    return main(arguments.tcp)
