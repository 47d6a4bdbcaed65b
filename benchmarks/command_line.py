"""Whole processes of the command line, in turn with those of the peers on the same files."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.jobs import job

if TYPE_CHECKING:
    from collections.abc import Sequence

BIN = Path(sys.executable).parent
ROUNDS = 15


def measure() -> list[str]:
    """The table's lines, in Markdown."""
    lines = [
        "| files | pai-lsp check | yamllint | check-jsonschema | ÷ yamllint | ÷ check-jsonschema |",
        "|---|---|---|---|---|---|",
    ]
    schema = subprocess.run([BIN / "pai-lsp", "schema"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schema.json").write_text(schema, encoding="utf-8")
        for label, count, length, rounds in (
            ("1 of 50 lines", 1, 50, ROUNDS),
            ("1 of 2000 lines", 1, 2000, ROUNDS),
            ("200 of 50 lines", 200, 50, max(3, ROUNDS // 3)),
        ):
            files = []
            for number in range(count):
                file = folder / f"job-{length}-{number}.pai.yaml"
                file.write_text(job(length), encoding="utf-8")
                files.append(str(file))
            ours, yamllint, schemas = _medians(
                rounds,
                [str(BIN / "pai-lsp"), "check", *files],
                [str(BIN / "yamllint"), "-d", "relaxed", *files],
                [str(BIN / "check-jsonschema"), "--schemafile", str(folder / "schema.json"), *files],
            )
            lines.append(
                f"| {label} | {ours * 1e3:.0f} ms | {yamllint * 1e3:.0f} ms | {schemas * 1e3:.0f} ms "
                f"| {ours / yamllint:.2f} | {ours / schemas:.2f} |",
            )
    return lines


def _medians(rounds: int, *commands: Sequence[str]) -> list[float]:
    """The median seconds of each command, run in turn so that a slow moment of the machine meets all."""
    times: list[list[float]] = [[] for _ in commands]
    for turn in range(rounds + 1):
        for command, taken in zip(commands, times, strict=True):
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=False)
            if turn:  # the first round warms the file cache
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]
