"""Every kind of file, mutated, through all commands and the server that read it; `make fuzz` tries many more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from budgets import FIRST_SEED, shared
from mutated_files import KINDS, faults

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs that must not start are scripts")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_ours_fails(kind: str, tmp_path: Path) -> None:
    count = len(shared(20))
    assert faults(FIRST_SEED, count, tmp_path, kind) == ({kind: count}, [])
