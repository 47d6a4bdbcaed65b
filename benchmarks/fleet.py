"""Very many different jobs in one run: the time, and the memory of the largest process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.jobs import job

BIN = Path(sys.executable).parent
COUNTS = (10_000, 100_000)
_A_FOLDER = 1_000


def measure() -> list[str]:
    """The table's lines, in Markdown."""
    lines = [
        "| jobs of 40 lines | time | processor time | a job | largest process |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        made = 0
        for count in COUNTS:
            for number in range(made, count):
                folder = Path(name) / str(number // _A_FOLDER)
                if number % _A_FOLDER == 0:
                    folder.mkdir()
                text = job(40).replace("bench-job", f"job-{number}").replace("train.py", f"train_{number}.py")
                (folder / f"{number}.yaml").write_text(text, encoding="utf-8")
            made = count
            taken, processor, kilobytes = _checked(name)
            lines.append(
                f"| {count:,} | {taken:.0f} s | {processor:.0f} s | {processor / count * 1e3:.2f} ms "
                f"| {kilobytes / 1024:.0f} MB |"
            )
    return lines


def _checked(folder: str) -> tuple[float, float, int]:
    """Seconds, seconds of processor time, and kilobytes of the largest process, of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [str(BIN / "pai-lsp"), "check", "--format", "ndjson", folder]
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
        subprocess.run(command, stdout=nowhere, check=False)
    taken = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, processor, after.ru_maxrss
