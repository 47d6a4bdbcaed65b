"""`pai-lsp mcp`: runs the server for assistants, if its extra is installed."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pai_lsp.cli import WRONG_USAGE

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Serve one client."""
    if find_spec("mcp") is None:
        return _refused("the package 'mcp' is missing; install it: pip install 'pai-lsp[mcp]'")
    for folder in arguments.root:
        if not os.path.isdir(folder):
            return _refused(f"--root: '{folder}' is not a folder")
    from pai_lsp.assistant.mcp_server import serve  # noqa: PLC0415 - only with the extra

    return serve(tuple(map(os.path.realpath, arguments.root)), arguments.cluster or "")


def _refused(message: str) -> int:
    sys.stderr.write(f"pai-lsp mcp: {message}\n")
    return WRONG_USAGE
