"""`pai-lsp server`: runs the language server."""

from __future__ import annotations

import gc
import linecache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

# As of `gc.set_threshold`, while modules are loaded. attrs makes each class of the protocol's messages twice, and the
# former ones are garbage, 10 MB of it, whose places others take only if it is looked for early, among what is new.
_COLLECTION_AT_START = (10_000, 1_000, 1_000)


def run(arguments: argparse.Namespace) -> int:
    """Serve one client."""
    gc.set_threshold(*_COLLECTION_AT_START)
    from pai_lsp.lsp.language_server import main  # noqa: PLC0415 - the threshold is for what this loads

    # The text of their methods, which attrs keeps for debuggers: 2 MB.
    linecache.clearcache()
    return main(arguments.tcp)
