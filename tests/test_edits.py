"""Edits of lists and mappings: they change the right lines, and comments stay."""

from __future__ import annotations

import textwrap

import pytest

from pai_lsp.source.comments import comments
from pai_lsp.source.edits import (
    add_to_section,
    append_item,
    cut_entry,
    insert_entry,
    keeping_comments,
    line_end,
    remove_entry,
    remove_item,
    without_parts,
)
from pai_lsp.source.nodes import Mapping, Sequence, if_mapping, scalar_text
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, apply_edits
from pai_lsp.source.tree_edits import insert_values, items_after, items_in_front, without_entries, without_items


def mapping(text: str, *path: str | int) -> Mapping:
    node = parse(text).root
    for step in path:
        if isinstance(step, int):
            assert isinstance(node, Sequence)
            node = node.items[step]
        else:
            assert isinstance(node, Mapping)
            node = node.get(step)
    assert isinstance(node, Mapping)
    return node


def sequence(text: str, key: str) -> Sequence:
    node = mapping(text).get(key)
    assert isinstance(node, Sequence)
    return node


def without(text: str, name: str, *path: str | int) -> str:
    holder = mapping(text, *path)
    entry = holder.own(name)
    assert entry is not None
    return apply_edits(text, remove_entry(text, holder, entry))


def without_item(text: str, key: str, number: int) -> str:
    items = sequence(text, key)
    return apply_edits(text, remove_item(text, items, items.items[number]))


