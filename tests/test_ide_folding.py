"""Folding, and selections that grow."""

from __future__ import annotations

from itertools import pairwise

import pytest
from budgets import some
from marks import read_cursor

from pai_lsp.document import Document
from pai_lsp.ide.outline import folds, selection_ranges

JOB = """\
# about
# this job 漢字😀
protocolVersion: 2
name: >-
  a long
  name

prerequisites:
  - type: dockerimage
    name: image
  # between

  - type: script
    name: prepare
parameters: {
  rate: 0.1
}
taskRoles:
  worker:
    instances: 1
    commands: &all
      - |
        # no comment
        # but a command
        echo two
      - echo three
        four
  other: {commands: *all}
# the end
"""

FOLDED = [
    (1, 2, True),  # the comment
    (4, 6, False),  # name
    (8, 14, False),  # prerequisites
    (9, 10, False),
    (13, 14, False),
    (15, 17, False),  # parameters
    (18, 28, False),  # taskRoles
    (19, 27, False),
    (21, 27, False),
    (22, 25, False),
    (26, 27, False),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_what_can_be_folded(end: str) -> None:
    document = Document(JOB.replace("\n", end))
    lines = [
        (document.lines.line_of(fold.span.start) + 1, document.lines.line_of(fold.span.end) + 1, fold.is_comment)
        for fold in folds(document)
    ]
    assert lines == FOLDED


@pytest.mark.parametrize("end", some(range(0, len(JOB), 17)))
def test_half_typed_jobs_fold(end: int) -> None:
    text = JOB[:end] + "\n  - {a: ["
    document = Document(text)
    starts = [document.lines.line_of(fold.span.start) for fold in folds(document)]
    assert starts == sorted(set(starts))
    assert all(fold.span.end <= len(text) for fold in folds(document))


@pytest.mark.parametrize(
    ("text", "selections"),
    [
        (
            "name: 漢字😀\ntaskRoles:\n  worker:\n    commands:\n      - echo 'x <% $parameters.ra$0te %>'\n",
            [
                "rate",
                "$parameters.rate",
                "<% $parameters.rate %>",
                "echo 'x <% $parameters.rate %>'",
                "- echo 'x <% $parameters.rate %>'",
                "commands:\n      - echo 'x <% $parameters.rate %>'",
                "worker:\n    commands:\n      - echo 'x <% $parameters.rate %>'",
                "taskRoles:\n  worker:\n    commands:\n      - echo 'x <% $parameters.rate %>'",
                "name: 漢字😀\ntaskRoles:\n  worker:\n    commands:\n      - echo 'x <% $parameters.rate %>'",
            ],
        ),
        (
            'x: {a: [one, "two th$0ree"]}\n',
            [
                "three",
                "two three",
                '"two three"',
                '[one, "two three"]',
                'a: [one, "two three"]',
                '{a: [one, "two three"]}',
                'x: {a: [one, "two three"]}',
            ],
        ),
        (
            "a:\n  - |\n    first line\n    sec$0ond line\nb: 1\n",
            [
                "second",
                "second line",
                "first line\n    second line",
                "|\n    first line\n    second line",
                "- |\n    first line\n    second line",
                "a:\n  - |\n    first line\n    second line",
                "a:\n  - |\n    first line\n    second line\nb: 1",
            ],
        ),
        ("dock$0erImage: image\n", ["dockerImage", "dockerImage: image"]),
        ("a: 1\n$0\nb: 2\n", ["a: 1\n\nb: 2"]),
        ("$0", []),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_selection_grows(text: str, selections: list[str], end: str) -> None:
    plain, offset = read_cursor(text.replace("\n", end))
    found = [plain[span.start : span.end] for span in selection_ranges(Document(plain), offset)]
    expected = [one.replace("\n", end) for one in selections]
    assert found[: len(expected)] == expected
    assert found[len(expected) :] in ([plain], [])


@pytest.mark.parametrize("end", some(range(0, len(JOB), 17), 4))
def test_each_selection_holds_the_one_before(end: int) -> None:
    text = JOB[:end] + "\n  - {a: [<% b"
    for offset in range(0, len(text) + 1, 7):
        spans = selection_ranges(Document(text), offset)
        assert spans
        assert spans[-1].end == len(text)
        for inner, outer in pairwise(spans):
            assert outer.start <= inner.start <= offset <= inner.end <= outer.end
            assert len(inner) < len(outer)


def test_lines_at_the_end_of_a_script_are_no_comment() -> None:
    assert not any(one.is_comment for one in folds(Document("commands:\n  - |\n    # one\n    # two")))
    assert [one.is_comment for one in folds(Document("a: |\n  one\n# two\n# three"))] == [False, True]
