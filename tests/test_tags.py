"""Explicit tags: what the rest-server's js-yaml 3.13.1 and the runtime's PyYAML 5.4.1 make of them, as both were asked.

Where the rest-server refuses a text, what the runtime would make of it does not matter.
"""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest
from budgets import some
from job_text import HEAD

from pai_lsp.cli.main import main
from pai_lsp.document import Document, check
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.scalar import Binary, Date
from pai_lsp.source.syntax import parse
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from pathlib import Path

REFUSED = "the rest-server refuses the file"
DIES = "the init container dies"
NEW_YEAR = Date(datetime(2001, 1, 1, tzinfo=timezone.utc))

# The text, the value that the rest-server reads, and the one that the runtime reads.
VALUES: list[tuple[str, Any, Any]] = [
    ("!!int 5", 5, 5),
    ('!!int "5"', 5, 5),
    ("!!int 1:30", 90, 90),
    ("!!float 5", 5, 5.0),
    ("!!float 1e3", 1000, 1000.0),
    ("!!float .inf", math.inf, math.inf),
    ("!!float 1:30.5", 90.5, 90.5),
    ("!!bool TRUE", True, True),
    ("!!null", None, None),
    ("!!null ~", None, None),
    ("!!str 5", "5", "5"),
    ("!!str", "", ""),
    ("!!timestamp 2001-01-01", NEW_YEAR, date(2001, 1, 1)),
    ("!!timestamp 2001-1-1 0:00:00", NEW_YEAR, datetime(2001, 1, 1)),  # noqa: DTZ001 - as PyYAML has it
    ("!!timestamp 2000-13-01", NEW_YEAR, DIES),
    ("!!timestamp 0001-01-01", Date(datetime(1901, 1, 1, tzinfo=timezone.utc)), date(1, 1, 1)),
    ("!!binary aGk=", Binary(b"hi"), b"hi"),
    ("!!binary |\n  aGkh\n  aA==\n", Binary(b"hi!h"), b"hi!h"),
    ("!!merge <<", "<<", DIES),
    ("!!merge", None, DIES),
    ("!!omap [a: 1, b: 2]", [{"a": 1}, {"b": 2}], [("a", 1), ("b", 2)]),
    ("!!pairs [a: 1, a: 2]", [["a", 1], ["a", 2]], [("a", 1), ("a", 2)]),
    ("!!pairs [{<<: {a: 1}}]", [["a", 1]], DIES),
    ("!!set {a, b}", {"a": None, "b": None}, {"a", "b"}),
    ("!!map {a: 1}", {"a": 1}, {"a": 1}),
    ("!!seq [a]", ["a"], ["a"]),
    ("!!seq\n- a", ["a"], ["a"]),
    ("&k !!int 5", 5, 5),
    ("!!int &k 5", 5, 5),
    ("!<tag:yaml.org,2002:int> 5", 5, 5),
    ("[!!str a: 1]", [{"a": 1}], [{"a": 1}]),
    ('! "5"', "5", 5),
    ("!", None, None),
    ("! [a]", ["a"], ["a"]),
    ("! <<", "<<", DIES),
    ("!!int abc", REFUSED, None),
    ("!!int", REFUSED, None),
    ("!!int 5.0", REFUSED, None),
    ("!!int 08", REFUSED, None),
    ("!!int '5 '", REFUSED, None),
    ("!!float 0x10", REFUSED, None),
    ("!!float 1:30", REFUSED, None),
    ("!!bool yes", REFUSED, None),
    ("!!bool", REFUSED, None),
    ("!!null abc", REFUSED, None),
    ('!!null ""', REFUSED, None),
    ("!!timestamp soon", REFUSED, None),
    ("!!timestamp", REFUSED, None),
    ("!!binary x", REFUSED, None),
    ("!!binary aGk", REFUSED, None),
    ('!!binary "@@@@"', REFUSED, None),
    ("!!binary", REFUSED, None),
    ("!!merge a", REFUSED, None),
    ("!!str [a]", REFUSED, None),
    ("!!omap {a: b}", REFUSED, None),
    ("!!omap [a: 1, a: 2]", REFUSED, None),
    ("!!omap [a]", REFUSED, None),
    ("!!pairs [a]", REFUSED, None),
    ("!!pairs [{a: 1, b: 2}]", REFUSED, None),
    ("!!set {a: 1}", REFUSED, None),
    ("!!set [a]", REFUSED, None),
    ("!!map [a]", REFUSED, None),
    ("!!map a", REFUSED, None),
    ("!!seq {a: 1}", REFUSED, None),
    ("!!seq a", REFUSED, None),
    ("!!value =", REFUSED, None),
    ("!own a", REFUSED, None),
    ("!!python/none a", REFUSED, None),
    ("[!!str, a]", REFUSED, None),
]
KEYS: list[tuple[str, Any, Any]] = [
    ("a: 1\n!!str b: 2", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ("? !!str a\n: 1", {"a": 1}, {"a": 1}),
    ("? &k a\n: 1", {"a": 1}, {"a": 1}),
    ("{!!str a: 1}", {"a": 1}, {"a": 1}),
    ('a: 1\n!!int "05": 2', {"a": 1, "5": 2}, {"a": 1, 5: 2}),
    ("a: 1\n!!binary aGk=: 2", {"a": 1, "hi": 2}, {"a": 1, b"hi": 2}),
    ("a: 1\n!!merge <<: {b: 2}", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ('a: 1\n!!merge "<<": {b: 2}', {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ("a: 1\n!!str <<: {b: 2}", {"a": 1, "<<": {"b": 2}}, {"a": 1, "<<": {"b": 2}}),
    ("=: 1", {"=": 1}, {"=": 1}),
    ("!!map\na: 1", {"a": 1}, {"a": 1}),
    ("!!str a: 1", REFUSED, None),
    ("- !!str a: 1", REFUSED, None),
    ("x:\n  ! a: 1", REFUSED, None),
    ("!!map\n!!str a: 1", REFUSED, None),
    ("&k\n!!str a: 1", REFUSED, None),
    ("# really?\n!!str a: 1", REFUSED, None),
    ("a: 1\n!!timestamp worker : 2", REFUSED, None),
    ("a: 1\n!!omap worker: 2", REFUSED, None),
    ("? !!bool x\n: 1", REFUSED, None),
]
# An empty text, list or mapping to the rest-server, null here: the task dies in any case.
EMPTY_COLLECTIONS = ["!!map", "!!set", "!!seq", "!!omap", "!!pairs"]


@pytest.mark.parametrize(("text", "server", "runtime"), [(f"x: {text}", *rest) for text, *rest in VALUES] + KEYS)
def test_each_reader_reads_its_value_or_gives_up(text: str, server: Any, runtime: Any) -> None:
    syntax = parse(f"{text}\n")
    if server is REFUSED:
        assert len(syntax.problems) == 1
        assert REFUSED in syntax.problems[0].message
        return
    is_value = (text, server, runtime) not in KEYS
    assert syntax.problems == ()
    assert plain_value(syntax.root) == ({"x": server} if is_value else server)
    if runtime is DIES:
        with pytest.raises(ValueError, match=r"."):
            runtime_value(syntax.root)
    else:
        assert runtime_value(syntax.root) == ({"x": runtime} if is_value else runtime)


@pytest.mark.parametrize("text", [text for text, _, runtime in VALUES if runtime is DIES and "{" not in text])
def test_a_tag_that_only_the_runtime_fails_on_is_an_error(text: str) -> None:
    document = Document(f"parameters: {{x: {text} }}\n")
    found = [one for one in document.diagnostics if one.severity is Severity.ERROR and one.code != "missing-key"]
    assert [one.code for one in found] == ["unreadable-value"]
    assert document.text[found[0].span.start : found[0].span.end] == text


@pytest.mark.parametrize("tag", EMPTY_COLLECTIONS)
def test_an_empty_collection_ends_the_task_as_value_and_as_key(tag: str) -> None:
    for text in (f"extras: {{x: {tag} }}\n", f"extras:\n  ? {tag}\n  : x\n"):
        document = Document(text)
        assert document.syntax.problems == ()
        assert "unreadable-value" in [one.code for one in document.diagnostics]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("!!str name: train\n", "name: train\n"),
        ("a: &k !!map [b]\n", "a: &k [b]\n"),
        ("a: !!seq &k {b: 1}\n", "a: &k {b: 1}\n"),
        ("a: [!!str, b]\n", "a: [!!str , b]\n"),
        ("!!int name: train\n", "name: train\n"),
        ("a: !!int b\n", None),
    ],
)
def test_a_tag_is_removed_where_it_is_surely_the_fault(before: str, after: str | None) -> None:
    (problem,) = parse(before).problems
    assert (apply_edits(before, [problem.fix[1]]) if problem.fix else None) == after


JOB = (
    HEAD
    + """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hi]
"""
)
SSH = "extras: {com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: T }}]}\n"
CALLBACK = "plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: [{event: taskStarts, commands: [T ]}]"


TAGGED = ["!!timestamp x", "!!bool x", "!!int", "!!omap x", "!!set", "! ="]


@pytest.mark.parametrize("tagged", some(TAGGED, 1))
@pytest.mark.parametrize(
    "text",
    [
        JOB.replace("echo hi", "T "),
        JOB.replace("instances: 1", "instances: T "),
        JOB.replace("  worker:", "  first: {}\n  T :"),
        JOB.replace("  worker:", "  ? T\n  :"),
        JOB.replace("name: train", "name: T "),
        JOB.replace("taskRoles:", f"  - {{name: setup, type: script, {CALLBACK}}}\ntaskRoles:"),
        JOB + SSH,
        JOB + "parameters: {x: T }\n",
        JOB + "secrets: {x: T }\n",
        JOB + "extras:\n  ? T\n  : x\n",
    ],
)
def test_no_rule_and_no_expansion_fails_on_a_tag(
    tagged: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "train.pai.yaml"
    job.write_text(text.replace("T ", f"{tagged} ").replace("? T", f"? {tagged}"), encoding="utf-8")
    failed: list[str] = []
    check(Document(job.read_text(encoding="utf-8")), lambda rule, error: failed.append(f"{rule.code}: {error!r}"))
    assert failed == []
    assert main(["expand", str(job)]) in {0, 1}
    assert main(["expand", "--as-is", str(job)]) in {0, 1}
    assert "bug in pai-lsp" not in capsys.readouterr().err


def test_binary_data_is_no_command() -> None:
    found = [one.message for one in Document(JOB.replace("echo hi", "!!binary aGk=")).diagnostics]
    assert found == ["a command must be a string, not binary data; write it without '!!binary'"]


@pytest.mark.parametrize(
    ("written", "server"),
    [
        ("1" + ":59" * 172, 1.3900968577970095e306),
        ("1" + ":59" * 174, math.inf),
        ("-1" + ":59" * 174, -math.inf),
        ("1" + ":00" * 180, math.nan),
        ("1" + ":00" * 180 + ".0", math.nan),
        ("1_:30", 90),
    ],
)
def test_a_number_of_many_parts_is_no_more_than_a_double(written: str, server: float) -> None:
    root = parse(written).root
    assert repr(plain_value(root)) == repr(server)


def test_a_number_that_the_runtime_can_not_hold_is_an_error() -> None:
    long = "1" + ":59" * 174
    for written, codes in ((long, []), (f"{long}.5", ["unreadable-value"])):
        document = Document(f"{JOB}parameters: {{unused: {written}, password: not-shown-27}}\n")
        assert [one.code for one in document.diagnostics if one.severity is Severity.ERROR] == codes
        assert "secret-in-clear" in [one.code for one in document.diagnostics]


@pytest.mark.parametrize("sign", ["|", ">", "|-", ">2+"])
def test_a_comment_that_is_stuck_to_the_sign_of_a_block_is_refused(sign: str) -> None:
    text = f"a:\n- {sign}#c\n   echo\n"
    (problem,) = parse(text).problems
    assert text[problem.span.start : problem.span.end] == f"{sign}#"
    assert problem.fix is not None
    assert parse(apply_edits(text, [problem.fix[1]])).problems == ()
    assert plain_value(parse("a:\n- |\t# c\n  echo\n").root) == {"a": ["echo\n"]}


@pytest.mark.parametrize("text", ["[-]", "[a, -]", "{a: -}", "{-}", "[-, a]"])
def test_a_lone_dash_in_brackets_is_refused(text: str) -> None:
    (problem,) = parse(text).problems
    assert problem.fix is not None
    assert parse(apply_edits(text, [problem.fix[1]])).problems == ()
    assert parse("[--, -a, '-', {-: 1}]").problems == ()


def test_what_json_writes_for_a_character_is_read() -> None:
    value = {"name": "a \U0001f600 b", "c": ["\U0001f680\U0001f680", "\\ud83d"], "\U0001f600": 1}
    syntax = parse(json.dumps(value))
    assert (plain_value(syntax.root), syntax.problems) == (value, ())
    many = [f"{number} \U0001f600 '" for number in range(60)]
    assert plain_value(parse(json.dumps(many)).root) == many


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r"\uD83D\uDE00", "\U0001f600"),
        (r"\U0000d83d\U0000de00", "\U0001f600"),
        (r"\ud800", "\ufffd"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\\ud83d", r"\ud83d"),
    ],
)
def test_half_a_pair_is_what_the_cluster_makes_of_it(written: str, value: str) -> None:
    syntax = parse(f'a: "{written}"')
    assert (plain_value(syntax.root), syntax.problems) == ({"a": value}, ())


@pytest.mark.parametrize(
    ("written", "what"),
    [
        (r"\q", r"'\q' is not an escape"),
        (r"\u12", r"'\u' needs 4 hexadecimal digits after it"),
        (r"\xg", r"'\x' needs 2 hexadecimal digits after it"),
        (r"\U00110000", r"'\U' needs a code up to 10FFFF"),
    ],
)
def test_a_wrong_escape_is_explained(written: str, what: str) -> None:
    (problem,) = parse(f'a: "{written}"').problems
    assert problem.message == f"{what}; in double quotes write '\\{written[:2]}', or use single quotes"


@pytest.mark.parametrize("text", ["a: [b\nc]", "- a:\n    [b\n  c, d]", "- [b\ne]", "x:\n  a: {b: c\n    d\n  e}"])
def test_a_line_in_brackets_that_is_not_indented_deeper_is_refused(text: str) -> None:
    (problem,) = parse(text).problems
    assert problem.fix is not None
    assert parse(apply_edits(text, [problem.fix[1]])).problems == ()


def test_lines_in_brackets_that_are_read() -> None:
    assert parse("a: [b,\nc,\n'd\ne',\nf\n g\n]\nh: {i: j\n}\n- k").problems[1:] == ()
    assert parse("[a\nb]").problems == ()


def test_the_place_of_an_error_below_a_tag_may_not_be_in_the_text() -> None:
    text = "prerequisites:\n  !!pairs - {type: dockerimage, name: img}\n      - event: taskStarts\n    commands:\n"
    assert [one.code for one in Document(text).diagnostics][:2] == ["yaml-syntax", "yaml-syntax"]
