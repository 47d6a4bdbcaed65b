"""A syntax problem is reported once, on the line that is odd, with its fix: libyaml stops at a later one."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.text import apply_edits

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - name: image
    type: dockerimage
    uri: "python:3.12"
  - name: setup
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - echo start
taskRoles:
  worker:
    instances: 2
    completion:
      minFailedInstances: 1
      minSucceededInstances: -1
    dockerImage: image
    prerequisites: [setup]
    resourcePerInstance:
      cpu: 1
      memoryMB: 1024
      gpu: 0
    commands:
      - pip list
      - python a.py
      - echo $PAI_TASK_INDEX
"""


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("      - pip", "        - pip", "'- pip list' is indented by 8, but the lines that"),
        ("      memoryMB", "  memoryMB", "'memoryMB: 1024' is indented by 2, but the lines that it belongs to are"),
        ("    instances", "     instances", "'instances: 2' is indented by 5, but the lines that it belongs to are"),
        ("    type: s", "  type: s", "'type: script' is indented by 2, but the lines that it belongs to are"),
        ("  - name: image", "  -name: image", "expected '- ' before 'name: image'"),
        ("  - name: image", "  --name: image", "expected '- ' before 'name: image'"),
        ("  - name: setup", "  * name: setup", "expected '- ' before 'name: setup'"),
        ("  - name: image", "  \u2013 name: image", "the character U+2013 is not '-'; write '-'"),
        ("    instances", "    - instances", "'- ' does not belong before 'instances: 2': it begins a list"),
        ("      cpu", "      - cpu", "'- ' does not belong before 'cpu: 1': it begins a list"),
        ("instances: 2", "instances; 2", "expected ':' after 'instances'"),
        ("instances: 2", "instances = 2", "expected ':' after 'instances'"),
        ("instances: 2", "instances 2", "expected ':' after 'instances'"),
        ("instances: 2", "instances:2", "expected a space after 'instances:'"),
        ("instances: 2", "instances\uff1a 2", "the character U+FF1A is not ':'; write ':'"),
        ("cpu: 1", "cp", "expected ':' after 'cp'"),
        ("protocolVersion: 2", "proto", "expected ':' after 'proto'"),
        (
            "    instances",
            "\u00a0   instances",
            "the character U+00A0 (no-break space) is read as a letter; write a space",
        ),
        (
            "      cpu",
            "  \u200b    cpu",
            "the invisible character U+200B (zero width space) is read as a",
        ),
        ("- python a.py", "- 'python a.py", "the ' is never closed"),
    ],
)
def test_one_error_at_the_odd_line(right: str, wrong: str, message: str) -> None:
    text = JOB.replace(right, wrong, 1)
    document = Document(text)
    (error,) = (one for one in document.diagnostics if one.severity is Severity.ERROR)
    assert error.message.startswith(message)
    line = text.count("\n", 0, text.index(wrong) + len(wrong) - len(wrong.lstrip(" ")))
    assert text.count("\n", 0, error.span.start) == line
    (fix,) = error.fixes
    if wrong not in {"cp", "proto"}:
        assert apply_edits(text, fix.edits) == JOB if "'" not in wrong else fix.title == "Close it with '"


def test_a_tab_before_a_comment_is_no_content() -> None:
    assert Document('a: "\n\t#"\n"\n').syntax.problems


@pytest.mark.parametrize(
    ("first", "last", "faults"),
    [
        ("a: b: &x 1", "*x", ["b: &x 1"]),
        ("a: b: &x 1", "*y", ["b: &x 1", "*y"]),
        ("a: b: &x 1", "*xy", ["b: &x 1", "*xy"]),
        ("a: b: &xy 1", "*x", ["b: &xy 1", "*x"]),
        ("a: b: &x-y 1", "*x", ["b: &x-y 1", "*x"]),
        ("a: &x 1", "*y", ["*y"]),
    ],
)
def test_an_alias_whose_anchor_is_misread_is_no_mistake_of_its_own(first: str, last: str, faults: list[str]) -> None:
    text = f"{JOB}parameters:\n  {first}\n  b: 1\n  c: {last}\n"
    found = [one for one in Document(text).diagnostics if one.code == "yaml-syntax"]
    assert [text[one.span.start : one.span.end] for one in found] == faults
