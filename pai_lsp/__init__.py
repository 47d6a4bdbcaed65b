"""pai-lsp: a language server and checker for OpenPAI job files.

`check`, `fix` and `expand` are for programs; see api.py. They are loaded when they are first used.
"""

from __future__ import annotations

from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.version import __version__

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.api import Diagnostic, ExpansionError, Related, check, expand, fix

__all__ = ["Diagnostic", "ExpansionError", "Related", "__version__", "check", "expand", "fix"]


def __getattr__(name: str) -> Any:
    """A name of the interface, loaded now.

    Raises:
        AttributeError: for any other name.
    """
    if name not in __all__:
        raise AttributeError(f"module 'pai_lsp' has no attribute '{name}'")
    from pai_lsp import api  # noqa: PLC0415 - the command line does not need it

    return getattr(api, name)


def __dir__() -> list[str]:
    """The names of the interface, loaded or not, for completion in a shell or notebook."""
    return [*__all__, "__doc__", "__name__", "__file__", "__path__"]
