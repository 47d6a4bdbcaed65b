"""The pictures of `pai-lsp graph`, drawn by the real Graphviz; what is asked of it is tested without it.

Run by scripts/e2e_graphviz.sh.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Tree

import pytest

from pai_lsp.cli.commands.graph import drawn as picture
from pai_lsp.cli.main import main
from pai_lsp.ide.prerequisite_graph import dot

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).parents[2]))
from test_graph import HOSTILE, JOB, graph_of, hostile_job

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drawn(job: str, name: str) -> bytes:
    Path("train.pai.yaml").write_text(f"protocolVersion: 2\ntype: job\nname: train\n{job}", encoding="utf-8")
    assert main(["graph", "train.pai.yaml", "--output", name]) == 0
    return Path(name).read_bytes()


def elements(picture: bytes) -> Iterator[Tree.Element]:
    return Tree.fromstring(picture).iter()  # noqa: S314 - our own picture


@pytest.mark.parametrize(("name", "begin"), [("a.svg", b"<?xml "), ("a.png", b"\x89PNG\r\n"), ("a.pdf", b"%PDF-")])
def test_pictures_of_each_form(name: str, begin: bytes) -> None:
    assert drawn(JOB, name).startswith(begin)


def test_the_picture_has_names_classes_and_tooltips() -> None:
    found = list(elements(drawn(JOB, "train.svg")))
    texts = [element.text for element in found if element.tag == f"{SVG}text"]
    assert {"worker", "task role", "not found · data", "dockerImage"} <= set(texts)
    classes = {element.get("class") for element in found}
    assert {"node role", "node own", "node extras", "node missing", "edge lists", "edge names missing"} <= classes
    tooltips = {element.get(f"{XLINK}title") for element in found}
    assert {"set\ndata · cmd", "worker names image as dockerImage"} <= tooltips


def test_no_name_breaks_the_picture() -> None:
    found = list(elements(picture(dot(graph_of(hostile_job())), "svg")))
    tags = {element.tag.removeprefix(SVG) for element in found}
    assert tags == {"svg", "title", "path", "polygon", "g", "a", "text"}
    attributes = {name for element in found for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on") or "href" in name]
    texts = [element.text or "" for element in found if element.tag == f"{SVG}text"]
    assert {name for name in HOSTILE if name.isprintable() and len(name) <= 48} <= set(texts)
    assert all(text.isprintable() for text in texts)
