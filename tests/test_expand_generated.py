"""Random jobs do what they are meant to do once they are expanded, in both forms; `make fuzz` tries more of them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pytest reads the annotations

import pytest
from budgets import shared
from generated_jobs import differences


@pytest.mark.parametrize("seed", shared(200))
def test_an_expanded_job_does_what_it_is_meant_to_do(tmp_path: Path, seed: int) -> None:
    assert "\n".join(differences(seed, tmp_path)) == ""
