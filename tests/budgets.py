"""On how many cases a property is tried.

On all in `make test` with the newest Python, and on a quarter with each of the others (`--hypothesis-profile
repeated`), another quarter of the files each; on a tenth in `make unit` (`--hypothesis-profile fast`).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TypeVar

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable

Case = TypeVar("Case")

PROFILE = settings.get_current_profile_name()
IS_FAST = PROFILE == "fast"
IS_REPEATED = PROFILE == "repeated"


def budget(count: int) -> int:
    """The number of cases, where `count` is that of the whole tests."""
    share = 10 if IS_FAST else 4 if IS_REPEATED else 1
    return max(count // share, 3) if share > 1 else count


def spread(count: int) -> int:
    """The number of cases with this Python, where each Python tries others (scripts/test_pythons.sh)."""
    count //= int(os.environ.get("TESTED_PYTHONS", "1"))
    return count // 10 if IS_FAST else count


def stride(step: int) -> int:
    """The distance between the places of a text that are tried, where `step` is that of the whole tests."""
    return 10 * step + 1 if IS_FAST else step


def some(cases: Iterable[Case], first: int = 0) -> list[Case]:
    """The cases to try: all, each fourth or each eighth. Properties over the same cases begin at different ones."""
    all_cases = list(cases)
    if IS_REPEATED:
        return all_cases[(first + sys.version_info.minor) % 4 :: 4] or all_cases
    return all_cases[first % 8 :: 8] if IS_FAST else all_cases
