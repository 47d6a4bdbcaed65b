"""Checks, fixes, draws and expands random jobs, and compares the answers: `make fuzz N=200000`.

    python tests/fuzz/fuzz_jobs.py [--count 20000] [--seed 0] [--jobs 2] [--run]

With --run, the expanded jobs are run with bash and must do what they are meant to do. Each text has its seed. A text
for which something does not hold is printed with it, and the status is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own modules

from generated_jobs import differences
from job_mutations import assert_all_holds, mutated_job

_PIECE = 250  # texts in one piece of work
_REPORTED = 40  # pieces between two reports


def failures(first: int, count: int) -> list[str]:
    """Why something does not hold, for each such text of `count` seeds from `first` on."""
    found: list[str] = []
    for seed in range(first, first + count):
        text = mutated_job(seed)
        try:
            assert_all_holds(text)
        except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
            found.append(f"seed {seed}\n{traceback.format_exc()}\n{text}\n")
    return found


def failed_runs(first: int, count: int) -> list[str]:
    """What expanded jobs do in another way than they are meant, for `count` seeds from `first` on."""
    found: list[str] = []
    for seed in range(first, first + count):
        with TemporaryDirectory() as folder:
            found += (f"{one}\n" for one in differences(seed, Path(folder)))
    return found


def main() -> int:
    """Look at all texts, on all processors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=20_000, help="how many texts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many processes (default: %(default)s)"
    )
    parser.add_argument("--run", action="store_true", help="run expanded jobs")
    arguments = parser.parse_args()
    look = failed_runs if arguments.run else failures
    end = arguments.seed + arguments.count
    starts = range(arguments.seed, end, _PIECE)
    done = failed = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for found in pool.map(look, starts, (min(_PIECE, end - start) for start in starts)):
            failed += len(found)
            done += 1
            progress = f"{done * _PIECE:,} texts\n" if done % _REPORTED == 0 else ""
            sys.stdout.write("".join([*found, progress]))
            sys.stdout.flush()
    sys.stdout.write(f"{arguments.count} texts, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
