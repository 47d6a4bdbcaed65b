"""The marketplaces of the projects whose files are open: read and asked beside everything else.

Documents get a `Catalog` as it was last known, and never wait for another. When there are news, they get the new one
and are checked again. Servers are asked when a project is first met, when what is known of them is old, and when the
user wants it; never because of what stands in a file, and never for a folder that is not trusted.

One project's marketplace in the server: what its documents ask, and what is going on with it.

How the marketplaces are, all in all: what an editor shows in its status bar.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.catalog.setup import LOCK_NAME, CatalogSetup, catalog_setup
from pai_lsp.job.lookup import Lookup, NoLookup
from pai_lsp.lsp.documents import Kind
from pai_lsp.lsp.progress_reports import in_thread, progress
from pai_lsp.lsp.workspace_settings import watch
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pygls.lsp.server import LanguageServer

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.sources import Surroundings
    from pai_lsp.lsp.connection import Connection
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.workspace_settings import Effective


# In seconds: when what a server said is old, when to try one again that could not be asked, and how long the first
# check of a document waits for what is on the disk.
ASK_AGAIN = 30 * 60.0
TRY_AGAIN = 5 * 60.0
PATIENCE = 0.5
# How long what is written in a definition file waits for more, in seconds, before others are checked with it.
_BREATH = 0.1
# Between two texts, so that whoever types gets the interpreter.
_PAUSE = 0.0002
HOW_TO_TRUST = "https://pai-lsp.readthedocs.io/editors/#trust"

_log = logging.getLogger(__name__)


class Marketplaces:
    """The projects that were met, by setup."""

    def __init__(self, connection: Connection) -> None:
        self._shows_progress = False
        self._connection = connection
        self._projects: dict[CatalogSetup, Project] = {}
        self._setups: dict[str, CatalogSetup] = {}
        self._status: Status | None = None
        self._messages: set[str] = set()

    def begin(self, params: lsp.InitializeParams) -> None:
        """Take from an `initialize` request whether progress is shown."""
        window = params.capabilities.window
        self._shows_progress = window is not None and bool(window.work_done_progress)

    def project(self, path: str, effective: Effective) -> Project | None:
        """The project of a file; None without any marketplace. `effective` is what is configured for the file."""
        folder = self._folder_of(path)
        if folder is None:
            return None
        setup = self._setups.get(folder)
        if setup is None:
            setup = self._setups[folder] = self._setup(folder, effective)
        if not setup.sources and not setup.allowed_hosts:
            return None
        if setup not in self._projects:
            self._projects[setup] = project = Project(setup)
            self._connection.in_background(self._live(project))
        return self._projects[setup]

    def look_again(self) -> None:
        """Folders, or what is configured, may have changed."""
        self._setups.clear()
        for project in self._projects.values():
            if project.is_read.is_set() and not project.is_to_be_read:
                project.is_to_be_read = True
                self._connection.in_background(self._read(project))

    def edited(self, path: str) -> None:
        """A file is written in, or is closed: if it is part of a marketplace folder, others depend on it."""
        for project in self._projects.values():
            if not project.is_to_be_shown and project.setup.directory_of(path) is not None:
                project.is_to_be_shown = True
                self._connection.in_background(self._show_soon(project))

    def holds(self, path: str) -> bool:
        """Whether a file is part of a marketplace folder, or a lock file."""
        return any(path == setup.lock or setup.directory_of(path) is not None for setup in self._projects)

    def trust_changed(self) -> None:
        """Other folders are trusted than before."""
        for project in self._projects.values():
            project.is_wanted.set()

    def lookups(self) -> list[Lookup]:
        """What the documents of all projects ask."""
        return [project.lookup for project in self._projects.values()]

    async def read(self) -> None:
        """Wait, but not for long, until every project was read from the disk."""
        waiting = [project.is_read.wait() for project in self._projects.values() if not project.is_read.is_set()]
        if waiting:
            try:
                await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
            except asyncio.TimeoutError:
                return

    async def refresh(self) -> Status:
        """Ask everybody again, as the user wants."""
        for project in list(self._projects.values()):
            await project.is_read.wait()
            await self._ask(project)
        return self._tell()

    async def _live(self, project: Project) -> None:
        """Keep a project as well known as it should be."""
        await self._read(project)
        self._connection.in_background(self._watch(project.setup))
        await self._connection.settings_answered()  # they may say that nothing is trusted
        while True:
            wait = await self._ask_if_due(project)
            try:
                await asyncio.wait_for(project.is_wanted.wait(), wait)
            except asyncio.TimeoutError:
                continue
            project.is_wanted.clear()
            await self._read(project)

    async def _read(self, project: Project) -> None:
        """Read what is on the disk."""
        from pai_lsp.catalog.sources import load_catalog  # noqa: PLC0415 - loaded when the client is connected

        try:
            async with project.at_work:
                project.is_to_be_read = False
                before, surroundings = project.latest, self._surroundings(project)
                await self._take(project, lambda: load_catalog(project.setup, surroundings, before))
        finally:
            project.is_read.set()

    async def _watch(self, setup: CatalogSetup) -> None:
        """Ask to be told when a definition file or the lock changes."""
        names = dict.fromkeys(Path(directory).name for directory in setup.directories)
        globs = [*(f"**/{name}/**/*.{{yaml,yml}}" for name in names), f"**/{LOCK_NAME}"]
        if self._connection.client.watch_registration:
            await watch(self._connection.server, globs)

    async def _ask_if_due(self, project: Project) -> float:
        """Ask the servers of a project if it is time to; how long to wait then, in seconds."""
        from pai_lsp.catalog.index import SourceState  # noqa: PLC0415 - as above
        from pai_lsp.catalog.sources import seconds_since_asked  # noqa: PLC0415 - as above

        if not project.has_servers:
            return ASK_AGAIN
        surroundings = self._surroundings(project)
        if not surroundings.is_trusted:
            self._tell_not_trusted(project)
            return ASK_AGAIN
        since = seconds_since_asked(project.setup, surroundings)
        if since is not None and since < ASK_AGAIN:
            return ASK_AGAIN - since
        await self._ask(project)
        state = project.catalog.state if project.catalog else None
        return ASK_AGAIN if state in {None, SourceState.READY} else TRY_AGAIN

    async def _ask(self, project: Project) -> None:
        """Ask the servers of a project, and the addresses that its open documents name."""
        from pai_lsp.catalog.sources import refreshed_catalog  # noqa: PLC0415 - as above

        async with project.at_work, progress(self._connection.server, is_shown=self._is_shown(project)) as report:
            before = project.latest
            if before is None:
                return
            surroundings, addresses = (
                self._surroundings(project),
                project.addresses(self._connection.documents.values()),
            )
            await self._take(project, lambda: refreshed_catalog(before, surroundings, addresses, report))

    async def _take(self, project: Project, work: Callable[[], Catalog]) -> None:
        """Let a project's documents have what is known after some work; when that fails, they go on without."""
        try:
            project.latest = await in_thread(work)
            await self._show(project)
        except Exception as error:  # noqa: BLE001 - the documents are checked without a marketplace
            project.state = f"the marketplace cannot be read: {kind_and_place(error)}"
            self._tell_failure(error)
            self._connection.reconfigure()

    async def _show_soon(self, project: Project) -> None:
        """Let a project's documents have what is written in others; not all the time where that takes long."""
        await asyncio.sleep(max(_BREATH, 3 * project.effort))
        project.is_to_be_shown = False
        await self._show(project)

    async def _show(self, project: Project) -> None:
        """Let a project's documents have what is known and what is being written, if that is anything new."""
        from pai_lsp.catalog.sources import overlaid_catalog  # noqa: PLC0415 - loaded when the client is connected

        async with project.at_showing:
            latest, before = project.latest, project.catalog
            if latest is None:
                return
            written = {one.path: one.text for one in self._connection.documents.values() if one.is_in_catalogue}

            def learn() -> tuple[Catalog, bool, float]:
                begin = time.monotonic()
                catalog = overlaid_catalog(latest, written, before)
                is_new = before is None or not before.says_the_same(catalog)
                return (catalog.prepared() if is_new else catalog), is_new, time.monotonic() - begin

            catalog, is_new, project.effort = await in_thread(learn)
            if is_new:
                project.catalog = catalog
                self._connection.reconfigure()
        self._tell()

    def _is_shown(self, project: Project) -> bool:
        return self._shows_progress and project.has_servers and self._connection.trusts(project.setup.folder)

    def _surroundings(self, project: Project) -> Surroundings:
        from pai_lsp.catalog.sources import Surroundings  # noqa: PLC0415 - as above

        is_trusted = self._connection.trusts(project.setup.folder)
        return Surroundings(is_trusted=is_trusted, pause=lambda: time.sleep(_PAUSE))

    def _setup(self, folder: str, effective: Effective) -> CatalogSetup:
        """Where definitions come from for the files of a folder; nowhere when that cannot be found out."""
        top = self._connection.folder_of(folder) or folder
        try:
            return catalog_setup(effective.marketplace, effective.base, folder, top)
        except Exception as error:  # noqa: BLE001 - the documents are checked without a marketplace
            self._tell_failure(error)
            return CatalogSetup()

    def _tell_not_trusted(self, project: Project) -> None:
        """Tell the user that servers are not asked; in the log where the client shows this itself."""
        whose = f"of '{project.setup.folder}'" if project.setup.folder else "in the editor's settings"
        message = f"the marketplace {whose} is not asked, because the folder is not trusted; see {HOW_TO_TRUST}"
        self._tell_once(message, lsp.MessageType.Info, is_shown=not self._connection.trust.is_refused)

    def _tell_failure(self, error: Exception) -> None:
        rest = "jobs are checked without it; please report this fault of pai-lsp"
        message = f"the marketplace cannot be read: {kind_and_place(error)}; {rest}"
        if message not in self._messages:
            _log.error("the marketplace cannot be read", exc_info=error)
        self._tell_once(message, lsp.MessageType.Error, is_shown=True)

    def _tell_once(self, message: str, kind: lsp.MessageType, *, is_shown: bool) -> None:
        if message in self._messages:
            return
        self._messages.add(message)
        if is_shown:
            self._connection.server.window_show_message(lsp.ShowMessageParams(kind, message))
        else:
            self._connection.server.window_log_message(lsp.LogMessageParams(kind, message))

    def _tell(self) -> Status:
        """Tell the client how the marketplaces are, if that has changed."""
        catalogs = [project.catalog for project in self._projects.values() if project.catalog is not None]
        status = status_of(catalogs)
        if status != self._status:
            self._status = status
            tell_status(self._connection.server, status)
        return status

    def _folder_of(self, path: str) -> str | None:
        """The folder of a file; for a document that is no file, the workspace's first."""
        if Path(path).is_absolute():
            return str(Path(path).parent)
        return next(iter(self._connection.folders), None)


