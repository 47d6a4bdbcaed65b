"""Reading section by section gives the tree of the whole text, and a fault stays in its section."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from budgets import budget, generated_cases
from hypothesis import given
from hypothesis import strategies as st
from random_edits import job_texts, random_edit

from pai_lsp.source import recovery
from pai_lsp.source.building import build
from pai_lsp.source.nodes import Mapping, Scalar, Tree
from pai_lsp.source.recovery import build_in_sections
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pai_lsp.source.nodes import Node, Syntax

TEXTS = job_texts()
NAMES = sorted(TEXTS)


def described(node: Node | None) -> Any:
    """All that a node holds, to be compared."""
    if node is None or isinstance(node, Scalar):
        return node and (node.span, node.text, node.style, node.tag)
    if isinstance(node, Mapping):
        entries = [(described(entry.key), described(entry.value), entry.name) for entry in node.entries]
        return (node.span, node.is_flow, node.tag, entries)
    return (node.span, node.is_flow, node.tag, [described(item) for item in node.items])


def all_described(tree: Tree | Syntax) -> Any:
    problems = sorted(tree.problems, key=lambda problem: (problem.span, problem.message))
    return ([described(root) for root in tree.documents], [described(scalar) for scalar in tree.scalars], problems)


def whole(text: str) -> Tree | None:
    tree, error = build(text)
    return tree if error is None else None


@generated_cases(150)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.integers(1, 6))
def test_the_tree_is_that_of_the_whole_text(name: str, seed: int, count: int) -> None:
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    text = TEXTS[name]
    for _ in range(count):
        text = random_edit(text, source).applied(text)
        # Of other texts, `build` expects a copy with the characters that js-yaml reads.
        if text.isascii():
            at_once = build_in_sections(text)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(recovery, "_MAX_RUNS", 0)
                one_by_one = build_in_sections(text)
            tree = whole(text)
            assert (at_once and all_described(at_once)) == (one_by_one and all_described(one_by_one))
            assert at_once is None or tree is None or all_described(at_once) == all_described(tree)


# None of these has a fault.
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
@pytest.mark.parametrize("runs", [0, 8])
def test_a_sound_text_has_no_fault_however_it_is_laid_out(
    layout: str, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_MAX_RUNS", runs)
    # Long enough that the sections are read child by child.
    text = ODD_LAYOUTS[layout]
    for section in ("taskRoles", "prerequisites"):
        text = text.replace(f"{section}:\n", f"{section}:  # {'-' * 300}\n")
    assert parse(text).problems == ()
    in_sections, tree = build_in_sections(text), whole(text)
    assert tree is not None
    assert in_sections is None or all_described(in_sections) == all_described(tree)


def test_a_quote_may_reach_over_many_sections_below_a_fault() -> None:
    sections = "".join(f"k{number}: 1\n" for number in range(7))
    text = f'a: b: c\ntype: "x\n{sections}end"\nlast: 1\n'
    read = parse(text)
    assert [text[one.span.start : one.span.end] for one in read.problems] == ["b: c"]
    assert isinstance(read.root, Mapping)
    assert [entry.name for entry in read.root.entries] == ["a", "type", "last"]


LINES = budget(20_000)
HOSTILE = ("a:\n [\n" * LINES, 'a: "\n' * LINES, "taskRoles:\n" + "  a: [\n" * LINES, "a:\n" * LINES)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_read_to_its_end(text: str) -> None:
    assert parse(text).problems


def test_a_fault_stays_in_its_task_role() -> None:
    filler = f"  # {'-' * 300}\n"
    text = f'taskRoles:\n{filler}  a:\n    dockerImage: "x\n    instances: 1\n  b:\n    instances: "2"\n'
    (problem,) = parse(text).problems
    assert text[problem.span.start : problem.span.end] == '"'
    root = parse(text).root
    roles = root.get("taskRoles") if isinstance(root, Mapping) else None
    assert isinstance(roles, Mapping)
    assert [entry.name for entry in roles.entries] == ["a", "b"]
