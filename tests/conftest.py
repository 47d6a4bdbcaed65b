"""What holds for all tests: a profile with smaller budgets (see `budgets`), and less work for Python's collector."""

from __future__ import annotations

import gc

from hypothesis import settings

settings.register_profile("fast", max_examples=20)
gc.set_threshold(200_000, 20, 50)  # as in the language server


def pytest_collection_finish() -> None:
    """Thousands of tests and all modules are there now and stay; looking through them again and again takes time."""
    gc.freeze()
