"""Which paths a list of patterns leaves out; the patterns are written as in a .gitignore file.

Source: gitignore(5), "PATTERN FORMAT". A pattern without a slash, or with one only at its end, means a name at any
depth; any other is anchored at the folder of the list. `*` and `?` stay within a name, `**` crosses folders, a slash at
the end means folders only, `!` takes back, the last pattern that matches decides, and what lies in a folder that is
left out is left out with it.

Patterns of untrusted folders are read too, so none may take long. A plain regular expression tries every way to divide
a name among the stars of a pattern (so does pathspec): six stars take minutes. Here what follows a star, up to the next
one, is taken where it is first found, and nowhere else: no later place could make more of the rest match.
"""

# ruff: noqa: PTH118, PTH120, PTH123 - importing pathlib takes a twentieth of the time that checking a file does
from __future__ import annotations

import os
import re
from itertools import count, groupby
from stat import S_ISREG
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The characters of a `.gitignore` that are read.
_MOST_READ = 100_000


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A list of patterns: one expression for all in a row that leave out, or that take back, with which they do."""

    parts: tuple[tuple[bool, re.Pattern[str]], ...]

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path, or a folder that it is in, is left out; it is relative to the list's folder, with `/`."""
        path = path.strip("/") + "/" * is_folder
        ends = (end for end, character in enumerate(path, 1) if character == "/" or end == len(path))
        return bool(self.parts) and any(self.decision(path[:end]) for end in ends)

    def decision(self, path: str) -> bool | None:
        """Whether the last pattern that matches the path leaves it out; None if no pattern matches.

        A folder has a `/` at its end. The folders that it is in are not looked at.
        """
        return next((leaves_out for leaves_out, part in reversed(self.parts) if part.fullmatch(path)), None)


class IgnoredByGit:
    """What the `.gitignore` files of repositories leave out; each is read once.

    Source: gitignore(5), "DESCRIPTION": the file in the nearest folder decides, then those above it up to the root of
    the repository, and then `.git/info/exclude`. Since version 2.32 git follows no link for them.
    """

    def __init__(self, report: Callable[[str], object] = lambda _: None) -> None:
        """`report` gets a message about each file that is not read."""
        self._report = report
        self._of_folder: dict[str, list[tuple[str, Exclusion]] | None] = {}  # None outside of repositories

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder, an absolute path, is left out itself."""
        for folder, patterns in self._lists(os.path.dirname(path)) or ():
            below = path[len(folder) :].replace(os.sep, "/").lstrip("/")
            decided = patterns.decision(below + "/" * is_folder)
            if decided is not None:
                return decided
        return False

    def _lists(self, folder: str) -> list[tuple[str, Exclusion]] | None:
        """The lists that apply to a folder's content with the folders that they are about, the nearest first."""
        if folder not in self._of_folder:
            parent, above = os.path.dirname(folder), None
            if os.path.lexists(os.path.join(folder, ".git")):
                above = [(folder, self._list(os.path.join(folder, ".git", "info", "exclude")))]
            elif parent != folder:
                above = self._lists(parent)
            if above is not None:
                above = [(folder, self._list(os.path.join(folder, ".gitignore"))), *above]
            self._of_folder[folder] = above and [one for one in above if one[1].parts]
        return self._of_folder[folder]

    def _list(self, path: str) -> Exclusion:
        """The patterns of a file; none without it, or if it is a link, a device or anything else but a plain file."""
        lines: list[str] = []
        try:
            if S_ISREG(os.lstat(path).st_mode):
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    lines = [line for line in file.read(_MOST_READ).splitlines() if not line.startswith("#")]
            else:
                self._report(f"'{visible(path)}' is not read, because it is not a plain file")
        except OSError:
            pass
        return exclusion_of(map(_without_blanks, lines))


def _without_blanks(line: str) -> str:
    """A line without the blanks at its end, of which one after a backslash stays."""
    bare = line.rstrip(" ")
    return bare + " " if bare.endswith("\\") and bare != line else bare


def exclusion_of(patterns: Iterable[str]) -> Exclusion:
    """The patterns as expressions; an empty one means nothing."""
    groups = count()

    def kind(pattern: str) -> tuple[bool, str]:
        return not pattern.startswith("!"), "" if "/" in pattern.rstrip("/") else "(?:.*/)?"

    def expression(prefix: str, written: Iterable[str]) -> re.Pattern[str]:
        return re.compile(f"{prefix}(?:{'|'.join(_expression(one, groups) for one in written)})", re.DOTALL)

    written = groupby((one for one in patterns if one.strip("/ !")), kind)
    return Exclusion(tuple((leaves_out, expression(prefix, part)) for (leaves_out, prefix), part in written))


_TOKEN = lazy_pattern(r"(?P<star>\*)|(?P<one>\?)|(?P<set>\[[!^]?\]?(?:\\.|[^\]\\])*\])|\\(?P<escaped>.)|.", re.DOTALL)
_IN_SET = lazy_pattern(r"\\?(?P<first>.)(?:-\\?(?P<last>.))?", re.DOTALL)


def _expression(pattern: str, groups: Iterator[int]) -> str:
    """The expression for a pattern; `groups` gives names for its groups."""
    body = pattern.removeprefix("!").rstrip("/")
    names: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(body.removeprefix("/")):
        if token[0] in {"/", r"\/"}:
            names.append([])
        else:
            names[-1].append(token)
    between = [""]  # the names before, between and after each `**`
    for name in names:
        if [token.lastgroup for token in name] == ["star", "star"]:
            between.append("")
        else:
            between[-1] += _name(name, groups) + "/"
    if not between[-1]:
        between[-1] = "[^/]+/"  # what is inside a folder, and not the folder
    return _in_turn(between, "(?:[^/]+/)", groups) + ("" if pattern.endswith("/") else "?")


def _name(tokens: list[re.Match[str]], groups: Iterator[int]) -> str:
    between = [""]
    for token in tokens:
        if token.lastgroup == "star":
            between.append("")
        elif token.lastgroup == "one":
            between[-1] += "[^/]"
        elif token.lastgroup == "set":
            between[-1] += _set(token[0])
        else:
            between[-1] += re.escape(token["escaped"] or token[0])
    only_stars = between[1:] and not any(between)
    return "[^/]+" if only_stars else _in_turn(between, "[^/]", groups)


def _in_turn(parts: list[str], other: str, groups: Iterator[int]) -> str:
    """The parts, with any number of others between them; each but the first and the last where it is first found."""
    first, *more = parts
    inner = ((next(groups), part) for part in more[:-1] if part)
    found = first + "".join(f"(?=(?P<g{number}>{other}*?{part}))(?P=g{number})" for number, part in inner)
    return f"{found}{other}*{more[-1]}" if more else found


def _set(text: str) -> str:
    """A set such as `[!a-z]`; of a range that is the wrong way round, git takes the first character."""
    negated = text[1] in "!^"
    pairs = ((one["first"], one["last"] or "") for one in _IN_SET.finditer(text[1 + negated : -1]))
    ranges = (f"{re.escape(first)}-{re.escape(max(first, last))}" for first, last in pairs)
    return f"(?!/)[{'^' * negated}{''.join(ranges)}]"
