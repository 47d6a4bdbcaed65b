"""From a setup to a catalog: reading folders of definitions, asking over the network, and which addresses jobs use.

`load_catalog` never asks over the network. `refreshed_catalog` does, and is called only on the user's request: by
`pai-lsp marketplace refresh`, and by the server in a trusted workspace.

Of a folder, nothing outside it is read: links to files outside it are skipped, and no name in a reference becomes part
of a path.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.catalog import Catalog
from pai_lsp.catalog.definition_text import read_definition_text
from pai_lsp.catalog.lock import Lock, LockedDefinition, definition_hash, lock_changes, locked_source, read_lock
from pai_lsp.catalog.remote_sources import (
    UNTRUSTED_NOTE,
    load_pages,
    load_server,
    pages_key,
    pages_last_asked,
    refresh_pages,
    refresh_server,
    server_key,
)
from pai_lsp.catalog.setup import DirectorySource, SourceState
from pai_lsp.catalog.store import LoadedSource, Surroundings
from pai_lsp.job.lookup import LazyLookup, LookupState
from pai_lsp.source.failures import why
from pai_lsp.source.files import YAML_ENDINGS, UnreadableFile, decoded, read_bytes
from pai_lsp.source.frozen import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pai_lsp.catalog.definition_text import DefinitionText
    from pai_lsp.catalog.setup import CatalogSetup
    from pai_lsp.catalog.store import Store
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.lookup import Lookup, LookupAnswer

# A folder with more files is not a marketplace; the rest is not read.
MOST_FILES = 50_000
MOST_BYTES = 10_000_000
# Smaller folders, in bytes, are not cached: reading them is as fast as reading the cache.
_WORTH_STORING = 200_000
# Files changed within this time, in seconds, may change again without a new time on their stamp.
_UNSETTLED = 2.0


def read_directory(
    directory: str,
    store: Store | None = None,
    before: LoadedSource | None = None,
    pause: Callable[[], None] = lambda: None,
) -> LoadedSource:
    """The definitions in the YAML files of a folder and its subfolders. Never raises.

    Args:
        directory: an absolute path.
        store: the cache for a large folder.
        before: the former result; unchanged files are not read again.
        pause: called between files, so that the caller can let other work run.
    """
    if not os.path.isdir(directory):
        return LoadedSource(directory, state=SourceState.UNREACHABLE, note=f"'{directory}' is not a folder")
    found, skipped, size = _files(directory)
    is_large = size >= _WORTH_STORING
    former = before or (store.load(directory) if store and is_large else None) or LoadedSource()
    known = {text.path: text for text in former.texts}
    texts: list[DefinitionText] = []
    stamps: dict[str, str] = {}
    for path, stamp in found:
        text: DefinitionText | str | None = known.get(path) if stamp and former.stamps.get(path) == stamp else None
        if text is None:
            text = _read(directory, path)
            pause()
        if isinstance(text, str):
            skipped.append(text)
            continue
        texts.append(text)
        if stamp:
            stamps[path] = stamp
    loaded = LoadedSource(directory, tuple(texts), skipped=(*skipped, *_faults(directory, texts)), stamps=stamps)
    if store and is_large and stamps != former.stamps:
        with suppress(OSError):  # next time it is read again
            store.save(directory, loaded)
    return loaded


def with_open_texts(source: LoadedSource, open_texts: Mapping[str, str], before: LoadedSource | None) -> LoadedSource:
    """A folder with the texts of files that are open in the editor; the same object if they change nothing.

    Args:
        source: the folder as it is on the disk.
        open_texts: by path; all paths are in the folder.
        before: the former result; unchanged texts are not read again.
    """
    texts = {text.path: text for text in source.texts}
    former = {text.path: text for text in before.texts} if before else {}
    changed = [path for path, text in open_texts.items() if path not in texts or texts[path].text != text]
    if not changed:
        return source
    for path in changed:
        known = former.get(path)
        is_known = known is not None and known.text == open_texts[path]
        texts[path] = known if known and is_known else _definition_text(path, open_texts[path])
    names = tuple(f"{_below(source.label, path)}{mark}" for path in changed for mark in ",:")
    kept = [note for note in source.skipped if not note.startswith(names)]
    faults = _faults(source.label, (texts[path] for path in changed))
    return replace(source, texts=tuple(texts[path] for path in sorted(texts)), skipped=(*kept, *faults))


def _faults(directory: str, texts: Iterable[DefinitionText]) -> list[str]:
    return [f"{_below(directory, text.path)}, {text.fault}" for text in texts if text.fault]


def _definition_text(path: str, text: str) -> DefinitionText:
    return read_definition_text(path, text, item=Path(path).stem)


def _files(directory: str) -> tuple[list[tuple[str, str]], list[str], int]:
    """The YAML files in a folder, sorted, each with a stamp that changes with it; messages; the size in bytes."""
    found: list[tuple[str, str]] = []
    skipped: list[str] = []
    size = 0
    real = os.path.realpath(directory)
    unsettled = time.time() - _UNSETTLED
    folders = [directory]
    while folders and len(found) < MOST_FILES:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = [entry for entry in listing if not entry.name.startswith(".")]
        except OSError as error:
            skipped.append(f"{_below(directory, folder)} cannot be listed: {why(error)}")
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.lower().endswith(YAML_ENDINGS):
                reason, stamp, length = _file_stamp(entry, real, unsettled)
                if reason:
                    skipped.append(f"{_below(directory, entry.path)} {reason}")
                else:
                    found.append((entry.path, stamp))
                    size += length
    if folders or len(found) > MOST_FILES:
        skipped.append(f"more than {MOST_FILES:,} files; the rest is not read")
    return sorted(found)[:MOST_FILES], sorted(skipped), size


def _file_stamp(entry: os.DirEntry[str], real: str, unsettled: float) -> tuple[str, str, int]:
    """Why a file is skipped, or its stamp and size in bytes; the stamp is empty for one that is read every time."""
    try:
        if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(real):
            return "is a link to a file outside the folder", "", 0
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return "is not a regular file", "", 0
    except OSError as error:
        return f"cannot be read: {why(error)}", "", 0
    if status.st_size > MOST_BYTES:
        return f"is larger than {MOST_BYTES:,} bytes", "", 0
    stamp = f"{status.st_mtime_ns}:{status.st_size}" if status.st_mtime < unsettled else ""
    return "", stamp, status.st_size


def _read(directory: str, path: str) -> DefinitionText | str:
    """A file's definitions, or why it cannot be read."""
    source = decoded(path, read_bytes(path))
    if isinstance(source, UnreadableFile):
        return f"{_below(directory, path)}: {source.message}"
    return _definition_text(path, source.text)


