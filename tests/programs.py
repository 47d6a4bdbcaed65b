"""The programs that the commands of a job may run in a test: none of them installs anything or asks a network."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

_HARMLESS = ("basename", "bash", "cat", "cp", "head", "ls", "mkdir", "rm", "sleep", "touch", "yes")


def harmless_programs() -> str:
    """A folder for PATH with these programs alone; any other, such as apt-get, sudo or curl, is not found there."""
    return _folder().name


@cache
def _folder() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="harmless-programs-")
    for name in _HARMLESS:
        if found := shutil.which(name):
            (Path(folder.name) / name).symlink_to(found)
    (Path(folder.name) / "python3").symlink_to(sys.executable)
    return folder
