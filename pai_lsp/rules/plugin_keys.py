"""The keys of a runtime plugin's entry under `extras`, and which known key a misspelt one means.

Source: openpai-runtime, src/init.d/initializer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Collection

PLUGIN_KEYS = ("plugin", "parameters", "failurePolicy", "taskroles")

# Other keys may be parameters of the extended protocol; only what is this near is a slip.
_NEAR = 0.85


def misspelt_key(name: str, known: Collection[str]) -> str | None:
    """The one of the known keys that an unknown one surely means."""
    if name in known:
        return None
    return next(iter(nearest(name, known, _NEAR)), None)
