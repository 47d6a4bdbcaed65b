"""`make bench`: print the tables; `--write` also puts them into docs/benchmarks.md under today's date.

Named parts (`python -m benchmarks expansion --write`) are measured alone, and the others on the page stay.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import sys
from pathlib import Path

from benchmarks import catalog, command_line, expansion, fleet, server

PAGE = Path("docs/benchmarks.md")
PARTS = {
    "command-line": ("Command line, whole processes (median)", command_line.measure),
    "fleet": ("Many jobs in one run", fleet.measure),
    "server": ("Server, over stdio (median / p95, milliseconds)", server.measure),
    "marketplace": ("Marketplace", catalog.measure),
    "expansion": ("Expansion, processor time without the start of the process", expansion.measure),
}


def main() -> int:
    """Measure, print, and write the page when asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], help=", ".join(PARTS))
    parser.add_argument("--write", action="store_true", help=f"write the figures to {PAGE} too")
    arguments = parser.parse_args()
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    measured = f"Measured on {today}, Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}."
    for name in arguments.parts or PARTS:
        title, measure = PARTS[name]
        part = "\n\n".join([f"## {title}", measured, "\n".join(measure())]) + "\n"
        sys.stdout.write(f"{part}\n")
        if arguments.write:
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(_with_part(page, title, part), encoding="utf-8")
    return 0


def _with_part(page: str, title: str, part: str) -> str:
    """The page with a part in place of the one under the same title."""
    former = re.compile(rf"## {re.escape(title)}\n.*?(?=\n## |\n<!-- /figures -->)", re.DOTALL)
    return former.sub(lambda _: part, page)


if __name__ == "__main__":
    sys.exit(main())
