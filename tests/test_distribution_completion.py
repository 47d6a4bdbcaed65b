"""Shell completion: what bash offers after what has been typed, and that every value of the command line is known.

zsh and fish are tested by scripts/e2e_shells.sh.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pai_lsp.cli.commands.completion import FREE_VALUES, completers
from pai_lsp.cli.main import main
from pai_lsp.cli.report import FORMATS
from pai_lsp.cli.subcommands import SUBCOMMANDS, whole_parser
from pai_lsp.rules import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

BASH = shutil.which("bash")
CODES = [rule.code for rule in all_rules()]
NAMES = [one.name for one in SUBCOMMANDS]

# What the README tells the user to write, and then what bash does at a TAB at the end of the line.
AT_TAB = r"""
eval "$(pai-lsp completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
_python_argcomplete pai-lsp
printf '%s\n' "${COMPREPLY[@]}"
"""


def offered(typed: str, folder: Path) -> list[str]:
    """What bash offers for a line that ends at the cursor."""
    run = subprocess.run(
        [BASH or "bash", "--norc", "--noprofile", "-c", AT_TAB, "bash", typed],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("pai-lsp ", NAMES),
        ("pai-lsp --v", ["--version"]),
        ("pai-lsp check --f", ["--format", "--fix", "--force-exclude"]),
        ("pai-lsp check --format=s", ["sarif"]),
        ("pai-lsp check --format ", list(FORMATS)),
        ("pai-lsp check --ignore=image-latest-tag,unknown-prer", ["image-latest-tag,unknown-prerequisite"]),
        ("pai-lsp check --select unknown-prer", ["unknown-prerequisite"]),
        ("pai-lsp check --fix tr", ["train.pai.yaml"]),
        ("pai-lsp check expand --as", []),
        ("pai-lsp marketplace l", ["list", "lock"]),
        ("pai-lsp marketplace show --format ", ["text", "json"]),
        ("pai-lsp explain ", CODES),
        ("pai-lsp check --select=secrets,refu", ["secrets,refused", "secrets,refused-until-expanded"]),
        ("pai-lsp rules launch", ["launchers"]),
        ("pai-lsp schema c", ["configuration"]),
        ("pai-lsp expand --task-role ", []),
    ],
)
def test_bash(typed: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.pai.yaml").touch()
    assert sorted(offered(typed, tmp_path)) == sorted(expected)


def test_a_list_is_completed_after_its_last_comma() -> None:
    offered = completers()["CODES"](prefix="secrets,image-latest-tag,refu")
    assert offered == [f"secrets,image-latest-tag,{name}" for name in completers()["CODES"](prefix="refu")]
    assert {*CODES, "secrets", "refused"} <= {*completers()["CODES"](prefix="")}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_for_this_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    output, errors = capsys.readouterr()
    assert " pai-lsp" in output
    assert errors == ""


def values(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The names in the help of all values that are not one of some words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                yield from values(part)
        elif action.nargs != 0 and not action.choices:
            yield str(action.metavar or action.dest.upper())


def test_it_is_known_what_every_value_is() -> None:
    files = {"PATH", "JOB", "FILE", "NAME", "FOLDER", "CLUSTER", "TEXT", "PROGRAM"}
    assert set(values(whole_parser(NAMES))) == {*files, "CODE", "CODES", "FAMILY", *FREE_VALUES}
