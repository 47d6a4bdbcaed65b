"""Writes schemas/rules.json: for each rule the version that has it first, and the titles of the fixes that it offers.

The fixes are those of its documented examples and of the fixtures of the tests. With `--check`, only compares.
"""

# ruff: noqa: E402 - the helpers of the tests are found first
from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from made_page import write_or_compare

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from marks import before, examples, is_catalog, read_marks

from pai_lsp import __version__
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.rules import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = ROOT / "schemas" / "rules.json"
# What differs between jobs: words in quotes, numbers, versions.
_PART = re.compile(r"'[^']*'|-?\d+(?:\.\d+)*|(?<=not kept: )[^)]*")


def _texts() -> Iterator[str]:
    for rule in all_rules():
        yield from examples(rule)[0]
    for folder in ("rules", "fixes"):
        yield from map(before, sorted((ROOT / "tests" / folder).glob("**/*.yaml")))


def table() -> str:
    """The text of the table."""
    known = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    titles: dict[str, dict[str, set[str]]] = {rule.code: {} for rule in all_rules()}
    for text in _texts():
        bare, _ = read_marks(text)
        for one in Document(bare, Settings(previews=True), is_catalog=is_catalog(bare)).diagnostics:
            for fix in one.fixes:
                title = _PART.sub(lambda part: "'…'" if part[0].startswith("'") else "…", fix.title)
                titles[one.code].setdefault("safe" if fix.safe else "suggestion", set()).add(title)
    rows = {
        code: {
            "since": known.get(code, {}).get("since", __version__),
            **{kind: sorted(found) for kind, found in sorted(titles[code].items())},
        }
        for code in sorted(titles)
    }
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_compare(TABLE, table(), "rules"))
