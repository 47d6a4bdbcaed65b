"""Writes schemas/rules.json: for each rule the version that has it first, and what fixes it offers.

The fixes are those of its documented examples and of the fixtures of the tests. With `--check`, only compares.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from made_page import write_or_compare

from pai_lsp import __version__
from pai_lsp.document import Document
from pai_lsp.rules import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "schemas" / "rules.json"
_EXAMPLE = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)
_MARK = re.compile(r"^\s*#\s*(?:\^+|<-) (?:error|warning|information|hint).*\n", re.MULTILINE)
# From the best to the worst.
_KINDS = ("safe", "suggestion", "none")


def _texts() -> Iterator[str]:
    for rule in all_rules():
        bad = (rule.documentation + "\n").partition("Good:\n")[0]
        yield from (textwrap.dedent(block) for block in _EXAMPLE.findall(bad) if block.strip())
    for folder in ("rules", "fixes"):
        for path in sorted((ROOT / "tests" / folder).glob("**/*.yaml")):
            yield path.read_bytes().decode().split("=====\n")[0]


def table() -> str:
    """The text of the table."""
    known = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    best = {rule.code: "none" for rule in all_rules()}
    for text in _texts():
        bare = _MARK.sub("", text)
        for one in Document(bare, is_catalog=bare.startswith("# a catalog file")).diagnostics:
            kind = "safe" if any(fix.safe for fix in one.fixes) else "suggestion" if one.fixes else "none"
            best[one.code] = min(best.get(one.code, "none"), kind, key=_KINDS.index)
    rows = {
        code: {"since": known.get(code, {}).get("since", __version__), "fix": best[code]}
        for code in sorted(rule.code for rule in all_rules())
    }
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_compare(TABLE, table(), "rules"))
