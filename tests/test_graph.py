"""The prerequisite graph: what is in it, and that no file can break the ways it is written."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Tree

import pytest
from expansion import MemoryLookup
from hypothesis import given, settings
from hypothesis import strategies as st

from pai_lsp.graph.circles import circles
from pai_lsp.graph.dot import dot
from pai_lsp.graph.layout import Size, layout
from pai_lsp.graph.mermaid import mermaid
from pai_lsp.graph.names import readable
from pai_lsp.graph.prerequisite_graph import NodeKind, PrerequisiteGraph, prerequisite_graph
from pai_lsp.graph.svg import svg
from pai_lsp.job import Job
from pai_lsp.syntax import parse

if TYPE_CHECKING:
    from pai_lsp.lookup import Lookup

MARKETPLACE = """\
- {name: digits, type: data, plugin: cmd, require: ["marketplace://name/wget", nowhere]}
- {name: wget, type: script, plugin: cmd}
- {name: round, type: script, require: [about]}
- {name: about, type: script, require: [round]}
"""

JOB = """\
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
  - {type: data, name: set, callbacks: [], require: [tools, lost]}
  - {type: script, name: tools, plugin: com.microsoft.pai.runtimeplugin.ssh}
  - {type: script, name: unused}
extras:
  reference_prerequisites:
    - {name: digits, require: [{name: "marketplace://name/digits"}]}
taskRoles:
  worker:
    dockerImage: image
    data: gone
    prerequisites: [set, digits, "marketplace://name/absent"]
  server: {dockerImage: image, prerequisites: [tools, tools]}
"""


def graph_of(text: str, lookup: Lookup | None = None, *, is_catalogue: bool = False) -> PrerequisiteGraph:
    job = Job(parse(text), is_catalogue=is_catalogue)
    return prerequisite_graph(Job(job.syntax, job.settings, lookup, is_catalogue) if lookup else job)


def told(graph: PrerequisiteGraph) -> list[str]:
    """The edges in a form that is easy to read; a `!` marks those in a cycle."""
    names = [f"{node.name} ({node.kind.name.lower()})" for node in graph.nodes]
    return [
        f"{names[edge.source]} {edge.field or edge.kind.value}{'!' * edge.is_in_cycle} {names[edge.target]}"
        for edge in graph.edges
    ]


def test_everything_that_references_lead_to_is_in_the_graph() -> None:
    graph = graph_of(JOB, MemoryLookup(MARKETPLACE))
    assert [node.identifier for node in graph.nodes] == [f"n{number}" for number in range(len(graph.nodes))]
    assert [(node.kind, node.name, node.detail, node.place) for node in graph.nodes] == [
        (NodeKind.ROLE, "worker", "", ""),
        (NodeKind.ROLE, "server", "", ""),
        (NodeKind.OWN, "image", "dockerimage", ""),
        (NodeKind.OWN, "set", "data · cmd", ""),
        (NodeKind.OWN, "tools", "script · ssh", ""),
        (NodeKind.OWN, "unused", "script", ""),
        (NodeKind.EXTRAS, "digits", "", ""),
        (NodeKind.OUTSIDE, "digits", "data · cmd", "marketplace/all.yaml"),
        (NodeKind.OUTSIDE, "wget", "script · cmd", "marketplace/all.yaml"),
        (NodeKind.MISSING, "gone", "data", ""),
        (NodeKind.MISSING, "marketplace://name/absent", "", ""),
        (NodeKind.MISSING, "lost", "", ""),
        (NodeKind.MISSING, "nowhere", "", ""),
    ]
    assert told(graph) == [
        "worker (role) dockerImage image (own)",
        "worker (role) data gone (missing)",
        "worker (role) lists set (own)",
        "worker (role) lists digits (extras)",
        "worker (role) lists marketplace://name/absent (missing)",
        "server (role) dockerImage image (own)",
        "server (role) lists tools (own)",
        "set (own) requires tools (own)",
        "set (own) requires lost (missing)",
        "digits (extras) requires digits (outside)",
        "digits (outside) requires wget (outside)",
        "digits (outside) requires nowhere (missing)",
    ]


def test_what_could_not_be_asked_is_not_called_missing() -> None:
    graph = graph_of('taskRoles: {worker: {prerequisites: ["marketplace://name/x"]}}')
    assert graph.nodes[1].kind is NodeKind.UNKNOWN
    assert graph.nodes[1].place == "no marketplace is configured"


def test_exactly_the_edges_on_a_cycle_are_marked() -> None:
    text = """\
prerequisites:
  - {name: a, require: [b, d]}
  - {name: b, require: [c]}
  - {name: c, require: [a, b, d]}
  - {name: d, require: [e]}
  - {name: e}
  - {name: me, require: [me, d]}
  - {name: "out", require: ["marketplace://name/round"]}
