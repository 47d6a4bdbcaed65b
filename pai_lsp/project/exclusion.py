"""Which paths a list of patterns leaves out; the patterns are written as in a .gitignore file.

Source: gitignore(5), "PATTERN FORMAT". A pattern without a slash, or with one only at its end, means a name at any
depth; any other is anchored at the folder of the list. `*` and `?` stay within a name, `**` crosses folders, a slash at
the end means folders only, `!` takes back, the last pattern that matches decides, and what lies in a folder that is
left out is left out with it.

Patterns of untrusted folders are read too, so none may take long. One regular expression for a whole pattern tries
every way to divide a name among its stars (so does pathspec): six stars take minutes. Here it is kept how far each
pattern matches a folder, so that a name below it costs the same at any depth.
"""

# ruff: noqa: PTH118, PTH119, PTH120, PTH123 - importing pathlib takes a twentieth of the time that checking a file does
from __future__ import annotations

import os
import re
from functools import lru_cache, partial
from stat import S_ISREG

from pai_lsp.source.frozen import dataclass, lazy
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import visible

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
    """One pattern, taken apart into names.

    name: the name that it means at any depth, if it has no other part and no sign for other characters.
    """

    names: tuple[Part, ...]
    takes_back: bool
    folders_only: bool
    name: str | None = None


@dataclass(frozen=True)
class Exclusion:
    """A list of patterns; without any, nothing is left out."""

    patterns: tuple[Pattern, ...]

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path, or a folder that it is in, is left out; it is relative to the list's folder, with `/`."""
        trail = self.trail
        names = path.strip("/").split("/") if self.patterns else []
        for number, name in enumerate(names, 1):
            trail = trail.below(name)
            if trail.decision(is_folder=is_folder or number < len(names)):
                return True
        return False

    @lazy
    def trail(self) -> Trail:
        """How far the patterns match the list's own folder."""
        others = ((number, one) for number, one in enumerate(self.patterns) if one.name is None)
        return Trail(self, {number: _skipped(one.names, {0}) for number, one in others})

    @lazy
    def by_name(self) -> dict[str, list[int]]:
        """The numbers of the patterns that mean one name at any depth: most lists have hardly any others."""
        found: dict[str, list[int]] = {}
        for number, one in enumerate(self.patterns):
            if one.name is not None:
                found.setdefault(one.name, []).append(number)
        return found


class Trail:
    """How far the patterns of a list match a path: of those that may still match, by number, places in their names.

    named: the numbers of the patterns that mean the path's last name at any depth.
    """

    __slots__ = ("_list", "_named", "_places")

    def __init__(self, exclusion: Exclusion, places: dict[int, set[int]], named: Sequence[int] = ()) -> None:
        self._list, self._places, self._named = exclusion, places, named

    def __bool__(self) -> bool:
        """Whether a pattern may match something below the path."""
        return bool(self._places or self._list.by_name)

    def below(self, name: str) -> Trail:
        """The same for a path with one more name."""
        found: dict[int, set[int]] = {}
        for number, places in self._places.items():
            names = self._list.patterns[number].names
            reached: set[int] = set()
            for place in places:
                if place < len(names):
                    part = names[place]
                    if part is None:
                        reached.add(place)
                    elif part(name):
                        reached.add(place + 1)
            if reached:
                found[number] = places if reached == places else _skipped(names, reached)
        return Trail(self._list, found, self._list.by_name.get(name, ()))

    def decision(self, *, is_folder: bool) -> bool | None:
        """Whether the last pattern that matches the path leaves it out; None if no pattern matches.

        The folders that it is in are not looked at.
        """
        patterns = self._list.patterns
        reached = (number for number, places in self._places.items() if len(patterns[number].names) in places)
        numbers = [one for one in (*reached, *self._named) if is_folder or not patterns[one].folders_only]
        return not patterns[max(numbers)].takes_back if numbers else None


def _skipped(names: Sequence[Part], places: set[int]) -> set[int]:
    """The places with those after each `**`, which may match no name; without those before the last `**`.

    What an earlier `**` could still match, the last one matches too.
    """
    last = -1
    for place in tuple(places):
        while place < len(names) and names[place] is None:
            last = max(last, place)
            place += 1  # noqa: PLW2901 - on to the next name
            places.add(place)
    return {place for place in places if place >= last}


