"""Reading in pieces finds what reading the whole does, however the text came to be."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from budgets import budget
from hypothesis import given, settings
from hypothesis import strategies as st
from random_edits import job_texts, random_edit

from pai_lsp.source.building import build
from pai_lsp.source.nodes import Mapping, Scalar, Tree
from pai_lsp.source.syntax import build_in_pieces, parse

if TYPE_CHECKING:
    from pai_lsp.source.nodes import Node, Syntax

TEXTS = job_texts()
NAMES = sorted(TEXTS)


def told(node: Node | None) -> Any:
    """All that a node says, to be compared."""
    if node is None or isinstance(node, Scalar):
        return node and (node.span, node.text, node.style, node.tag)
    if isinstance(node, Mapping):
        entries = [(told(entry.key), told(entry.value), entry.name) for entry in node.entries]
        return (node.span, node.is_flow, node.tag, entries)
    return (node.span, node.is_flow, node.tag, [told(item) for item in node.items])


def all_told(tree: Tree | Syntax) -> Any:
    problems = sorted(tree.problems, key=lambda problem: (problem.span, problem.message))
    return ([told(root) for root in tree.documents], [told(scalar) for scalar in tree.scalars], problems)


def whole(text: str) -> Tree | None:
    tree, error = build(text)
    return tree if error is None else None


@settings(max_examples=budget(150), deadline=None, derandomize=True)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.integers(1, 6))
def test_an_edited_text_says_what_a_fresh_one_does(name: str, seed: int, count: int) -> None:
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    text = TEXTS[name]
    former = parse(text)
    for _ in range(count):
        text = random_edit(text, source).applied(text)
        former = parse(text, former)
        assert all_told(former) == all_told(parse(text))
    # The reader is given characters that it takes as js-yaml does; this text is, when it has no others.
    if text.isascii():
        in_pieces, tree = build_in_pieces(text, ()), whole(text)
        assert in_pieces is None or tree is None or all_told(in_pieces[0]) == all_told(tree)


# Each is read with the former text as a help, and alone; both say the same, and none of these has a fault.
ODD_LAYOUTS = {
    "flow over sections": "prerequisites:\n  - {\ntype: data,\nname: d\n}\ntaskRoles: {}\n",
    "flow over siblings": "taskRoles:\n  a: {x: 1,\n  b: 2,\n  c: 3}\n  d: 4\n",
    "quotes over siblings": 'taskRoles:\n  a: "x\n  b: 1\n  c: 2\n  d: 3\n  e: 4\n  f: 5\n  g: 6\n"\n',
    "quotes over sections": 'name: "x\ntaskRoles:\n"\ntype: job\n',
    "keys inside a block": "taskRoles:\n  a:\n    commands:\n      - |\n        b:\n        - c\n  d: |\n    e:\n",
    "a list at the margin": "prerequisites:\n- a: 1\n- b: |\n    - c\n\n- d\ntype: job\n",
    "a marker above": "# c\n---\nname: a\ntaskRoles:\n  b:\n    c: 1\n",
    "anchors": "x: &a\n  b: 1\ntaskRoles:\n  c: *a\n",
}


@pytest.mark.parametrize("layout", ODD_LAYOUTS)
def test_a_sound_text_has_no_fault_however_it_is_laid_out(layout: str) -> None:
    # Long enough that the sections are read child by child.
    text = ODD_LAYOUTS[layout]
    for section in ("taskRoles", "prerequisites"):
        text = text.replace(f"{section}:\n", f"{section}:  # {'-' * 300}\n")
    assert parse(text).problems == ()
    assert all_told(parse(text, parse(text[:-3]))) == all_told(parse(text))


LINES = budget(20_000)
HOSTILE = ("a:\n [\n" * LINES, 'a: "\n' * LINES, "taskRoles:\n" + "  a: [\n" * LINES, "a:\n" * LINES)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_soon_read_again(text: str) -> None:
    former = parse(text)
    assert all_told(parse(text + "x", former)) == all_told(parse(text + "x"))


def test_the_same_text_is_not_read_again() -> None:
    former = parse("name: a\n")
    assert parse("name: a\n", former) is former


def test_what_stands_before_an_edit_is_not_read_again() -> None:
    text = TEXTS[max(TEXTS, key=lambda name: len(TEXTS[name]))]
    first = parse(text, parse(text + "\n"))
    again = parse(text + "# end\n", first)
    kept = {id(piece) for piece in first.pieces} & {id(piece) for piece in again.pieces}
    assert len(kept) == len(first.pieces) - 1


def test_a_fault_stays_in_its_task_role() -> None:
    filler = f"  # {'-' * 300}\n"
    text = f'taskRoles:\n{filler}  a:\n    dockerImage: "x\n    instances: 1\n  b:\n    instances: "2"\n'
    (problem,) = parse(text).problems
    assert text[problem.span.start : problem.span.end] == '"'
    root = parse(text).root
    roles = root.get("taskRoles") if isinstance(root, Mapping) else None
    assert isinstance(roles, Mapping)
    assert [entry.name for entry in roles.entries] == ["a", "b"]
