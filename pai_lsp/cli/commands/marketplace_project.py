"""`pai-lsp marketplace refresh` and `lock`: fetches the definitions that a project's jobs use, and pins them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.index import SourceState
from pai_lsp.catalog.setup import LOCK_NAME
from pai_lsp.catalog.sources import Surroundings, load_catalog, refreshed_catalog
from pai_lsp.catalog.used_addresses import locked_entries, uses_of
from pai_lsp.cli.commands.job_file import failed
from pai_lsp.cli.commands.marketplace_sources import print_sources, report_lock_fault
from pai_lsp.cli.main import FINDINGS, WRONG_USAGE
from pai_lsp.document import Document
from pai_lsp.project.targets import Configurations, missing, targets
from pai_lsp.rules import BY_CODE
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import SourceFile, UnreadableFile, decoded, might_be_job, read_bytes
from pai_lsp.source.frozen import replace
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.job.job import Job


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    configurations = Configurations(BY_CODE)
    setup = configurations.setup_of(arguments.folder)
    surroundings = Surroundings(base=str(Path.cwd()))
    catalog = load_catalog(setup, surroundings)
    if arguments.action == "refresh" or arguments.check:
        report_lock_fault(catalog)
    if arguments.action == "refresh":
        return _refresh(catalog, surroundings, configurations, arguments.folder)
    if message := missing(arguments.paths):
        return failed("marketplace lock", message, WRONG_USAGE)
    paths = arguments.paths or [os.path.relpath(setup.folder) if setup.folder else arguments.folder]
    return _lock(catalog, configurations, paths, is_check=arguments.check)


def _refresh(catalog: Catalog, surroundings: Surroundings, configurations: Configurations, folder: str) -> int:
    if not catalog.setup.servers and not catalog.setup.allowed_hosts:
        sys.stdout.write("no server is configured; folders need no refresh\n")
        return 0
    jobs = list(_jobs(configurations, catalog, [folder])) if catalog.setup.allowed_hosts else []

    def addresses(known: Catalog) -> list[str]:
        uses = uses_of(jobs, known)
        return [one for one in (*uses.found, *uses.missing) if one.startswith(("http://", "https://"))]

    def begin(what: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"asking {visible(what)} ...\n")

    refreshed = refreshed_catalog(catalog, surroundings, addresses, begin)
    print_sources(refreshed)
    known = [shelf.state for shelf in refreshed.shelves] + [page.state for page in refreshed.pages.values()]
    return 0 if all(state is SourceState.READY for state in known) else FINDINGS


def _lock(catalog: Catalog, configurations: Configurations, paths: Sequence[str], *, is_check: bool) -> int:
    from pai_lsp.catalog.lock import lock_text  # noqa: PLC0415 - only here

    file = catalog.setup.lock
    if not file:
        return failed("marketplace lock", "no .pai-lsp.yaml and no folder 'marketplace' found", WRONG_USAGE)
    uses = uses_of(_jobs(configurations, catalog, paths), replace(catalog, lock=None))
    entries = locked_entries(catalog, uses)
    for reference, answer in uses.missing.items():
        note = f": {answer.note}" if answer.note else ""
        kept = "; its entry is unchanged" if reference in entries else ""
        sys.stderr.write(visible(f"'{reference}' is not locked, {answer.state.value}{note}{kept}") + "\n")
    text = lock_text(entries)
    before = read_bytes(file)
    is_current = not isinstance(before, UnreadableFile) and before.replace(b"\r\n", b"\n") == text.encode()
    noun = "definition" if len(entries) == 1 else "definitions"
    if is_check:
        says = "is up to date" if is_current else "is not up to date; run 'pai-lsp marketplace lock'"
        sys.stdout.write(f"{LOCK_NAME} {says}\n")
    else:
        try:
            if not is_current:
                _write(Path(file), text)
        except OSError as error:
            return failed("marketplace lock", f"{visible(file)}: {why(error)}", OWN_FAILURE)
        sys.stdout.write(f"{LOCK_NAME} contains {len(entries)} {noun}\n")
    return FINDINGS if uses.missing or (is_check and not is_current) else 0


def _jobs(configurations: Configurations, catalog: Catalog, paths: Sequence[str]) -> Iterator[Job]:
    """The jobs among the files that have the same marketplace."""
    for target in targets(paths, configurations, given=b"", given_name="", force_exclude=False):
        if target.candidate.problem is not None or target.is_configuration or target.in_catalogue is not None:
            continue
        if configurations.setup_of(str(Path(target.path).parent)) != catalog.setup:
            continue
        data = read_bytes(target.path)
        if isinstance(data, UnreadableFile) or not (target.candidate.is_surely_job or might_be_job(data)):
            continue
        source = decoded(target.path, data)
        if isinstance(source, SourceFile):
            document = Document(source.text, target.configuration.settings, target.path)
            if document.is_job or target.candidate.is_named:
                yield document.job


def _write(file: Path, text: str) -> None:
    """Replace the file atomically: a reader sees the old or the new text."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_bytes(text.encode())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
