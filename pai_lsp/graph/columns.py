"""Which column each node of a graph stands in: every edge leads to the right, but for one that closes a circle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def columns(count: int, edges: Sequence[tuple[int, int]], first: int = 0) -> list[int]:
    """The column of each node, from 0; the first so many nodes, and no others, stand in the first column.

    A node stands right of all that lead to it, in the nearest column; one that nothing leads to stands close to what it
    leads to itself.
    """
    finished, backward = _depth_first(count, edges)
    after: list[list[int]] = [[] for _ in range(count)]
    has_before = [False] * count
    for number, (source, target) in enumerate(edges):
        if number not in backward and source != target:
            after[source].append(target)
            has_before[target] = True
    column = [0 if node < first else min(first, 1) for node in range(count)]
    for node in reversed(finished):
        for target in after[node]:
            column[target] = max(column[target], column[node] + 1)
    for node in range(first, count):
        if not has_before[node] and after[node]:
            column[node] = max(column[node], min(column[target] for target in after[node]) - 1)
    return column


def _depth_first(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[int], set[int]]:
    """The nodes in the order in which all that they lead to is done, and the numbers of the edges that lead back."""
    after: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (source, target) in enumerate(edges):
        after[source].append((number, target))
    is_open, is_met = [False] * count, [False] * count
    finished: list[int] = []
    backward: set[int] = set()
    for root in range(count):
        if is_met[root]:
            continue
        path: list[tuple[int, Iterator[tuple[int, int]]]] = [(root, iter(after[root]))]
        is_met[root] = is_open[root] = True
        while path:
            node, waiting = path[-1]
            number, target = next(waiting, (-1, -1))
            if target < 0:
                path.pop()
                is_open[node] = False
                finished.append(node)
            elif is_open[target]:
                backward.add(number)
            elif not is_met[target]:
                is_met[target] = is_open[target] = True
                path.append((target, iter(after[target])))
    return finished, backward
