"""The completion scripts in real shells: in zsh at a terminal, in fish by its own `complete`.

Run by scripts/e2e_shells.sh; what bash offers is tested without a terminal, in tests/test_distribution_completion.py.
"""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent
ENVIRONMENT = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
PATIENCE = 30

# What is typed, and what the line is when it has been completed; a space says that the word is at its end.
COMPLETED = [
    ("pai-lsp chec", "pai-lsp check "),
    ("pai-lsp --vers", "pai-lsp --version "),
    ("pai-lsp check --no-p", "pai-lsp check --no-progress "),
    ("pai-lsp check --format=sar", "pai-lsp check --format=sarif "),
    ("pai-lsp check --format sar", "pai-lsp check --format sarif "),
    ("pai-lsp check --ignore=yaml-syntax,prerequisite-cy", "pai-lsp check --ignore=yaml-syntax,prerequisite-cycle "),
    ("pai-lsp check --fix tra", "pai-lsp check --fix train.pai.yaml "),
    ("pai-lsp marketplace ref", "pai-lsp marketplace refresh "),
    ("pai-lsp marketplace lock --che", "pai-lsp marketplace lock --check "),
    ("pai-lsp marketplace list --folder jo", "pai-lsp marketplace list --folder jobs/"),
    ("pai-lsp explain prerequisite-cy", "pai-lsp explain prerequisite-cycle "),
    ("pai-lsp schema conf", "pai-lsp schema configuration "),
    ("pai-lsp expand --task-role wor", "pai-lsp expand --task-role wor"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shells")
    (path / "jobs").mkdir()
    (path / "train.pai.yaml").write_text("protocolVersion: 2\n")
    for shell in ("zsh", "fish"):
        script = subprocess.run(
            [BIN / "pai-lsp", "completion", shell], capture_output=True, text=True, timeout=60, check=True
        )
        (path / f"completion.{shell}").write_text(script.stdout)
    return path


class Zsh:
    """zsh at a terminal, whose ^T completes and then prints the line and forgets it."""

    def __init__(self, folder: Path) -> None:
        printed = folder / "printed"
        os.mkfifo(printed)
        self._printed = os.open(printed, os.O_RDWR)
        self._screen = b""
        (folder / ".zshrc").write_text(
            "autoload -Uz compinit && compinit -D -u\n"
            f"source {shlex.quote(str(folder / 'completion.zsh'))}\n"
            f"complete-and-print() {{ zle complete-word; print -r -- $BUFFER >{printed}; zle kill-buffer }}\n"
            "zle -N complete-and-print && bindkey -e '^T' complete-and-print\n"
            f"zle-line-init() {{ print ready >{printed}; zle -D zle-line-init }}\n"
            "zle -N zle-line-init\n"
        )
        environment = {**ENVIRONMENT, "ZDOTDIR": str(folder), "HOME": str(folder)}
        self._terminal, other_end = pty.openpty()
        self._process = subprocess.Popen(
            ["zsh", "-d", "-i"],
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(other_end)
        assert self._line() == "ready"

    def completed(self, typed: str) -> str:
        os.write(self._terminal, typed.encode() + b"\x14")
        return self._line()

    def close(self) -> None:
        self._process.kill()
        self._process.wait(timeout=PATIENCE)
        os.close(self._terminal)
        os.close(self._printed)

    def _line(self) -> str:
        """What zsh prints next; meanwhile its terminal is read, so that it never waits for us."""
        printed = b""
        while not printed.endswith(b"\n"):
            ready = select.select([self._printed, self._terminal], [], [], PATIENCE)[0]
            assert ready, f"zsh prints nothing; on its screen: {self._screen[-2000:].decode(errors='replace')}"
            if self._terminal in ready:
                self._screen += os.read(self._terminal, 65536)
            if self._printed in ready:
                printed += os.read(self._printed, 65536)
        return printed.decode().removesuffix("\n")


@pytest.fixture(scope="module")
def zsh(folder: Path) -> Iterator[Zsh]:
    shell = Zsh(folder)
    yield shell
    shell.close()


@pytest.mark.parametrize(("typed", "expected"), COMPLETED)
def test_zsh(zsh: Zsh, typed: str, expected: str) -> None:
    assert zsh.completed(typed) == expected


@pytest.mark.parametrize(("typed", "expected"), COMPLETED)
def test_fish(folder: Path, typed: str, expected: str) -> None:
    program = f"source {folder / 'completion.fish'}; complete -C {shlex.quote(typed)}"
    run = subprocess.run(
        ["fish", "--no-config", "-c", program],
        cwd=folder,
        env={**ENVIRONMENT, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert run.stderr == ""
    words = [line.split("\t")[0] for line in run.stdout.splitlines()]
    assert words == ([] if expected == typed else [expected.rsplit(maxsplit=1)[-1]])
