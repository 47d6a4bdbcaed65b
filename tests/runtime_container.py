"""A container as the released runtime sets it up: the same scripts, in the same processes, with the same options.

Source: openpai-runtime, src/init (headers of the scripts), src/runtime.d/runtime_entry.sh (their order and its log).
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from programs import harmless_programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pai_lsp.expansion.released_run import RoleRun

_HEADER = "#!/bin/bash\n\nset -o errexit\nset -o nounset\nset -o pipefail\n\n"

STARTING = "Starting to exec precommands"
FINISHED = "Precommands finished"
USER_START = "USER COMMAND START"
USER_END = "USER COMMAND END"


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended: its log, a line each, and the exit code of the user's commands, or of what failed instead."""

    log: list[str]
    status: int


class Container:
    """One container: `home` is where its scripts run.

    Of the machine's programs only harmless ones are found; what a test needs besides, it adds as a `tool`.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self._runtime = folder / "runtime"
        self._tools = folder / "tools"
        for one in (self.home, self._runtime, self._tools):
            one.mkdir()

    def tool(self, name: str, script: str = "") -> None:
        """A program that prints how it is called, and then runs `script`."""
        path = self._tools / name
        path.write_text(f'#!/bin/bash\nset -o errexit\necho "{name} $*"\n{script}\n', encoding="utf-8")
        path.chmod(0o755)

    def run(self, run: RoleRun, secrets: Mapping[str, str] | None = None) -> TaskEnd:
        """Run one task; `secrets` are filled in as the runtime does."""
        log = [STARTING]
        pre = [self._script(f"plugin_pre{number}.sh", text, secrets) for number, text in enumerate(run.pre)]
        post = [self._script(f"plugin_post{number}.sh", text, secrets) for number, text in enumerate(run.post)]
        status = self._bash(self._caller("precommands.sh", pre), log)
        if status:
            return TaskEnd(log, status)
        log += [FINISHED, USER_START]
        status = self._bash(self._script("user.sh", _HEADER + run.command, secrets), log)
        if status:
            return TaskEnd(log, status)
        log.append(USER_END)
        return TaskEnd(log, self._bash(self._caller("postcommands.sh", post), log))

    def _caller(self, name: str, scripts: Sequence[Path]) -> Path:
        return self._script(name, _HEADER + "".join(f"/bin/bash {script}\n" for script in scripts), None)

    def _script(self, name: str, text: str, secrets: Mapping[str, str] | None) -> Path:
        for secret, value in (secrets or {}).items():
            text = text.replace(f"<% $secrets.{secret} %>", value)
        path = self._runtime / name
        path.write_text(text, encoding="utf-8")
        return path

    def _bash(self, script: Path, log: list[str]) -> int:
        path = os.pathsep.join([str(self._tools), harmless_programs()])
        one = subprocess.run(
            ["/bin/bash", str(script)], cwd=self.home, env={"PATH": path}, capture_output=True, text=True, timeout=30,
            check=False,
        )  # fmt: skip
        log += one.stdout.splitlines()
        return one.returncode