def _below(directory: str, path: str) -> str:
    return f"'{Path(path).relative_to(directory).as_posix()}'"


_MOST_ROUNDS = 5


def load_catalog(setup: CatalogSetup, surroundings: Surroundings, before: Catalog | None = None) -> Catalog:
    """The catalog without network: the folders, and the cached answers of servers and addresses. Never raises.

    Args:
        setup: where definitions come from.
        surroundings: the environment, trust and limits.
        before: the former catalog; unchanged files are not read again.
    """
    store = surroundings.store
    known = {one.label: one for one in before.sources} if before else {}
    servers = surroundings.servers_of(setup)
    sources = tuple(
        _read_directory(setup, source.directory, surroundings, known.get(source.label))
        if isinstance(source, DirectorySource)
        else load_server(source, store, known.get(source.label), is_trusted=source in servers)
        for source in setup.sources
    )
    asked = pages_last_asked(setup.folder, store)
    is_known = before is not None and before.pages_asked == asked
    pages = before.pages if before and is_known else load_pages(setup.folder, store) if setup.allowed_hosts else {}
    return Catalog(setup, _relevant(setup, sources), pages, asked, load_lock(setup.lock), surroundings.base)


def overlaid_catalog(catalog: Catalog, open_texts: Mapping[str, str], before: Catalog | None = None) -> Catalog:
    """The catalog with the texts of files that are open in the editor.

    Args:
        catalog: what is on the disk; returned itself if the open texts change nothing.
        open_texts: by path; those outside the directories of the setup are ignored.
        before: the former result; unchanged texts are not read again.
    """
    setup = catalog.setup
    by_directory: dict[str, dict[str, str]] = {}
    for path, text in open_texts.items():
        if (directory := setup.directory_of(path)) is not None and path.lower().endswith(YAML_ENDINGS):
            by_directory.setdefault(directory, {})[path] = text
    if not by_directory:
        return catalog
    sources = {one.label: one for one in catalog.sources}
    former = {one.label: one for one in before.sources} if before else {}
    for directory, texts in by_directory.items():
        source = sources.get(directory, LoadedSource(directory))
        sources[directory] = with_open_texts(source, texts, former.get(directory))
    if all(sources.get(one.label) is one for one in catalog.sources) and len(sources) == len(catalog.sources):
        return catalog
    found = tuple(sources[one.label] for one in setup.sources if one.label in sources)
    return replace(catalog, sources=_relevant(setup, found))


