"""A screen with a program's windows on it, as Xvfb has it: keys go in, and titles and sizes of windows come out.

There is no window manager. Each key press names its window.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

PATIENCE = 60.0
_PAUSE = 0.05
# After so many seconds without an effect, a key is pressed again.
_AGAIN = 4.0


class Screen:
    """A screen of its own with one program; the program is ended with it.

    window_class: the class of the program's windows.
    output: the path of a file for all that the program writes.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], window_class: str, output: Path
    ) -> None:
        self._class = window_class
        self._output = output
        reading, writing = os.pipe()
        # Without -noreset, it takes nobody for a moment after its last client has gone, a long one on a busy machine.
        self._server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"],
            pass_fds=(writing,),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        with os.fdopen(reading) as numbers:
            display = f":{numbers.readline().strip()}"
        assert display != ":", "Xvfb does not start"
        self._environment = {**environment, "DISPLAY": display}
        # Where the pointer rests on a text, explanations come up by themselves.
        self._xdotool("mousemove", "1279", "1023")
        with output.open("wb") as file:
            self._program = subprocess.Popen(
                command, cwd=folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def keys(self, title: str, *names: str) -> None:
        """Press keys, by X's names for them such as `Return` and `ctrl+s`, in the window whose title starts so."""
        self._xdotool("windowfocus", "--sync", self._until_window(title), "key", *names)

    def keys_until(self, holds: Callable[[], bool], what: str, title: str, *names: str) -> None:
        """Press keys in a window until they have had an effect: one that is not ready yet takes no notice."""
        tried = 0.0

        def has_come() -> bool:
            nonlocal tried
            if holds():
                return True
            if time.monotonic() - tried > _AGAIN and (windows := self._windows(title)):
                self._xdotool("windowfocus", "--sync", windows[0], "key", *names)
                tried = time.monotonic()
            return False

        self.until(has_come, what)

    def type(self, title: str, text: str) -> None:
        """Type characters into the window whose title starts so."""
        self._xdotool("windowfocus", "--sync", self._until_window(title), "type", text)

    def until_shown(self, title: str) -> None:
        """Wait until there is a window whose title starts so."""
        self._until_window(title)

    def shows(self, title: str) -> bool:
        """Whether there is a window whose title starts so."""
        return bool(self._windows(title))

    def shows_list(self, least: int) -> bool:
        """Whether a window without a document's title, such as a menu, is at least so many pixels high."""
        return any(" — " not in title and height >= least for _, title, height in self._shown())

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds; the titles and what the program has written then tell why it does not."""
        end = time.monotonic() + PATIENCE
        while not holds():
            output = "" if time.monotonic() < end else self._output.read_text(encoding="utf-8", errors="replace")
            assert time.monotonic() < end, f"waited in vain until {what}; windows: {self._shown()}; output:\n{output}"
            time.sleep(_PAUSE)

    def close(self) -> None:
        """End the program, without asking it."""
        for process in (self._program, self._server):
            process.kill()
            process.wait(PATIENCE)

    def _until_window(self, title: str) -> str:
        self.until(lambda: bool(self._windows(title)), f"there is a window '{title}'")
        return self._windows(title)[0]

    def _windows(self, title: str) -> list[str]:
        return [window for window, its_title, _ in self._shown() if its_title.startswith(title)]

    def _shown(self) -> list[tuple[str, str, int]]:
        """The number, the title and the height of each window that is to be seen."""
        found = []
        for window in self._xdotool("search", "--onlyvisible", "--class", self._class).split():
            properties = self._xdotool("getwindowname", window, "getwindowgeometry", "--shell", window)
            title, _, geometry = properties.partition("\n")
            sizes = dict(line.split("=", 1) for line in geometry.splitlines() if "=" in line)
            if "HEIGHT" in sizes:  # else it has gone in the meantime
                found.append((window, title, int(sizes["HEIGHT"])))
        return found

    def _xdotool(self, *command: str) -> str:
        run = subprocess.run(
            ["xdotool", *command],
            env=self._environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,  # nothing found is a failure of xdotool's
        )
        return run.stdout
