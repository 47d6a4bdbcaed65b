"""Which paths a list of patterns leaves out; the patterns are written as in a .gitignore file.

Source: gitignore(5), "PATTERN FORMAT". A pattern without a slash, or with one only at its end, means a name at any
depth; any other is anchored at the folder of the list. `*` and `?` stay within a name, `**` crosses folders, a slash at
the end means folders only, `!` takes back, the last pattern that matches decides, and what lies in a folder that is
left out is left out with it.

Patterns of untrusted folders are read too, so none may take long. One regular expression for a whole pattern tries
every way to divide a name among its stars (so does pathspec): six stars take minutes. Here the time is at most
proportional to the length of the pattern times that of the path.
"""

# ruff: noqa: PTH118, PTH123 - importing pathlib takes a twentieth of the time that checking a file does
from __future__ import annotations

import os
import re
from functools import partial

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

# Whether a character, or a name, is one that matches; None matches any number of them.
Part: TypeAlias = "Callable[[str], object] | None"

# The characters of a `.gitignore` that are read.
_MOST_READ = 1_000_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, taken apart into names."""

    names: tuple[Part, ...]
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
        names = path.strip("/").split("/")
        return any(
            self.decision(names[:length], is_folder=is_folder or length < len(names))
            for length in range(1, len(names) + 1)
        )

    def decision(self, names: Sequence[str], *, is_folder: bool) -> bool | None:
        """Whether the last pattern that matches the names of a path leaves it out; None if no pattern matches.

        The folders that it is in are not looked at.
        """
        for pattern in reversed(self.patterns):
            if (is_folder or not pattern.folders_only) and fits(pattern.names, names):
                return not pattern.takes_back
        return None


class IgnoredByGit:
    """What the `.gitignore` files of a repository leave out; each is read once.

    Source: gitignore(5), "DESCRIPTION": the file in the nearest folder decides, then those above it up to the root of
    the repository, and then `.git/info/exclude`.
    """

    def __init__(self, root: str) -> None:
        """`root` is the absolute path of the repository's folder."""
        self._root = root
        self._of_folder: dict[str, Exclusion] = {}

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder, an absolute path below the root, is left out itself."""
        names = path[len(self._root) :].replace(os.sep, "/").strip("/").split("/")
        for depth in range(len(names) - 1, -1, -1):
            decided = self._file(".gitignore", names[:depth]).decision(names[depth:], is_folder=is_folder)
            if decided is not None:
                return decided
        return bool(self._file("exclude", (".git", "info")).decision(names, is_folder=is_folder))

    def _file(self, name: str, folder: Sequence[str]) -> Exclusion:
        path = os.path.join(self._root, *folder, name)
        if path not in self._of_folder:
            try:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    lines = [line for line in file.read(_MOST_READ).splitlines() if not line.startswith("#")]
            except OSError:
                lines = []
            self._of_folder[path] = exclusion_of(map(_without_blanks, lines))
        return self._of_folder[path]


def _without_blanks(line: str) -> str:
    """A line without the blanks at its end, of which one after a backslash stays."""
    bare = line.rstrip(" ")
    return bare + " " if bare.endswith("\\") and bare != line else bare


def exclusion_of(patterns: Iterable[str]) -> Exclusion:
    """The patterns taken apart; an empty one means nothing."""
    return Exclusion(tuple(_read(pattern) for pattern in patterns if pattern.strip("/ !")))


def fits(pattern: Sequence[Part], items: Sequence[str]) -> bool:
    """Whether the items, names of a path or characters of a name, are those of the pattern.

    Where an item does not fit, only the last None before it takes one more: an earlier one could gain nothing by that.
    """
    at = place = 0
    after_none, tried_from = -1, 0
    while at < len(items):
        if place < len(pattern):
            is_meant = pattern[place]
            if is_meant is None:
                place += 1
                after_none, tried_from = place, at
                continue
            if is_meant(items[at]):
                place += 1
                at += 1
                continue
        if after_none < 0:
            return False
        tried_from += 1
        place, at = after_none, tried_from
    return all(part is None for part in pattern[place:])


def _read(written: str) -> Pattern:
    takes_back = written.startswith("!")
    body = written.removeprefix("!")
    folders_only = body.endswith("/")
    body = body.rstrip("/")
    names: list[Part] = [_name(part) for part in _divided(body.removeprefix("/"))]
    if names[-1] is None:
        names.append(_anything)  # what is inside a folder, and not the folder
    if "/" not in body:
        names.insert(0, None)
    return Pattern(tuple(names), takes_back, folders_only)


_TOKEN = lazy_pattern(r"(?P<star>\*)|(?P<one>\?)|(?P<set>\[[!^]?\]?(?:\\.|[^\]\\])*\])|\\(?P<escaped>.)|.", re.DOTALL)


def _divided(body: str) -> list[list[re.Match[str]]]:
    """The tokens of each name."""
    names: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(body):
        if token[0] in {"/", r"\/"}:
            names.append([])
        else:
            names[-1].append(token)
    return names


def _name(tokens: list[re.Match[str]]) -> Part:
    if [token.lastgroup for token in tokens] == ["star", "star"]:
        return None
    if all(token.lastgroup in {None, "escaped"} for token in tokens):
        return "".join(token["escaped"] or token[0] for token in tokens).__eq__
    characters: list[Part] = []
    for token in tokens:
        if token.lastgroup == "star":
            characters.append(None)
        elif token.lastgroup == "one":
            characters.append(_anything)
        elif token.lastgroup == "set":
            characters += _set(token[0])
        else:
            characters.append((token["escaped"] or token[0]).__eq__)
    return partial(fits, characters)


def _anything(_item: str) -> bool:
    return True


def _set(text: str) -> list[Part]:
    """A set such as `[!a-z]`; an invalid one (`[z-a]`) matches its own characters."""
    negated = text[1] in "!^"
    inner = text[2:-1] if negated else text[1:-1]
    inner = inner.replace("[", r"\[").removeprefix("]")
    if text[2 if negated else 1] == "]":
        inner = r"\]" + inner
    try:
        return [re.compile(f"[{'^' if negated else ''}{inner}]", re.DOTALL).match]
    except re.error:
        return [character.__eq__ for character in text]
