"""Finds and reads the jobs of a command, with the configuration and the marketplace of their folders.

Shared output functions of these commands: write a file, print a message, show findings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, CommandError, ended
from pai_lsp.cli.commands.check_one import with_related_texts
from pai_lsp.cli.report import render
from pai_lsp.cli.report.results import CheckedFile, Results
from pai_lsp.cli.report.terminal import terminal_for
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.platform.platforms import platform_named
from pai_lsp.project.targets import STANDARD_INPUT, missing, report_faults, run_projects, source_of, targets
from pai_lsp.rules.command_rules import unreadable_file
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import YAML_ENDINGS, SourceFile, UnreadableFile, decoded, full_path, read_bytes
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pai_lsp.project.projects import Projects
    from pai_lsp.project.targets import Target


def job_file(path: str, projects: Projects, platform: str | None = None) -> Document | CheckedFile:
    """The job in a file, or on standard input for `-`; for an unreadable file, its finding.

    A file in a marketplace folder is read as definitions. `platform` is the name of the platform that the command line
    gives; None for that of the file or its configuration.
    """
    is_input = path == STANDARD_INPUT
    name = "<stdin>" if is_input else path
    data = sys.stdin.buffer.read() if is_input else read_bytes(name)
    source = decoded(name, data)
    if isinstance(source, UnreadableFile):
        diagnostic = Diagnostic(unreadable_file.code, Severity.ERROR, source.span, source.message)
        return CheckedFile(name, source.text, (diagnostic,))
    named = None if platform is None else platform_named(platform)
    document = projects.document_of(source.text, full_path(name), str(Path.cwd()), name, named)
    report_faults(projects)
    return document


def job_of(path: str, projects: Projects, platform: str | None = None) -> Document:
    """The job in a file that the user names.

    Raises:
        CommandError: if there is none.
    """
    if message := missing([path]):
        raise CommandError(message)
    found = job_file(path, projects, platform)
    if isinstance(found, CheckedFile):
        show_findings(found)
        raise CommandError("", FINDINGS)
    return found


def named_jobs(paths: Sequence[str], projects: Projects) -> list[tuple[str, str]]:
    """The files that a user named and the jobs in named folders, each with its path below that folder.

    Raises:
        CommandError: if there are none.
    """
    if message := missing(paths):
        raise CommandError(message)
    found: list[tuple[str, str]] = []
    for path in paths:
        if not os.path.isdir(path):
            found.append((path, Path(path).name))
            continue
        for one in targets([path], projects, given=b"", given_name="", force_exclude=False):
            if one.candidate.problem is not None:
                raise CommandError(f"{visible(one.path)}: {one.candidate.problem}", OWN_FAILURE)
            if _is_job(one):
                found.append((one.path, os.path.relpath(one.path, path)))
    if not found:
        raise CommandError(f"no jobs in {', '.join(map(visible, paths))}")
    return found


def _is_job(target: Target) -> bool:
    source = source_of(target)
    return isinstance(source, SourceFile) and Document(source.text).is_job


def each_job(
    command: str,
    paths: Sequence[str],
    output: str | None,
    work: Callable[[str, str | None, Projects], int],
    ending: str | None,
    *,
    writes: bool = True,
) -> int:
    """Do the work for each job; returns the highest exit status.

    work: is called with a job, the file to write or None, and the run's projects. With several jobs, those of a folder,
        or a folder as `output`, the file is in `output` and has the name of the job, with another `ending` if given.
    writes: whether folders for the files are made.
    """
    projects = run_projects()
    jobs = named_jobs(paths, projects)
    is_folder = output is not None and os.path.isdir(output)
    is_one_file = len(paths) == 1 and jobs[0][0] == paths[0] and not is_folder
    if is_one_file:
        outputs = [output]
    elif STANDARD_INPUT in paths:
        raise CommandError("standard input cannot be combined with other jobs or a folder")
    elif output in {None, "-"} or (os.path.exists(output or "") and not is_folder):
        raise CommandError("several jobs, or those of a folder, need --output FOLDER")
    else:
        outputs = [str(Path(output or "", _with_ending(below, ending))) for _, below in jobs]
    if twice := next((one for one in outputs if outputs.count(one) > 1), None):
        raise CommandError(f"several of these jobs would be written to {visible(twice)}")
    if any(names_input(one, path) for one in outputs for path, _ in jobs):
        raise CommandError("--output names the job itself")
    status = 0
    for (path, _), one in zip(jobs, outputs, strict=True):
        if writes and one is not None and not is_one_file:
            Path(one).parent.mkdir(parents=True, exist_ok=True)
        try:
            status = max(status, work(path, one, projects))
        except CommandError as error:
            status = max(status, ended(command, error))
    return status


def _with_ending(path: str, ending: str | None) -> str:
    if ending is None:
        return path
    for one in (*YAML_ENDINGS, ".json", ".pai"):
        path = path.removesuffix(one)
    return path + ending


def names_input(output: str | None, path: str) -> bool:
    """Whether the file to write is the one that was read."""
    if output is None or STANDARD_INPUT in {path, output}:
        return False
    try:
        return Path(output).samefile(path)
    except OSError:
        return False


def put(content: str | bytes, output: str | None) -> None:
    """Write to a file, or to standard output without one or for `-`.

    Raises:
        CommandError: if the file cannot be written.
    """
    if isinstance(content, bytes) and output in {None, "-"}:
        sys.stdout.buffer.write(content)
    elif output is None or output == "-":
        sys.stdout.write(str(content))
    else:
        try:
            Path(output).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        except OSError as error:
            raise CommandError(f"{visible(output)}: {why(error)}", OWN_FAILURE) from None


def need_agreement(question: str, otherwise: str, path: str = "", *, needs_word: bool = False) -> None:
    """Ask the user, who answers yes, or also `y` unless it `needs_word`. otherwise: what is not done then.

    Raises:
        CommandError: without a yes, also if standard input is not a terminal, or is the file to read.
    """
    is_terminal = sys.stdin.isatty()
    if is_terminal and path != STANDARD_INPUT:
        sys.stderr.write(f"{question} [{'yes' if needs_word else 'y'}/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ({"yes"} if needs_word else {"y", "yes"}):
            return
    raise CommandError(f"{otherwise}{'' if is_terminal else '; give --yes'}")


def show_findings(file: CheckedFile) -> None:
    """Print the findings of a file, if any, as text on standard error."""
    if file.diagnostics:
        terminal = terminal_for("auto", os.environ, is_terminal=sys.stderr.isatty(), width=0)
        sys.stderr.write(render("text", Results((with_related_texts(file),)), terminal, (), has_summary=False))
