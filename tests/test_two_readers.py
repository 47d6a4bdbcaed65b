"""The rules about the two readers agree with PyYAML, which the runtime uses."""

from __future__ import annotations

import pytest
import yaml

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.job.symbols import rename_role
from pai_lsp.platform.secrets_section import is_line_start, masked_span
from pai_lsp.rules.text import characters, two_readers
from pai_lsp.rules.text.yaml_syntax import redefined_anchor, secrets_anchor
from pai_lsp.source.text import apply_edits

RULES = (*rules_of(characters, two_readers), redefined_anchor, secrets_anchor)

JOB = """\
name: train # a
secrets:
  token: hidden # b
parameters: {a: 1, "b c": [x, 'y z']}
usual: &u
  k: "q r"
taskRoles:
  worker: # c
    <<: *u
    commands:
      - echo one
      - | # d
        echo two

        echo three
      - >-
        four

      - "five
        six"
"""


def errors(text: str) -> list[str]:
    """The findings about the two readers, and the syntax problems."""
    document = Document(text)
    found = [rule.code for rule in RULES for _ in rule.check(document.job)]
    return found + [problem.kind.value for problem in document.syntax.problems]


def runtime_can_read(text: str) -> bool:
    """Whether PyYAML reads what the rest-server stores of the text."""
    masked = masked_span(text)
    stored = f'{text[: masked.start]}secrets: "******"\n{text[masked.end :]}' if len(masked) else text
    try:
        yaml.load(stored, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError):
        return False
    return True


def test_the_sample_is_fine_for_both() -> None:
    assert errors(JOB) == []
    assert runtime_can_read(JOB)


@pytest.mark.slow
def test_a_tab_is_reported_where_the_runtime_fails() -> None:
    for place in range(len(JOB) + 1):
        text = JOB[:place] + "\t" + JOB[place:]
        # Another rule reports tabs that make the text invalid for both readers.
        assert Document(text).syntax.problems or bool(errors(text)) is not runtime_can_read(text), text


@pytest.mark.parametrize(
    "value",
    ["=", "<<", "2024-02-30", "2024-2-30 1:00:00", "0x_", "0b_", "2024-02-28", "0x_1", "= 1", "'='", "x=", "1_000"],
)
def test_a_value_is_reported_where_the_runtime_fails(value: str) -> None:
    for text in (f"a: {value}\n", f"a: [{value}]\n", f"a: {{b: {value}}}\n", f"- {value}\n"):
        assert bool(errors(text)) is not runtime_can_read(text), text


@pytest.mark.parametrize(
    "text",
    [
        "=: 1",
        "a: {b?: 1}",
        "a: [x?y, z]",
        "a: x?y",
        "a: 'x?y'",
        "a: ['x?y']",
        "? [a, b]\n: 1",
        "a: {[b]: 1}",
        "a: {? {b: 1} : 1}",
        "a: {{b: 1}: 1}",
        "a: &l [1]\nb: {*l : 1}",
        "a: &l x\nb: {*l : 1}",
        "a: &x 1\nb: &x 2",
        "a: &x 1\nb: &y 2",
        "secrets: {a: &x 1}\nb: *x",
        "secrets: {a: &x 1}\nb: &x 2\nc: *x",
        "'secrets': {a: &x 1}\nb: *x",
        "secrets:\n  a: =\n  b:\t1\n  [c]: 1\n  d: [x?y]\nb: 1",
        "a: [b, c]: 1",
        'a: "b"# c \t# d',
        "a: 'b'#\t\nc: [d]#\td\ne: {f: g}#\t",
    ],
)
def test_a_text_is_reported_where_the_runtime_fails(text: str) -> None:
    assert bool(errors(text)) is not runtime_can_read(text)


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1 # x", "y\nb: 1"),
        ("a: 1 # x", "\nb: 1"),
        ("a: 1 # x", " # y\nb: 1"),
        ("a: x", "y\nb: 1"),
        ("a: x", " y\nb: 1"),
        ("a: x", "\nb: 1"),
        ('a: "x', 'y"\nb: 1'),
        ("a: [x", "y]\nb: 1"),
        ("a: {x", "y: 1}\nb: 1"),
        ("a: |\n  x", "y\nb: 1"),
        ("a: |\n  x", "  y\nb: 1"),
        ("a:\n  - x", "y\nb: 1"),
        ("a:\n  - x", "   y\nb: 1"),
        ("secrets: x", "y\nb: 1"),
    ],
)
def test_a_line_end_is_reported_where_the_runtime_fails(before: str, character: str, after: str) -> None:
    text = before + character + after
    # Another rule reports secrets that are only masked up to a line end of JavaScript.
    if before.startswith("secrets") and character != "\x85":
        assert errors(text) == []
    else:
        assert bool(errors(text)) is not runtime_can_read(text)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a: 1\nsecrets:\n  b: 1\nc: 1\n", "secrets:\n  b: 1\n"),
        ("secrets:\n  b: 1", "secrets:\n  b: 1"),
        ("secrets: {b: 1}\r\n# x\r\nc: 1", "secrets: {b: 1}\r\n# x\r\n"),
        ("'secrets':\n  b: 1\nc: 1", ""),
        (" secrets:\n  b: 1\nc: 1", ""),
        ("a: secrets:", ""),
        ("\ufeffsecrets:\n  b: 1\nc: 1\n", "secrets:\n  b: 1\n"),
        ("a: 1\n\ufeffsecrets:\n  b: 1\nc: 1\n", ""),
    ],
)
def test_what_the_rest_server_hides(text: str, masked: str) -> None:
    span = masked_span(text)
    assert text[span.start : span.end] == masked


