"""Finds `.pai-lsp.yaml`: which rules apply with which severity, what a site has added, what is left out.

The nearest file upwards from a job counts, and it alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.files import UnreadableFile, decoded, read_bytes
from pai_lsp.frozen import dataclass, field
from pai_lsp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Collection

    from pai_lsp.diagnostic import Diagnostic
    from pai_lsp.exclusion import Exclusion
    from pai_lsp.marketplace_settings import Marketplace

FILE_NAME = ".pai-lsp.yaml"


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """What one configuration file says; without a file, the default values.

    path: the file as the caller called it; None without a file.
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


def find_configuration(folder: str) -> str | None:
    """The path of the nearest configuration file in `folder`, an absolute path, or above it."""
    here = Path(folder)
    for candidate in (here, *here.parents):
        file = candidate / FILE_NAME
        try:
            if file.is_file():
                return str(file)
        except OSError:  # a folder that may not be looked into
            continue
    return None


def load_configuration(path: str, codes: Collection[str]) -> Configuration:
    """Read a configuration file; `codes` are those of the rules that there are. Never raises."""
    from pai_lsp.config_reader import (  # noqa: PLC0415 - most runs find no configuration
        parse_configuration,
        unreadable_configuration,
    )

    folder = str(Path(path).absolute().parent)
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    if isinstance(source, UnreadableFile):
        return unreadable_configuration(source, folder=folder)
    return parse_configuration(source.text, codes, path=path, folder=folder)
