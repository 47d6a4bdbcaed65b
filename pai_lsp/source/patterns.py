"""Regular expressions that are compiled when they are first used.

Compiling all expressions of this package takes as long as checking three jobs, and a valid file needs few of them.
"""

from __future__ import annotations

import re

from pai_lsp.source.type_checking import TYPE_CHECKING

__all__ = ["lazy_pattern"]


class _LazyPattern:
    """An expression with the attributes of `re.Pattern`; each is looked up once."""

    def __init__(self, expression: str, flags: int = 0) -> None:
        self._expression, self._flags = expression, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._expression, self._flags), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    from typing import Any

    lazy_pattern = re.compile
else:
    lazy_pattern = _LazyPattern
