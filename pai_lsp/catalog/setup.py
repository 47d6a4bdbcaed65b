"""The sources of a project's definitions: those in its configuration, and a folder `marketplace` if there is one.

`catalog_setup` looks for that folder on the disk; everything else is a value.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.source.files import is_in_folder
from pai_lsp.source.frozen import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class SourceState(Enum):
    """How up to date a source is, from best to worst."""

    READY = "ready"
    STALE = "stale"
    UNTRUSTED = "untrusted"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A folder of definition files: a path, absolute or relative to the configuration's folder."""

    directory: str

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.directory


@dataclass(frozen=True, slots=True)
class ServerSource:
    """A marketplace server: its base address and the origin of the access token.

    token_env: the name of the environment variable that holds it. token_command: a command that prints it.
    """

    url: str
    token_env: str | None = None
    token_command: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.url


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The sources of definitions that jobs name by an address.

    sources: searched in this order. allowed_hosts: the only hosts from which single addresses are fetched.
    """

    sources: tuple[DirectorySource | ServerSource, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()

    @property
    def is_named(self) -> bool:
        """Whether anything is configured."""
        return bool(self.sources or self.allowed_hosts)


# The folder that is found without configuration.
FOLDER_NAME = "marketplace"
LOCK_NAME = ".pai-lsp.lock"


@dataclass(frozen=True, slots=True)
class CatalogFolder:
    """A folder of definitions; `is_configured` if a configuration names it."""

    is_configured: bool


@dataclass(frozen=True, slots=True)
class CatalogSetup:
    """Where definitions come from, for all files of one project.

    folder: the project's folder, an absolute path: the one with the configuration, or the one with the folder
        `marketplace`; empty for neither.
    sources: searched in this order; their directories are absolute.
    found: the directory among them that is not configured; empty for none.
    own: what the user's own configuration lists, with absolute directories; it is among the above, and needs no trust.
    own_folder: the absolute path of the folder of the user's own configuration.
    """

    folder: str = ""
    sources: tuple[DirectorySource | ServerSource, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()
    found: str = ""
    own: Marketplace = Marketplace()
    own_folder: str = ""

    @property
    def directories(self) -> Iterator[str]:
        """The directories among the sources."""
        return (source.directory for source in self.sources if isinstance(source, DirectorySource))

    @property
    def servers(self) -> tuple[ServerSource, ...]:
        """The servers among the sources."""
        return tuple(source for source in self.sources if isinstance(source, ServerSource))

    @property
    def lock(self) -> str:
        """The path of the lock file, which need not exist; empty if the project has no folder."""
        return str(Path(self.folder) / LOCK_NAME) if self.folder else ""

    @property
    def foreign_servers(self) -> tuple[ServerSource, ...]:
        """The servers that only a configuration of the project or of the editor names."""
        return tuple(server for server in self.servers if server not in self.own.sources)

    @property
    def foreign_hosts(self) -> frozenset[str]:
        """The allowed hosts that only a configuration of the project or of the editor names."""
        return self.allowed_hosts - self.own.allowed_hosts

    @property
    def network_directories(self) -> tuple[str, ...]:
        """The directories on other machines, which only a configuration of the project or of the editor names."""
        return tuple(one for one in self.directories if self.needs_trust(one, None))

    def needs_trust(self, directory: str, workspace: Sequence[str] | None) -> bool:
        r"""Whether a directory is read only with trust.

        Reading a folder of another machine (\\host\share) is a network request, and Windows logs in there.

        Args:
            directory: one of the sources.
            workspace: the absolute paths of the folders that are open in an editor; a directory that is neither in one
                of them nor in the project's folder needs trust. None on the command line, where everything on this
                machine is read.
        """
        if DirectorySource(directory) in self.own.sources:
            return False
        if directory.startswith(("\\\\", "//")):
            return True
        if workspace is None:
            return False
        real = os.path.realpath(directory)
        inside = filter(None, (self.folder, *workspace))
        return not any(is_in_folder(real, os.path.realpath(one)) for one in inside)

    def folder_of_command(self, server: ServerSource) -> str:
        """The working directory of a token command: the folder of the configuration that names it."""
        return self.own_folder if server in self.own.sources else self.folder

    def directory_of(self, path: str) -> str | None:
        """The source directory that a file, given by its absolute path, is in."""
        return next((directory for directory in self.directories if Path(path).is_relative_to(directory)), None)

    def catalog_folder_of(self, path: str) -> CatalogFolder | None:
        """The folder of definitions that a file is in."""
        directory = self.directory_of(path)
        return None if directory is None else CatalogFolder(is_configured=directory != self.found)


def catalog_setup(marketplace: Marketplace | None, base: str, folder: str, top: str) -> CatalogSetup:
    """The setup for the files of `folder`.

    Args:
        marketplace: the configured section; None without a configuration.
        base: the absolute path to which configured directories are relative; empty without a configuration.
        folder: the absolute path of the files' folder.
        top: the absolute path of the highest folder to search: the workspace's, or the working directory.
    """
    marketplace = marketplace or Marketplace()
    sources = tuple(_absolute(source, base) for source in marketplace.sources)
    setup = CatalogSetup(base, sources, marketplace.allowed_hosts)
    if any(isinstance(source, DirectorySource) for source in sources):
        return setup
    found = _found([base] if base else _upwards(folder, top))
    if found is None:
        return setup
    return replace(
        setup, folder=base or str(Path(found).parent), sources=(DirectorySource(found), *sources), found=found
    )


def with_own_sources(setup: CatalogSetup, own: Marketplace, folder: str) -> CatalogSetup:
    """The setup with what the user's own configuration lists after everything else; `folder` is that file's folder."""
    sources = tuple(_absolute(source, folder) for source in own.sources)
    return replace(
        setup,
        sources=tuple(dict.fromkeys((*setup.sources, *sources))),
        allowed_hosts=setup.allowed_hosts | own.allowed_hosts,
        own=Marketplace(sources, own.allowed_hosts),
        own_folder=folder,
    )


def _absolute(source: DirectorySource | ServerSource, base: str) -> DirectorySource | ServerSource:
    if isinstance(source, ServerSource):
        return source
    home = os.path.expanduser(source.directory)
    return DirectorySource(os.path.normpath(Path(base) / home))


def _upwards(folder: str, top: str) -> Iterator[str]:
    """The folder and those above it up to `top`; of a folder outside `top` itself, and that of its marketplace."""
    here = Path(folder)
    yield str(here)
    for parent in here.parents:
        if parent.is_relative_to(top) or here.is_relative_to(parent / FOLDER_NAME):
            yield str(parent)


def _found(folders: Iterator[str] | list[str]) -> str | None:
    return next((one for folder in folders if os.path.isdir(one := str(Path(folder) / FOLDER_NAME))), None)
