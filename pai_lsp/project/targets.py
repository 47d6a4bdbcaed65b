"""Which files a run checks, each with the configuration and the definitions that apply to it."""

# ruff: noqa: PTH109, PTH116, PTH119 - importing pathlib takes a twentieth of the time that checking a file does
from __future__ import annotations

import os
import sys

from pai_lsp.findings.diagnostic import DiagnosticTag, Severity
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.project.projects import Projects
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.files import (
    Candidate,
    SourceFile,
    UnreadableFile,
    candidates,
    decoded,
    full_path,
    might_be_job,
    read_bytes,
)
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import LineIndex, visible
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pai_lsp.catalog.setup import CatalogFolder
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.lookup import Lookup
    from pai_lsp.project.configuration import Configuration
    from pai_lsp.project.exclusion import IgnoredByGit

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A file to look at, with what applies to it.

    given: its bytes when they came on standard input.
    lookup: finds the definitions outside of it.
    catalog_folder: the folder of definitions that it is in; None for any other file.
    """

    candidate: Candidate
    configuration: Configuration
    given: bytes | None
    lookup: Lookup
    catalog_folder: CatalogFolder | None

    @property
    def path(self) -> str:
        """What reports call the file."""
        return self.candidate.path

    @property
    def is_configuration(self) -> bool:
        """Whether this is a configuration file that somebody named."""
        return os.path.basename(self.path) == FILE_NAME


def source_of(target: Target) -> SourceFile | UnreadableFile | None:
    """The text of a target, or why it cannot be read; None for a file that holds neither a job nor definitions."""
    if target.candidate.problem is not None:
        return UnreadableFile(target.path, target.candidate.problem)
    data = read_bytes(target.path) if target.given is None else target.given
    may_hold = target.candidate.is_surely_job or target.catalog_folder is not None
    return decoded(target.path, data) if may_hold or isinstance(data, UnreadableFile) or might_be_job(data) else None


def run_projects(configuration: Configuration | None = None) -> Projects:
    """The projects of one run, with messages on standard error; `configuration` replaces those that are found."""
    seen: set[str] = set()

    def report(message: str) -> None:
        if message not in seen:
            seen.add(message)
            sys.stderr.write(f"pai-lsp: {message}\n")

    def report_fault(error: Exception) -> str:
        message = f"the marketplace cannot be read: {kind_and_place(error)}"
        report(f"{message}; jobs are checked without it. This is a bug in pai-lsp")
        return message

    return Projects(report, report_fault, configuration)


def faulty(projects: Projects, *, besides: Sequence[Target]) -> Iterator[Configuration]:
    """The configuration files with mistakes that are not targets themselves."""
    named = {full_path(target.path) for target in besides if target.is_configuration}
    for found in projects.configurations():
        if found.diagnostics and full_path(found.path or "") not in named:
            yield found


def report_faults(projects: Projects) -> bool:
    """Report the mistakes in the configuration files that were read; returns whether there are any errors."""
    faults = [(found, fault) for found in projects.configurations() for fault in found.diagnostics]
    for found, fault in faults:
        projects.report(_at_line(found, fault))
    return any(fault.severity is Severity.ERROR for _, fault in faults)


def report_renamed(projects: Projects) -> None:
    """Report the former codes of rules in the configuration files that were read: they still work."""
    for found in projects.configurations():
        for one in found.diagnostics:
            if DiagnosticTag.DEPRECATED in one.tags:
                projects.report(_at_line(found, one))


def _at_line(configuration: Configuration, fault: Diagnostic) -> str:
    line = LineIndex(configuration.text).line_of(fault.span.start) + 1
    return f"{visible(configuration.path or '')}:{line}: {visible(fault.message)}"


def missing(paths: Sequence[str]) -> str | None:
    """A message that names the paths that do not exist; those that cannot be looked at are left to their reader."""
    absent = [path for path in paths if path != STANDARD_INPUT and not _may_exist(path)]
    return f"no such file or folder: {', '.join(map(visible, absent))}" if absent else None


def targets(
    paths: Sequence[str],
    projects: Projects,
    *,
    given: bytes,
    given_name: str,
    force_exclude: bool,
    only_jobs: bool = False,
    respects_git: bool = True,
) -> Iterator[Target]:
    """The files for the paths that a user named, each once, in the order of the paths and their names.

    `given` are the bytes on standard input, which reports call `given_name`. With `only_jobs`, naming a file does not
    make it a job: for programs that name every changed file. With `respects_git`, what git ignores is not found in
    folders.
    """
    seen: set[str] = set()
    is_skipped = _skipping(projects, respects_git=respects_git)
    for path in paths:
        if path == STANDARD_INPUT:
            yield _target(Candidate(given_name, is_named=True), projects, given)
            continue
        for candidate in candidates(path, is_skipped):
            full = full_path(candidate.path)
            is_forced = candidate.is_named and force_exclude
            if full in seen or (is_forced and projects.configuration_of(full).excludes(full)):
                continue
            seen.add(full)
            if candidate.is_named or not candidate.path.endswith(FILE_NAME):
                yield _target(replace(candidate, is_named=False) if only_jobs else candidate, projects)


def files_of(folder: str, projects: Projects) -> Iterator[Candidate]:
    """The files that a check of a folder looks at; `folder` is an absolute path."""
    found = candidates(folder, _skipping(projects, respects_git=True))
    return (candidate for candidate in found if not candidate.path.endswith(FILE_NAME))


def _skipping(projects: Projects, *, respects_git: bool) -> Callable[[str, bool], bool]:
    """Whether a path, and whether it is a folder, is left out: by the configuration, or by git."""
    by_git: IgnoredByGit | None = None

    def is_skipped(path: str, is_folder: bool) -> bool:
        full = full_path(path)
        by_configuration = projects.configuration_of(full).excludes(full, is_folder=is_folder)
        if by_configuration or not respects_git:
            return by_configuration
        nonlocal by_git
        if by_git is None:
            from pai_lsp.project.exclusion import IgnoredByGit  # noqa: PLC0415 - only to search folders

            by_git = IgnoredByGit(projects.report)
        return by_git.excludes(full, is_folder=is_folder)

    return is_skipped


def _target(candidate: Candidate, projects: Projects, given: bytes | None = None) -> Target:
    path, base = full_path(candidate.path), os.getcwd()
    configuration, lookup = projects.configuration_of(path), projects.lookup_of(path, base)
    return Target(candidate, configuration, given, lookup, projects.catalog_folder_of(path, base))


def _may_exist(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True