class Project:
    """One setup and what is known of it.

    catalog: what the project's documents have; None until it was read from the disk.
    state: why there is no catalog, in words.
    latest: what is known without the files that are being written, which count in `catalog`.
    is_to_be_read, is_to_be_shown: whether a reading, or taking over what is written, is planned and has not begun.
    effort: how long it took last time to take over what is written, in seconds.
    """

    def __init__(self, setup: CatalogSetup) -> None:
        self.setup = setup
        self.catalog: Catalog | None = None
        self.state = "the marketplace is being read"
        self.latest: Catalog | None = None
        self.is_to_be_read = False
        self.is_to_be_shown = False
        self.effort = 0.0
        self.is_read = asyncio.Event()
        self.is_wanted = asyncio.Event()
        self.at_work = asyncio.Lock()
        self.at_showing = asyncio.Lock()

    @property
    def lookup(self) -> Lookup:
        """What the project's documents ask."""
        return self.catalog or NoLookup(self.state)

    @property
    def has_servers(self) -> bool:
        """Whether there is anybody to ask over the network."""
        return bool(self.setup.servers or self.setup.allowed_hosts)

    def addresses(self, documents: Iterable[OpenDocument]) -> Callable[[Catalog], Iterable[str]]:
        """Gives the web addresses that the project's open jobs lead to, by a catalogue."""
        from pai_lsp.catalog.used_addresses import uses_of  # noqa: PLC0415 - loaded when the client is connected

        ours = [one for one in documents if one.lookup is self.catalog and not one.is_excluded]

        def named(catalog: Catalog) -> Iterable[str]:
            uses = uses_of((one.document.job for one in ours if one.kind is Kind.JOB), catalog)
            return [one for one in (*uses.found, *uses.missing) if one.startswith(("http://", "https://"))]

        return named


METHOD = "pai-lsp/marketplaceStatus"
_WORST_LAST = ("none", "ready", "stale", "untrusted", "unreachable")


@dataclass(frozen=True, slots=True)
class Status:
    """`state`: ready, stale, untrusted, unreachable, or none without any marketplace. `note` says more, in words."""

    state: str = "none"
    note: str = ""


def status_of(catalogs: Sequence[Catalog]) -> Status:
    """The worst state, and what is to be said of all that are in it."""
    states = [catalog.state.value if catalog.state else "none" for catalog in catalogs]
    worst = max(states, key=_WORST_LAST.index, default="none")
    if worst in {"none", "ready"}:
        count = sum(shelf.count for catalog in catalogs for shelf in catalog.shelves)
        return Status(worst, f"{count} definition{'s' if count > 1 else ''}" if count else "")
    notes = (note for catalog in catalogs if catalog.state and catalog.state.value == worst for note in catalog.doubts)
    return Status(worst, "; ".join(dict.fromkeys(notes)))


def tell_status(server: LanguageServer, status: Status) -> None:
    """Send it to the client."""
    server.protocol.notify(METHOD, {"state": status.state, "note": status.note})
