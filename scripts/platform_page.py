"""Writes docs/platforms.md from the tables in schemas/platforms/; with `--check`, only compares."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from made_page import write_or_compare

from pai_lsp.platform.platforms import NAMES, OPENPAI, platform_named

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = Path(__file__).parent.parent / "docs" / "platforms.md"

_HEAD = """\
# Platforms

<!-- Made by scripts/platform_page.py from schemas/platforms/; do not edit. -->

pai-lsp checks a job for OpenPAI unless you name another platform. The first of these that names a platform wins:

1. `--platform NAME` of `pai-lsp check` and `pai-lsp expand`
2. a comment in the job: `# pai-lsp: platform=NAME`
3. `platform: NAME` in `.pai-lsp.yaml`, or without it the platform of its [`cluster`](cluster.md)
4. the setting `openpai.platform` of your editor
5. the platform of the cluster of `pai-lsp check --cluster`

`pai-lsp fit` checks for the platform of its cluster.

The names are {names}, with a version where it matters (`ltp/1.3`). The platform is never guessed: if a job has a part
that only another platform reads, [job-for-other-platform](rules/job-for-other-platform.md) reports it and offers to add
the comment.
"""


def page() -> str:
    """The text of the page."""
    parts = [_HEAD.format(names=" and ".join(f"`{name}`" for name in NAMES))]
    for platform in map(platform_named, NAMES):
        if platform is OPENPAI:
            continue
        parts.append(f"\n## {platform.title}\n\n{platform.description}\n")
        for subject in dict.fromkeys(row["subject"] for row in platform.changes):
            parts.append(f"\n### {subject}\n\n| | {OPENPAI.title} | {platform.title} |\n|---|---|---|\n")
            rows = [row for row in platform.changes if row["subject"] == subject]
            parts += [f"| {row['point']}{_since(row)} | {row['openpai']} | {row['here']} |\n" for row in rows]
            sources = dict.fromkeys(source for row in rows for source in row["source"].split("; "))
            parts.append(f"\nSources: {'; '.join(sources)}.\n")
    return "".join(parts)


def _since(row: Mapping[str, Any]) -> str:
    return f" (since {row['since']})" if "since" in row else ""


if __name__ == "__main__":
    sys.exit(write_or_compare(PAGE, page(), "platforms"))
