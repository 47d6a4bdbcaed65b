"""The content of a configuration as a value: severities, excluded files, the site's plugins, sources of definitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Settings
from pai_lsp.source.frozen import dataclass, field

if TYPE_CHECKING:
    from pai_lsp.catalog.setup import Marketplace
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.project.exclusion import Exclusion


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
