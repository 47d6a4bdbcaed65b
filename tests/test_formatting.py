"""Formatting changes indentation and spaces, and nothing that the rest-server or the runtime reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from budgets import some

from pai_lsp.document import Document
from pai_lsp.ide.formatting import formatted
from pai_lsp.source.comments import comments
from pai_lsp.source.text import apply_edits

TESTS = Path(__file__).parent
JOBS = sorted([*(TESTS.parent / "examples").rglob("*.yaml"), *TESTS.glob("*/*.yaml")])


def after(text: str, step: int = 2) -> str:
    return apply_edits(text, formatted(Document(text), step))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("name:   a\ntype:\tjob\n", "name: a\ntype: job\n"),
        ("a:\n    b:\n        c: 1\n", "a:\n  b:\n    c: 1\n"),
        ("a:\n-   b\n-   c: 1\n    d: 2\n", "a:\n- b\n- c: 1\n  d: 2\n"),
        ("a:\n     - b\n     -  - c\n        - d\n", "a:\n  - b\n  - - c\n    - d\n"),
        ("a:\n  -\n    b: 1\n    c: 2\n", "a:\n  -\n    b: 1\n    c: 2\n"),
        ("a:\n   - |\n       x\n         y  \n\n       z\nb: 1\n", "a:\n  - |\n    x\n      y  \n\n    z\nb: 1\n"),
        ("a:\n    b: |2\n        x\n      y\n", "a:\n  b: |2\n      x\n    y\n"),
        ("a:\n    b: one\n       two\n    c: 'x\n\n      y'\n", "a:\n  b: one\n     two\n  c: 'x\n\n    y'\n"),
        ("a:\n    b: [1,\n        2]\n", "a:\n  b: [1,\n      2]\n"),
        ("a:\n    # b\n    b: 1  # as  is\n    # d\n# c\nc: 1\n", "a:\n  # b\n  b: 1  # as  is\n  # d\n# c\nc: 1\n"),
        ("a: &x\n    b: 1\nc:\n    <<: *x\n    d: *x\n", "a: &x\n  b: 1\nc:\n  <<: *x\n  d: *x\n"),
        ("a:\r\n    b: 1   \r\n\r\n    c: 2\r\n", "a:\r\n  b: 1\r\n\r\n  c: 2\r\n"),
        ("---\na:\n    b: 1\n", "---\na:\n  b: 1\n"),
        ("a: {b:  1,   c: 2}\n", "a: {b:  1,   c: 2}\n"),
        ("# pai-lsp: platform=ltp\na:\n    b: 0o14\n", "# pai-lsp: platform=ltp\na:\n  b: 0o14\n"),
        ("名:\n    語: 😀   \n", "名:\n  語: 😀\n"),
        ("-   name: a\n    type:  b\n-\n    c\n", "- name: a\n  type: b\n-\n  c\n"),
        ("a:\n    b: |\n\n        x\n\n    c: >-\n        y\n", "a:\n  b: |\n\n    x\n\n  c: >-\n    y\n"),
        ("a:\n    - # one\n      b\n    -   - c\n", "a:\n  - # one\n    b\n  - - c\n"),
    ],
)  # fmt: skip
def test_indentation_and_spaces(before: str, expected: str) -> None:
    assert after(before) == expected
    assert after(expected) == expected


def test_the_step_is_the_editors() -> None:
    assert after("a:\n  b:\n    - c: 1\n      d: 2\n", 4) == "a:\n    b:\n        - c: 1\n          d: 2\n"


@pytest.mark.parametrize("text", ["a: [\n", "a:\n\tb: 1\n", "a: 1\n---\nb: 1\n", "", "# only\n", "? a\n:    1\n"])
def test_a_text_that_cannot_be_formatted_stays(text: str) -> None:
    assert after(text) == text


@pytest.mark.parametrize("file", some(JOBS), ids=lambda file: file.name)
def test_both_readers_read_the_same(file: Path) -> None:
    text = file.read_bytes().decode()
    for before in (text, re.sub("^ +", lambda spaces: spaces[0] * 2, text, flags=re.MULTILINE)):
        result = after(before)
        assert after(result) == result
        old, new = Document(before), Document(result)
        assert old.job.plain == new.job.plain
        assert [one.text for one in comments(old.syntax)] == [one.text for one in comments(new.syntax)]
        if result != before:
            assert list(yaml.safe_load_all(before)) == list(yaml.safe_load_all(result))
