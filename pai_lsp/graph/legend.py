"""What the colours and lines in the picture of a prerequisite graph mean: only those that are in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.graph.prerequisite_graph import EdgeKind, NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.graph.prerequisite_graph import PrerequisiteGraph

_ROW = 22
_SWATCH = 24
_BETWEEN = 22
_CELL = 6.7


@dataclass(frozen=True, slots=True)
class _Sample:
    """A line of the legend: how an edge or a box (of these classes) looks, and what it says."""

    classes: str
    words: str
    is_edge: bool

    @property
    def width(self) -> int:
        return _SWATCH + 8 + round(len(self.words) * _CELL) + _BETWEEN


def drawn_legend(graph: PrerequisiteGraph, left: int, top: int, width: int) -> tuple[str, int]:
    """The legend as SVG elements, and how tall it is; it begins at (left, top) and is as wide as its longest line."""
    x, y = left, top
    drawn: list[str] = []
    for sample in _samples(graph):
        if x > left and x + sample.width > left + width:
            x, y = left, y + _ROW
        drawn.append(_drawn(sample, x, y))
        x += sample.width
    return "\n".join(drawn), y + _ROW + 10 - top


def _samples(graph: PrerequisiteGraph) -> Iterator[_Sample]:
    kinds = {node.kind for node in graph.nodes}
    for kind in NodeKind:
        if kind in kinds:
            yield _Sample(kind.name.lower(), kind.value, is_edge=False)
    edges = {edge.kind for edge in graph.edges}
    if edges & {EdgeKind.LISTS, EdgeKind.REQUIRES}:
        yield _Sample("edge", "lists or requires", is_edge=True)
    if EdgeKind.NAMES in edges:
        yield _Sample("edge names", "names in a field", is_edge=True)
    if any(edge.is_in_cycle for edge in graph.edges):
        yield _Sample("edge cycle", "in a cycle", is_edge=True)


def _drawn(sample: _Sample, x: int, y: int) -> str:
    text = f'<text x="{x + _SWATCH + 8}" y="{y + 11}">{sample.words}</text>'
    if not sample.is_edge:
        box = f'<rect class="box" x="{x}" y="{y}" width="{_SWATCH}" height="14" rx="3"/>'
        return f'<g class="{sample.classes}">{box}{text}</g>'
    arrow = "pai-arrow-red" if "cycle" in sample.classes else "pai-arrow"
    line = f'<path class="{sample.classes}" marker-end="url(#{arrow})" d="M{x} {y + 7}L{x + _SWATCH} {y + 7}"/>'
    return line + text
