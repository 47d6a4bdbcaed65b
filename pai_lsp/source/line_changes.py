"""Which lines of two texts differ: for diffs, for what a refactoring changed, and for what is new in a listing."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Pairs of lines beyond which they are not compared: it takes their square in the worst case. No job has so many.
_MOST_PAIRS = 25_000_000


def changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """The lines that differ, as half-open ranges of numbers from 0: begin and end in `old`, begin and end in `new`.

    In texts of more than `_MOST_PAIRS` pairs of lines, all from the first to the last one that differs is one change.
    """
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    mine, others = old[first : len(old) - last], new[first : len(new) - last]
    if len(mine) * len(others) > _MOST_PAIRS:
        yield first, first + len(mine), first, first + len(others)
        return
    for tag, *ends in SequenceMatcher(None, mine, others).get_opcodes():
        if tag != "equal":
            begin, end, new_begin, new_end = (first + one for one in ends)
            yield begin, end, new_begin, new_end


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two lists have in common at their start."""
    return next(
        (number for number, (line, another) in enumerate(zip(one, other, strict=False)) if line != another),
        min(len(one), len(other)),
    )
