"""The completion scripts in real shells: in zsh at a terminal, key by key; in fish by its own `complete`.

Run by scripts/e2e_shells.sh; what bash offers is tested without a terminal, in tests/test_distribution_completion.py.
"""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent
PATIENCE = 30

# What is typed, and what the line is when it has been completed; a space says that the word is at its end.
COMPLETED = [
    ("pai-lsp chec", "pai-lsp check "),
    ("pai-lsp --vers", "pai-lsp --version "),
    ("pai-lsp check --no", "pai-lsp check --no-progress "),
    ("pai-lsp check --format=sar", "pai-lsp check --format=sarif "),
    ("pai-lsp check --format sar", "pai-lsp check --format sarif "),
    ("pai-lsp check --ignore=image-latest-tag,prerequisite-cy", "pai-lsp check --ignore=image-latest-tag,prerequisite-cycle"),
    ("pai-lsp check --fix tra", "pai-lsp check --fix train.pai.yaml "),
    ("pai-lsp marketplace ref", "pai-lsp marketplace refresh "),
    ("pai-lsp marketplace lock --che", "pai-lsp marketplace lock --check "),
    ("pai-lsp marketplace list --folder jo", "pai-lsp marketplace list --folder jobs/"),
    ("pai-lsp explain prerequisite-cy", "pai-lsp explain prerequisite-cycle "),
    ("pai-lsp schema conf", "pai-lsp schema configuration "),
    ("pai-lsp expand --task-role wor", "pai-lsp expand --task-role wor"),
]  # fmt: skip


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
    """zsh at a terminal, whose ^T completes and then writes the line down and forgets it."""

    def __init__(self, folder: Path) -> None:
        self._lines = folder / "lines"
        self._lines.touch()
        self._count = 0
        (folder / ".zshrc").write_text(
            "autoload -Uz compinit && compinit -D -u\n"
            f"source {shlex.quote(str(folder / 'completion.zsh'))}\n"
            f"complete-and-tell() {{ zle complete-word; print -r -- \"$BUFFER|\" >>{self._lines}; zle kill-buffer }}\n"
            "zle -N complete-and-tell && bindkey -e '^T' complete-and-tell\n"
            f"zle-line-init() {{ print ready >{folder / 'ready'} }}\n"
            "zle -N zle-line-init\n"
        )
        environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "ZDOTDIR": str(folder),
            "HOME": str(folder),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }
        self._terminal, other_end = pty.openpty()
        self._process = subprocess.Popen(
            [shutil.which("zsh") or "zsh", "-d", "-i"],
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(other_end)
        os.set_blocking(self._terminal, False)
        until(lambda: (folder / "ready").exists(), self.screen)

    def completed(self, typed: str) -> str:
        os.write(self._terminal, typed.encode() + b"\x14")
        self._count += 1
        until(lambda: len(self._lines.read_text().split("|\n")) > self._count, self.screen)
        return self._lines.read_text().split("|\n")[self._count - 1]

    def screen(self) -> str:
        try:
            return os.read(self._terminal, 100_000).decode(errors="replace")
        except BlockingIOError:
            return ""

    def close(self) -> None:
        self._process.kill()
        self._process.wait(timeout=PATIENCE)
        os.close(self._terminal)