class IgnoredByGit:
    """What the `.gitignore` files of repositories leave out; each is read once.

    Source: gitignore(5), "DESCRIPTION": the file in the nearest folder decides, then those above it up to the root of
    the repository, and then `.git/info/exclude`. Since version 2.32 git follows no link for them.
    """

    def __init__(self, report: Callable[[str], object] = lambda _: None) -> None:
        """`report` gets a message about each file that is not read."""
        self._report = report
        self._of_folder: dict[str, tuple[Trail, ...] | None] = {}  # None outside of repositories

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder, an absolute path, is left out itself."""
        folder, name = os.path.split(path)
        for trail in self._trails(folder):
            decided = trail.below(name).decision(is_folder=is_folder)
            if decided is not None:
                return decided
        return False

    def _trails(self, folder: str) -> tuple[Trail, ...]:
        """Of the lists that apply to a folder's content, the nearest first, how far they match the folder."""
        inner: list[str] = []
        while folder not in self._of_folder:
            if os.path.lexists(os.path.join(folder, ".git")):
                exclude = os.path.join(folder, ".git", "info", "exclude")
                self._of_folder[folder] = (*self._list(os.path.join(folder, ".gitignore")), *self._list(exclude))
            elif (parent := os.path.dirname(folder)) == folder:
                self._of_folder[folder] = None
            else:
                inner.append(folder)
                folder = parent
        found = self._of_folder[folder]
        for one in reversed(inner):
            if found is not None:
                above = (trail.below(os.path.basename(one)) for trail in found)
                found = (*self._list(os.path.join(one, ".gitignore")), *filter(None, above))
            self._of_folder[one] = found
        return found or ()

    def _list(self, path: str) -> tuple[Trail, ...]:
        """The patterns of a file; none without it, or if it is a link, a device or anything else but a plain file."""
        try:
            if not S_ISREG(os.lstat(path).st_mode):
                self._report(f"'{visible(path)}' is not read, because it is not a plain file")
                return ()
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = [line for line in file.read(_MOST_READ).splitlines() if not line.startswith("#")]
        except OSError:
            return ()
        return tuple(filter(None, (exclusion_of(map(_without_blanks, lines)).trail,)))


def _without_blanks(line: str) -> str:
    """A line without the blanks at its end, of which one after a backslash stays."""
    bare = line.rstrip(" ")
    return bare + " " if bare.endswith("\\") and bare != line else bare


def exclusion_of(patterns: Iterable[str]) -> Exclusion:
    """The patterns taken apart; an empty one means nothing."""
    known: dict[str, Part] = {}
    return Exclusion(tuple(_read(pattern, known) for pattern in patterns if pattern.strip("/ !")))


def fits(pattern: Sequence[Part], items: Sequence[str]) -> bool:
    """Whether the items, the characters of a name, are those of the pattern.

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


def _read(written: str, known: dict[str, Part]) -> Pattern:
    takes_back = written.startswith("!")
    body = written.removeprefix("!")
    folders_only = body.endswith("/")
    body = body.rstrip("/")
    names: list[Part] = []
    divided = _divided(body.removeprefix("/"))
    if "/" not in body and (plain := _plain_name(divided[0])) is not None:
        return Pattern((None, plain.__eq__), takes_back, folders_only, plain)
    for tokens in divided:
        name = "".join(token[0] for token in tokens)
        if name not in known:
            known[name] = _name(tokens)
        names.append(known[name])
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
    if (plain := _plain_name(tokens)) is not None:
        return plain.__eq__
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
    # It keeps its last answer: all patterns of a list are asked about the same name.
    return lru_cache(maxsize=1)(partial(fits, characters))


def _plain_name(tokens: list[re.Match[str]]) -> str | None:
    """A name without signs for other characters."""
    if all(token.lastgroup in {None, "escaped"} for token in tokens):
        return "".join(token["escaped"] or token[0] for token in tokens)
    return None


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
