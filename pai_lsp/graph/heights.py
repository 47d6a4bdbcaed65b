"""How high each node stands in its column: as near as can be to the middle of its neighbours, in the given order."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BETWEEN_BOXES = 18
_BESIDE_WAY = 12
_ROUNDS = 9  # the last one forward, so that chains are straight


def heights(order: Sequence[Sequence[int]], tall: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[float]:
    """The middle of each node; nodes of one column do not overlap.

    Args:
        order: the nodes of each column from top to bottom.
        tall: how tall each node is; 0 for a place that an edge passes.
        edges: pairs of nodes, the first one in a column left of the second.
    """
    middle = [0.0] * len(tall)
    before: list[list[int]] = [[] for _ in tall]
    after: list[list[int]] = [[] for _ in tall]
    for source, target in edges:
        if source != target:
            after[source].append(target)
            before[target].append(source)
    for column in order:
        for node, place in zip(column, _apart(column, tall, [0.0] * len(column)), strict=True):
            middle[node] = place
    for number in range(_ROUNDS):
        forward = number % 2 == 0
        for column in order if forward else reversed(order):
            wanted = []
            for node in column:
                # On the way back both sides count, so that what was straight stays it.
                near = before[node] if forward else [*after[node], *before[node]]
                wanted.append(sum(middle[other] for other in near) / len(near) if near else middle[node])
            for node, place in zip(column, _apart(column, tall, wanted), strict=True):
                middle[node] = place
    return middle


def _apart(column: Sequence[int], tall: Sequence[int], wanted: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones (by squares) at which the nodes, in this order, keep their distance.

    Without the distances this is isotonic regression; pooling neighbours that collide solves it in one pass.
    """
    offsets = [0.0]
    for upper, lower in pairwise(column):
        between = _BETWEEN_BOXES if tall[upper] and tall[lower] else _BESIDE_WAY
        offsets.append(offsets[-1] + (tall[upper] + tall[lower]) / 2 + between)
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        total, count = want - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            above, size = pools.pop()
            total, count = total + above, count + size
        pools.append((total, count))
    levels = [total / count for total, count in pools for _ in range(count)]
    return [level + offset for level, offset in zip(levels, offsets, strict=False)]
