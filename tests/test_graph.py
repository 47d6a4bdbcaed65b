"""The prerequisite graph: what is in it, and that no file can break the ways it is written."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from expansion import MemoryLookup

from pai_lsp.ide.prerequisite_graph import (
    GraphNode,
    NodeKind,
    PrerequisiteGraph,
    dot,
    mermaid,
    prerequisite_graph,
    readable,
)
from pai_lsp.job.job import Job
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pai_lsp.job.lookup import Lookup

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


def graph_of(text: str, lookup: Lookup | None = None, *, is_catalog: bool = False) -> PrerequisiteGraph:
    job = Job(parse(text), is_catalog=is_catalog)
    return prerequisite_graph(Job(job.syntax, job.site_plugins, lookup, is_catalog) if lookup else job)


def lines_of(graph: PrerequisiteGraph) -> list[str]:
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
    assert lines_of(graph) == [
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


def test_the_edges_of_each_cycle_are_marked() -> None:
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
    assert [line for line in lines_of(graph) if "!" in line] == [
        "a (own) requires! b (own)",
        "b (own) requires! c (own)",
        "c (own) requires! a (own)",
        "c (own) requires! b (own)",
        "me (own) requires! me (own)",
        "round (outside) requires! about (outside)",
        "about (outside) requires! round (outside)",
    ]
    assert [node.name for node in graph.nodes if node.is_in_cycle] == ["a", "b", "c", "me", "round", "about"]
    assert "linkStyle 3,5,6,7,10,13,14 stroke:#cf222e" in mermaid(graph)
    assert dot(graph).count(' class="requires cycle" color="#cf222e" penwidth=2]') == 7
    assert dot(graph).count('\\nin a cycle" class=') == 6


def test_a_file_of_definitions_has_a_graph_too() -> None:
    graph = graph_of(MARKETPLACE, MemoryLookup(MARKETPLACE), is_catalog=True)
    assert [node.name for node in graph.nodes if node.kind is NodeKind.OWN] == ["digits", "wget", "round", "about"]
    assert "round (own) requires! about (own)" in lines_of(graph)


@pytest.mark.parametrize("text", ["", "just text", "[]", "taskRoles: []", "{", "prerequisites: {a: 1}\ntaskRoles: 3"])
def test_a_file_without_a_job_has_an_empty_graph(text: str) -> None:
    graph = graph_of(text)
    assert graph.nodes == ()
    assert ' label="no task roles and no prerequisites"]' in dot(graph)
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


@cache
def hostile_graph() -> PrerequisiteGraph:
    return graph_of(hostile_job())


def escaped(text: str) -> str:
    """A double-quoted YAML scalar, all in escapes."""
    return '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'


@pytest.mark.slow
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
    first, *lines = mermaid(hostile_graph()).splitlines()
    assert first == "flowchart LR"
    assert [one for one in lines if not line.fullmatch(one)] == []


@pytest.mark.slow
def test_no_name_breaks_dot() -> None:
    attributes = r'(?:\w+=(?:"(?:[^"\\\n]|\\.)*"|\w+) ?)+'
    line = re.compile(rf"  n\d+(?: -> n\d+)? \[{attributes}\]")
    lines = dot(hostile_graph()).splitlines()
    assert [one for one in lines[4:-1] if not line.fullmatch(one)] == []
    labels = [
        re.findall(r'\blabel="((?:[^"\\]|\\.)*)"', one)[0].split("\\n")[0] for one in lines[4:-1] if "label=" in one
    ]
    assert r"it's \"quoted\" \\ \\N \\\" `code`" in "\n".join(lines)
    assert "]]> <!-- &amp; &amp;amp; &amp;lt;" in labels
    assert max(map(len, labels)) < 100
    assert all(one.isprintable() for one in lines)


def test_what_shows_nothing_is_told_as_an_escape() -> None:
    assert readable("a\nb\x00\u202e") == "a\\nb\\x00\\u202e"
    assert readable("数据 e\u0301") == "数据 e\u0301"
    assert len(readable("x" * 5_000)) == 200


def chain(length: int) -> str:
    links = "".join(f"  - {{name: p{n}, require: [p{n + 1}]}}\n" for n in range(length))
    return f"prerequisites:\n{links}  - {{name: p{length}}}\ntaskRoles: {{worker: {{prerequisites: [p0]}}}}\n"


@pytest.mark.parametrize("closes", [False, True])
def test_long_and_wide_requirements_are_followed_without_recursion(closes: bool) -> None:
    text = chain(1000)
    if closes:
        text = text.replace("{name: p1000}", "{name: p1000, require: [p0]}")
    wide = ", ".join(f"p{n}" for n in range(1000))
    text = text.replace("taskRoles:", f"  - {{name: wide, require: [{wide}]}}\ntaskRoles:")
    graph = graph_of(text)
    assert len(graph.edges) == 2001 + closes
    assert sum(edge.is_in_cycle for edge in graph.edges) == (1001 if closes else 0)
    assert dot(graph).count(" -> ") == mermaid(graph).count(" --> ") == len(graph.edges)


def test_the_picture_has_where_things_come_from() -> None:
    text = dot(graph_of(JOB, MemoryLookup(MARKETPLACE)))
    nodes = {line.split('"')[1]: line for line in text.splitlines() if line.startswith("  n") and " -> " not in line}
    assert 'class="role" style="rounded,filled"' in nodes[r"worker\ntask role"]
    assert 'class="own"]' in nodes[r"image\ndockerimage"]
    assert 'class="extras" fillcolor=' in nodes[r"digits\nin extras.reference_prerequisites"]
    assert 'class="outside" fillcolor=' in nodes[r"wget\nscript · cmd\nmarketplace/all.yaml"]
    assert 'class="missing" style="filled,dashed"' in nodes[r"gone\nnot found · data"]
    assert (
        'n0 -> n9 [tooltip="worker names gone as data" class="names missing" '
        'label="data" labeltooltip="worker names gone as data" style=dotted color="#cf222e"]'
    ) in text
    assert 'n3 -> n4 [tooltip="set requires tools" class="requires"]' in text


def test_of_a_long_path_the_end_is_shown_and_the_tooltip_has_all() -> None:
    place = f"/{'folder/' * 10}all.yaml"
    graph = PrerequisiteGraph((GraphNode("n0", NodeKind.OUTSIDE, "x" * 60, place=place),), ())
    assert f'label="{"x" * 47}…\\n…{place[-47:]}" tooltip="{"x" * 60}\\n{place}"' in dot(graph)
