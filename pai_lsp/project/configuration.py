"""What a `.pai-lsp.yaml` configures, and finding that file.

It holds severities of rules, rules that some files ignore, plugins of a site, excluded files and sources of
definitions. Only the nearest file in the folder of a job or above it counts.
"""

# ruff: noqa: PTH116, PTH118, PTH120 - importing pathlib takes longer than this module's work
from __future__ import annotations

import os

from pai_lsp.findings.diagnostic import Settings
from pai_lsp.source.files import full_path, is_in_folder
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.text import visible
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.catalog.setup import Marketplace
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.project.baseline import Baseline
    from pai_lsp.project.exclusion import Exclusion

FILE_NAME = ".pai-lsp.yaml"


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """The content of one configuration file; without a file, the default values.

    path: the file as the caller named it; None without a file.
    folder: the absolute path of the folder that `exclusion` counts from.
    file_ignores: patterns of files, each with the codes of the rules that do not apply to them.
    text, diagnostics: the file's text and what is wrong in it.
    baseline: the findings that are accepted.
    cluster: the name of the cluster, or the file with its profile, as it is written; empty for none.
    """

    path: str | None = None
    folder: str = ""
    settings: Settings = field(default_factory=Settings)
    exclusion: Exclusion | None = None
    file_ignores: tuple[tuple[Exclusion, frozenset[str]], ...] = ()
    marketplace: Marketplace | None = None
    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    baseline: Baseline | None = None
    cluster: str = ""

    def excludes(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the file or folder, an absolute path or one from the working directory, is left out."""
        if self.exclusion is None:
            return False
        below = self._below(path)
        return bool(below) and self.exclusion.excludes(below, is_folder=is_folder)

    def ignored_in(self, path: str) -> frozenset[str]:
        """The codes of the rules that do not apply to a file."""
        if not self.file_ignores:
            return frozenset()
        below = self._below(path)
        codes = (codes for files, codes in self.file_ignores if below and files.excludes(below, is_folder=False))
        return frozenset[str]().union(*codes)

    def settings_of(self, path: str) -> Settings:
        """The settings for a file: `settings`, with the rules off that do not apply to it."""
        off = dict.fromkeys(self.ignored_in(path))
        settings = replace(self.settings, severities={**self.settings.severities, **off}) if off else self.settings
        accepted = self.baseline.accepted_in(path) if self.baseline else None
        return replace(settings, accepted=accepted) if accepted else settings

    def _below(self, path: str) -> str:
        """A path from the configuration's folder, with `/`; empty for one that is not below it."""
        path = full_path(path)
        return path[len(self.folder) :].replace(os.sep, "/").strip("/") if is_in_folder(path, self.folder) else ""


class ConfigurationSearch:
    """Finds the nearest configuration file of folders. Each folder is looked at once.

    of_folder: what was found, by the folders that were asked about and those above them.
    """

    def __init__(self, report: Callable[[str], object] = lambda _: None) -> None:
        """`report` gets a message about each that is not read."""
        self._report = report
        self.of_folder: dict[str, str | None] = {}

    def nearest(self, folder: str) -> str | None:
        """The path of the nearest configuration file in `folder`, an absolute path, or above it.

        The search ends at the root of the repository or at the user's home, outside of both at the root of the disk.
        """
        found, inner = None, []
        for here in _with_parents(folder):
            if here in self.of_folder:
                found = self.of_folder[here]
                break
            inner.append(here)
            file = os.path.join(here, FILE_NAME)
            if os.path.isfile(file):
                found = file
                break
            if os.path.lexists(file):
                self._report(f"'{visible(file)}' is not read, because it is not a plain file")
            if _is_project(here):
                break
        self.of_folder.update(dict.fromkeys(inner, found))
        return found


def project_folder(folder: str) -> str | None:
    """The nearest of `folder` and those above it that is a repository's root or the user's home; None for neither."""
    return next(filter(_is_project, _with_parents(folder)), None)


def _is_project(folder: str) -> bool:
    home = os.path.expanduser("~")
    return folder in {home, os.path.realpath(home)} or os.path.lexists(os.path.join(folder, ".git"))


def _with_parents(folder: str) -> Iterator[str]:
    """A folder, an absolute path, and the folders above it, the nearest first."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def is_of_another_user(path: str) -> bool:
    """Whether a file belongs neither to the current user nor to root; always false on Windows.

    As in git, which reads no configuration of others since CVE-2022-24765 (git-config, "safe.directory").
    """
    if not hasattr(os, "geteuid"):
        return False
    try:
        owners = {os.stat(path).st_uid, os.lstat(path).st_uid}
    except OSError:  # reading the file reports it
        return False
    return not owners <= {0, os.geteuid()}