@pytest.mark.parametrize(
    "before", ["", "\ufeff", " ", "a", "a: 1\n", "\n", "\ufeff ", "\ufeffa: 1\n", "a: 1\n\ufeff", "a: 1\n "]
)
def test_a_section_is_hidden_where_its_line_begins(before: str) -> None:
    span = masked_span(f"{before}secrets: {{b: 1}}")
    assert (span.start == len(before) and bool(span)) is is_line_start(f"{before}secrets: {{b: 1}}", len(before))


def test_secrets_after_a_byte_order_mark_are_hidden() -> None:
    text = "\ufeffsecrets:\n  token: not-a-real-one\nname: train\n"
    assert "secrets-not-masked" not in [d.code for d in Document(text).diagnostics]
    quoted = Document(text.replace("secrets:", '"secrets":'))
    (finding,) = (d for d in quoted.diagnostics if d.code == "secrets-not-masked")
    assert apply_edits(quoted.text, finding.fixes[0].edits) == text


def test_tabs_are_replaced_without_a_change_of_meaning() -> None:
    text = "a:\tx\ty \t# c\td\nb: 'p\tq'\t\nc:\t|\n  k\tl\n"
    for _ in range(10):
        fixes = [d.fixes[0] for d in Document(text).diagnostics if d.code == "stray-tab"]
        if not fixes:
            break
        text = apply_edits(text, fixes[0].edits)
    assert text == "a: \"x\\ty\"  # c\td\nb: 'p\tq'\nc: |\n  k\tl\n"
    assert yaml.safe_load(text) == {"a": "x\ty", "b": "p\tq", "c": "k\tl\n"}


def test_a_secret_is_never_shown() -> None:
    text = '"secrets":\n  day: 2024-02-30\n'
    (finding,) = (d for d in Document(text).diagnostics if d.code == "unreadable-value")
    assert "2024" not in finding.message


def test_a_role_is_renamed_in_what_it_runs_and_nowhere_else() -> None:
    text = (
        "taskRoles:\n  my_role:\n    commands:\n      - echo $PAI_HOST_IP_my_role_0 my_role-1 my_role_2\n"
        "parameters: {main: my_role, other: not_my_role}\n"
    )
    renaming = rename_role(Document(text).job, "my_role", "myrole")
    changed = apply_edits(text, renaming.edits)
    assert "  myrole:\n" in changed
    assert "echo $PAI_HOST_IP_myrole_0 myrole-1 my_role_2" in changed
    assert changed.endswith("{main: my_role, other: not_my_role}\n")
    assert not renaming.is_complete
    alone = text.replace("main: my_role, ", "").replace(" my_role_2", "").replace("not_my_role", "x")
    assert rename_role(Document(alone).job, "my_role", "myrole").is_complete


def test_an_escaped_mention_is_renamed() -> None:
    text = 'taskRoles:\n  my_role:\n    commands: ["my\\x5frole-0"]\n'
    renaming = rename_role(Document(text).job, "my_role", "myrole")
    assert apply_edits(text, renaming.edits) == 'taskRoles:\n  myrole:\n    commands: ["myrole-0"]\n'
    assert renaming.is_complete


@pytest.mark.parametrize(
    ("secrets", "is_refused"),
    [
        ('k: "a\x7fb"', False),
        ("k: 'a\x9fb'", False),
        ("k: v # a\x01b", False),
        ("k: 'v'# a\x7fb", False),
        ("k: &a\x7fb v", False),
        ("k: a\x7fb", True),
        ("k: |\n    a\x7fb", True),
        ('k: "a\x01b"', True),
        ("k: &a.b v # a\x7fb\n  k: again", True),
        ('k: {a: &a.b v, "b\x7f": c\x7fd}', True),
    ],
)
def test_control_characters_in_masked_secrets_are_those_of_the_rest_server(secrets: str, is_refused: bool) -> None:
    # Whether js-yaml 3.13.1 refuses them. Anywhere else, the runtime refuses every one.
    masked = Document(f"name: a\nsecrets:\n  {secrets}\n", path="a.pai.yaml")
    assert bool(masked.syntax.problems) is is_refused
    assert Document(f"name: a\nparameters:\n  {secrets}\n", path="a.pai.yaml").syntax.problems


def test_a_control_character_of_a_secret_is_part_of_its_value() -> None:
    document = Document('secrets:\n  k: "a\x7f\x9fb"\n')
    assert [scalar.text for scalar in document.syntax.scalars] == ["secrets", "k", "a\x7f\x9fb"]
