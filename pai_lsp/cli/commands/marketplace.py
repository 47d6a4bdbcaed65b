"""`pai-lsp marketplace`: lists and shows definitions, fetches them, and locks those that the jobs use."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.loading import load_catalog, locked_entries, refreshed_catalog, uses_of
from pai_lsp.catalog.lock import definition_hash, lock_changes, lock_text
from pai_lsp.catalog.remote_sources import page_key, page_path, why_not_asked
from pai_lsp.catalog.setup import LOCK_NAME, SourceState
from pai_lsp.catalog.store import Surroundings
from pai_lsp.cli import FINDINGS, failed, json_text, table
from pai_lsp.document import Document
from pai_lsp.job.lookup import BY_NAME, LookupState, looks_like_address
from pai_lsp.job.require_graph import not_looked_up, nothing_at
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.project.targets import missing, report_faults, run_projects, source_of, targets
from pai_lsp.project.trust import wanted
from pai_lsp.source.files import (
    YAML_ENDINGS,
    SourceFile,
    UnreadableFile,
    decoded,
    full_path,
    read_bytes,
    write_text,
)
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.spelling import did_you_mean, plural
from pai_lsp.source.text import column, visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pai_lsp.catalog.catalog import Catalog, CatalogEntry
    from pai_lsp.catalog.lock import LockedDefinition
    from pai_lsp.catalog.setup import CatalogSetup
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.lookup import LookupAnswer
    from pai_lsp.project.projects import Projects

_VERSION = 1
_STATES = {LookupState.FOUND: "found", LookupState.ABSENT: "absent", LookupState.UNKNOWN: "unknown"}


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if not os.path.isdir(arguments.folder):
        return failed("marketplace", f"no such folder: {visible(arguments.folder)}")
    projects = run_projects()
    setup = _setup(projects, str(Path(arguments.folder, FILE_NAME)))
    has_faults = report_faults(projects)
    surroundings = Surroundings(base=str(Path.cwd()))
    if setup.network_directories or arguments.action in {"refresh", "publish", "withdraw"}:
        is_trusted = getattr(arguments, "trust", False) or projects.is_trusted(setup)
        surroundings = replace(surroundings, is_trusted=is_trusted)
    catalog = load_catalog(setup, surroundings)
    if arguments.action != "lock" or arguments.check or arguments.diff:
        _report_lock_fault(catalog)
    if arguments.action == "list":
        return _list(catalog, arguments)
    if arguments.action == "show":
        return _show(catalog, arguments)
    if arguments.action == "refresh":
        status = _refresh(catalog, surroundings, projects, arguments.folder)
        return FINDINGS if has_faults else status
    if arguments.action in {"publish", "withdraw"}:
        from pai_lsp.cli.commands import publish_item  # noqa: PLC0415 - changes a server, as no other action does

        return publish_item.run(arguments, catalog, surroundings, projects)
    names = [one for one in arguments.paths if arguments.action == "lock" and not os.path.exists(one)]
    if message := missing([one for one in names if not setup.lock or one.endswith(YAML_ENDINGS)]):
        return failed("marketplace lock", message)
    project = [os.path.relpath(setup.folder) if setup.folder else arguments.folder]
    paths = [one for one in arguments.paths if one not in names] or project
    if arguments.action == "diff":
        if message := missing(paths):
            return failed("marketplace diff", message)
        from pai_lsp.cli.commands.marketplace_changes import diff  # noqa: PLC0415 - expands jobs; runs git

        return diff(catalog, arguments.base, _documents(projects, catalog, paths))
    return _lock(catalog, projects, paths, names, arguments)


def _setup(projects: Projects, path: str) -> CatalogSetup:
    return projects.setup_of(full_path(path), str(Path.cwd()))


def _list(catalog: Catalog, arguments: argparse.Namespace) -> int:
    query = arguments.query.lower()
    places = [
        place
        for place in catalog.entries()
        if arguments.type in {None, place.header.type}
        and query in f"{place.header.name}\n{place.header.type}\n{place.header.summary}\n{place.title}".lower()
    ]
    places.sort(key=lambda place: place.header.type == "dockerimage")
    if arguments.format == "json":
        _print_json(
            {"sources": _sources_as_json(catalog), "definitions": [_place_as_json(catalog, place) for place in places]}
        )
    else:
        if places:
            _print_table(places)
        _print_sources(catalog)
        for page in catalog.pages.values():
            sys.stdout.write(visible(f"{page.path}: {page.note}") + "\n")
    if query and not places:
        sys.stderr.write(f"no definition in the marketplace contains '{visible(arguments.query)}'\n")
        return FINDINGS
    return 0


def _show(catalog: Catalog, arguments: argparse.Namespace) -> int:
    reference = arguments.reference
    if not looks_like_address(reference):
        reference = BY_NAME + reference
    answer = catalog.find(reference)
    if arguments.format == "json":
        _print_json(
            {
                "reference": reference,
                "state": _STATES[answer.state],
                "note": answer.changed or answer.note,
                "path": answer.path,
                "title": answer.title,
                "definitions": [_definition_as_json(catalog, answer, one) for one in answer.definitions],
            }
        )
    elif answer.state is LookupState.FOUND:
        for number, definition in enumerate(answer.definitions):
            sys.stdout.write("\n" if number else "")
            _print_definition(catalog, answer, definition)
    if answer.state is LookupState.FOUND:
        return 0
    if answer.state is LookupState.UNKNOWN:
        return failed("marketplace", visible(not_looked_up(reference, answer.note)), FINDINGS)
    message = nothing_at(reference, catalog.names())
    note = f" ({answer.note})" if answer.note not in message else ""
    return failed("marketplace", visible(message + note), FINDINGS)


def _refresh(catalog: Catalog, surroundings: Surroundings, projects: Projects, folder: str) -> int:
    if not catalog.setup.servers and not catalog.setup.allowed_hosts:
        sys.stdout.write("no server is configured; folders need no refresh\n")
        return 0
    if not surroundings.is_trusted and (lines := wanted(catalog.setup, None)):
        message = f"the configuration of '{visible(catalog.setup.folder)}' is not trusted; it would"
        failed("marketplace refresh", "\n  ".join([message, *lines]), FINDINGS)
        sys.stderr.write("run 'pai-lsp trust' to trust it, or repeat the command with --trust\n")
    jobs = list(_jobs(projects, catalog, [folder])) if surroundings.hosts_of(catalog.setup) else []

    def addresses(known: Catalog) -> list[str]:
        return uses_of(jobs, known).on_the_web

    def begin(what: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"asking {visible(what)} ...\n")

    refreshed = refreshed_catalog(catalog, surroundings, addresses, begin)
    if refreshed.sources:
        _print_sources(refreshed)
    is_good = all(source.state is SourceState.READY for source in refreshed.sources)
    for address in dict.fromkeys(addresses(refreshed)):
        page = refreshed.pages.get(page_key(address))
        reason = why_not_asked(address, refreshed.setup.allowed_hosts)
        note = f"not asked; {reason}" if reason else page.note if page else "not asked; there are too many addresses"
        sys.stdout.write(visible(f"{page_path(address)}: {note}") + "\n")
        is_there = page is not None and page.text is not None and page.state is SourceState.READY
        is_good = is_good and (is_there or bool(reason))
    return 0 if is_good else FINDINGS


def _lock(
    catalog: Catalog, projects: Projects, paths: Sequence[str], names: Sequence[str], arguments: argparse.Namespace
) -> int:
    file = catalog.setup.lock
    if not file:
        return failed("marketplace lock", "no .pai-lsp.yaml and no folder 'marketplace' found")
    uses = uses_of(_jobs(projects, catalog, paths), replace(catalog, lock=None))
    entries = locked_entries(catalog, uses)
    for reference, answer in uses.missing.items():
        note = f": {answer.note}" if answer.note else ""
        kept = "; its entry is unchanged" if reference in entries else ""
        sys.stderr.write(visible(f"'{reference}' is not locked, {answer.state.value}{note}{kept}") + "\n")
    pinned = catalog.lock.entries if catalog.lock else {}
    if names:
        chosen = {name: _named(name, {**pinned, **entries}) for name in names}
        if unknown := next((name for name in names if not chosen[name]), None):
            near = did_you_mean(unknown, [one.name for locked in entries.values() for one in locked])
            message = f"no definition that the jobs use is named '{visible(unknown)}'{near}"
            return failed("marketplace lock", message)
        updated = {reference for found in chosen.values() for reference in found}
        others = {name: locked for name, locked in pinned.items() if name not in updated}
        entries = {**others, **{name: entries[name] for name in updated if name in entries}}
    text = lock_text(entries)
    before = read_bytes(file)
    is_current = not isinstance(before, UnreadableFile) and before.replace(b"\r\n", b"\n") == text.encode()
    if arguments.check or arguments.diff:
        changes = lock_changes(pinned, entries)
        if arguments.diff:
            from pai_lsp.cli.commands.marketplace_changes import print_lock_changes  # noqa: PLC0415 - expands jobs

            print_lock_changes(changes, pinned, entries, catalog)
        else:
            sys.stdout.write("".join(visible(f"{name}: {word}") + "\n" for name, word in changes.items()))
        state = "is up to date" if is_current else "is not up to date; run 'pai-lsp marketplace lock'"
        sys.stdout.write(f"{LOCK_NAME} {state}\n")
    else:
        if not is_current:
            _write(file, before, text)
        sys.stdout.write(f"{LOCK_NAME} contains {plural(len(entries), 'definition')}\n")
    return FINDINGS if uses.missing or ((arguments.check or arguments.diff) and not is_current) else 0


def _named(name: str, entries: Mapping[str, Sequence[LockedDefinition]]) -> list[str]:
    """The entries of a lock file that an address, or the name of a definition, means."""
    return [key for key, locked in entries.items() if name == key or any(one.name == name for one in locked)]


def _jobs(projects: Projects, catalog: Catalog, paths: Sequence[str]) -> Iterator[Job]:
    return (document.job for document in _documents(projects, catalog, paths))


def _documents(projects: Projects, catalog: Catalog, paths: Sequence[str]) -> Iterator[Document]:
    """The jobs among the files that have the same marketplace."""
    for target in targets(paths, projects, given=b"", given_name="", force_exclude=False):
        is_other = target.is_configuration or target.catalog_folder is not None
        if is_other or _setup(projects, target.path) != catalog.setup:
            continue
        source = source_of(target)
        if isinstance(source, SourceFile):
            document = Document(source.text, target.configuration.settings, target.path)
            if document.is_job or target.candidate.is_named:
                yield document


def _write(file: str, before: bytes | UnreadableFile, text: str) -> None:
    source = before if isinstance(before, UnreadableFile) else decoded(file, before)
    if isinstance(source, SourceFile):
        write_text(source, text)
    else:
        Path(file).write_bytes(text.encode())


def _print_sources(catalog: Catalog) -> None:
    """Print one line for each source: number of definitions, state, and skipped items."""
    if not catalog.sources:
        sys.stdout.write("no marketplace is configured, and there is no folder 'marketplace'\n")
    for source in catalog.sources:
        count = plural(source.count, "definition") + (f", {source.note}" if source.note else "")
        lines = [f"{catalog.displayed(source.label)}: {count}", *(f"  skipped: {one}" for one in source.skipped)]
        sys.stdout.writelines(visible(line) + "\n" for line in lines)


def _report_lock_fault(catalog: Catalog) -> None:
    """Print on standard error why the lock file is not used, if so."""
    if catalog.lock is not None and catalog.lock.fault:
        sys.stderr.write(f"pai-lsp: {visible(catalog.lock.fault)}\n")


def _sources_as_json(catalog: Catalog) -> list[dict[str, Any]]:
    """The sources, for programs."""
    return [
        {
            "source": catalog.displayed(source.label),
            "state": source.state.value,
            "note": source.note,
            "definitions": source.count,
            "notRead": list(source.skipped),
        }
        for source in catalog.sources
    ]


def _print_table(places: Sequence[CatalogEntry]) -> None:
    rows = [("NAME", "TYPE", "TO FILL", "SUMMARY")]
    for place in places:
        header = place.header
        summary = f"{place.title}: {header.summary}" if place.title else header.summary
        rows.append((header.name, header.type or "-", ", ".join(header.variables) or "-", summary))
    sys.stdout.write(f"{table(rows)}\n")


def _place_as_json(catalog: Catalog, place: CatalogEntry) -> dict[str, Any]:
    header = place.header
    return {
        "reference": place.reference,
        "name": header.name,
        "type": header.type,
        "summary": header.summary,
        "variables": list(header.variables),
        "item": place.text.item,
        "title": place.title,
        "source": catalog.displayed(place.source.label),
    }


def _definition_as_json(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "type": definition.type,
        "variables": [variable.name for variable in definition.template_variables],
        "requires": [requirement.reference.name for requirement in definition.requirements],
        "sha256": definition_hash(definition),
        "text": _written(catalog, answer, definition),
    }


def _print_definition(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> None:
    facts = {
        "name": definition.name,
        "title": answer.title,
        "type": definition.type,
        "from": answer.path or "",
        "state": answer.changed or answer.note,
        "to fill": ", ".join(variable.name for variable in definition.template_variables),
        "requires": ", ".join(requirement.reference.name for requirement in definition.requirements),
        "sha256": definition_hash(definition),
    }
    for label, fact in facts.items():
        if fact:
            sys.stdout.write(f"{label + ':':<10}{visible(fact)}\n")
    text = _written(catalog, answer, definition)
    sys.stdout.write("\n" + "".join(f"{visible(line)}\n" for line in text.splitlines()))


def _written(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> str:
    """The text of a definition without indentation and without passwords; for a locked one, its values as JSON."""
    text = catalog.text(answer.path or "")
    span = definition.node.span
    if text is None or span.end > len(text):
        written = json.dumps(plain_value(definition.node), indent=2, ensure_ascii=False, default=str)
    else:
        margin = column(text, span.start)
        lines = text[span.start : span.end].rstrip().splitlines()
        written = "\n".join([*lines[:1], *(line[margin:] if not line[:margin].strip() else line for line in lines[1:])])
    return Document(written).as_definitions(is_wanted=True).job.hidden.without(written)


def _print_json(content: dict[str, Any]) -> None:
    sys.stdout.write(json_text({"version": _VERSION, **content}))
