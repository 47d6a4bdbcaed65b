"""Reading YAML: places, both readers' values, and continuing after faults."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from budgets import generated_cases
from hypothesis import example, given
from hypothesis import strategies as st

from pai_lsp.source.content import mapped
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, plain_value, walk
from pai_lsp.source.scalar import Date, Reader, server_text, server_value
from pai_lsp.source.syntax import MAX_CHARACTERS, parse
from pai_lsp.source.text import Span, apply_edits

JOB = """\
protocolVersion: 2
taskRoles:
  worker:
    instances: 1
    {}
    commands:
      - echo hi
extras:
  x: 1
"""


def written(text: str, node: Any) -> str:
    return text[node.span.start : node.span.end]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a: b\n", ["a", "b"]),
        ("'it''s': \"q\\\"\"\n", ["'it''s'", '"q\\""']),
        ("a: |\n  one\n  two\n\nb: 1\n", ["a", "|\n  one\n  two", "b", "1"]),
        ("a: >-\n  one\n  two\n# no\n", ["a", ">-\n  one\n  two"]),
        ("a: &x !!str 1\nb: *x\n", ["a", "1", "b", "1"]),
        ("a: [b, {c: d}]\r\ne: f\r\n", ["a", "b", "c", "d", "e", "f"]),
        ("\ufeffa: b\n", ["a", "b"]),
        ("😀: 语\n", ["😀", "语"]),
        ("a: x\u2028y\x85z\nb: 1\n", ["a", "x\u2028y\x85z", "b", "1"]),
        ("a:\n", ["a", ""]),
        ("a:\tb\n", ["a", "b"]),
    ],
)
def test_scalars_stand_where_they_are_written(text: str, places: list[str]) -> None:
    syntax = parse(text)
    assert syntax.problems == ()
    assert [written(text, node) for node in walk(syntax.root) if isinstance(node, Scalar)] == places


def test_collections_begin_at_their_first_character() -> None:
    text = "a:\n  b: [1, 2]\n  c:\n    - x\n    - {y: z}\nd: 1\n"
    nodes = [written(text, node) for node in walk(parse(text).root) if isinstance(node, (Mapping, Sequence))]
    assert nodes[1:] == ["b: [1, 2]\n  c:\n    - x\n    - {y: z}", "[1, 2]", "- x\n    - {y: z}", "{y: z}"]


@pytest.mark.parametrize(
    ("text", "server", "runtime"),
    [
        ("yes", "yes", True),
        ("on", "on", True),
        ("1e3", 1000, "1e3"),
        ("1_000", 1000, 1000),
        ("017", 15, 15),
        ("0o17", "0o17", "0o17"),
        ("08", "08", "08"),
        ("0x1F", 31, 31),
        ("1:30", 90, 90),
        ("1:60", "1:60", "1:60"),
        ("1_", "1_", 1),
        ("~", None, None),
        ("3.10", 3.1, 3.1),
        ("true", True, True),
    ],
)
def test_both_readers(text: str, server: object, runtime: object) -> None:
    value = parse(f"a: {text}\n").root
    assert isinstance(value, Mapping)
    node = value.entries[0].value
    assert isinstance(node, Scalar)
    assert (node.value, node.runtime_value) == (server, runtime)


def test_what_only_the_runtime_fails_on_is_an_error_value() -> None:
    scalar = parse("2020-13-02").root
    assert isinstance(scalar, Scalar)
    assert isinstance(scalar.value, Date)
    assert isinstance(scalar.runtime_value, ValueError)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("3.10", "3.1"),
        ("1.0", "1"),
        ("1e-3", "0.001"),
        ("1e-7", "1e-7"),
        ("12345678901234567890", "12345678901234567000"),
        ("1e21", "1e+21"),
        ("123456789012345678901", "123456789012345680000"),
        ("-1.25e300", "-1.25e+300"),
        ("0.1234567", "0.1234567"),
        ("-0.0000012", "-0.0000012"),
        ("0.00000012", "1.2e-7"),
        ("1234.5", "1234.5"),
        ("-0.0", "0"),
        ("9007199254740993", "9007199254740992"),
        ("-0b101", "-5"),
        ("+0x_f", "15"),
        ("0123", "83"),
        ("-1:30:30.5", "-5430.5"),
        ("0010-1-2t3:04:05.67891 -1:30", "Sun Jan 02 1910 04:34:05 GMT+0000 (Coordinated Universal Time)"),
        ("2020-1-2 3:04:05+2", "Thu Jan 02 2020 01:04:05 GMT+0000 (Coordinated Universal Time)"),
        ("2020-13-32", "Mon Feb 01 2021 00:00:00 GMT+0000 (Coordinated Universal Time)"),
        ("2020-1-2", "2020-1-2"),
        (".nan", "NaN"),
        ("-.inf", "-Infinity"),
        ("12:30", "750"),
        ("2020-01-01", "Wed Jan 01 2020 00:00:00 GMT+0000 (Coordinated Universal Time)"),
        (".inf", "Infinity"),
        ("true", "true"),
    ],
)
def test_values_become_the_text_that_javascript_writes(value: str, text: str) -> None:
    assert server_text(server_value(value)) == text


def test_lists_and_mappings_become_javascript_text() -> None:
    assert server_text(["a", None, [1, 2]]) == "a,,1,2"
    assert server_text({"a": 1}) == "[object Object]"
    assert server_text(math.nan) == "NaN"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: {ports:}\n", {"a": {"ports": None}}),
        ("a: |\n  \tone\n  two\n", {"a": "\tone\ntwo\n"}),
        ("a: x\ufeffy\n", {"a": "x\ufeffy"}),
        ("%YAML 1.3\n---\na: 1\n", {"a": 1}),
        ("a:\n  &b:\n    - x\nc: 1\n", {"a": ["x"], "c": 1}),
        ("a:\n  &b: {c: 1}\n", {"a": {"c": 1}}),
    ],
)
def test_what_js_yaml_reads_is_no_fault(text: str, value: object) -> None:
    syntax = parse(text)
    assert (plain_value(syntax.root), syntax.problems) == (value, ())


@pytest.mark.parametrize("text", ["- &b name: x\n", "a:\n  &b worker: x\n", "a:\n  &b: x\n  c: y\n"])
def test_an_anchor_in_front_of_the_first_key_is_a_fault(text: str) -> None:
    assert [problem.message for problem in parse(text).problems] == [
        "an anchor is not allowed before the first key of a mapping: the rest-server refuses the file",
    ]


def test_merges() -> None:
    value = plain_value(parse("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 0}\n").root)
    assert value["c"] == {"x": 0, "y": 1, "z": 2}


@pytest.mark.parametrize(
    ("line", "message", "at", "role"),
    [
        ("dockerIma", "expected ':' after 'dockerIma'", "dockerIma", {"dockerIma": None}),
        ("prerequisites: [a, b", "the '[' is never closed; expected ']'", "[", {"prerequisites": ["a", "b"]}),
        ("prerequisites: [", "the '[' is never closed; expected ']'", "[", {"prerequisites": []}),
        ('data: "abc', 'the " is never closed', '"', {"data": "abc"}),
        ("data: a: b", "a value that holds ': ' must be quoted", "a: b", {"data": "a_ b"}),
        ("\tdata: x", "YAML is indented with spaces, not with tabs", "\t", {"data": "x"}),
        (
            "data: [a, b <% $c[0] %>, d]",
            "in brackets, unquoted text ends where another bracket begins; quote the whole text",
            "b <% $c[0] %>",
            {"data": ["a", "b <% $c[0] %>", "d"]},
        ),
        (
            "data: ['[', it's <% $c[0] %> <% $c[1] %>]",
            "in brackets, unquoted text ends where another bracket begins; quote the whole text",
            "it's <% $c[0] %> <% $c[1] %>",
            {"data": ["[", "it's <% $c[0] %> <% $c[1] %>"]},
        ),
        (
            "data: {a: <% $c[0], 1 %>}",
            "in brackets, unquoted text ends where another bracket begins; quote the whole text",
            "<% $c[0], 1 %>",
            {"data": {"a": "<% $c[0], 1 %>"}},
        ),
        (
            "data: [a, b {{ c }}, d]",
            "in brackets, unquoted text ends where another bracket begins; quote the whole text",
            "b {{ c }}",
            {"data": ["a", "b {{ c }}", "d"]},
        ),
        ("data:\u2028x", "expected a space after 'data:'", "data:\u2028x", {"data": "\u2028x"}),
        ("data: <% a[0]: b %>", "a value that holds ': ' must be quoted", "<% a[0]: b %>", {"data": "<% a[0]_ b %>"}),
        ("data: @x", "a plain value cannot begin with '@'; quote it", "@x", {"data": "_x"}),
        (
            "data: &v.1 x",
            "an anchor or alias can only have letters, digits, '_' and '-' in its name, unlike '&v.1'",
            "&v.1",
            {"data": "x"},
        ),
        (
            'data: &v@ "x"',
            "an anchor or alias can only have letters, digits, '_' and '-' in its name, unlike '&v@'",
            "&v@",
            {"data": "x"},
        ),
        (
            "data: [a, , b]",
            "there is nothing before this comma; remove it or write a value",
            ",",
            {"data": ["a", None, "b"]},
        ),
        ("data: {a: 1, : b}", "there is no key before ':'", ":", {"data": {"a": 1, "null": "b"}}),
        (
            "data: [a, {b: :c d}]",
            "a plain value in brackets cannot begin with ':'; quote it",
            ":c d",
            {"data": ["a", {"b": ":c d"}]},
        ),
        (
            "data: x\n    &key: {}",
            "there is no key after '&key': the rest-server refuses the file",
            "&key",
            {"data": "x", "null": {}},
        ),
        ("data: ? x", "a plain value cannot begin with '? '; quote it", "? x", {"data": "? x"}),
        ("data: *x", "no anchor is named 'x'", "*x", {"data": None}),
        ("data: 'it's'", "'s'' is not expected after the value", "s'", {"data": "it"}),
        (
            "  data: x",
            "'data: x' is indented by 6, but the lines that it belongs to are indented by 4",
            "data: x",
            {"data": "x"},
        ),
        (
            "data: [&x a, {*x: 1}]",
            "add a space after '*x': for the rest-server, the colon is a part of the name",
            "*x",
            {"data": ["a", {"a": 1}]},
        ),
        (
            "data: &x {*x: 1}",
            "add a space after '*x': for the rest-server, the colon is a part of the name",
            "*x",
            {"data": {"null": 1}},
        ),
        (
            "data: [&x [1], {<<: [*x]}]",
            "'<<' must be followed by a mapping or a list of mappings",
            "<<",
            {"data": [[1], {}]},
        ),
        ("- x", "'- x' does not belong here", "- x", {}),
        (
            "data: !what x",
            "'!what' is not a tag that OpenPAI reads: the rest-server refuses the file",
            "!what x",
            {"data": "x"},
        ),
        ("data: {{ x }}", "'{{ x }}' is read as a mapping; quote it to make it text", "{{ x }}", {"data": "{{ x }}"}),
        (
            "<<<<<<< ours\n    data: x\n=======\n    data: y\n>>>>>>> theirs",
            "a merge conflict is left in the file; keep one side and delete the conflict markers",
            "<<<<<<< ours",
            {"data": "x"},
        ),
    ],
)
def test_one_fault_does_not_hide_the_rest(line: str, message: str, at: str, role: dict[str, Any]) -> None:
    text = JOB.format(line).replace("    <<<<<<<", "<<<<<<<")
    syntax = parse(text)
    assert [(problem.message, text[problem.span.start : problem.span.end]) for problem in syntax.problems] == [
        (message, at)
    ]
    value = plain_value(syntax.root)
    assert value["taskRoles"]["worker"] == {"instances": 1, "commands": ["echo hi"], **role}
    assert value["extras"] == {"x": 1}


@pytest.mark.parametrize("reader", Reader)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: >-\n  \tb\n  c\n  d\nz: 1\n", {"a": "\tb\nc d", "z": 1}),
        ("a: >\r\n  \tb\r\n\r\n  c\r\n", {"a": "\tb\n\nc\n"}),
        ("a: >\n  \tb\n   c\n  d\n", {"a": "\tb\n c\nd\n"}),
        ("a: >\n  \tb\n  \tc\n  d\n", {"a": "\tb\n\tc\nd\n"}),
        ("a: >+\n  \tb\n\nz: 1\n", {"a": "\tb\n\n", "z": 1}),
        ("a: |\n  \tb\n  c\n", {"a": "\tb\nc\n"}),
        ("%FOO bar\n# x\n%BAR\n---\na: 1\n", {"a": 1}),
    ],
)
def test_what_only_libyaml_refuses(text: str, value: dict[str, Any], reader: Reader) -> None:
    syntax = parse(text, reader)
    assert (syntax.problems, plain_value(syntax.root)) == ((), value)


@pytest.mark.parametrize(
    "line", ["dockerIma", "data: [a, b", 'data: "abc', "data: a: b", "data: @x", "data: {a: 1", "data: [a <% b[0] %>]"]
)
def test_the_mend_that_is_offered_mends(line: str) -> None:
    text = JOB.format(line)
    problem = parse(text).problems[0]
    assert problem.fix is not None
    assert parse(apply_edits(text, [problem.fix[1]])).problems == ()


def test_hostile_texts_are_refused_at_once() -> None:
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for text, message, span in (
        (laughs, "more than 20,000 values after all aliases are expanded", Span(142, 143)),
        ("[" * 10_000, "nested deeper than 100 levels", Span(100, 101)),
        (
            "x" * (MAX_CHARACTERS + 1),
            f"the file has {MAX_CHARACTERS + 1:,} characters; more than 5,000,000 are not read",
            Span(0, 0),
        ),
    ):
        assert [(problem.message, problem.span) for problem in parse(text).problems] == [(message, span)]


def test_several_documents() -> None:
    syntax = parse("a: 1\n---\nb: 2\n")
    assert [plain_value(document) for document in syntax.documents] == [{"a": 1}, {"b": 2}]
    assert len(syntax.problems) == 1


SNIPPETS = st.sampled_from(
    [
        *(
            "a",
            "b: 1",
            "- x",
            "\n",
            "  ",
            "    ",
            "\t",
            ":",
            ": ",
            "'",
            '"',
            "[",
            "]",
            "{",
            "}",
            "{{ x }}",
            "&a ",
            "*a",
        ),
        *(
            "!",
            "|",
            ">",
            "#",
            "---\n",
            "\\",
            "%",
            "@",
            ",",
            "😀",
            "\r\n",
            "\x85",
            "\ufeff",
            "\x00",
            "<<: *a",
            "<% $x %>",
        ),
    ],
)


@generated_cases(300)
@given(st.lists(SNIPPETS, max_size=30).map("".join))
def test_any_text_is_read(text: str) -> None:
    syntax = parse(text)
    for node in walk(syntax.root):
        assert 0 <= node.span.start <= node.span.end <= len(text)
    for problem in syntax.problems:
        assert 0 <= problem.span.start <= problem.span.end <= len(text)
        assert problem.message


@generated_cases(300)
@example("\\\n\na", '"{}"')
@given(
    st.text(alphabet="ab'\"\\ \n\té😀#:-", max_size=25), st.sampled_from(["'{}'", '"{}"', "|\n  {}", ">\n  {}", "{}"])
)
def test_every_character_of_a_scalar_has_a_place(content: str, style: str) -> None:
    text = "k: " + style.format(content.replace("\n", "\n  ")) + "\n"
    syntax = parse(text)
    if syntax.problems or not isinstance(syntax.root, Mapping):
        return
    scalar = syntax.root.entries[0].value
    if isinstance(scalar, Scalar):
        place = mapped(text, scalar)
        assert place.text == scalar.text
        starts = [place.place(index).start for index in range(len(place.text))]
        assert starts == sorted(starts)
        for index, (character, start) in enumerate(zip(place.text, starts, strict=True)):
            if character in "ab😀é" and text[start] != "\\":
                assert text[start] == character
                assert place.index(start) == index


@pytest.mark.parametrize(
    ("written", "places"),
    [
        ('"x\n\n  y"', ["x", "\n", "y"]),
        ('"x \n \n\n  y"', ["x", "\n", "\n", "y"]),
        ('"x\r\n  y"', ["x", "\r\n  ", "y"]),
        ('"\n  x"', ["\n  ", "x"]),
        ('"x\n"', ["x", "\n"]),
        ("'\n\n  x'", ["\n", "x"]),
        ("x\n\n  y", ["x", "\n", "y"]),
        ("'x''y'", ["x", "''", "y"]),
        ('"x\\\n  y"', ["x", "y"]),
        ('"x\\\n\n  y"', ["x", "\n", "y"]),
        ('"\\x41\\u0042\\U00000043\\n\\e"', ["\\x41", "\\u0042", "\\U00000043", "\\n", "\\e"]),
        ('"\\ud83d\\ude00x"', ["\\ud83d\\ude00", "x"]),
        (">\n  x\n  y\n\n  z\n", ["x", "\n  ", "y", "\n", "z", ""]),
        (">-\n  x\n    y\n  z\n", ["x", "\n", " ", " ", "y", "\n", "z"]),
        ("|2\n   x\n  y\n", [" ", "x", "\n", "y", ""]),
        ("|\n  x\n\n  y\n", ["x", "\n", "\n", "y", ""]),
    ],
)
def test_where_each_character_is_written(written: str, places: list[str]) -> None:
    text = f"a: {written}\n"
    scalar = parse(text).scalars[-1]
    found = [mapped(text, scalar).place(number) for number in range(len(scalar.text))]
    assert [text[place.start : place.end] for place in found] == places
    assert all(one.end <= following.start for one, following in pairwise(found))


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ('name: "a\0b"\n', [("\0", False)]),
        ('name: "a\x7fb"\n', [("\x7f", True)]),
        ("name: 'a\x1fb'\n", [("\x1f", False)]),
        ("name: a\x7fb\n", [("\x7f", False)]),
        ("name: a # \x7f\n", [("\x7f", True)]),
        ("name: a # \0\n", [("\0", False)]),
        ("na\x7fme: 1\n", [("\x7f", False)]),
        ("a: &x\x7f 1\nb: *x\x7f\n", [("\x7f", True), ("\x7f", True)]),
        ("a: {\n  b: c\n\t}\n", [("\t", True)]),
        ("a: # b\n \tb: c\n", [("\t", True)]),
        ("a:\n\tb: c\n", [("\t", False)]),
    ],
)
def test_which_reader_refuses_a_control_character(text: str, characters: list[tuple[str, bool]]) -> None:
    problems = parse(text).problems
    assert [(text[one.span.start : one.span.end], one.is_runtime_only) for one in problems] == characters


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ('a: "x\nb: 1\nc: "y"\n', 'the " is never closed', 3),
        ("a: 'x\nb: 1\nc: 'y'\n", "the ' is never closed", 3),
        ('a:\n  - "x\n  - y\n  - "z"\n', 'the " is never closed', 7),
        ('a: "b"c\n', "'c' is not expected after the value", 6),
        ('a: "b" c\n', "'c' is not expected after the value", 7),
    ],
)
def test_what_follows_a_quote(text: str, message: str, at: int) -> None:
    assert [(one.message, one.span.start) for one in parse(text).problems] == [(message, at)]


def test_the_longest_text_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pai_lsp.source.syntax.MAX_CHARACTERS", 4)
    assert [len(parse(text).problems) for text in ("a: b", "a: bc")] == [0, 1]


@pytest.mark.parametrize(
    "written", ["\ue285", "\ue289 \x85", "\uf8ff\u2028", "\uf8fb\ufeff", "\U000f0000\u2029", "\U0010ffd7"]
)
def test_characters_for_private_use_are_read_as_they_are(written: str) -> None:
    assert plain_value(parse(f'k: "a{written}b"').root) == {"k": f"a{written}b"}


def test_an_escaped_character_for_private_use_is_read_as_it_is() -> None:
    assert plain_value(parse('k: "\\ue285\\U000F0000"').root) == {"k": "\ue285\U000f0000"}


def test_a_collection_of_aliases_stands_where_they_are_written() -> None:
    text = "a: &x foo\nlist:\n- *x\n- *x\nmap:\n  k: *x\n"
    root = parse(text).root
    assert isinstance(root, Mapping)
    written = {entry.name: text[entry.value.span.start : entry.value.span.end] for entry in root.entries}
    assert written == {"a": "foo", "list": "- *x\n- *x", "map": "k: *x"}


def test_what_javascript_writes_for_numbers_that_no_text_gives() -> None:
    values: list[object] = [0.0, -0.0, 5e-324, 1e20, None, [1, None, [2.5, True]], {}]
    texts = ["0", "0", "5e-324", "100000000000000000000", "null", "1,,2.5,true", "[object Object]"]
    assert list(map(server_text, values)) == texts