taskRoles: {worker: {prerequisites: [a, me, "out"]}}
"""
    graph = graph_of(text, MemoryLookup(MARKETPLACE))
    assert [line for line in told(graph) if "!" in line] == [
        "a (own) requires! b (own)",
        "b (own) requires! c (own)",
        "c (own) requires! a (own)",
        "c (own) requires! b (own)",
        "me (own) requires! me (own)",
        "round (outside) requires! about (outside)",
        "about (outside) requires! round (outside)",
    ]
    assert [node.name for node in graph.nodes if node.is_in_cycle] == ["a", "b", "c", "me", "round", "about"]
    assert svg(graph).count('class="edge cycle"') == 7 + 1  # the legend has one as well
    assert "linkStyle 3,5,6,7,10,13,14 stroke:#cf222e" in mermaid(graph)
    assert dot(graph).count(' [color="#cf222e" penwidth=2]') == 7


def test_a_file_of_definitions_has_a_graph_too() -> None:
    graph = graph_of(MARKETPLACE, MemoryLookup(MARKETPLACE), is_catalogue=True)
    assert [node.name for node in graph.nodes if node.kind is NodeKind.OWN] == ["digits", "wget", "round", "about"]
    assert "round (own) requires! about (own)" in told(graph)


@pytest.mark.parametrize("text", ["", "just text", "[]", "taskRoles: []", "{", "prerequisites: {a: 1}\ntaskRoles: 3"])
def test_a_file_without_a_job_has_an_empty_graph(text: str) -> None:
    graph = graph_of(text)
    assert graph.nodes == ()
    assert elements(svg(graph))
    assert mermaid(graph) == "flowchart LR\n"


HOSTILE = [
    '"><script>alert(1)</script>',
    "</title></svg><svg onload=x>",
    "]]> <!-- & &amp; &lt;",
    'it\'s "quoted" \\ \\N \\" `code`',
    "%%{init: {}}%% ; end --> n1 #35; #quot; $x^2$",
    "\x00\x07\x1b[31m\x7f\x9b",
    "a\nb\r\nc\td\u2028e",
    "\u202eback\u2066wards\u200b",
    "\ufffe \U000e0001",
    "数据集 😀 e\u0301",
    "x" * 5_000,
]


def hostile_job() -> str:
    names = [escaped(name) for name in HOSTILE]
    definitions = "".join(f"  - {{name: {name}, type: {name}, require: [{name}, {name}]}}\n" for name in names)
    roles = "".join(f"  {name}: {{prerequisites: [{name}], data: {name}}}\n" for name in names)
    return f"prerequisites:\n{definitions}taskRoles:\n{roles}"


def escaped(text: str) -> str:
    """A double-quoted YAML scalar, all in escapes."""
    return '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'


def elements(text: str) -> list[Tree.Element]:
    text.encode("utf-8")
    return list(Tree.fromstring(text).iter())  # noqa: S314 - our own text


def test_no_name_breaks_the_picture() -> None:
    graph = graph_of(hostile_job())
    assert {node.name for node in graph.nodes} >= {*HOSTILE}
    found = elements(svg(graph))
    tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in found}
    assert tags == {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text"}
    attributes = {name for element in found for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on") or "href" in name]
    assert {element.get("marker-end") for element in found} <= {None, "url(#pai-arrow)", "url(#pai-arrow-red)"}
    names = [element.text or "" for element in found if element.get("class") == "name"]
    assert 'it\'s "quoted" \\ \\N \\" `code`' in names
    assert all(name.isprintable() and len(name) <= 48 for name in names)


def test_no_name_breaks_mermaid() -> None:
    label = r'"[^"<>\\`;\n]*(?:(?:#\d+;|<br/>)[^"<>\\`;\n]*)*"'
    shapes = rf"\(\[{label}\]\)|\[{label}\]|\[\[{label}\]\]"
    forms = (
        rf"n\d+(?:{shapes})",
        rf"n\d+ (?:-->|-\. {label} \.->) n\d+",
        r"classDef \w+ [\w:#,\ -]+",
        r"class [n\d,]+ \w+",
        r"linkStyle [\d,]+ [\w:#,-]+",
    )
    line = re.compile("  (?:" + "|".join(forms) + ")")
    first, *lines = mermaid(graph_of(hostile_job())).splitlines()
    assert first == "flowchart LR"
    assert [one for one in lines if not line.fullmatch(one)] == []


def test_no_name_breaks_dot() -> None:
    attributes = r'(?:\w+=(?:"(?:[^"\\\n]|\\.)*"|\w+) ?)+'
    line = re.compile(rf"  n\d+(?: -> n\d+)?(?: \[{attributes}\])?")
    lines = dot(graph_of(hostile_job())).splitlines()
    assert [one for one in lines[4:-1] if not line.fullmatch(one)] == []
    assert r'label="it\'s \"quoted\" \\ \\N \\\" `code`\n' in "\n".join(lines).replace("it's", r"it\'s")


def test_what_shows_nothing_is_told_as_an_escape() -> None:
    assert readable("a\nb\x00\u202e") == "a\\nb\\x00\\u202e"
    assert readable("数据 e\u0301") == "数据 e\u0301"
    assert len(readable("x" * 5_000)) == 200


def chain(length: int) -> str:
    links = "".join(f"  - {{name: p{n}, require: [p{n + 1}]}}\n" for n in range(length))
    return f"prerequisites:\n{links}  - {{name: p{length}}}\ntaskRoles: {{worker: {{prerequisites: [p0]}}}}\n"


@pytest.mark.parametrize("closes", [False, True])
def test_long_and_wide_requirements_are_drawn_without_recursion(closes: bool) -> None:
    text = chain(1000)
    if closes:
        text = text.replace("{name: p1000}", "{name: p1000, require: [p0]}")
    wide = ", ".join(f"p{n}" for n in range(1000))
    text = text.replace("taskRoles:", f"  - {{name: wide, require: [{wide}]}}\ntaskRoles:")
    started = time.perf_counter()
    graph = graph_of(text)
    pictures = svg(graph), mermaid(graph), dot(graph)
    assert time.perf_counter() - started < 5
    assert len(graph.edges) == 2001 + closes
    assert sum(edge.is_in_cycle for edge in graph.edges) == (1001 if closes else 0)
    assert len(elements(pictures[0])) > 2 * len(graph.edges)


def test_what_nobody_could_look_at_is_not_drawn() -> None:
    graph = graph_of("prerequisites:\n" + "".join(f"  - {{name: p{n}}}\n" for n in range(5001)))
    assert "5,001 nodes and 0 references are too many to draw" in svg(graph)
    assert len(elements(svg(graph))) < 20


def test_the_same_job_is_always_the_same_picture() -> None:
    first, second = (graph_of(JOB, MemoryLookup(MARKETPLACE)) for _ in range(2))
    assert first == second
    assert svg(first) == svg(second)


def test_the_picture_tells_where_things_come_from() -> None:
    text = svg(graph_of(JOB, MemoryLookup(MARKETPLACE)))
    assert text.startswith("<svg ")
    assert ">marketplace/all.yaml</text>" in text
    assert ">not found · data</text>" in text
    assert ">in extras.reference_prerequisites</text>" in text
    assert "<title>worker names image as dockerImage</title>" in text
    assert "prefers-color-scheme:dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("marketplace://", "")


def reaches(count: int, edges: list[tuple[int, int]]) -> list[set[int]]:
    """For each node what it leads to; the slow way."""
    found = [{target for source, target in edges if source == node} for node in range(count)]
    for _ in range(count):
        for one in found:
            one |= {further for target in one for further in found[target]}
    return found


_EDGES = st.integers(1, 9).flatmap(
    lambda count: st.tuples(
        st.just(count), st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=20)
    )
)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(_EDGES)
def test_nodes_share_a_circle_when_each_leads_to_the_other(given: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = given
    found, reached = circles(count, edges), reaches(count, edges)
    for one in range(count):
        for other in range(count):
            both = one == other or (other in reached[one] and one in reached[other])
            assert (found[one] == found[other]) == both


@settings(max_examples=100, derandomize=True, deadline=None)
@given(_EDGES, st.integers(0, 3))
def test_boxes_never_overlap_and_edges_end_at_their_boxes(given: tuple[int, list[tuple[int, int]]], first: int) -> None:
    count, edges = given
    first = min(first, count)
    edges = [(source, target) for source, target in edges if target >= first]
    sizes = [Size(40 + 10 * number, 30 + 15 * (number % 3)) for number in range(count)]
    placed = layout(sizes, edges, first)
    for number, box in enumerate(placed.boxes):
        assert 0 <= box.x <= box.x + box.width <= placed.width
        assert 0 <= box.y <= box.y + box.height <= placed.height
        for other in placed.boxes[:number]:
            is_beside = box.x + box.width <= other.x or other.x + other.width <= box.x
            assert is_beside or box.y + box.height <= other.y or other.y + other.height <= box.y
    for (source, target), way in zip(edges, placed.ways, strict=True):
        ends = [(placed.boxes[source], way.points[0]), (placed.boxes[target], way.points[-1])]
        for box, (x, y) in ends:
            assert box.x <= x <= box.x + box.width
            assert box.y <= y <= box.y + box.height
        assert len(way.points) % 2 == 0
