"""A terminal with a program in it, as tmux has it: keys go in, and what is on the screen comes out."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

PATIENCE = 60.0
_PAUSE = 0.03
_SOON = 1.0


class Terminal:
    """A terminal of 140 columns and 50 lines; its program is ended with it.

    socket: a path that does not exist yet, for this terminal's own tmux.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], socket: Path) -> None:
        self._socket = str(socket)
        # A shell runs after the program, so that its last output can be read.
        line = f"{shlex.join(command)}; echo ended with $?; exec sleep 60"
        self._tmux("new-session", "-d", "-x", "140", "-y", "50", "-c", str(folder), line, environment=environment)

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names for them, such as `Enter` and `C-x`."""
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        """Type characters."""
        self._tmux("send-keys", "-l", "--", text)

    @property
    def screen(self) -> str:
        """What is to be seen."""
        return self._tmux("capture-pane", "-p")

    def until_shown(self, text: str) -> None:
        """Wait until a text is on the screen."""
        self.until(lambda: text in self.screen, f"'{text}' is shown")

    def shows_soon(self, text: str) -> bool:
        """Whether a text comes on the screen within a second."""
        end = time.monotonic() + _SOON
        while text not in self.screen:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        return True

    def until_line_ends(self, text: str) -> None:
        """Wait until a line on the screen ends with a text."""
        self.until(lambda: f"{text}\n" in self.screen, f"a line ends with '{text}'")

    def until_gone(self, text: str) -> None:
        """Wait until a text is not on the screen."""
        self.until(lambda: text not in self.screen, f"'{text}' is gone")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds; otherwise the screen is part of the error."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, f"waited in vain until {what}; on the screen:\n{self.screen}"
            time.sleep(_PAUSE)

    def close(self) -> None:
        """End the program."""
        self._tmux("kill-server")

    def _tmux(self, *command: str, environment: Mapping[str, str] | None = None) -> str:
        run = subprocess.run(
            ["tmux", "-S", self._socket, "-f", os.devnull, *command],
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=True,
        )
        return run.stdout
