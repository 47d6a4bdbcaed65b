"""From a setup to a catalogue: reading what is on the disk, and asking over the network.

`load_catalog` never asks anybody; `refreshed_catalog` does, and is only called where the user wants it: by
`pai-lsp marketplace refresh` and by the server in a trusted workspace.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.catalog import Catalog
from pai_lsp.catalog.directory_source import read_directory, with_open_texts
from pai_lsp.catalog.index import Shelf, SourceState
from pai_lsp.catalog.lock import Lock, read_lock
from pai_lsp.catalog.server_source import UNTRUSTED_NOTE, load_server, refresh_server, server_asked
from pai_lsp.catalog.settings import DirectorySource
from pai_lsp.catalog.store import Store, user_cache_folder
from pai_lsp.catalog.web_source import load_pages, pages_asked, refresh_pages
from pai_lsp.source.files import YAML_ENDINGS, UnreadableFile, decoded, read_bytes
from pai_lsp.source.frozen import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pai_lsp.catalog.fetching import Limits
    from pai_lsp.catalog.setup import CatalogSetup

_MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a catalogue is read from beside its setup.

    is_trusted: whether somebody may be asked, and commands run, for this project.
    base: see `Catalog.base`.
    pause: called between texts, for a caller that wants others to have their turn.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    is_trusted: bool = True
    base: str = ""
    limits: Limits | None = None
    pause: Callable[[], None] = lambda: None

    @property
    def store(self) -> Store:
        """The user's cache."""
        return Store(user_cache_folder(self.environment))


def load_catalog(setup: CatalogSetup, surroundings: Surroundings, before: Catalog | None = None) -> Catalog:
    """What is known without asking: the folders, and what is kept of servers and addresses. Never raises.

    Args:
        setup: where definitions come from.
        surroundings: the rest.
        before: the catalogue as it was; files that have not changed are not read again.
    """
    store = surroundings.store
    known = {shelf.label: shelf for shelf in before.shelves} if before else {}
    shelves = tuple(
        _read_directory(source.directory, surroundings, known.get(source.directory))
        if isinstance(source, DirectorySource)
        else load_server(source, store, known.get(source.url), is_trusted=surroundings.is_trusted)
        for source in setup.sources
    )
    asked = pages_asked(setup.folder, store)
    is_known = before is not None and before.pages_asked == asked
    pages = before.pages if before and is_known else load_pages(setup.folder, store) if setup.allowed_hosts else {}
    return Catalog(setup, _worth(setup, shelves), pages, asked, load_lock(setup.lock), surroundings.base)


def overlaid_catalog(catalog: Catalog, open_texts: Mapping[str, str], before: Catalog | None = None) -> Catalog:
    """The catalogue as it will be once the files that somebody is writing are saved.

    Args:
        catalog: what is on the disk; it is given back where nothing that is written changes it.
        open_texts: by path, which is one in a directory of the setup.
        before: the catalogue as it was last given; texts that have not changed are not read again.
    """
    setup = catalog.setup
    by_directory: dict[str, dict[str, str]] = {}
    for path, text in open_texts.items():
        if (directory := setup.directory_of(path)) is not None and path.lower().endswith(YAML_ENDINGS):
            by_directory.setdefault(directory, {})[path] = text
    if not by_directory:
        return catalog
    shelves = {shelf.label: shelf for shelf in catalog.shelves}
    former = {shelf.label: shelf for shelf in before.shelves} if before else {}
    for directory, texts in by_directory.items():
        shelf = shelves.get(directory, Shelf(directory))
        shelves[directory] = with_open_texts(shelf, texts, former.get(directory))
    if all(shelves.get(shelf.label) is shelf for shelf in catalog.shelves) and len(shelves) == len(catalog.shelves):
        return catalog
    labels = (source.directory if isinstance(source, DirectorySource) else source.url for source in setup.sources)
    found = tuple(shelves[label] for label in labels if label in shelves)
    return replace(catalog, shelves=_worth(setup, found))


def refreshed_catalog(
    catalog: Catalog,
    surroundings: Surroundings,
    addresses: Callable[[Catalog], Iterable[str]] = lambda _: (),
    begin: Callable[[str], None] = lambda _: None,
) -> Catalog:
    """The catalogue after every server, and every address that may be asked, was asked again. Never raises.

    Args:
        catalog: what was known before; its folders are read again too.
        surroundings: in untrusted ones nobody is asked.
        addresses: gives the web addresses that jobs lead to; only those of allowed hosts are asked.
        begin: called with what is asked next, for people.
    """
    catalog = load_catalog(catalog.setup, surroundings, catalog)
    setup = catalog.setup
    if not surroundings.is_trusted:
        return catalog

    folders = {shelf.label: shelf for shelf in catalog.shelves}
    shelves: list[Shelf] = []
    for source in setup.sources:
        if isinstance(source, DirectorySource):
            shelves += filter(None, (folders.get(source.directory),))
            continue
        begin(source.url)
        shelves.append(
            refresh_server(
                source,
                surroundings.store,
                surroundings.environment,
                setup.folder,
                limits=surroundings.limits,
                pause=surroundings.pause,
            )
        )
    catalog = replace(catalog, shelves=tuple(shelves))
    asked: set[str] = set()
    # What stands at an address may require another one.
    for _ in range(_MOST_ROUNDS if setup.allowed_hosts else 0):
        wanted = [one for one in dict.fromkeys(addresses(catalog)) if one not in asked]
        if not wanted:
            break
        begin("web addresses")
        asked.update(wanted)
        pages = refresh_pages(setup.folder, wanted, setup.allowed_hosts, surroundings.store, surroundings.limits)
        known = pages_asked(setup.folder, surroundings.store)
        catalog = replace(catalog, pages={**catalog.pages, **pages}, pages_asked=known)
    return catalog


def seconds_since_asked(setup: CatalogSetup, surroundings: Surroundings) -> float | None:
    """How long ago the servers, or without any the web addresses, of a setup were asked; None for never."""
    store = surroundings.store
    asked = [server_asked(server, store) for server in setup.servers] or [pages_asked(setup.folder, store)]
    times = [one for one in asked if one is not None]
    return None if len(times) < len(asked) else max(0.0, time.time() - min(times))


def load_lock(path: str) -> Lock | None:
    """The lock file; None where there is none."""
    if not path or not Path(path).is_file():
        return None
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    if isinstance(source, UnreadableFile):
        return Lock(path, {}, f"'{Path(path).name}' can not be used: {source.message}")
    return read_lock(path, source.text)


def _read_directory(directory: str, surroundings: Surroundings, before: Shelf | None) -> Shelf:
    # To look at a folder of another machine (\\host\share) is to ask that machine, and Windows logs in there.
    if directory.startswith(("\\\\", "//")) and not surroundings.is_trusted:
        return Shelf(directory, state=SourceState.UNTRUSTED, note=UNTRUSTED_NOTE)
    return read_directory(directory, surroundings.store, before, surroundings.pause)


def _worth(setup: CatalogSetup, shelves: tuple[Shelf, ...]) -> tuple[Shelf, ...]:
    """The shelves without that of a found folder which turned out to hold something else."""
    return tuple(
        shelf
        for shelf in shelves
        if not (shelf.label == setup.found and (shelf.state is SourceState.UNREACHABLE or not shelf.count))
    )
