"""Which paths a list of patterns leaves out; the patterns are written as in a .gitignore file.

Source: gitignore(5), "PATTERN FORMAT". A pattern without a slash, or with one only at its end, means a name at any
depth; any other is anchored at the folder of the list. `*` and `?` stay within a name, `**` crosses folders, a slash at
the end means folders only, `!` takes back, the last pattern that matches decides, and what lies in a folder that is
left out is left out with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, compiled."""

    expression: re.Pattern[str]
    takes_back: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A list of patterns; without any, nothing is left out."""

    patterns: tuple[Pattern, ...] = ()

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path, or a folder that it is in, is left out; it is relative to the list's folder, with `/`."""
        if not self.patterns:
            return False
        parts = path.strip("/").split("/")
        return any(
            self._excludes_itself("/".join(parts[:length]), is_folder=is_folder or length < len(parts))
            for length in range(1, len(parts) + 1)
        )

    def _excludes_itself(self, path: str, *, is_folder: bool) -> bool:
        for pattern in reversed(self.patterns):
            if (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(path):
                return not pattern.takes_back
        return False


def exclusion_of(patterns: Iterable[str]) -> Exclusion:
    """The patterns compiled; an empty one means nothing."""
    return Exclusion(tuple(_compiled(pattern) for pattern in patterns if pattern.strip("/ !")))


def _compiled(written: str) -> Pattern:
    takes_back = written.startswith("!")
    body = written.removeprefix("!")
    folders_only = body.endswith("/")
    body = body.rstrip("/")
    is_anchored = "/" in body
    body = body.removeprefix("/")
    expression = _expression(body) if is_anchored else "(?:.*/)?" + _expression(body)
    return Pattern(re.compile(expression, re.DOTALL), takes_back, folders_only)


_TOKEN = re.compile(
    r"(?P<any_folders>(?:^|(?<=/))\*\*/)|(?P<all_inside>(?<=/)\*\*$)|(?P<star>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?(?:\\.|[^\]\\])*\])|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)


def _expression(pattern: str) -> str:
    """The pattern as a regular expression."""
    parts: list[str] = []
    for match in _TOKEN.finditer(pattern):
        kind, text = match.lastgroup, match[0]
        if kind == "any_folders":
            parts.append("(?:.*/)?")
        elif kind == "all_inside":
            parts.append(".+")
        elif kind == "star":
            parts.append("[^/]*")
        elif kind == "one":
            parts.append("[^/]")
        elif kind == "set":
            parts.append(_character_set(text))
        else:
            parts.append(re.escape(match["escaped"] or text))
    return "".join(parts)


def _character_set(text: str) -> str:
    """A set such as `[!a-z]`; one that makes no sense (`[z-a]`) is taken as it stands."""
    negated = text[1] in "!^"
    inner = text[2:-1] if negated else text[1:-1]
    inner = inner.replace("[", r"\[").removeprefix("]")
    if text[2 if negated else 1] == "]":
        inner = r"\]" + inner
    expression = f"(?!/)[{'^' if negated else ''}{inner}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(text)
    return expression
