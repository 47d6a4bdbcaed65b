"""PyYAML's own parser in place of libyaml's, as in a browser: it must give the same events, and the same findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from budgets import some
from marks import read_marks

from pai_lsp.document import Document, check
from pai_lsp.source import building
from pai_lsp.source.libyaml import yaml
from pai_lsp.source.python_parser import PythonParser

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
FIXTURES = sorted([*HERE.glob("rules/*.yaml"), *HERE.glob("fixes/*.yaml"), *HERE.parent.glob("examples/**/*.yaml")])
CParser = pytest.importorskip("yaml._yaml").CParser

# Where PyYAML's parser differs by itself: tabs, question marks in brackets, and comments after the signs of a block.
TEXTS = [
    "[a?b]", "[a ?b]", "{a?: 1}", "{a: ?b}", "[a?,b]", "?a: b", "a: ?b",
    "a:\t b", "- \tb", "-\tb", "\ta: b", "a: b\tc", "a: b\t", "a: b\n\t c\n", "a:\n  b\n\tc\n", "[a\t,\tb]",
    "a: [\n\tb]\n", "a: 'x'\t#c\n", "a: b\n  \tc\n", "a: &x\tb", "? a\n:\tb", 'a: "x"\t\n', "k\t: v", "--- \ta",
    "---\ta\n...\t\n", "a: b\r\n  c\r\n\r\n  d\r\n", "a: b\n\n\n  c d\ne: f",
    "a: |#c\n x\n", "a: >\t\n b\n", "a: |2\t\n  b", "a: |+2 # c\n   b\n\n", "a: |0\n b", "a: |x\n b", "a: |\n \tx\n",
    "a: |\n  x\n\ty\n", "a: |\n    \n\t\n  x",
    "a: {b:c}", "a: {b:}", "{a::b}", "[a:[b]]", "a: b: c", "a\nb: c", "a: b\nc", "- a\nb: c", "[a, b", "a: %b",
    "a: - b",
]  # fmt: skip


def events(parser: Any) -> Iterator[object]:
    try:
        while (event := parser.get_event()) is not None:
            places = event.start_mark.index, event.end_mark.index
            yield type(event), getattr(event, "value", None), getattr(event, "tag", None), *places
    except yaml.MarkedYAMLError as error:
        yield error.problem, error.context, error.problem_mark and error.problem_mark.index
    except yaml.reader.ReaderError as error:
        yield error.character


@pytest.mark.parametrize("text", TEXTS)
def test_the_events_are_those_of_libyaml(text: str) -> None:
    assert list(events(PythonParser(text))) == list(events(CParser(text)))


@pytest.mark.parametrize("path", some(FIXTURES), ids=lambda path: path.stem)
def test_the_findings_are_those_of_libyaml(path: Path) -> None:
    text, _ = read_marks(path.read_bytes().decode())
    found = check(Document(text, path="a.pai.yaml"))
    with mock.patch.object(building, "_Parser", PythonParser):
        assert check(Document(text, path="a.pai.yaml")) == found
