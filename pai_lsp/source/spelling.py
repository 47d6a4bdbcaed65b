"""Names: which known one somebody most likely meant, and which one is still free, for messages and for fixes."""

from __future__ import annotations

from functools import lru_cache
from itertools import count, pairwise

from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import TypeAlias, TypeVar

    _T = TypeVar("_T")
    Candidates: TypeAlias = "Iterable[str] | KnownNames"

# Below this share of equal letters a proposal confuses more than it helps; it is difflib's own.
_NEAR = 0.6
_MOST = 3
# Longer names are no typing mistakes of one another that a person would have to be shown.
_LONGEST = 64
# So many names are looked at more closely.
_LIKELY = 40


def nearest(name: str, candidates: Candidates, share: float = _NEAR, *, besides: str | None = None) -> tuple[str, ...]:
    """The few candidates that look most like `name`, best first; upper and lower case count as equal.

    Candidates that differ only in case, `-`, `_`, blanks or a plural `s` exclude all others. `share` is how much
    of the letters must be equal, from 0 to 1: more of it where a wrong guess would accuse somebody. `besides` is a
    candidate that cannot be meant. Whoever asks about many names gives `known_names(candidates)`.
    """
    known = candidates if isinstance(candidates, KnownNames) else known_names(tuple(candidates))
    return known.nearest(name, share, besides)


class KnownNames:
    """Known names, prepared so that the cost of one wrong name hardly depends on how many there are."""

    __slots__ = ("_answers", "_by_bare", "_by_part", "_near_length")

    def __init__(self, names: Iterable[str]) -> None:
        self._answers: dict[tuple[str, float, str | None], tuple[str, ...]] = {}
        self._by_bare: dict[str, list[str]] = {}
        self._by_part: dict[str, list[str]] = {}
        self._near_length = [name for name in dict.fromkeys(names) if len(name) <= _LONGEST]
        for name in dict.fromkeys(names):
            self._by_bare.setdefault(_bare(name), []).append(name)
        if len(self._near_length) > _LIKELY:
            for name in self._near_length:
                for part in _parts(name):
                    self._by_part.setdefault(part, []).append(name)

    def nearest(self, name: str, share: float, besides: str | None) -> tuple[str, ...]:
        """What `nearest` answers, found once."""
        known = self._answers.get((name, share, besides))
        if known is None:
            known = self._answers[name, share, besides] = self._found(name, share, {name, besides})
        return known

    def _found(self, name: str, share: float, excluded: set[str | None]) -> tuple[str, ...]:
        if same := sorted(one for one in self._by_bare.get(_bare(name), ()) if one not in excluded):
            return tuple(same[:_MOST])
        if len(name) > _LONGEST:
            return ()
        possible = (one for one in _possible(name, self._likely(name), share) if one not in excluded)
        scored = sorted((-ratio, one) for one in possible if (ratio := _share(name, one)) >= share)
        return tuple(one for _, one in scored[:_MOST])

    def _likely(self, name: str) -> list[str]:
        """The names that have a part in common with this one, those with the rarest parts first."""
        if not self._by_part:
            return self._near_length
        found: dict[str, None] = {}
        for names in sorted((self._by_part.get(part, []) for part in _parts(name)), key=len):
            found |= dict.fromkeys(names[: _LIKELY - len(found)])
        return list(found)


@lru_cache(maxsize=16)
def known_names(names: tuple[str, ...]) -> KnownNames:
    """The names, prepared once; finding that again takes as long as comparing them all."""
    return KnownNames(names)


def _parts(name: str) -> Iterator[str]:
    """Pairs of letters, both ends, and all letters in order: a name with one mistake has one of them in common."""
    lower = name.lower()
    yield from dict.fromkeys(map("".join, pairwise(lower)))  # in their order, so that each run finds the same
    yield f"{lower[:1]}…{lower[-1:]}"
    yield "".join(sorted(lower))


def _possible(name: str, candidates: Iterable[str], share: float) -> Iterator[str]:
    """The candidates that can have so much in common: enough letters of each are somewhere in the other one."""
    lower = name.lower()
    for candidate in candidates:
        other = candidate.lower()
        least = share * (len(lower) + len(other)) / 2
        if sum(map(other.__contains__, lower)) >= least and sum(map(lower.__contains__, other)) >= least:
            yield candidate


def _share(one: str, other: str) -> float:
    """How much of two names is equal, from 0 to 1."""
    one, other = one.lower(), other.lower()
    total, shortest = len(one) + len(other), min(len(one), len(other))
    start = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    end = next((at for at in range(shortest - start) if one[-1 - at] != other[-1 - at]), shortest - start)
    one, other = one[start : len(one) - end], other[start : len(other) - end]
    return 2 * (start + end + _equal(one, other)) / total if total else 1.0


def _equal(one: str, other: str) -> int:
    """How many letters of two different texts are equal, as difflib compares them."""
    if len(one) < 2 or len(other) < 2:
        return int(bool(one and other) and (one in other or other in one))
    from difflib import SequenceMatcher  # noqa: PLC0415 - only few wrong names pay for it

    return sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())


def plural(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """Names in quotes, as a sentence lists them: `'a'`, `'a' and 'b'`, `'a', 'b' and 'c'`."""
    *first, last = (f"'{name}'" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def did_you_mean(name: str, candidates: Candidates, *, besides: str | None = None) -> str:
    """The end of a message about an unknown name: `; did you mean 'x'?`, or nothing when no candidate is near."""
    near = nearest(name, candidates, besides=besides)
    return f"; did you mean '{near[0]}'?" if near else ""


def free_name(wanted: str, taken: Collection[str], separator: str = "_") -> str:
    """The wanted name, with a number after it where it is taken."""
    return next(free_names(wanted, taken, separator))


def free_names(wanted: str, taken: Collection[str], separator: str = "_") -> Iterator[str]:
    """The wanted name and those with a number after it, without end and without those that are taken."""
    names = (wanted if number == 1 else f"{wanted}{separator}{number}" for number in count(1))
    return (name for name in names if name not in taken)


def _bare(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum()).rstrip("s")


def repeated(items: Iterable[_T], key: Callable[[_T], object]) -> Iterator[tuple[_T, _T]]:
    """The items with a name that an earlier one has, each with the first of them; `key` gives the name."""
    first: dict[object, _T] = {}
    for one in items:
        if (earlier := first.setdefault(key(one), one)) is not one:
            yield one, earlier
