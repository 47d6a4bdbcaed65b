"""Indentation while a job is typed: where the next line begins, and where a line moves whose key belongs elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from budgets import some
from job_text import HEAD
from server_client import URI, connected

from pai_lsp.document import Document
from pai_lsp.ide.typed_line import moved_line
from pai_lsp.source.text import apply_edits

HERE = Path(__file__).parent
_LANGUAGE = json.loads((HERE.parent / "vscode-extension/language-configuration.json").read_text("utf-8"))
JOBS = {file.name: file.read_text("utf-8") for file in sorted((HERE / "typed").glob("*.yaml"))}
JOBS |= {file.name: file.read_text("utf-8") for file in sorted((HERE.parent / "examples").glob("*.pai.yaml"))}


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def column_after_enter(line: str) -> int:
    """Where VS Code puts the cursor below a line: by a rule, by a bracket, or where the line begins."""
    for rule in _LANGUAGE["onEnterRules"]:
        if "afterText" not in rule and re.search(rule["beforeText"], line):
            return indentation(line) + 2 + len(rule["action"].get("appendText", ""))
    return indentation(line) + 2 * line.rstrip().endswith(("[", "{", "("))


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("taskRoles:", 2),
        ("taskRoles:  # all of them", 2),
        ("  worker:", 4),
        ('  "worker":', 4),
        ("  worker: &worker", 4),
        ("  - type: dockerimage", 4),
        ("  - name: data  # the set", 4),
        ("  - uri: [a, b]", 4),
        ("  - uri:", 6),
        ("  - callbacks: # two", 6),
        ("  - uri :", 6),
        ("  - |", 4),
        ("  - >-  # one command", 4),
        ("  text: |", 4),
        ("  - text: |-", 6),
        # The line goes on at its own indentation.
        ("name: train", 0),
        ("  - install", 2),
        ("  - echo hi", 2),
        ("  - 'name: x'", 2),
        ('  - "name: x"', 2),
        ("  - {type: data, name: x}", 2),
        ("  - echo name: x", 2),
        ("  - wget http://example.com/a:b", 2),
        ("    for i in 1 2; do", 6),
        ("  - for i in 1 2; do", 2),
        ("    what to do", 4),
        ("    # name:", 4),
        # An open bracket.
        ("  - uri: [", 4),
        ("  - ports: {sync: 1,", 2),
    ],
)
def test_where_the_next_line_begins(line: str, column: int) -> None:
    assert column_after_enter(line) == column


def typed(above: str, line: str, below: str = "") -> str:
    """What becomes of a line that is typed between others and ended with Enter."""
    present = " " * indentation(line)
    for character in line.lstrip(" "):
        present += character
        if character in ": ":
            present = _moved(above, present, below)
    ended = f"{present}\n{' ' * column_after_enter(present)}"
    return _moved(above, ended, below).rpartition("\n")[0]


def _moved(above: str, typed: str, below: str) -> str:
    """What is typed, after the edits that the server makes at the end of it."""
    text = f"{above}{typed}\n{below}"
    edits = moved_line(Document(text), len(above + typed))
    return apply_edits(text, edits)[len(above) : -len(below) - 1]


ROLE = (
    HEAD
    + """\
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - pip install x
parameters:
  rate: 0.1
taskRoles:
  worker:
    dockerImage: image
    resourcePerInstance:
      ports:
        sync: 1
    commands:
"""
)
_CALLBACK = ROLE[: ROLE.index("parameters")]
_PARAMETERS = ROLE[: ROLE.index("taskRoles")]
_PORTS = ROLE[: ROLE.rindex("    commands")]


_DESCRIPTION = "protocolVersion: 2\nname: x\ntype: job\ndescription: |\n  one\n"
_URIS = f"{HEAD}  - type: data\n    name: x\n    uri:\n"
_COMMAND_OF_PLUGIN = """\
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      parameters:
        preCommands:
