"""Names: which known one somebody most likely meant, and which one is still free, for messages and for fixes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# Below this share of equal letters a proposal confuses more than it helps; it is difflib's own.
_NEAR = 0.6
_MOST = 3
_COMPARED = 24


def nearest(name: str, candidates: Iterable[str], share: float = _NEAR) -> tuple[str, ...]:
    """The few candidates that look most like `name`, best first; upper and lower case count as equal.

    Candidates that differ only in case, `-`, `_`, blanks or a plural `s` leave no room for others. `share` is how much
    of the letters must be equal, from 0 to 1: more of it where a wrong guess would accuse somebody.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415 - only wrong names pay for it

    others = [candidate for candidate in dict.fromkeys(candidates) if candidate != name]
    bare = _bare(name)
    if same := sorted(candidate for candidate in others if _bare(candidate) == bare):
        return tuple(same[:_MOST])
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(name.lower())
    scored: list[tuple[float, str]] = []
    for candidate in _likeliest(name, others):
        matcher.set_seq1(candidate.lower())
        if matcher.quick_ratio() >= share and (ratio := matcher.ratio()) >= share:
            scored.append((-ratio, candidate))
    return tuple(candidate for _, candidate in sorted(scored)[:_MOST])


def _likeliest(name: str, candidates: list[str]) -> list[str]:
    """The candidates with the most letters, and pairs of letters, in common: comparing all in full takes too long."""
    if len(candidates) <= _COMPARED:
        return candidates
    letters, pairs = _letters(name)

    def score(candidate: str) -> int:
        others, other_pairs = _letters(candidate)
        return abs(len(candidate) - len(name)) - len(letters & others) - 2 * len(pairs & other_pairs)

    return sorted(candidates, key=score)[:_COMPARED]


def _letters(name: str) -> tuple[set[str], set[str]]:
    lower = name.lower()
    return set(lower), set(map("".join, pairwise(lower)))


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean 'x'?`, or nothing when no candidate is near."""
    near = nearest(name, candidates)
    return f"; did you mean '{near[0]}'?" if near else ""


def free_name(wanted: str, taken: Collection[str], separator: str = "_") -> str:
    """The wanted name, with a number behind it where it is taken."""
    names = (wanted if number == 1 else f"{wanted}{separator}{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _bare(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum()).rstrip("s")
