"""On how many cases a property is tried: on all in `make test`, on a tenth with `--hypothesis-profile fast`.

Where the tests run on several Pythons (scripts/test_pythons.sh), two share the cases: each runs all tests, and tries a
property on half of its files, texts and places.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TypeVar

from hypothesis import HealthCheck, seed, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Case = TypeVar("Case")
Test = TypeVar("Test", bound="Callable[..., object]")

# With "2/2", this is the second of two Pythons that share the cases.
SHARE, SHARES = map(int, os.environ.get("TEST_SHARE", "1/1").split("/"))

# The first seed of this Python: each tries texts of its own.
FIRST_SEED = sys.version_info.minor * 100_000

IS_FAST = settings.get_current_profile_name() == "fast"


def budget(count: int) -> int:
    """The number of cases, where `count` is that of the whole tests."""
    return max(count // 10, 3) if IS_FAST else count


def shared(count: int) -> range:
    """The seeds of this Python, where `count` random cases are tried on all of them."""
    return range(FIRST_SEED, FIRST_SEED + budget(max(count // SHARES, 1)))


def generated_cases(count: int) -> Callable[[Test], Test]:
    """For a test with @given: `count` cases on all Pythons together; each draws its own ones, the same each time."""
    health = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    limits = settings(max_examples=len(shared(count)), database=None, suppress_health_check=health)
    return lambda test: seed(FIRST_SEED)(limits(test))


def shared_places(cases: Sequence[Case], step: int) -> Sequence[Case]:
    """The cases of this Python, where each `step`-th is tried."""
    distance = stride(step * SHARES)
    return cases[(SHARE - 1) * (distance // SHARES) :: distance]


def stride(step: int) -> int:
    """The distance between the places of a text that are tried, where `step` is that of the whole tests."""
    return 10 * step + 1 if IS_FAST else step


def some(cases: Iterable[Case], first: int = 0) -> list[Case]:
    """The cases of this Python: all, or each eighth. Properties over the same cases begin at different ones."""
    every, distance = list(cases), 8 if IS_FAST else 1
    chosen = every[first % distance :: distance] or every[:1]
    return chosen[SHARE - 1 :: SHARES] or chosen[:1]
