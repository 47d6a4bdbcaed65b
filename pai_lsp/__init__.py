"""pai-lsp: a language server and checker for OpenPAI job files.

`check` and `expand` are for programs; see api.py. They are loaded when they are first used.
"""

from __future__ import annotations

from pai_lsp.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.api import Diagnostic, ExpansionError, check, expand

__all__ = ["Diagnostic", "ExpansionError", "__version__", "check", "expand"]


def __getattr__(name: str) -> Any:
    """A name of the interface, loaded now.

    Raises:
        AttributeError: for any other name.
    """
    if name not in __all__:
        raise AttributeError(f"module 'pai_lsp' has no attribute '{name}'")
    from pai_lsp import api  # noqa: PLC0415 - the command line does not need it

    return getattr(api, name)