def refreshed_catalog(
    catalog: Catalog,
    surroundings: Surroundings,
    addresses: Callable[[Catalog], Iterable[str]] = lambda _: (),
    begin: Callable[[str], None] = lambda _: None,
) -> Catalog:
    """The catalog after a request to every server and every web address that may be asked. Never raises.

    Args:
        catalog: the former catalog; its folders are read again too.
        surroundings: they decide what may be asked.
        addresses: returns the web addresses that jobs use; only those of allowed hosts are requested.
        begin: called with the label of each request before it is sent.
    """
    catalog = load_catalog(catalog.setup, surroundings, catalog)
    setup = catalog.setup
    known = {one.label: one for one in catalog.sources}
    answers: dict[object, LoadedSource] = {}
    for server in surroundings.servers_of(setup):
        begin(server.url)
        answers[server] = refresh_server(server, setup.folder_of_command(server), surroundings)
    sources = (answers.get(one) or known.get(one.label) for one in setup.sources)
    catalog = replace(catalog, sources=tuple(filter(None, sources)))
    asked: set[str] = set()
    # A definition at an address may require another address.
    for _ in range(_MOST_ROUNDS if surroundings.hosts_of(setup) else 0):
        wanted = [one for one in dict.fromkeys(addresses(catalog)) if one not in asked]
        if not wanted:
            break
        begin("web addresses")
        asked.update(wanted)
        pages = refresh_pages(setup, wanted, surroundings)
        when = pages_last_asked(setup.folder, surroundings.store)
        catalog = replace(catalog, pages={**catalog.pages, **pages}, pages_asked=when)
    return catalog


def seconds_since_asked(setup: CatalogSetup, surroundings: Surroundings) -> float | None:
    """Seconds since the servers that may be asked, or without any the web addresses, last answered; None for never."""
    store, servers = surroundings.store, surroundings.servers_of(setup)
    asked = [store.asked(key) for key in map(server_key, servers)] or [store.asked(pages_key(setup.folder))]
    times = [one for one in asked if one is not None]
    return None if len(times) < len(asked) else max(0.0, time.time() - min(times))


def load_lock(path: str) -> Lock | None:
    """The lock file; None if it does not exist. One that is a folder, a device or a dangling link cannot be used."""
    if not path or not os.path.lexists(path):
        return None
    is_plain = os.path.isfile(path)
    source = decoded(path, read_bytes(path)) if is_plain else UnreadableFile(path, "it is not a plain file")
    if isinstance(source, UnreadableFile):
        return Lock(path, {}, f"'{Path(path).name}' cannot be used: {source.message}")
    return read_lock(path, source.text)


