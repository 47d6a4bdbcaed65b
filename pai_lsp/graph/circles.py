"""Which nodes of a graph lead back to themselves through which others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def circles(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """For each node, from 0, the number of its circle: two nodes have the same when each leads to the other.

    An edge is on a cycle exactly when both its ends are in one circle. Tarjan's strongly connected components, without
    recursion: chains may be long.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        after[source].append(target)
    circle, met, low = [-1] * count, [-1] * count, [0] * count
    open_nodes: list[int] = []
    clock = circle_count = 0
    for root in range(count):
        if met[root] >= 0:
            continue
        path: list[tuple[int, Iterator[int]]] = [(root, iter(after[root]))]
        met[root] = low[root] = clock
        clock += 1
        open_nodes.append(root)
        while path:
            node, waiting = path[-1]
            target = next(waiting, -1)
            if target < 0:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == met[node]:
                    while circle[node] < 0:
                        circle[open_nodes.pop()] = circle_count
                    circle_count += 1
            elif met[target] < 0:
                met[target] = low[target] = clock
                clock += 1
                open_nodes.append(target)
                path.append((target, iter(after[target])))
            elif circle[target] < 0:
                low[node] = min(low[node], met[target])
    return circle
