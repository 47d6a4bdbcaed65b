"""The keys of a runtime plugin's entry under `extras`, and which known key a misspelt one means.

Source: openpai-runtime, src/init.d/initializer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

PLUGIN_KEYS = ("plugin", "parameters", "failurePolicy", "taskroles")

# Other keys may be parameters of the extended protocol; only what is this near is a slip.
_NEAR = 0.85


def misspelt_key(name: str, known: Collection[str]) -> str | None:
    """The one of the known keys that an unknown one surely means."""
    if name in known:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only unknown names pay for it

    lower = {key.lower(): key for key in known}
    near = get_close_matches(name.lower(), lower, 1, _NEAR)
    return lower[near[0]] if near else None