def _read_directory(
    setup: CatalogSetup, directory: str, surroundings: Surroundings, before: LoadedSource | None
) -> LoadedSource:
    if not surroundings.is_trusted and setup.needs_trust(directory, surroundings.workspace):
        return LoadedSource(directory, state=SourceState.UNTRUSTED, note=UNTRUSTED_NOTE)
    return read_directory(directory, surroundings.store, before, surroundings.pause)


def _relevant(setup: CatalogSetup, sources: tuple[LoadedSource, ...]) -> tuple[LoadedSource, ...]:
    """The sources without the folder that was found by its name, if it has no definitions."""
    return tuple(source for source in sources if source.label != setup.found or source.count)


@dataclass(frozen=True, eq=False)
class RecordingLookup(LazyLookup):
    """Records each question with its answer."""

    read: Callable[[], Lookup]
    answers: dict[str, LookupAnswer] = field(default_factory=dict)

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        answer = self.answers[reference] = LazyLookup.find(self, reference)
        return answer


@dataclass(frozen=True, slots=True)
class Uses:
    """The addresses that jobs use, directly or through what they require, with the answers.

    found: addresses with a definition. missing: written addresses without one.
    """

    found: Mapping[str, LookupAnswer]
    missing: Mapping[str, LookupAnswer]

    @property
    def on_the_web(self) -> list[str]:
        """Those that are asked over HTTP."""
        return [one for one in (*self.found, *self.missing) if one.startswith(("http://", "https://"))]


def uses_of(jobs: Iterable[Job], lookup: Lookup) -> Uses:
    """The addresses that jobs use; `lookup` answers instead of the jobs' own."""
    recording = RecordingLookup(lambda: lookup)
    written: set[str] = set()
    for job in jobs:
        graph = replace(job, lookup=recording).require_graph
        for entry in graph.entries:
            written |= {link.reference.name for link in (entry, *graph.beyond(entry)) if link.reference.is_address}
    answers = recording.answers
    found = {name: answer for name, answer in answers.items() if answer.state is LookupState.FOUND}
    missing = {name: answers[name] for name in sorted(written) if name in answers and name not in found}
    return Uses(found, missing)


def locked_entries(catalog: Catalog, uses: Uses) -> dict[str, tuple[LockedDefinition, ...]]:
    """The entries of a lock file for what jobs use; an address that could not be looked up keeps its entry."""
    entries = {
        name: tuple(_locked(catalog, answer, definition) for definition in answer.definitions)
        for name, answer in uses.found.items()
    }
    before = catalog.lock.entries if catalog.lock else {}
    unknown = (name for name, answer in uses.missing.items() if answer.state is LookupState.UNKNOWN)
    kept = {name: before[name] for name in unknown if name in before}
    for name, locked in kept.items():
        entries[name] = tuple(replace(one, source=locked_source(one.source, catalog.setup.folder)) for one in locked)
    return entries


def locked_states(catalog: Catalog) -> dict[str, str]:
    """Each entry of the lock file with what locking it anew would change: `changed`, `not found`, or nothing."""
    pinned, live = catalog.lock.entries if catalog.lock else {}, replace(catalog, lock=None)
    answers = {name: live.find(name) for name in pinned}
    found = {name: answer for name, answer in answers.items() if answer.state is LookupState.FOUND}
    changes = lock_changes(pinned, locked_entries(catalog, Uses(found, {})))
    return {name: changes.get(name, "") if name in found else "not found" for name in sorted(pinned)}


def _locked(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> LockedDefinition:
    path = answer.path or ""
    project = Path(catalog.setup.folder)
    file = Path(catalog.base) / path
    is_own = "://" not in path and file.is_relative_to(project)
    source = locked_source(path if "://" in path else str(file), catalog.setup.folder)
    return LockedDefinition(definition.name, source, definition_hash(definition), None if is_own else definition)
