"""Every scalar and key that is written reads back as the same text, in both readers of a cluster."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from budgets import generated_cases
from hypothesis import given
from hypothesis import strategies as st

from pai_lsp.source.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.writing import flow_scalar, flow_value, quoted, scalar_line, value_lines, within_quotes, written_key

# How each place is written, and where the text is found again.
PLACES = {
    "value": lambda text: f"k: {scalar_line(text)}\n",
    "item": lambda text: f"k:\n- {scalar_line(text)}\n",
    "text at the start of a line": lambda text: f"{scalar_line(text)}: 1\n",
    "key": lambda text: f"k:\n  {written_key(text)}: 1\n",
    "flow item": lambda text: f"k: [{flow_scalar(text)}, z]\n",
    "flow value": lambda text: f"k: {{a: {flow_scalar(text)}}}\n",
    "flow key": lambda text: f"k: {{{written_key(text)}: 1}}\n",
    "always quoted": lambda text: f"k: [{quoted(text)}]\n",
    "in double quotes": lambda text: f'k: "{within_quotes(text, chr(34))}"\n',
}

# Words that one reader takes for something else than text, and characters that one of them ends or refuses.
AWKWARD = (
    "0x_", "0b_", "1_", "1234_", "0x1F", "0b1", "0b12", "0o7", "012", "08", "00", "1_000", "1_0.5", "1e3", "12e03",
    "1.", "1.e", ".e", ".5", "1:30", "190:20:30", "2020-01-01", "2024-02-30", "yes", "no", "on", "off", "y", "n",
    "True", "NO", "true", "null", "Null", "~", "~x", ".inf", "-.inf", "+.inf", ".NaN", "=", "<<", ".", "..", "...",
    "-", "--", "---", "-x", "+", "?", "?x", ":", ":x", "!", "!a", "&", "&x", "*", "*x", "|", ">", "%", "%a", "@",
    "@a", "`", "`a", "#", "#a", "a#", "a#b", ",", "a,b", "[", "]", "[a", "a]", "a[0]", "{", "}", "{a", "{{", "}}",
    "a:", "a:b", ":a:", "'", "''", '"', "it's", "'a'", 'a"b', 'a\'b"c', "a\\b", "\\", "\\n", "é", "ß", "中文", "α😀",
    "worker-0", "/mnt/data", "user@host", "ubuntu:20.04", "a?b", "<%x%>", "-Xmx1g", "secrets:", "1,000", "", " ",
    "  ", " a", "a ", "a  b", "- a", "-\ta", "? a", ": a", "a: b", "a : b", "a :", "a #b", "a\t#b", "--- a", "... a",
    "--- ", "a, b", "[a, b]", "{a: b}", "<% $parameters.x %>", "{{ x }}", "echo {{ x }}", "echo 'a: b'", "\t", "a\tb",
    "\ta", "a\t", "\n", "a\nb", "a\n", "\r", "a\r\nb", "\x00", "a\x07b", "\x1b[0m", "\x7f", "\x85", "a\x85b", "\xa0",
    "\xad", "a\u2028b", "\u2029", "\ufeff", "\ufeffa", "a\ufeffb", "\ue000", "\ue285", "\uf8ff", "�", "\U000f0000",
    "\U0010fffd", "2020-01-01 10:00:00", "1 2", "no comment", "!!int 5", "=a", "<<a", "%YAML 1.2",
)  # fmt: skip


def texts_of(written: str) -> list[object]:
    """The keys and values of a small file, as the rest-server and then as the runtime reads them."""
    syntax = parse(written)
    assert syntax.problems == ()
    found: list[object] = []

    def look(node: object) -> None:
        if isinstance(node, Scalar):
            found.append((node.value, node.runtime_value))
        elif isinstance(node, Sequence):
            for item in node.items:
                look(item)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                assert isinstance(entry.key, Scalar)
                found.append((entry.name, runtime_value(entry.key)))
                look(entry.value)

    look(syntax.root)
    return found


def reads_back(text: str, place: str) -> None:
    written = PLACES[place](text)
    assert (text, text) in texts_of(written), written
    pairs: list[object] = [yaml.safe_load(written)]  # PyYAML itself, not this product's reading of it
    while pairs:
        one = pairs.pop()
        if one == text and isinstance(one, str):
            return
        pairs += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else []
    pytest.fail(f"PyYAML does not find {text!r} in {written!r}")


@pytest.mark.parametrize("place", PLACES)
def test_an_awkward_text_reads_back(place: str) -> None:
    for text in AWKWARD:
        reads_back(text, place)


ALPHABET = st.one_of(
    st.sampled_from("-?:,[]{}#&*!|>'\"%@`=<~.+_0123456789exobnyNYTtf \t\n\r\\a/"),
    st.characters(codec="utf-8"),
)


@given(st.text(ALPHABET, max_size=8), st.sampled_from(sorted(PLACES)))
@generated_cases(300)
def test_any_text_reads_back(text: str, place: str) -> None:
    reads_back(text, place)


@given(st.floats(allow_nan=False) | st.sampled_from([1e21, -1e22, 1.5e300, 1e-7, -0.0]))
@generated_cases(100)
def test_any_number_reads_back(number: float) -> None:
    written = scalar_line(number)
    read = [yaml.safe_load(written), plain_value(parse(written).root)]
    assert [float(one) for one in read if not isinstance(one, str)] == [number, number], written


@pytest.mark.parametrize(
    "text",
    ["worker", "é", "中文", "echo hi", "-x", "a:b", "a, b", "it's", "<% $parameters.x %>", "a[0]", "=a", "/mnt/data"],
)
def test_quotes_are_written_only_where_they_are_needed(text: str) -> None:
    assert scalar_line(text) == text


@pytest.mark.parametrize(
    ("text", "written"), [("-x", "-x"), ("ls -l", "'ls -l'"), ("a, b", "'a, b'"), ("a:b", "'a:b'"), ("é", "é")]
)
def test_more_is_quoted_in_brackets(text: str, written: str) -> None:
    assert flow_scalar(text) == written


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("a\nb", ["|-", "  a", "  b"]),
        ("a\nb\n", ["|", "  a", "  b"]),
        ("a\n\n  b\n", ["|", "  a", "", "    b"]),
        ("a\n\tb", ["|-", "  a", "  \tb"]),
        (" a\nb", ['" a\\nb"']),  # its indentation would be that of the block
        ("\na", ['"\\na"']),
        ("a\n\n", ['"a\\n\\n"']),
        ("a\n  \nb", ['"a\\n  \\nb"']),
        ("a\n\x01", ['"a\\n\\x01"']),
        ("a\r\nb", ['"a\\r\\nb"']),
        ([], ["[]"]),
        ({}, ["{}"]),
        ([1, {"a": [2]}], ["- 1", "- a:", "    - 2"]),
        ([["x", None], True], ["- - x", "  - null", "- true"]),
        ({"k": "x\ny\n", "l": {"m": []}}, ["k: |", "  x", "  y", "l:", "  m: []"]),
        (["x\ny"], ["- |-", "  x", "  y"]),
        (math.inf, [".inf"]),
        (-math.inf, ["-.inf"]),
        (math.nan, [".nan"]),
        (1.5, ["1.5"]),
    ],
)
def test_values_in_lines(value: Any, lines: list[str]) -> None:
    assert value_lines(value) == lines


def test_values_in_brackets() -> None:
    assert flow_value({"a b": [1, "x\ny", {"c": []}], "d": "e, f"}) == "{'a b': [1, \"x\\ny\", {c: []}], d: 'e, f'}"
    assert [within_quotes("it's\x07 \u2028\U000e0001", quote) for quote in "'\""] == [
        "it''s\x07 \u2028\U000e0001",
        "it's\\x07 \\u2028\\U000e0001",
    ]
