"""The user's own folders for this program: cache, settings, and what it remembers. None of them need exist.

Sources: XDG Base Directory Specification; Apple, File System Programming Guide, "Library Directory"; Microsoft, "Known
Folders".
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "pai-lsp"


def user_cache_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The folder of answers and texts that can be fetched or read again."""
    if platform == "win32":
        return _local(environment) / _NAME / "Cache"
    if platform == "darwin":
        return _home(environment) / "Library" / "Caches" / _NAME
    return _xdg(environment, "XDG_CACHE_HOME", ".cache") / _NAME


def user_state_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The folder of what the program remembers."""
    if platform == "win32":
        return _local(environment) / _NAME
    if platform == "darwin":
        return _home(environment) / "Library" / "Application Support" / _NAME
    return _xdg(environment, "XDG_STATE_HOME", ".local/state") / _NAME


def user_config_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The folder of the files that the user writes; on macOS as on Linux."""
    if platform == "win32":
        return Path(environment.get("APPDATA") or _home(environment) / "AppData" / "Roaming") / _NAME
    return _xdg(environment, "XDG_CONFIG_HOME", ".config") / _NAME


def _xdg(environment: Mapping[str, str], variable: str, usual: str) -> Path:
    given = environment.get(variable, "")
    # By the specification, a relative path is ignored.
    return Path(given) if given.startswith("/") else _home(environment) / usual


def _local(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("LOCALAPPDATA") or _home(environment) / "AppData" / "Local")


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or os.path.expanduser("~"))
