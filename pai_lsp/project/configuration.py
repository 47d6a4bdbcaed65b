"""What a `.pai-lsp.yaml` configures, and finding that file.

It holds severities of rules, plugins of a site, excluded files and sources of definitions. Only the nearest file in the
folder of a job or above it counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Settings
from pai_lsp.source.frozen import dataclass, field

if TYPE_CHECKING:
    from pai_lsp.catalog.setup import Marketplace
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.project.exclusion import Exclusion

FILE_NAME = ".pai-lsp.yaml"


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """The content of one configuration file; without a file, the default values.

    path: the file as the caller named it; None without a file.
    folder: the absolute path of the folder that `exclusion` counts from.
    text, diagnostics: the file's text and what is wrong in it.
    """

    path: str | None = None
    folder: str = ""
    settings: Settings = field(default_factory=Settings)
    exclusion: Exclusion | None = None
    marketplace: Marketplace | None = None
    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def excludes(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the file or folder, an absolute path or one from the working directory, is left out."""
        if self.exclusion is None:
            return False
        try:
            below = Path(path).absolute().relative_to(self.folder)
        except ValueError:
            return False
        return bool(below.parts) and self.exclusion.excludes(below.as_posix(), is_folder=is_folder)


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