"""


@pytest.mark.parametrize(
    ("above", "line", "column"),
    [
        # A key that is known further out.
        (_CALLBACK, "          parameters:", 0),
        (_CALLBACK, "          - event: taskFails", 6),
        (_CALLBACK, "          - type: data", 2),
        (_PARAMETERS, "  taskRoles:", 0),
        (_PORTS, "        commands:", 4),
        (f"{ROLE}      - echo hi\n", "      taskRetryCount: 1", 4),
        (f"{ROLE}      - echo hi\n", "      defaults: {virtualCluster: a}", 0),
        # The name of a task role, once Enter has ended the line.
        (f"{ROLE}      - echo hi\n", "      ps:", 2),
        (f"{ROLE}      - echo hi\n    taskRetryCount: 1\n", "    ps:", 2),
        # The next command, or the next section, after a block.
        (f"{ROLE}      - |\n        echo hi\n", "        - echo done", 6),
        (f"{ROLE}      - |\n        echo hi\n", "        defaults:", 0),
        (f"{ROLE}      - |\n        echo hi\n", "        taskRetryCount: 1", 4),
        (f"{ROLE}      - |\n        # the worker's\n", "        ps:", 2),
        (f"{_COMMAND_OF_PLUGIN}            - |\n              ls\n", "              - plugin: ssh", 4),
        # After a description.
        (f"{_DESCRIPTION}", "  prerequisites:", 0),
        (f"{_DESCRIPTION}", "  taskRoles:", 0),
        (f"{HEAD}  - type: dockerimage\n    description: |\n      one\n", "      uri : x", 4),
        # A name of the author's own, which is not one of the job.
        (f"{HEAD}parameters:\n  a: 1\n", "  jobRetryCount: 1", 0),
        (_CALLBACK, "          archive: x", 4),
        # The next item of a list of mappings.
        (f"{HEAD}  - type: data\n    name: x\n", "    - type: data", 2),
        (f"{_URIS}      - /data\n", "      - type: data", 2),
        (f"{_URIS}      - /data\n", "      - {type: data, name: y}", 2),
        # The first item of a list, in a job whose lists begin below their keys.
        ("prerequisites:\n- name: x\n  uri:\n", "    - /data", 2),
    ],
)
def test_a_line_moves_to_where_it_belongs(above: str, line: str, column: int) -> None:
    assert typed(above, line) == " " * column + line.lstrip()


def test_a_line_that_is_typed_fast_moves_when_it_is_ended() -> None:
    """An editor drops the answer to a key after which more has been typed."""
    above = f"{ROLE}      - |\n        echo hi\n"
    assert _moved(above, "        - echo done\n        ", "") == "      - echo done\n      "
    assert _moved(above, "        - echo done", "") == "        - echo done"


@pytest.mark.parametrize(
    ("above", "line", "below"),
    [
        (_PARAMETERS, "  version: 1", ""),
        (_PORTS, "        http: 1", ""),
        (ROLE, "      - echo hi", ""),
        (f"{ROLE}      - echo hi\n", "      - type: job", ""),
        (f"{ROLE}      - echo hi\n    taskRetryCount: 1\n", "    comands:", ""),
        (f"{ROLE}      - echo hi\n    taskRetryCount: 1\n", "    instances: 2", ""),
        (_URIS, "    - /data", ""),
        (_URIS, "      - /data", ""),
        (f"{_URIS}      - /data\n", "      - https://example.com/x", ""),
        # Text of another language in a command.
        (f"{ROLE}      - |\n        cat > x.yaml <<EOF\n", "        defaults:", ""),
        (f"{ROLE}      - |\n        cat > x.yaml <<EOF\n", "        - name: x", ""),
        (f"{ROLE}      - |\n        python -c '\n", "        try:", ""),
        (f"{ROLE}      - |\n        echo hi\n", "          name: x", ""),
        (f"{ROLE}      - |\n        host=\n", "        registry:5000/x", ""),
        # A description.
        (_DESCRIPTION, "  version: 1", ""),
        (f"{_DESCRIPTION}  ```\n", "  prerequisites:", ""),
        ("parameters:\n  text: |\n    a\n", "    prerequisites:", ""),
        # What is open, and what is below and would get another parent.
        ("taskRoles: {\n", "  name: x,", ""),
        (f"{ROLE}      - echo hi\n", "      defaults:", "      - echo more\n"),
        ("extra:\n  - plugin: x\n", "    parameters:", ""),
        ("", "  name: x", ""),
        ("- name: x\n", "name: x", ""),
    ],
)
def test_a_line_stays_where_it_can_be_meant(above: str, line: str, below: str) -> None:
    assert typed(above, line, below) == line


@pytest.mark.parametrize("name", some(JOBS))
def test_a_line_in_its_place_does_not_move(name: str) -> None:
    moved = []
    lines = JOBS[name].splitlines(keepends=True)
    for number, line in enumerate(lines):
        above, below = "".join(lines[:number]), "".join(lines[number + 1 :])
        moved += [line for after in ("", below) if line.strip() and typed(above, line.rstrip("\n"), after) != line[:-1]]
    assert moved == []


def test_a_job_is_typed_almost_without_correcting_its_indentation() -> None:
    """The columns at which the lines begin by themselves, and those at which they end up, in a job of many shapes."""
    corrected = []
    above, column = "", 0
    for line in JOBS["train.pai.yaml"].splitlines():
        begun = " " * column + line.lstrip()
        if typed(above, begun) != line:
            corrected.append(line.strip())
        above += f"{line}\n"
        column = column_after_enter(line)
    assert corrected == []


@pytest.mark.asyncio
@pytest.mark.parametrize(("line", "edits"), [("      defaults:", 1), ("      - echo:", 0)])
async def test_the_server_moves_the_line(line: str, edits: int) -> None:
    async with connected() as client:
        client.open(f"{ROLE}      - echo hi\n{line}\n")
        found = await client.ask(
            "textDocument/onTypeFormatting",
            textDocument={"uri": URI},
            position={"line": ROLE.count("\n") + 1, "character": len(line)},
            ch=":",
            options={"tabSize": 2, "insertSpaces": True},
        )
        assert len(found) == edits
