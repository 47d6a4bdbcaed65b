"""`check --shellcheck`: findings at their places in every style of scalar, with a stand-in for the program."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "protocolVersion: 2\nname: train\ntype: job\ntaskRoles:\n  worker:\n    commands:\n"
# Finds each `unused` as SC2034 and each `echo` as SC2086, which is not shown; counts lines and columns as ShellCheck.
STAND_IN = """\
import json, sys
lines = sys.stdin.buffer.read().decode().split("\\n")
assert lines[:4] == ["#!/bin/bash", "set -o errexit", "set -o nounset", "set -o pipefail"], lines
comments = [
    {"code": code, "level": "warning", "message": f"{word} found", "line": row + 1, "endLine": row + 1,
     "column": line.index(word) + 1, "endColumn": line.index(word) + len(word) + 1}
    for row, line in enumerate(lines) for word, code in (("unused", 2034), ("echo", 2086)) if word in line
]
print(json.dumps({"comments": comments}))
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script")


def program(folder: Path, code: str) -> str:
    path = folder / "stand-in"
    path.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def check(
    capsys: pytest.CaptureFixture[str], folder: Path, commands: str, code: str = STAND_IN
) -> list[tuple[str, str]]:
    job = folder / "job.pai.yaml"
    job.write_text(HEAD + commands, encoding="utf-8")
    main(["check", str(job), "--format", "json", "--shellcheck", program(folder, code)])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    text = job.read_text(encoding="utf-8")
    return [(d["code"], text[d["start"]["offset"] : d["end"]["offset"]]) for d in found if d["code"].startswith("SC")]


@pytest.mark.parametrize(
    "commands",
    [
        "      - ls\n      - é=1; unused=2\n",
        "      - |\n        ls\n        é; unused=2\n",
        "      - >-\n        ls;\n        é; unused=2\n",
        "      - 'ls ''a''; unused=2'\n",
        '      - "ls \\t; unused=2"\n',
        "      - echo <% $parameters.x %>; unused=2\nparameters:\n  x: 1\n",
    ],
)
def test_the_place_of_a_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path, commands: str) -> None:
    assert check(capsys, tmp_path, commands) == [("SC2034", "unused")]


def test_a_comment_silences_a_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert check(capsys, tmp_path, "      - unused=2  # pai-lsp: ignore[SC2034] read by a file\n") == []


def test_a_comment_without_a_finding_is_no_mistake(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = tmp_path / "job.pai.yaml"
    job.write_text(HEAD + "      - ls  # pai-lsp: ignore[SC2034]\n", encoding="utf-8")
    main(["check", str(job), "--format", "json"])
    assert "unused-ignore" not in capsys.readouterr().out


def test_a_program_that_does_not_exist(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check", str(tmp_path), "--shellcheck", "no-such-shellcheck"]) == 2
    assert "there is no program 'no-such-shellcheck'" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["print('no JSON')", "raise SystemExit(3)", "print('[]')"])
def test_a_program_with_another_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path, code: str) -> None:
    job = tmp_path / "job.pai.yaml"
    job.write_text(HEAD + "      - ls\n", encoding="utf-8")
    assert main(["check", str(job), "--shellcheck", program(tmp_path, code)]) == 3
    assert "ShellCheck failed with code" in capsys.readouterr().err
