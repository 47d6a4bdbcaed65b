"""On how many cases a property is tried: on all in `make test`, on a tenth with `--hypothesis-profile fast`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable

Case = TypeVar("Case")

IS_FAST = settings.get_current_profile_name() == "fast"


def budget(count: int) -> int:
    """The number of cases, where `count` is that of the whole tests."""
    return max(count // 10, 3) if IS_FAST else count


def stride(step: int) -> int:
    """The distance between the places of a text that are tried, where `step` is that of the whole tests."""
    return 10 * step + 1 if IS_FAST else step


def some(cases: Iterable[Case], first: int = 0) -> list[Case]:
    """The cases to try: all, or each eighth. Properties over the same cases begin at different ones."""
    return list(cases)[first % 8 :: 8] if IS_FAST else list(cases)
