"""In which order the nodes of each column stand, so that few edges cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDS = 8
# Counting crossings, and more than a round or two, is for graphs that somebody looks at as a whole.
_MOST_EDGES = 4_000


def ordered(column_of: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each column from top to bottom.

    Args:
        column_of: the column of each node, from 0.
        edges: pairs of nodes, the first one in a column left of the second.
    """
    order: list[list[int]] = [[] for _ in range(max(column_of, default=-1) + 1)]
    for node, column in enumerate(column_of):
        order[column].append(node)
    before: list[list[int]] = [[] for _ in column_of]
    after: list[list[int]] = [[] for _ in column_of]
    for source, target in edges:
        if source != target:
            after[source].append(target)
            before[target].append(source)
    lonely = [not before[node] and not after[node] for node in range(len(column_of))]
    is_small = len(edges) <= _MOST_EDGES
    best, best_crossings = order, -1
    for number in range(_ROUNDS if is_small else 2):
        forward = number % 2 == 0
        order = _swept(order, before if forward else after, lonely, forward=forward)
        crossings = _crossings(order, after) if is_small else 0
        if best_crossings < 0 or crossings < best_crossings:
            best, best_crossings = order, crossings
    return best


def _swept(
    order: list[list[int]], neighbours: list[list[int]], lonely: list[bool], *, forward: bool
) -> list[list[int]]:
    """Each column in the order of the middle of its nodes' neighbours; nodes without any edge come last."""
    place = {node: float(number) for column in order for number, node in enumerate(column)}
    swept: list[list[int]] = []
    for column in order if forward else reversed(order):
        wanted = {
            node: sum(place[other] for other in neighbours[node]) / len(neighbours[node])
            if neighbours[node]
            else place[node]
            for node in column
        }
        new = sorted(column, key=lambda node: (lonely[node], wanted[node], place[node]))
        place.update((node, float(number)) for number, node in enumerate(new))
        swept.append(new)
    return swept if forward else swept[::-1]


def _crossings(order: list[list[int]], after: list[list[int]]) -> int:
    place = {node: number for column in order for number, node in enumerate(column)}
    count = 0
    for column in order:
        met: list[int] = []
        for node in column:
            targets = sorted(place[target] for target in after[node])
            count += sum(len(met) - bisect_right(met, target) for target in targets)
            for target in targets:
                insort(met, target)
    return count
