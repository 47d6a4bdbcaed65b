"""Which configuration and which sources of definitions a file has, on the command line and in an editor alike."""

# ruff: noqa: PTH109, PTH116, PTH117, PTH118, PTH120, PTH206 - importing pathlib takes a twentieth of the time of a check
from __future__ import annotations

import os
from functools import partial

from pai_lsp.findings.diagnostic import Settings
from pai_lsp.job.lookup import LazyLookup, Lookup, NoLookup
from pai_lsp.project.configuration import (
    Configuration,
    ConfigurationSearch,
    is_of_another_user,
    project_folder,
)
from pai_lsp.source.files import is_in_folder
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import visible
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pai_lsp.catalog.setup import CatalogFolder, CatalogSetup, Marketplace
    from pai_lsp.document import Document
    from pai_lsp.platform.platforms import Platform

# The folder of definitions that needs no configuration; catalog/setup.py knows more, and most runs do not need it.
_CATALOG_FOLDER = "marketplace"
# The user's own configuration, in the folder of the user's settings. Only its `marketplace` is used: everything else is
# to be the same for everyone who works on a project.
_OWN_FILE = "config.yaml"


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What applies to one file.

    marketplace: its directories count from the folder `base`; that is empty without a configuration file.
    """

    settings: Settings = Settings()
    is_excluded: bool = False
    marketplace: Marketplace | None = None
    base: str = ""


class Projects:
    """The configuration files and the sources of definitions of all files that a run or a server meets.

    A file's path is absolute. Any other path is the name of a text that is not a file: it has no configuration file.
    `base` is the working directory or the workspace's folder: outside of repositories, no folder of definitions above
    it is found. Files are read once, until `forget_files`.

    report: is called with a message about a configuration file that is not read.
    given: the configuration of all files, in place of those that are found.
    on_fault: is called with an exception of ours while the sources are looked for; returns a sentence about it.
    workspace: see `CatalogSetup.needs_trust`; None on the command line.
    sections: the settings in an editor, by the absolute path of the workspace folder that they are for; empty for all
        other files. Where an editor and a configuration file set the same rule or a marketplace, the file wins: the
        command line and the other people in the project use it. Plugins and excluded files of both add up.
    """

    def __init__(
        self, report: Callable[[str], object], on_fault: Callable[[Exception], str], given: Configuration | None = None
    ) -> None:
        self.sections: Mapping[str, Configuration] = {}
        self.workspace: tuple[str, ...] | None = None
        self.report, self._on_fault, self._given = report, on_fault, given
        self._search = ConfigurationSearch(report)
        self._of_file: dict[str | None, Configuration] = {None: Configuration()}
        self._setups: dict[tuple[str, str], CatalogSetup] = {}
        self._lookups: dict[CatalogSetup, Lookup] = {}
        self._of_folders: dict[tuple[str, str], Lookup] = {}
        self._own: Configuration | None = None

    def settings_of(self, path: str) -> FileSettings:
        """What applies to a file."""
        file, section = self.configuration_of(path), self.sections.get(self.section_folder_of(path))
        is_excluded, settings = file.excludes(path), file.settings_of(path)
        if section is None:
            return FileSettings(settings, is_excluded, file.marketplace, file.folder)
        in_editor = section.settings_of(path)
        settings = replace(
            settings,
            severities={**in_editor.severities, **settings.severities},
            previews=settings.previews or in_editor.previews,
            plugins=section.settings.plugins | file.settings.plugins,
            cluster=file.settings.cluster or section.settings.cluster,
            platform=file.settings.platform or section.settings.platform,
            shellcheck="off" if file.settings.shellcheck == "off" else section.settings.shellcheck or "auto",
        )
        named = next((one for one in (file, section) if one.marketplace is not None and one.marketplace.is_named), file)
        return FileSettings(settings, is_excluded or section.excludes(path), named.marketplace, named.folder)

    def configuration_of(self, path: str) -> Configuration:
        """The nearest configuration file of a file; the default values without one.

        The search ends at the root of the repository or at the user's home, outside of both at the root of the disk.
        """
        if self._given is not None:
            return self._given
        if not os.path.isabs(path):
            return self._of_file[None]
        file = self._search.nearest(os.path.dirname(path))
        if file is not None and file not in self._of_file:
            self._of_file[file] = self._loaded(file)
        return self._of_file[file]

    def configurations(self) -> Iterator[Configuration]:
        """The configuration files that have been read."""
        if self._given is not None and self._given.path is not None:
            return iter((self._given,))
        return (found for file, found in self._of_file.items() if file is not None)

    def forget_files(self) -> None:
        """Read files and look for folders again when they are needed next."""
        self._search = ConfigurationSearch(self.report)
        self._of_file = {None: Configuration()}
        self._setups.clear()
        self._own = None

    def stamps(self) -> tuple[object, ...]:
        """What changes when another configuration applies to a file that was asked about, or when one is edited."""
        search = ConfigurationSearch()
        folders = {folder: search.nearest(folder) for folder in self._search.of_folder}
        files = dict.fromkeys((*filter(None, folders.values()), _own_path()))
        return tuple(folders.items()), tuple(map(stamp_of, files))

    def setup_of(self, path: str, base: str) -> CatalogSetup:
        """Where the definitions come from that a file names; for a text that is not a file, as for one in `base`."""
        from pai_lsp.catalog.setup import (  # noqa: PLC0415 - most runs do not need it
            CatalogSetup,
            catalog_setup,
            with_own_sources,
        )

        folder = os.path.dirname(path) if os.path.isabs(path) else ""
        found = self._setups.get((folder, base))
        if found is None:
            effective, here = self.settings_of(path), folder or base
            project = project_folder(here)
            top = project if project is not None and os.path.lexists(os.path.join(project, ".git")) else base
            try:
                found = catalog_setup(effective.marketplace, effective.base, here, top)
                if (own := self._own_marketplace()) is not None:
                    found = with_own_sources(found, *own)
            except Exception as error:  # noqa: BLE001 - the files are checked without a marketplace
                self._on_fault(error)
                found = CatalogSetup()
            self._setups[folder, base] = found
        return found

    def catalog_folder_of(self, path: str, base: str) -> CatalogFolder | None:
        """The folder of definitions that a file is in."""
        marketplace = self.settings_of(path).marketplace
        is_named = marketplace is not None and marketplace.sources
        if not is_named and _CATALOG_FOLDER not in os.path.dirname(path).split(os.sep):
            return None
        return self.setup_of(path, base).catalog_folder_of(path)

    def document_of(
        self, text: str, path: str, base: str, name: str | None = None, platform: Platform | None = None
    ) -> Document:
        """A file's text with all that applies to it; in a folder of definitions, what is not a job is definitions.

        name: what reports call the file. platform: the platform that the user names, in place of the file's own.
        """
        from pai_lsp.document import Document  # noqa: PLC0415 - a server answers before it loads the analysis

        settings = self.settings_of(path).settings
        if platform is not None:
            settings = settings.on(platform)
        document = Document(text, settings, name or path, self.lookup_of(path, base))
        return document.in_folder(self.catalog_folder_of(path, base))

    def lookup_of(self, path: str, base: str) -> Lookup:
        """Finds the definitions that a file names, for all files of its folder; reads nothing before a question."""
        key = os.path.dirname(path) if os.path.isabs(path) else "", base
        if key not in self._of_folders:
            self._of_folders[key] = LazyLookup(partial(self._lookup, path, base))
        return self._of_folders[key]

    def _lookup(self, path: str, base: str) -> Lookup:
        from pai_lsp.catalog.loading import load_catalog  # noqa: PLC0415 - few jobs name an address
        from pai_lsp.catalog.store import Surroundings  # noqa: PLC0415 - few jobs name an address

        setup = self.setup_of(path, base)
        if setup not in self._lookups:
            try:
                outside = any(setup.needs_trust(one, self.workspace) for one in setup.directories)
                is_trusted = not outside or self.is_trusted(setup)
                surroundings = Surroundings(is_trusted=is_trusted, workspace=self.workspace, base=base)
                self._lookups[setup] = load_catalog(setup, surroundings)
            except Exception as error:  # noqa: BLE001 - as above
                self._lookups[setup] = NoLookup(self._on_fault(error))
        return self._lookups[setup]

    def is_trusted(self, setup: CatalogSetup) -> bool:
        """Whether the user trusts a setup, as far as the command line asks: by an answer or by the environment."""
        from pai_lsp.project.trust import TrustAnswers, is_trusted_by_variable  # noqa: PLC0415 - as above

        return is_trusted_by_variable(os.environ) or TrustAnswers(os.environ).about(setup, setup.folder) is True

    def _own_marketplace(self) -> tuple[Marketplace, str] | None:
        """The sources in the user's own configuration, and its folder; None without that file."""
        path = _own_path()
        if self._own is None:
            is_used = self._given is None and os.path.isfile(path)
            self._own = self._loaded(path) if is_used else Configuration()
            if faults := self._own.diagnostics:
                self.report(f"'{visible(path)}': {visible(faults[0].message)}")
        own = self._own
        return (own.marketplace, own.folder) if own.marketplace is not None and own.marketplace.is_named else None

    def section_folder_of(self, path: str) -> str:
        """The key of `sections` whose settings apply to a file."""
        return max((one for one in self.sections if one and is_in_folder(path, one)), key=len, default="")

    def _loaded(self, file: str) -> Configuration:
        """The content of a configuration file; nothing, and a message, for one of another user."""
        if is_of_another_user(file):
            step = "copy it to a file that belongs to you, or change its owner"
            self.report(f"'{visible(file)}' is not read, because it belongs to another user; {step}")
            return Configuration()
        from pai_lsp.project.config_reader import load_configuration  # noqa: PLC0415 - most files have none

        return load_configuration(_as_written(file))


def _own_path() -> str:
    from pai_lsp.source.user_folders import user_config_folder  # noqa: PLC0415 - most runs do not need it

    return str(user_config_folder(os.environ) / _OWN_FILE)


def stamp_of(path: str) -> tuple[int, int, int] | None:
    """What changes when a file does; None if it does not exist."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _as_written(path: str) -> str:
    """A path below the working directory without the part up to there."""
    try:
        here = os.getcwd()
    except OSError:
        return path
    return path[len(here) :].lstrip(os.sep) if is_in_folder(path, here) else path
