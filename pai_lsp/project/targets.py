"""Which files a run checks, each with the configuration that applies to it."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.job.lookup import LazyLookup, Lookup, NoLookup
from pai_lsp.project.configuration import (
    FILE_NAME,
    Configuration,
    find_configuration,
    is_of_another_user,
    project_folder,
)
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.files import Candidate, candidates
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pai_lsp.catalog.setup import CatalogSetup

STANDARD_INPUT = "-"
# The folder of definitions that needs no configuration; catalog/setup.py knows more, and most runs do not need it.
_CATALOG_FOLDER = "marketplace"


@dataclass(frozen=True, slots=True)
class InCatalog:
    """What it means that a file lies in a folder of definitions: whether somebody configured that folder."""

    is_configured: bool


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A file to look at, with what applies to it.

    given: its bytes when they came on standard input.
    lookup: finds the definitions outside of it.
    in_catalog: None for a file that lies in no folder of definitions.
    """

    candidate: Candidate
    configuration: Configuration
    given: bytes | None = None
    lookup: Lookup = field(default_factory=NoLookup)
    in_catalog: InCatalog | None = None

    @property
    def path(self) -> str:
        """What reports call the file."""
        return self.candidate.path

    @property
    def is_configuration(self) -> bool:
        """Whether this is a configuration file that somebody named."""
        return Path(self.path).name == FILE_NAME


class Configurations:
    """The configuration files met in one run, each read once; `codes` are those of the known rules."""

    def __init__(self, codes: Collection[str]) -> None:
        self._codes = codes
        self._of_folder: dict[str, Configuration] = {}
        self._of_file: dict[str | None, Configuration] = {None: Configuration()}
        self._setups: dict[str, CatalogSetup] = {}
        self._lookups: dict[CatalogSetup, Lookup] = {}
        self._failures: set[str] = set()

    def of_folder(self, folder: str) -> Configuration:
        """What applies to the files in a folder, which is a path from the working directory."""
        found = self._of_folder.get(folder)
        if found is None:
            here = _absolute(folder)
            file = find_configuration(here, project_folder(here))
            if file is not None and file not in self._of_file:
                self._of_file[file] = self._loaded(file)
            found = self._of_folder[folder] = self._of_file[file]
        return found

    def _loaded(self, file: str) -> Configuration:
        """What a file says; nothing, and a message, for one of another user."""
        if is_of_another_user(file):
            step = "copy it to a file of your own, or have its owner changed"
            sys.stderr.write(f"pai-lsp: '{visible(file)}' is not read, because it belongs to another user; {step}\n")
            return Configuration()
        from pai_lsp.project.config_reader import load_configuration  # noqa: PLC0415 - most runs find no configuration

        return load_configuration(_as_written(file), self._codes)

    def lookup_of(self, folder: str) -> Lookup:
        """What finds definitions for the files in a folder; nothing is read before it is asked."""
        return LazyLookup(partial(self._lookup, folder))

    def in_catalog(self, path: str) -> InCatalog | None:
        """Whether a file lies in a folder of definitions."""
        file = _absolute(path)
        marketplace = self.of_folder(str(Path(path).parent)).marketplace
        if _CATALOG_FOLDER not in Path(file).parent.parts and (marketplace is None or not marketplace.sources):
            return None
        setup = self.setup_of(str(Path(path).parent))
        directory = setup.directory_of(file)
        return None if directory is None else InCatalog(is_configured=directory != setup.found)

    def setup_of(self, folder: str) -> CatalogSetup:
        """Where the definitions come from that files in a folder name."""
        from pai_lsp.catalog.setup import CatalogSetup, catalog_setup  # noqa: PLC0415 - most runs do not need it

        if folder not in self._setups:
            found = self.of_folder(folder)
            here = _absolute(folder)
            try:
                self._setups[folder] = catalog_setup(found.marketplace, found.folder, here, str(Path.cwd()))
            except Exception as error:  # noqa: BLE001 - the files are checked without a marketplace
                self._tell_failure(error)
                self._setups[folder] = CatalogSetup()
        return self._setups[folder]

    def _lookup(self, folder: str) -> Lookup:
        from pai_lsp.catalog.loading import Surroundings, load_catalog  # noqa: PLC0415 - few jobs name an address

        setup = self.setup_of(folder)
        if setup not in self._lookups:
            try:
                self._lookups[setup] = load_catalog(setup, Surroundings(base=str(Path.cwd())))
            except Exception as error:  # noqa: BLE001 - as above
                self._lookups[setup] = NoLookup(self._tell_failure(error))
        return self._lookups[setup]

    def _tell_failure(self, error: Exception) -> str:
        """Say once that the marketplace cannot be read, and why."""
        message = f"the marketplace cannot be read: {kind_and_place(error)}"
        if message not in self._failures:
            self._failures.add(message)
            sys.stderr.write(f"pai-lsp: {message}; jobs are checked without it. This is a fault of pai-lsp\n")
        return message

    def excludes(self, path: str, is_folder: bool) -> bool:
        """Whether the configuration of the folder that something is in leaves it out."""
        return self.of_folder(str(Path(path).parent)).excludes(path, is_folder=is_folder)

    def faulty(self, *, unless_in: Sequence[Target]) -> Iterator[Configuration]:
        """Those with something wrong in them that are no targets themselves."""
        named = {Path(target.path).absolute() for target in unless_in if target.is_configuration}
        for found in self._of_file.values():
            if found.diagnostics and Path(found.path or "").absolute() not in named:
                yield found


def missing(paths: Sequence[str]) -> str | None:
    """A message that names the paths that do not exist; those that cannot be looked at are left to their reader."""
    absent = [path for path in paths if path != STANDARD_INPUT and not _may_exist(path)]
    return f"no such file or folder: {', '.join(map(visible, absent))}" if absent else None


def targets(
    paths: Sequence[str],
    configurations: Configurations,
    *,
    given: bytes,
    given_name: str,
    force_exclude: bool,
    only_jobs: bool = False,
) -> Iterator[Target]:
    """The files behind the paths that a user named, each once, in the order of the paths and their names.

    `given` are the bytes on standard input, which reports call `given_name`. With `only_jobs`, naming a file does not
    make it a job: a program that names every file that was changed means none of them.
    """
    seen: set[Path] = set()
    for path in paths:
        if path == STANDARD_INPUT:
            yield _target(Candidate(given_name, is_named=True), configurations, given)
            continue
        for candidate in candidates(path, configurations.excludes):
            identity = Path(candidate.path).absolute()
            configuration = configurations.of_folder(str(Path(candidate.path).parent))
            if identity in seen or (candidate.is_named and force_exclude and configuration.excludes(candidate.path)):
                continue
            seen.add(identity)
            if candidate.is_named or not candidate.path.endswith(FILE_NAME):
                meant = replace(candidate, is_named=False) if only_jobs else candidate
                yield _target(meant, configurations)


def _target(candidate: Candidate, configurations: Configurations, given: bytes | None = None) -> Target:
    folder = str(Path(candidate.path).parent)
    return Target(
        candidate,
        configurations.of_folder(folder),
        given,
        configurations.lookup_of(folder),
        configurations.in_catalog(candidate.path),
    )


def _may_exist(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return True


def _absolute(path: str) -> str:
    """An absolute path without '..': only then the folders that it names are those above it."""
    return os.path.abspath(path)  # noqa: PTH100 - Path.absolute() keeps '..'


def _as_written(path: str) -> str:
    """A path below the working directory without the part up to there."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path
