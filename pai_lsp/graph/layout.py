"""Places for the boxes of a graph and ways for its edges, in columns from left to right.

The usual four steps of drawing in layers (Sugiyama): turn edges that close a circle around, give every node a column,
order each column so that few edges cross, then move nodes to where their edges are straight. Numbers in, numbers out,
the same for the same input, and nothing is recursive. Lengths are in pixels.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.graph.columns import columns
from pai_lsp.graph.heights import heights
from pai_lsp.graph.ordering import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

MARGIN = 24
GAP = 64  # between columns
# An edge that passes a column takes a place in it; past so many places, edges pass behind the boxes.
_MOST_WAYPOINTS = 20_000
_LARGEST_PORT_DISTANCE = 9
_LOOP = 20


@dataclass(frozen=True, slots=True)
class Size:
    """What a box needs."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Box:
    """Where a box stands; x and y are its upper left corner."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Way:
    """Where an edge runs: points in pairs; from the second to the third and so on in curves, within pairs straight.

    The first point is on the box that the edge begins at, the last one on the box that it ends at.
    """

    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The boxes in the order of the sizes, the ways in the order of the edges, and the size of the whole."""

    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]
    width: int
    height: int


def layout(sizes: Sequence[Size], edges: Sequence[tuple[int, int]], first: int = 0) -> Layout:
    """Place boxes and edges.

    Args:
        sizes: what each node needs.
        edges: pairs of numbers of nodes; one from a node to itself becomes a small loop.
        first: so many nodes, from the beginning, stand in the first column, and no others.
    """
    placed = columns(len(sizes), edges, first)
    forward = [edge if placed[edge[0]] <= placed[edge[1]] else edge[::-1] for edge in edges]
    column_of = list(placed)
    chains = _chains(forward, column_of)
    steps = [pair for chain in chains for pair in pairwise(chain)]
    order = ordered(column_of, steps)
    tall = [*(size.height for size in sizes), *([0] * (len(column_of) - len(sizes)))]
    middles = heights(order, tall, steps)
    widths = [max((sizes[node].width for node in column if node < len(sizes)), default=0) for column in order]
    lefts = [MARGIN]
    for width in widths:
        lefts.append(lefts[-1] + width + GAP)
    top = min((middle - tall[node] / 2 for node, middle in enumerate(middles)), default=0) - MARGIN
    middles = [middle - top for middle in middles]
    boxes = tuple(
        Box(lefts[column_of[node]], round(middles[node] - size.height / 2), size.width, size.height)
        for node, size in enumerate(sizes)
    )
    ports = _ports(chains, middles, boxes)
    ways = tuple(
        _way(chain, is_turned=edge != turned, boxes=boxes, middles=middles, lefts=lefts, widths=widths,
             column_of=column_of, ports=ports[number])
        for number, (edge, turned, chain) in enumerate(zip(edges, forward, chains, strict=True))
    )  # fmt: skip
    bottom = max((middle + tall[node] / 2 for node, middle in enumerate(middles)), default=MARGIN)
    return Layout(boxes, ways, lefts[-1] - GAP + MARGIN if widths else 2 * MARGIN, round(bottom) + MARGIN)


def _chains(edges: Sequence[tuple[int, int]], column_of: list[int]) -> list[list[int]]:
    """Each edge as the nodes it passes; waypoints get numbers behind those of the nodes, and their columns."""
    needed = sum(max(0, column_of[target] - column_of[source] - 1) for source, target in edges)
    chains: list[list[int]] = []
    for source, target in edges:
        chain = [source]
        if needed <= _MOST_WAYPOINTS:
            for column in range(column_of[source] + 1, column_of[target]):
                chain.append(len(column_of))
                column_of.append(column)
        chains.append([*chain, target])
    return chains


def _ports(chains: list[list[int]], middles: list[float], boxes: tuple[Box, ...]) -> list[tuple[int, int]]:
    """For each edge how far from the middle of its first and its last box it begins and ends."""
    leaving: list[list[tuple[float, int]]] = [[] for _ in boxes]
    arriving: list[list[tuple[float, int]]] = [[] for _ in boxes]
    for number, chain in enumerate(chains):
        leaving[chain[0]].append((middles[chain[1]], number))
        arriving[chain[-1]].append((middles[chain[-2]], number))
    found = [[0, 0] for _ in chains]
    for side, groups in enumerate((leaving, arriving)):
        for box, group in zip(boxes, groups, strict=True):
            distance = min(_LARGEST_PORT_DISTANCE, (box.height - 12) / max(1, len(group) - 1))
            for place, (_, number) in enumerate(sorted(group)):
                found[number][side] = round((place - (len(group) - 1) / 2) * distance)
    return [(leaves, arrives) for leaves, arrives in found]


def _way(
    chain: list[int],
    *,
    is_turned: bool,
    boxes: tuple[Box, ...],
    middles: list[float],
    lefts: list[int],
    widths: list[int],
    column_of: list[int],
    ports: tuple[int, int],
) -> Way:
    start, end = boxes[chain[0]], boxes[chain[-1]]
    if chain[0] == chain[-1]:
        right, top = start.x + start.width, start.y
        return Way(((right - 2 * _LOOP, top), (right - 2 * _LOOP, top), (right - _LOOP, top), (right - _LOOP, top)))
    points = [(start.x + start.width, round(middles[chain[0]]) + ports[0])]
    right = lefts[column_of[chain[0]]] + widths[column_of[chain[0]]]
    points.append((right, points[0][1]))
    for waypoint in chain[1:-1]:
        left = lefts[column_of[waypoint]]
        points += [(left, round(middles[waypoint])), (left + widths[column_of[waypoint]], round(middles[waypoint]))]
    last = round(middles[chain[-1]]) + ports[1]
    points += [(end.x, last), (end.x, last)]
    return Way(tuple(reversed(points) if is_turned else points))
