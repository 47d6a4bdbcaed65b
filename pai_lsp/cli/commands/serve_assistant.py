"""`pai-lsp mcp`: runs the server for assistants, if its extra is installed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pai_lsp.cli import failed

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Serve one client."""
    if find_spec("mcp") is None:
        return failed("mcp", "the package 'mcp' is missing; install it: pip install 'pai-lsp[mcp]'")
    for folder in arguments.root:
        if not os.path.isdir(folder):
            return failed("mcp", f"--root: '{folder}' is not a folder")
    from pai_lsp.assistant.mcp_server import serve  # noqa: PLC0415 - only with the extra

    return serve(tuple(map(os.path.realpath, arguments.root)), arguments.cluster or "")
