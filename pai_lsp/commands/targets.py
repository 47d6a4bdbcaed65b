"""Which files a run checks, each with the configuration that applies to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.config import FILE_NAME, Configuration, find_configuration, load_configuration
from pai_lsp.files import Candidate, candidates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A file to look at, with what applies to it; `given` are its bytes when they came on standard input."""

    candidate: Candidate
    configuration: Configuration
    given: bytes | None = None

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

    def of_folder(self, folder: str) -> Configuration:
        """What applies to the files in a folder, which is a path from the working directory."""
        found = self._of_folder.get(folder)
        if found is None:
            file = find_configuration(str(Path(folder).absolute()))
            if file not in self._of_file:
                self._of_file[file] = load_configuration(_as_written(file), self._codes)
            found = self._of_folder[folder] = self._of_file[file]
        return found

    def excludes(self, path: str, is_folder: bool) -> bool:
        """Whether the configuration of the folder that something is in leaves it out."""
        return self.of_folder(str(Path(path).parent)).excludes(path, is_folder=is_folder)

    def faulty(self, *, unless_in: Sequence[Target]) -> Iterator[Configuration]:
        """Those with something wrong in them that are no targets themselves."""
        named = {Path(target.path).absolute() for target in unless_in if target.is_configuration}
        for found in self._of_file.values():
            if found.diagnostics and Path(found.path or "").absolute() not in named:
                yield found


def missing(paths: Sequence[str]) -> Iterator[str]:
    """The paths that name nothing; whatever can not be looked at is left to its reader."""
    for path in paths:
        try:
            if path != STANDARD_INPUT and not Path(path).exists():
                yield path
        except OSError:
            continue


def targets(
    paths: Sequence[str], configurations: Configurations, *, given: bytes, given_name: str, force_exclude: bool
) -> Iterator[Target]:
    """The files behind the paths that a user named, each once, in the order of the paths and their names.

    `given` are the bytes on standard input, which reports call `given_name`.
    """
    seen: set[Path] = set()
    for path in paths:
        if path == STANDARD_INPUT:
            configuration = configurations.of_folder(str(Path(given_name).parent))
            yield Target(Candidate(given_name, is_named=True), configuration, given)
            continue
        for candidate in candidates(path, configurations.excludes):
            identity = Path(candidate.path).absolute()
            configuration = configurations.of_folder(str(Path(candidate.path).parent))
            if identity in seen or (candidate.is_named and force_exclude and configuration.excludes(candidate.path)):
                continue
            seen.add(identity)
            if candidate.is_named or not candidate.path.endswith(FILE_NAME):
                yield Target(candidate, configuration)


def _as_written(path: str | None) -> str:
    """A path below the working directory without the part up to there."""
    try:
        return str(Path(path or "").relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path or ""
