"""A prerequisite graph as an SVG picture that needs nothing else: no script, no font or file from anywhere.

It follows the reader's choice of light or dark by `prefers-color-scheme`; the same graph is always the same text.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pai_lsp.graph.layout import MARGIN, Size, layout
from pai_lsp.graph.legend import drawn_legend
from pai_lsp.graph.names import edge_sentence, fitted, node_lines
from pai_lsp.graph.prerequisite_graph import EdgeKind, NodeKind
from pai_lsp.text import cells_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.graph.layout import Box, Way
    from pai_lsp.graph.prerequisite_graph import GraphEdge, GraphNode, PrerequisiteGraph

# More is no picture for anybody, and would keep an editor busy.
_MOST_NODES = 5_000
_MOST_EDGES = 10_000

_PADDING = 12
_NAME_CELL, _LINE_CELL = 7.9, 6.7  # pixels of a character in the two sizes of the font
_LONGEST_NAME, _LONGEST_LINE = 48, 56
_LEAST_WIDTH = 420

_STYLE = """\
.page{fill:#fff}text{font:11px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#59636e}
text.name{font-size:13px;font-weight:600;fill:#1f2328}
rect.box{fill:#f6f8fa;stroke:#8c959f}.role rect.box{fill:#ddf4ff;stroke:#0969da}
.extras rect.box{fill:#fff8c5;stroke:#9a6700}.outside rect.box{fill:#fbefff;stroke:#8250df}
.missing rect.box{fill:#ffebe9;stroke:#cf222e;stroke-dasharray:5 4}.missing text{fill:#a40e26}
.unknown rect.box{fill:none;stroke-dasharray:5 4}.cycle rect.box{stroke:#cf222e;stroke-width:2}
path.edge{fill:none;stroke:#8c959f;stroke-width:1.3}path.names{stroke-dasharray:2 3}
path.missing{stroke:#cf222e;stroke-dasharray:5 4}path.cycle{stroke:#cf222e;stroke-width:2.2}
marker path{fill:#6e7781}marker.red path{fill:#cf222e}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#9198a1}text.name{fill:#e6edf3}
rect.box{fill:#161b22;stroke:#6e7681}.role rect.box{fill:#10233d;stroke:#4493f8}
.extras rect.box{fill:#272115;stroke:#d29922}.outside rect.box{fill:#211a33;stroke:#ab7df8}
.missing rect.box{fill:#2b1417;stroke:#f85149}.missing text{fill:#ff8182}.cycle rect.box{stroke:#f85149}
path.edge{stroke:#6e7681}path.missing,path.cycle{stroke:#f85149}marker path{fill:#848d97}marker.red path{fill:#f85149}}
"""


def svg(graph: PrerequisiteGraph) -> str:
    """The picture: an `<svg>` element with a line end at its end."""
    if not graph.nodes:
        return _notice("no task roles and no prerequisites")
    if len(graph.nodes) > _MOST_NODES or len(graph.edges) > _MOST_EDGES:
        return _notice(f"{len(graph.nodes):,} nodes and {len(graph.edges):,} references are too many to draw")
    lines = [_fitted_lines(node) for node in graph.nodes]
    roles = sum(node.kind is NodeKind.ROLE for node in graph.nodes)
    placed = layout([_size(one) for one in lines], [(edge.source, edge.target) for edge in graph.edges], roles)
    width = max(placed.width, _LEAST_WIDTH)
    legend, legend_height = drawn_legend(graph, MARGIN, placed.height, width - 2 * MARGIN)
    body = (
        *(_edge(graph, edge, way) for edge, way in zip(graph.edges, placed.ways, strict=True)),
        *(_node(node, one, box) for node, one, box in zip(graph.nodes, lines, placed.boxes, strict=True)),
        legend,
    )
    return _page(width, placed.height + legend_height, "\n".join(body))


def _page(width: int, height: int, body: str) -> str:
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>prerequisite graph</title>
<style>
{_STYLE}</style>
<defs>
<marker id="pai-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" \
markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5L8 4L0 7.5z"/></marker>
<marker id="pai-arrow-red" class="red" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" \
markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5L8 4L0 7.5z"/></marker>
</defs>
<rect class="page" width="{width}" height="{height}"/>
{body}
</svg>
"""


def _notice(sentence: str) -> str:
    width = round(cells_of(sentence) * _LINE_CELL) + 2 * MARGIN
    return _page(width, 3 * MARGIN, f'<text x="{MARGIN}" y="{2 * MARGIN - 8}">{escape(sentence)}</text>')


def _fitted_lines(node: GraphNode) -> tuple[str, ...]:
    name, *more = node_lines(node)
    # Of a path, the end says most.
    return (fitted(name, _LONGEST_NAME), *(fitted(line, _LONGEST_LINE, keeps_end="/" in line) for line in more))


def _size(lines: tuple[str, ...]) -> Size:
    name, *more = lines
    widest = max(cells_of(name) * _NAME_CELL, *(cells_of(line) * _LINE_CELL for line in more), 40)
    return Size(round(widest) + 2 * _PADDING, 30 + 15 * len(more))


def _node(node: GraphNode, lines: tuple[str, ...], box: Box) -> str:
    classes = node.kind.name.lower() + (" cycle" if node.is_in_cycle else "")
    told = "\n".join((*node_lines(node), *(("in a cycle",) if node.is_in_cycle else ())))
    corner = 14 if node.kind is NodeKind.ROLE else 5
    name, *more = lines
    texts = [f'<text class="name" x="{box.x + _PADDING}" y="{box.y + 20}">{escape(name)}</text>'] + [
        f'<text x="{box.x + _PADDING}" y="{box.y + 35 + 15 * number}">{escape(line)}</text>'
        for number, line in enumerate(more)
    ]
    return (
        f'<g class="{classes}"><title>{escape(told)}</title>'
        f'<rect class="box" x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="{corner}"/>'
        f"{''.join(texts)}</g>"
    )


def _edge(graph: PrerequisiteGraph, edge: GraphEdge, way: Way) -> str:
    classes = ["edge"]
    if edge.kind is EdgeKind.NAMES:
        classes.append("names")
    if graph.nodes[edge.target].kind is NodeKind.MISSING:
        classes.append("missing")
    if edge.is_in_cycle:
        classes.append("cycle")
    arrow = "pai-arrow-red" if edge.is_in_cycle or "missing" in classes else "pai-arrow"
    path = "".join(_path(way, is_loop=edge.source == edge.target))
    return (
        f'<path class="{" ".join(classes)}" marker-end="url(#{arrow})" d="{path}">'
        f"<title>{escape(edge_sentence(graph, edge))}</title></path>"
    )


def _path(way: Way, *, is_loop: bool) -> Iterator[str]:
    """The way in SVG's words: straight within a pair of points, in a curve from one pair to the next."""
    points = way.points
    yield f"M{points[0][0]} {points[0][1]}"
    for number, (x, y) in enumerate(points[1:], 1):
        before_x, before_y = points[number - 1]
        if number % 2:
            if (x, y) != (before_x, before_y):
                yield f"L{x} {y}"
        elif is_loop:
            yield f"C{before_x} {before_y - 17} {x} {y - 17} {x} {y}"
        else:
            middle = (before_x + x) // 2
            yield f"C{middle} {before_y} {middle} {y} {x} {y}"
