"""`make bench`: print the tables; `--write` also puts them into docs/benchmarks.md under today's date."""

from __future__ import annotations

import datetime
import os
import platform
import re
import sys
from pathlib import Path

from benchmarks import catalog, command_line, server

PAGE = Path("docs/benchmarks.md")


def main() -> int:
    """Measure all, print, and write the page when asked to."""
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    parts = [
        f"Measured on {today}, Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}.",
        "## Command line, whole processes (median)",
        "\n".join(command_line.measure()),
        "## Server, over stdio (median / p95, milliseconds)",
        "\n".join(server.measure()),
        "## Marketplace",
        "\n".join(catalog.measure()),
    ]
    report = "\n\n".join(parts) + "\n"
    sys.stdout.write(report)
    if "--write" in sys.argv:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(?s)(<!-- figures -->\n).*(<!-- /figures -->)"
        PAGE.write_text(re.sub(marked, lambda match: f"{match[1]}\n{report}\n{match[2]}", page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
