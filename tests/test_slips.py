"""Single slips over valid jobs: one error each, and the first one is at the cause; `make fuzz` tries many more."""

from __future__ import annotations

from pathlib import Path

import pytest
from budgets import some
from job_mutations import RELEASED
from slips import Count, counted, errors_of, slip
from test_odd_lines import JOB

EXAMPLES = Path(__file__).parent.parent / "examples"
BASES = (JOB, RELEASED, (EXAMPLES / "good.pai.yaml").read_text(encoding="utf-8"))


def test_the_bases_are_valid_and_a_seed_gives_the_same_slip() -> None:
    assert not any(errors_of(base) for base in BASES)
    assert [slip(seed, BASES) for seed in range(30)] == [slip(seed, BASES) for seed in range(30)]


@pytest.mark.parametrize("first", [0, 100])
def test_a_slip_has_one_error_at_its_cause(first: int) -> None:
    found = Count.of(counted(range(first, first + 100), BASES))
    assert found.alone >= 0.93 * found.reported
    assert found.caused >= 0.92 * found.reported


@pytest.mark.slow
def test_many_slips() -> None:
    found = Count.of(counted(some(range(1_000, 4_000)), BASES))
    assert found.alone >= 0.96 * found.reported
    assert found.caused >= 0.93 * found.reported