def dedented(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


REMOVED = {
    "after the value": (
        """
        a: 1
        b: 2  # two
        c: 3
        """,
        """
        a: 1
        # two
        c: 3
        """,
    ),
    "several, in their order": (
        """
        a: 1
        b:  # first
          # second
          - "# no comment"
          - x#y  # third
          - |  # fourth
            # of the shell
        c: 3
        """,
        """
        a: 1
        # first
        # second
        # third
        # fourth
        c: 3
        """,
    ),
    "above and below are not touched": (
        """
        a: 1
        # above
        b: 2
        # below
        c: 3
        """,
        """
        a: 1
        # above
        # below
        c: 3
        """,
    ),
    "the last line has no end": (
        """
        a: 1
        b: 2  # two""",
        """
        a: 1
        # two
        """,
    ),
    "a value that ends with aliases": (
        """
        a: &x 1
        b:
        - 2
        # three
        - *x  # four
        c: 3
        """,
        """
        a: &x 1
        # three
        # four
        c: 3
        """,
    ),
}


@pytest.mark.parametrize("name", REMOVED)
def test_comments_of_a_removed_key_stay(name: str) -> None:
    before, after = map(dedented, REMOVED[name])
    assert without(before, "b") == after
    assert without(before.replace("\n", "\r\n"), "b") == after.replace("\n", "\r\n")


def test_the_comments_of_a_key_after_a_dash_are_above_the_dash() -> None:
    before = "list:\n  - a: 1  # one\n    # two\n    b: 2\n"
    assert without(before, "a", "list", 0) == "list:\n  # one\n  # two\n  - b: 2\n"


def test_comments_in_braces_stand_above_the_line() -> None:
    before = "roles:\n  worker: {a: 1,  # one\n    b: 2}\n"
    assert without(before, "a", "roles", "worker") == "roles:\n  # one\n  worker: {b: 2}\n"


def test_who_moves_a_key_moves_its_comments() -> None:
    text = "a: 1\nb: 2  # two\n"
    holder = mapping(text)
    assert apply_edits(text, cut_entry(text, holder, holder.entries[1])) == "a: 1\n"


def test_the_only_key_stays_and_so_does_one_that_stands_elsewhere() -> None:
    text = "base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  c: 3\n"
    own, merged = mapping(text, "own"), mapping(text, "own").entry("a")
    assert merged is not None
    assert remove_entry(text, own, merged) == ()
    alone = mapping("a: 1\n")
    assert remove_entry("a: 1\n", alone, alone.entries[0]) == ()


def test_comments_of_a_removed_item_stay() -> None:
    before = "list:\n  - a  # one\n  - # two\n    b: 2  # three\n  - c\n"
    assert without_item(before, "list", 1) == "list:\n  - a  # one\n  # two\n  # three\n  - c\n"


def test_an_item_that_an_alias_repeats_is_not_taken_out() -> None:
    before = "list:\n  - &one a\n  - b\n  - *one\n"
    assert without_item(before, "list", 2) == before
    assert without_item(before, "list", 1) == "list:\n  - &one a\n  - *one\n"


BESIDE_AN_ALIAS = {0: "[*one, c]", 1: "[b, *one, c]", 2: "[b, *one]"}


@pytest.mark.parametrize("number", BESIDE_AN_ALIAS)
def test_an_item_in_brackets_is_taken_out_beside_an_alias_but_no_alias(number: int) -> None:
    before = "one: &one a\nlist: [b, *one, c]\n"
    assert without_item(before, "list", number) == f"one: &one a\nlist: {BESIDE_AN_ALIAS[number]}\n"
    assert without_item("list: [b, c]\n", "list", 0) == "list: [c]\n"


@pytest.mark.parametrize(
    "between", [", ", ",  # why, *two\n  ", "\n  # why\n  , "], ids=["a comma", "a comment", "a line"]
)
def test_a_list_in_brackets_is_changed_around_its_aliases(between: str) -> None:
    before = f"list: [&one a, b{between}*one{between}*one]\n"
    items = sequence(before, "list")
    assert apply_edits(before, without_items(before, items, [3])) == f"list: [&one a, b{between}*one]\n"
    assert apply_edits(before, without_items(before, items, [1])) == f"list: [&one a, *one{between}*one]\n"
    for added in ((append_item(before, items, "c"),), items_after(before, items, ["c"])):
        assert apply_edits(before, added) == f"list: [&one a, b{between}*one{between}*one, c]\n"


ENDING_WITH_AN_ALIAS = {
    "an item": "x: &x 1\nb:\n  - 2\n  - *x\n",
    "the only item": "x: &x 1\nb:\n  - *x\n",
    "an item below its key": "x: &x 1\nb:\n- 2\n- *x\n",
    "the value of a key": "x: &x 1\nb:\n  c: 2\n  d: *x\n",
    "an item of an item": "x: &x 1\nb:\n  - - 2\n    - *x  # alias\n",
    "the value of an item's key": "x: &x 1\nb:\n  - c: 2\n    d:\n      - 3\n\n      # alias\n      - *x\n",
}


@pytest.mark.parametrize("before", ENDING_WITH_AN_ALIAS.values(), ids=ENDING_WITH_AN_ALIAS)
def test_a_key_is_added_after_an_alias(before: str) -> None:
    after = apply_edits(before, (insert_entry(before, mapping(before), "new: 4"),))
    assert after == f"{before}new: 4\n"
    in_front = f"{before}last: 5\n"
    before_it = mapping(in_front).own("b")
    added = apply_edits(in_front, (insert_entry(in_front, mapping(in_front), "new: 4", before_it),))
    assert added == f"{before}new: 4\nlast: 5\n"
    assert without(in_front, "b").startswith("x: &x 1\n")
    assert parse(without(in_front, "b")).problems == ()


def test_an_item_is_added_after_an_alias() -> None:
    before = "x: &x 1\nb:\n  - 2\n  - *x\nlast: 5\n"
    after = apply_edits(before, (append_item(before, sequence(before, "b"), "3"),))
    assert after == "x: &x 1\nb:\n  - 2\n  - *x\n  - 3\nlast: 5\n"


SECTIONS = {
    "at the end": ("a: 1\nsecrets:\n  b: 2\n", "a: 1\nsecrets:\n  b: 2\n  k: v\n"),
    "at the end without a line end": ("secrets:\n  b: 2", "secrets:\n  b: 2\n  k: v"),
    "above another": ("secrets:\n  b: 2\n\n# next\na: 1\n", "secrets:\n  b: 2\n  k: v\n\n# next\na: 1\n"),
    "in braces": ("secrets: {b: 2}\n", "secrets: {b: 2, k: v}\n"),
    "in empty braces": ("secrets: {}\n", "secrets: {k: v}\n"),
    "line ends of Windows": ("secrets:\r\n  b: 2\r\n", "secrets:\r\n  b: 2\r\n  k: v\r\n"),
    "a new one": ("a: 1\n\n", "a: 1\nsecrets:\n  k: v\n\n"),
    "a new one in a document that ends": ("a: 1\n...\n", "a: 1\nsecrets:\n  k: v\n...\n"),
    "a new one after a value with dots": ("a: 1...\n", "a: 1...\nsecrets:\n  k: v\n"),
    "a new one in an indented job": ("  a: 1\n", "  a: 1\n  secrets:\n    k: v\n"),
    "a job in braces": ("{a: 1}\n", None),
    "an empty one": ("a: 1\nsecrets:\n", None),
    "a list": ("secrets: [b]\n", None),
    "of another mapping": ("a: &a {secrets: {b: 2}}\n<<: *a\n", None),
    "no job": ("{}\n", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("before", "after"), SECTIONS.values(), ids=SECTIONS)
def test_a_key_is_added_to_a_section(before: str, after: str | None) -> None:
    edit = add_to_section(before, if_mapping(parse(before).root), "secrets", "k: v")
    assert (None if edit is None else apply_edits(before, (edit,))) == after


@pytest.mark.parametrize(("text", "end"), [("a\r\nb\n", "\r\n"), ("a\nb\r\n", "\n"), ("a", "\n"), ("\n", "\n")])
def test_the_line_end_of_a_text_is_that_of_its_first_line(text: str, end: str) -> None:
    assert line_end(text) == end


KEYS = {
    "block": (
        "x:\n  a: 1\n\n  b: 2\n\n  c: 3\n",
        {(0,): "b: 2 c: 3", (1,): "a: 1 c: 3", (2,): "a: 1 b: 2", (0, 1): "c: 3"},
    ),
    "braces": ("x: {a: 1, b: 2, c: 3}\n", {(0,): "b: 2 c: 3", (1,): "a: 1 c: 3", (1, 2): "a: 1", (0, 2): "b: 2"}),
    "after a dash": ("- a: 1\n  b: 2\n  c: 3\n", {(0,): "b: 2 c: 3", (0, 1): "c: 3", (2,): "a: 1 b: 2"}),
}


@pytest.mark.parametrize(("before", "rows"), KEYS.values(), ids=KEYS)
def test_several_keys_are_taken_out(before: str, rows: dict[tuple[int, ...], str]) -> None:
    path: tuple[str | int, ...] = ("x",) if before.startswith("x") else (0,)
    for numbers, left in rows.items():
        node = mapping(before, *path)
        after = apply_edits(before, without_entries(before, node, [node.entries[number] for number in numbers]))
        assert " ".join(f"{one.name}: {scalar_text(one.value)}" for one in mapping(after, *path).entries) == left
        assert parse(after).problems == ()


def test_items_in_front_and_behind() -> None:
    block, braces = "list:\n  # first\n  - a\n  - b", "list: [a, b]\n"
    first = items_in_front(block, sequence(block, "list"), ["x", {"k": 1}])
    assert apply_edits(block, first) == "list:\n  - x\n  - k: 1\n  # first\n  - a\n  - b"
    last = items_after(block, sequence(block, "list"), ["x", "y"], comments=["one"])
    assert apply_edits(block, last) == f"{block}\n  # one\n  - x\n  - y"
    inner = items_after(block, sequence(block, "list"), ["x"], 0)
    assert apply_edits(block, inner) == "list:\n  # first\n  - a\n  - x\n  - b"
    assert apply_edits(braces, items_in_front(braces, sequence(braces, "list"), ["x"])) == "list: [x, a, b]\n"
    assert apply_edits(braces, items_after(braces, sequence(braces, "list"), ["x"], 0)) == "list: [a, x, b]\n"
    assert items_in_front(block, sequence(block, "list"), []) == items_after(block, sequence(block, "list"), []) == ()
    for text, after in ((braces, "list: []\n"), ("list: []\n", "list: []\n")):
        node = sequence(text, "list")
        assert apply_edits(text, without_items(text, node, range(len(node.items)))) == after


def test_values_are_written_in_the_style_of_their_mapping() -> None:
    block, braces = "x:\n  a: 1\n", "x: {a: 1}\n"
    values = {"b": [1, "2"], "c": {"d": None}}
    added = apply_edits(block, (insert_values(block, mapping(block, "x"), values),))
    assert added == "x:\n  a: 1\n  b:\n    - 1\n    - '2'\n  c:\n    d: null\n"
    added = apply_edits(braces, (insert_values(braces, mapping(braces, "x"), values),))
    assert added == "x: {a: 1, b: [1, '2'], c: {d: null}}\n"


WITH_LINES_THAT_ARE_NOT_READ = {
    "map:\n  a: 1\n  ]\n\n  # c\n  }\nlast: 5\n": "map:\n  a: 1\n  ]\n\n  # c\n  }\nnew: 1\nlast: 5\n",
    "list:\n  - a\n  ]\n\n  # c\nlast: 5\n": "list:\n  - a\n  ]\nnew: 1\n\n  # c\nlast: 5\n",
    "list:\n- a\n- b: {\nlast: 5\n": "list:\n- a\n- b: {\nnew: 1\nlast: 5\n",
    "list:\n- a\n]\nlast: 5\n": "list:\n- a\nnew: 1\n]\nlast: 5\n",
}


@pytest.mark.parametrize(("before", "after"), WITH_LINES_THAT_ARE_NOT_READ.items())
def test_a_line_that_is_not_read_belongs_to_the_block_above(before: str, after: str) -> None:
    node = mapping(before)
    assert apply_edits(before, (insert_entry(before, node, "new: 1", node.entries[0]),)) == after


def test_an_empty_item_is_taken_out_alone() -> None:
    before = "list:\n  - a\n  -\n  - b\n"
    assert without_item(before, "list", 1) == "list:\n  - a\n  - b\n"
    assert without_item("list:\n  - a\n  - b\n  -", "list", 2) == "list:\n  - a\n  - b\n"


def test_a_comment_that_an_edit_writes_itself_is_not_kept_twice() -> None:
    text = "a: 1  # one\nb: 2  # two\n"
    edits = (TextEdit(Span(0, 12), ""), TextEdit(Span(12, 24), "b: 3  # two\n"))
    assert apply_edits(text, keeping_comments(text, edits, comments(parse(text)))) == "# one\nb: 3  # two\n"


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("", "a, b, c, d"),
        ("a", "b, c, d"),
        ("d", "a, b, c"),
        ("bc", "a, d"),
        ("ac", "b, d"),
        ("abc", "d"),
        ("abcd", ""),
    ],
)
def test_parts_in_brackets_are_taken_out_with_their_commas(gone: str, left: str) -> None:
    text = "a, b, c, d"
    spans = [Span(at, at + 1) for at in range(0, 10, 3)]
    edits = list(without_parts(spans, [text[span.start] in gone for span in spans]))
    assert apply_edits(text, edits) == left
    assert all(len(edit.span) for edit in edits)
