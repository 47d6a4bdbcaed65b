from __future__ import annotations

import budgets
import pytest


@pytest.mark.parametrize("is_fast", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_two_pythons_together_try_what_one_does(monkeypatch: pytest.MonkeyPatch, count: int, is_fast: bool) -> None:
    def tried(first: int, share: int, shares: int) -> list[int]:
        monkeypatch.setattr(budgets, "SHARE", share)
        monkeypatch.setattr(budgets, "SHARES", shares)
        return budgets.some(range(count), first)

    monkeypatch.setattr(budgets, "IS_FAST", is_fast)
    for first in range(8):
        halves = [tried(first, share, 2) for share in (1, 2)]
        assert all(halves)
        assert sorted({*halves[0], *halves[1]}) == tried(first, 1, 1)
