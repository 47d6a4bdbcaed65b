"""Mutates every kind of file and answer, and runs every command and the language server on it: `make fuzz`.

    python tests/fuzz/fuzz_files.py [--count 20000] [--seed 0] [--jobs 2] [--kind NAME]

Nothing of ours may fail, hang, or start a program. What does is printed with its seed, and the status is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own modules
sys.path.insert(0, str(Path(__file__).parents[2]))

from mutated_files import KINDS, faults

_PIECE = 100  # files in one piece of work
_REPORTED = 25  # pieces between two reports
# Thousands of small files are written.
_MEMORY = Path("/dev/shm")  # noqa: S108 - each piece has a folder of its own


def piece(first: int, count: int, only: str | None) -> tuple[dict[str, int], list[str], float]:
    """The counts, the faults, and the CPU seconds, for `count` seeds from `first` on."""
    before = sum(os.times()[:4])
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        try:
            counts, found = faults(first, count, Path(folder).resolve(), only)
        except BaseException:  # noqa: BLE001 - of the test itself; the other pieces go on
            counts, found = {}, [f"seeds {first} to {first + count - 1}: {traceback.format_exc()}\n"]
    return counts, found, sum(os.times()[:4]) - before


def main() -> int:
    """Look at all files, on all processors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=20_000, help="how many files (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many processes (default: %(default)s)"
    )
    parser.add_argument("--kind", choices=KINDS, help="mutate this kind of file only")
    arguments = parser.parse_args()
    end = arguments.seed + arguments.count
    counts: Counter[str] = Counter()
    failed, seconds = 0, 0.0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        starts = range(arguments.seed, end, _PIECE)
        pieces = [pool.submit(piece, start, min(_PIECE, end - start), arguments.kind) for start in starts]
        for number, one in enumerate(as_completed(pieces), 1):
            part, found, used = one.result()
            counts.update(part)
            failed += len(found)
            seconds += used
            if number % _REPORTED == 0:
                found.append(f"{counts.total():,} files, {failed} faults, {seconds:,.0f} s of CPU time\n")
            sys.stdout.write("".join(found))
            sys.stdout.flush()
    listed = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))
    sys.stdout.write(f"{listed}\n{counts.total():,} files from seed {arguments.seed} on, ")
    sys.stdout.write(f"{failed} faults, {seconds:,.0f} s of CPU time\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
