"""Writes docs/platforms.md from the tables in schemas/platforms/, and the names of platforms where others need them.

Those are the schema of the configuration and the settings of the VS Code extension. With `--check`, it only compares.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from made_page import write_or_compare

from pai_lsp.platform.platforms import ALL_NAMES, NAMES, OPENPAI, platform_named

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "platforms.md"
SCHEMA = _ROOT / "schemas" / "configuration.schema.json"
EXTENSION = _ROOT / "vscode-extension" / "package.json"

_HEAD = """\
# Platforms

<!-- Made by scripts/platform_page.py from schemas/platforms/; do not edit. -->

pai-lsp checks a job for OpenPAI unless you name another platform. The first of these that names a platform wins:

1. `--platform NAME` of `pai-lsp check` and `pai-lsp expand`
2. a comment in the job: `# pai-lsp: platform=NAME`
3. `platform: NAME` in `.pai-lsp.yaml`, or without it the platform of its [`cluster`](profiles.md)
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
        versions = ", ".join(f"`{name}`" for name in ALL_NAMES if name.startswith(f"{platform.name}/"))
        parts.append(f"\n## {platform.title}\n\n{platform.description} Versions: {versions}.\n")
        for subject in dict.fromkeys(row["subject"] for row in platform.changes):
            parts.append(f"\n### {subject}\n\n| | {OPENPAI.title} | {platform.title} |\n|---|---|---|\n")
            rows = [row for row in platform.changes if row["subject"] == subject]
            parts += [f"| {row['point']}{_since(row)} | {row['openpai']} | {row['here']} |\n" for row in rows]
            sources = dict.fromkeys(source for row in rows for source in row["source"].split("; "))
            parts.append(f"\nSources: {'; '.join(sources)}.\n")
    return "".join(parts)


def _since(row: Mapping[str, Any]) -> str:
    return f" (since {row['since']})" if "since" in row else ""


def with_names(path: Path, key: str, before: tuple[str, ...] = ()) -> str:
    """The text of a JSON file with the names as the values of `enum` below a key, in the layout that it has."""
    text = path.read_text(encoding="utf-8")
    found = re.search(rf'"{re.escape(key)}": {{[^{{}}]*?"enum": (\[(\s*)[^\]]*\])', text)
    if found is None:
        raise ValueError(f"{path} has no values for '{key}'")
    names = [json.dumps(name) for name in (*before, *ALL_NAMES)]
    indent = found[2]
    listed = f",{indent or ' '}".join(names)
    return f"{text[: found.start(1)]}[{indent}{listed}{indent[:-2]}]{text[found.end(1) :]}"


if __name__ == "__main__":
    made = (
        (PAGE, page()),
        (SCHEMA, with_names(SCHEMA, "platform")),
        (EXTENSION, with_names(EXTENSION, "openpai.platform", ("",))),
    )
    sys.exit(max(write_or_compare(path, text, "platforms") for path, text in made))
