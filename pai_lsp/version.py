"""The version of this package, and how its requests name it."""

from __future__ import annotations

__version__ = "0.1.0"
USER_AGENT = f"pai-lsp/{__version__}"
