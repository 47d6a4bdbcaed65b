"""What holds for all tests: a profile with smaller budgets (see `budgets`), and less work around the tests."""

from __future__ import annotations

import gc
import logging
import os
from typing import TYPE_CHECKING, Literal

from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

# A busy machine fails no test: nothing is measured by the clock.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")
settings.register_profile("fast", max_examples=20)
gc.set_threshold(200_000, 20, 50)  # as in the language server
# Certificates that the environment names are read again for each request, 8 ms each, and no test needs one of them;
# and people's Pythons write through buffers, whose locks the end of a program waits for.
for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "PYTHONUNBUFFERED"):
    os.environ.pop(name, None)


class RuleFailed(logging.Handler):
    """A rule that fails is a failure of the test: what it would have found may be missing in nobody's eyes."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


logging.getLogger("pai_lsp.document").addHandler(RuleFailed())


def pytest_collection_finish() -> None:
    """Thousands of tests and all modules are there now and stay; looking through them again and again takes time."""
    gc.freeze()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Literal[True] | None:
    """With several processes: report what is printed, and not each setup and teardown without a fault.

    pytest-xdist writes, sends and reads five messages a test, which takes it longer than most of the tests.
    """
    if not hasattr(item.config, "workerinput"):  # not a process of pytest-xdist
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            if report.passed:
                report.keywords = {}
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
