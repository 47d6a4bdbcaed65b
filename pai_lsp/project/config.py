"""Finds and loads `.pai-lsp.yaml`: severities of rules, plugins of a site, excluded files, sources of definitions.

Only the nearest file in the folder of a job or above it counts. The caller sets the topmost folder of the search.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.source.files import UnreadableFile, decoded, read_bytes

if TYPE_CHECKING:
    from collections.abc import Collection

    from pai_lsp.project.configuration import Configuration

FILE_NAME = ".pai-lsp.yaml"


def find_configuration(folder: str, top: str | None) -> str | None:
    """The path of the nearest configuration file in `folder`, an absolute path, or above it.

    `top` is the topmost folder that is searched; None for the root of the file system.
    """
    here = Path(folder)
    for candidate in (here, *here.parents):
        if top is not None and not candidate.is_relative_to(top):
            break
        file = candidate / FILE_NAME
        try:
            if file.is_file():
                return str(file)
        except OSError:  # a folder without read permission
            continue
    return None


def project_folder(folder: str) -> str | None:
    """The nearest of `folder` and those above it that is a repository's root or the user's home; None for neither."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises without one
    here = Path(folder)
    for candidate in (here, *here.parents):
        if str(candidate) in {home, os.path.realpath(home)} or os.path.lexists(candidate / ".git"):
            return str(candidate)
    return None


def is_of_another_user(path: str) -> bool:
    """Whether a file belongs neither to the current user nor to root; always false on Windows.

    As in git, which reads no configuration of others since CVE-2022-24765 (git-config, "safe.directory").
    """
    if not hasattr(os, "geteuid"):
        return False
    try:
        owners = {os.stat(path).st_uid, os.lstat(path).st_uid}  # noqa: PTH116 - Path.lstat() reads no better
    except OSError:  # reading the file reports it
        return False
    return not owners <= {0, os.geteuid()}


def load_configuration(path: str, codes: Collection[str]) -> Configuration:
    """Read a configuration file; `codes` are the codes of all rules. Never raises."""
    from pai_lsp.project.config_reader import (  # noqa: PLC0415 - most runs find no configuration
        parse_configuration,
        unreadable_configuration,
    )

    folder = str(Path(path).absolute().parent)
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    if isinstance(source, UnreadableFile):
        return unreadable_configuration(source, folder=folder)
    return parse_configuration(source.text, codes, path=path, folder=folder)
