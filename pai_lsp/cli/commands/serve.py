"""`pai-lsp server`: runs the language server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.lsp.language_server import main

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Serve one client."""
    return main(arguments.tcp)
