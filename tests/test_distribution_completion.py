"""Shell completion: what bash offers behind what has been typed, and that the scripts know the whole command line."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from pai_lsp.cli.commands.command_line import KINDS, Kind, commands, with_parts
from pai_lsp.cli.main import SUBCOMMANDS, main
from pai_lsp.cli.report import FORMATS
from pai_lsp.rules.known_rules import KNOWN_RULES

if TYPE_CHECKING:
    from pathlib import Path

BASH = shutil.which("bash")
CODES = [rule.code for rule in KNOWN_RULES]


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    return output


@pytest.fixture
def bash_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    path = tmp_path / "completion.bash"
    path.write_text(script("bash", capsys))
    return path


def offered(path: Path, typed: str) -> list[str]:
    """What bash offers for a line that ends at the cursor, its words divided as readline divides them."""
    words = [word for word in re.split(r"(=)|\s+", typed) if word]
    if typed.endswith(" "):
        words.append("")
    program = f'source {path}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pai_lsp; printf "%s\\n" "${{COMPREPLY[@]}}"'
    run = subprocess.run(
        [BASH or "bash", "--norc", "--noprofile", "-uc", program, "bash", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("pai-lsp ", [one.name for one in SUBCOMMANDS]),
        ("pai-lsp ex", ["expand", "explain"]),
        ("pai-lsp --v", ["--version"]),
        ("pai-lsp check --f", ["--format", "--fix", "--force-exclude"]),
        ("pai-lsp check --format s", ["sarif"]),
        ("pai-lsp check --format=s", ["sarif"]),
        ("pai-lsp check --format=", list(FORMATS)),
        ("pai-lsp check --ignore unknown-prer", ["unknown-prerequisite"]),
        ("pai-lsp check --ignore=image-latest-tag,unknown-prer", ["image-latest-tag,unknown-prerequisite"]),
        ("pai-lsp check --fix tr", []),
        ("pai-lsp check --stdin-filename ", []),
        ("pai-lsp check --fix --severity i", ["information"]),
        ("pai-lsp check expand --as", []),
        ("pai-lsp expand --as", ["--as-is"]),
        ("pai-lsp marketplace ", ["list", "show", "refresh", "lock"]),
        ("pai-lsp marketplace l", ["list", "lock"]),
        ("pai-lsp marketplace lock --c", ["--check"]),
        ("pai-lsp marketplace show --format ", ["text", "json"]),
        ("pai-lsp explain prerequisite-cy", ["prerequisite-cycle"]),
        ("pai-lsp schema c", ["configuration"]),
        ("pai-lsp completion z", ["zsh"]),
    ],
)
def test_bash(bash_script: Path, typed: str, expected: list[str]) -> None:
    assert offered(bash_script, typed) == expected


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_offers_every_rule(bash_script: Path) -> None:
    assert offered(bash_script, "pai-lsp explain ") == CODES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_and_word_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = set(re.findall(r"[\w-]+", script(shell, capsys)))
    for command in with_parts(commands()):
        assert command.name.split()[-1] in words
        for argument in command.arguments:
            spelt = {name.lstrip("-") if shell == "fish" else name for name in argument.names}
            assert spelt | set(argument.words) <= words
    assert set(CODES) <= words


def test_the_commands_are_those_of_the_help() -> None:
    described = commands()
    assert [(one.name, one.summary) for one in described] == [(one.name, one.summary) for one in SUBCOMMANDS]
    marketplace = next(one for one in described if one.name == "marketplace")
    assert [part.name for part in marketplace.parts][:2] == ["marketplace list", "marketplace show"]
    assert marketplace.parts[0].summary == marketplace.parts[0].description


def test_arguments_are_read_as_they_are_declared() -> None:
    check = next(one for one in commands() if one.name == "check")
    arguments = {"/".join(argument.names) or argument.value: argument for argument in check.arguments}
    assert arguments["PATH"].repeats
    assert not arguments["PATH"].is_required
    assert arguments["--fix"].kind is Kind.FLAG
    assert arguments["-h/--help"].kind is Kind.FLAG
    assert (arguments["--format"].kind, arguments["--format"].words[0]) == (Kind.WORDS, "text")
    assert arguments["--select"].kind is Kind.RULES
    job = next(one for one in commands() if one.name == "expand").positional[0]
    assert (job.value, job.kind, job.is_required, job.repeats) == ("JOB", Kind.FILE, True, False)


def test_it_is_known_what_every_value_is() -> None:
    values = {
        argument.value
        for command in with_parts(commands())
        for argument in command.arguments
        if argument.kind not in {Kind.FLAG, Kind.WORDS}
    }
    assert values == set(KINDS)
