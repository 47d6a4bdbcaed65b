"""Which lines of two texts differ: for diffs, for what a refactoring changed, and for what is new in a listing."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Pairs of lines beyond which they are not compared: it takes their square.
_MOST_PAIRS = 250_000


def changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """The lines that differ, as half-open ranges of numbers from 0: begin and end in `old`, begin and end in `new`.

    Lines that each text has once are matched first, so that a thousand small changes of a long text take linear time.
    Between two of them, more than `_MOST_PAIRS` pairs of lines count as one change.
    """
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    ends = (len(old) - last, len(new) - last)
    at, new_at = first, first
    for kept, new_kept in (*_unique_pairs(old, new, first, ends), ends):
        mine, others = old[at:kept], new[new_at:new_kept]
        if len(mine) * len(others) > _MOST_PAIRS:
            yield at, kept, new_at, new_kept
        elif mine or others:
            for tag, begin, end, new_begin, new_end in SequenceMatcher(None, mine, others, False).get_opcodes():
                if tag != "equal":
                    yield at + begin, at + end, new_at + new_begin, new_at + new_end
        at, new_at = kept + 1, new_kept + 1


def _unique_pairs(old: Sequence[str], new: Sequence[str], first: int, ends: tuple[int, int]) -> list[tuple[int, int]]:
    """The lines that are once in each part, as many as have the same order in both: the longest rising sequence."""
    mine, others = Counter(old[first : ends[0]]), Counter(new[first : ends[1]])
    places = {line: number for number, line in enumerate(new[first : ends[1]], first) if others[line] == 1}
    tops: list[int] = []
    chains: list[tuple[int, int, Any]] = []  # of each length, the last pair of the best chain, and the chain before it
    for number, line in enumerate(old[first : ends[0]], first):
        if mine[line] == 1 and line in places:
            place = bisect_left(tops, places[line])
            chain = (number, places[line], chains[place - 1] if place else None)
            tops[place : place + 1], chains[place : place + 1] = [places[line]], [chain]
    found: list[tuple[int, int]] = []
    chain_left: Any = chains[-1] if chains else None
    while chain_left is not None:
        number, place, chain_left = chain_left
        found.append((number, place))
    return found[::-1]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two lists have in common at their start."""
    return next(
        (number for number, (line, another) in enumerate(zip(one, other, strict=False)) if line != another),
        min(len(one), len(other)),
    )
