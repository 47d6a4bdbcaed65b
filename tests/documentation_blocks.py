"""Takes from the documentation what its readers copy, so that tests run the very text.

A block is found by the comment on the line above it: `<!-- test: NAME -->`.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENTATION = Path(__file__).parent.parent / "docs"

_BLOCK = re.compile(r"<!-- test: (?P<name>[\w.-]+) -->\n+```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def marked_blocks(page: str) -> dict[str, str]:
    """The marked blocks of a page of the documentation, such as `ci.md` or `../README.md`, by their names."""
    text = (DOCUMENTATION / page).read_text(encoding="utf-8")
    found = [(match["name"], match["text"]) for match in _BLOCK.finditer(text)]
    blocks = dict(found)
    assert len(blocks) == len(found) == text.count("<!-- test: "), f"{page} has a mark without a block, or one twice"
    return blocks
