"""The marketplaces of the open files: read from the disk and asked over the network while everything else goes on.

Documents use a `Catalog` as it was last known and never wait for another. When there is a new one, they get it and are
checked again. Whether servers are asked is decided in one place, `ProjectMarketplace.decide`: when a marketplace is
first used, when its answers are old, and when the user asks for it; never because of the content of a file, and never
for a folder that is not trusted.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.setup import LOCK_NAME
from pai_lsp.job.lookup import Lookup, NoLookup
from pai_lsp.lsp.documents import FileKind
from pai_lsp.lsp.marketplace_reports import GOOD, MarketplaceReports
from pai_lsp.lsp.worker_threads import in_thread
from pai_lsp.lsp.workspace_settings import watch
from pai_lsp.source.failures import kind_and_place, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.setup import CatalogSetup
    from pai_lsp.catalog.store import Surroundings
    from pai_lsp.lsp.connection import Connection


# In seconds: when the answer of a server is old, when to retry a server that could not be reached, and how long the
# first check of a document waits for the definitions on the disk.
ASK_AGAIN = 30 * 60.0
TRY_AGAIN = 5 * 60.0
PATIENCE = 0.5
# How long an edit of a definition file waits for further edits, in seconds, before other documents are checked with it.
_DELAY = 0.1
# Between two texts, in seconds, so that the event loop can use the interpreter.
_PAUSE = 0.0002


class Marketplaces:
    """The marketplaces that are in use, one for each setup."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reports = MarketplaceReports(connection)
        self._marketplaces: dict[CatalogSetup, ProjectMarketplace] = {}

    def marketplace_of(self, path: str) -> ProjectMarketplace | None:
        """The marketplace of a file; for a document that is not a file, of the workspace's first folder.

        None without any source of definitions.
        """
        base = self._connection.folder_of(path)
        if not base:
            is_file = os.path.isabs(path)  # noqa: PTH117 - asked after each edit, and pathlib is slow
            base = os.path.dirname(path) if is_file else next(iter(self._connection.folders), "")  # noqa: PTH120 - as above
        if not base:
            return None
        setup = self._connection.projects.setup_of(path, base)
        if not setup.sources and not setup.allowed_hosts:
            return None
        if setup not in self._marketplaces:
            marketplace = ProjectMarketplace(setup, self._connection, self._reports, self._report_status)
            self._marketplaces[setup] = marketplace
            self._connection.in_background(marketplace.keep_current())
        return self._marketplaces[setup]

    def reload(self) -> None:
        """Read everything on the disk again: folders or settings may have changed."""
        for marketplace in self._marketplaces.values():
            marketplace.read_soon()

    def definitions_edited(self, path: str) -> None:
        """Update the documents that use a definition file after it was edited or closed."""
        for marketplace in self._marketplaces.values():
            if marketplace.setup.directory_of(path) is not None:
                marketplace.update_soon()

    def contains(self, path: str) -> bool:
        """Whether a file is in a marketplace folder, or is a lock file."""
        return any(path == setup.lock or setup.directory_of(path) is not None for setup in self._marketplaces)

    def trust_changed(self) -> None:
        """Decide again whether servers are asked: other configurations are trusted than before."""
        for marketplace in self._marketplaces.values():
            marketplace.decide_again()

    def lookups(self) -> list[Lookup]:
        """The lookups of all marketplaces."""
        return [marketplace.lookup for marketplace in self._marketplaces.values()]

    async def wait_until_read(self) -> None:
        """Wait, but not for long, until every marketplace was read from the disk."""
        waiting = [one.was_read.wait() for one in self._marketplaces.values() if not one.was_read.is_set()]
        if waiting:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)

    async def refresh(self) -> dict[str, str]:
        """Ask all servers again, however recent their answers are; the user wants it."""
        for marketplace in list(self._marketplaces.values()):
            await marketplace.refresh()
        return self._report_status()

    def _report_status(self) -> dict[str, str]:
        return self._reports.status([one.catalog for one in self._marketplaces.values() if one.catalog is not None])

    def setup_failed(self, error: Exception) -> str:
        """Show the user that the sources of a file are not known, by a fault of ours; returns the fault."""
        self._reports.failure(error)
        return kind_and_place(error)


class ProjectMarketplace:
    """The definitions of one setup, and the work on them.

    `keep_current` is its life: it reads what is on the disk, then decides again and again whether its servers are
    asked, and waits. The content that was read or answered is `_saved`; `catalog`, which the documents use, adds the
    definition files that are being edited.

    catalog: None until the disk was read.
    was_read: set after the disk was read once.
    """

    def __init__(
        self,
        setup: CatalogSetup,
        connection: Connection,
        reports: MarketplaceReports,
        report_status: Callable[[], object],
    ) -> None:
        self.setup = setup
        self.catalog: Catalog | None = None
        self.was_read = asyncio.Event()
        self._connection = connection
        self._reports = reports
        self._report_status = report_status
        self._saved: Catalog | None = None
        self._missing_reason = "the marketplace is being read"
        # Held while `_saved`, or `catalog`, is made.
        self._loading = asyncio.Lock()
        self._updating = asyncio.Lock()
        # Planned and not begun.
        self._is_read_planned = False
        self._is_update_planned = False
        self._update_seconds = 0.0
        self._wake = asyncio.Event()

    @property
    def lookup(self) -> Lookup:
        """Finds the definitions for the documents."""
        return self.catalog or NoLookup(self._missing_reason)

    def decide(self) -> float | None:
        """In how many seconds the servers are to be asked; None if they may not be. Nothing else decides this."""
        from pai_lsp.catalog.loading import seconds_since_asked  # noqa: PLC0415 - loaded when the client is connected

        surroundings = self._surroundings()
        if not surroundings.servers_of(self.setup) and not surroundings.hosts_of(self.setup):
            return None
        since = seconds_since_asked(self.setup, surroundings)
        return 0.0 if since is None else max(0.0, ASK_AGAIN - since)

    async def keep_current(self) -> None:
        """Read the definitions on the disk, and ask the servers whenever it is time to; never ends."""
        await self._read_from_disk()
        self._connection.in_background(self._watch())
        await self._connection.settings.answered()  # they may say that nothing is trusted
        while True:
            self._connection.in_background(self._ask_for_trust())
            wait = self.decide()
            if wait == 0:
                await self._ask_servers()
                wait = ASK_AGAIN if self.catalog is None or self.catalog.state in GOOD else TRY_AGAIN
            try:
                await asyncio.wait_for(self._wake.wait(), ASK_AGAIN if wait is None else wait)
            except asyncio.TimeoutError:
                continue
            self._wake.clear()
            await self._read_from_disk()

    async def _ask_for_trust(self) -> None:
        """Ask the user, once, whether the configuration is trusted, if it needs that."""
        from pai_lsp.project.trust import fingerprint, wanted  # noqa: PLC0415 - as above

        setup, connection = self.setup, self._connection
        lines = wanted(setup, connection.folders)
        if not lines or connection.trust.about(setup) is True:
            return
        if connection.trust.refuses_all:
            self._reports.untrusted(setup.folder)
        elif connection.trust.about(setup) is None:
            shown = fingerprint(setup)
            answer = await self._reports.trust_answer(setup.folder, lines, shown)
            if answer is not None and fingerprint(setup) == shown:
                try:
                    connection.trust.remember(setup, is_trusted=answer)
                except OSError as error:
                    self._reports.unsaved_answer(why(error))

    def decide_again(self) -> None:
        """Decide now whether the servers are asked."""
        self._wake.set()

    async def refresh(self) -> None:
        """Ask the servers, however recent their answers are; read the disk where they may not be asked."""
        await self.was_read.wait()
        if self.decide() is None:
            await self._read_from_disk()
        else:
            await self._ask_servers()

    async def read_now(self) -> Catalog | None:
        """Read the disk, and return what is known then: a client reports a changed file late, or never."""
        await self.was_read.wait()
        await self._read_from_disk()
        return self.catalog

    def read_soon(self) -> None:
        """Read the disk again, once for all changes of this moment."""
        if self.was_read.is_set() and not self._is_read_planned:
            self._is_read_planned = True
            self._connection.in_background(self._read_from_disk())

    def update_soon(self) -> None:
        """Give the documents what is being edited, after a delay."""
        if not self._is_update_planned:
            self._is_update_planned = True
            self._connection.in_background(self._update_documents_soon())

    async def _read_from_disk(self) -> None:
        """Read folders, lock file and cache."""
        from pai_lsp.catalog.loading import load_catalog  # noqa: PLC0415 - loaded when the client is connected

        try:
            async with self._loading:
                self._is_read_planned = False
                before, surroundings = self._saved, self._surroundings()
                await self._load(lambda: load_catalog(self.setup, surroundings, before))
        finally:
            self.was_read.set()

    async def _ask_servers(self) -> None:
        """Ask the servers, and the addresses that the open jobs name."""
        from pai_lsp.catalog.loading import refreshed_catalog  # noqa: PLC0415 - as above

        async with self._loading, self._reports.progress() as report:
            before = self._saved
            if before is not None:
                surroundings, addresses = self._surroundings(), self._used_addresses()
                await self._load(lambda: refreshed_catalog(before, surroundings, addresses, report))

    async def _load(self, load: Callable[[], Catalog]) -> None:
        """Load a catalog in a thread and give it to the documents; when that fails, they keep what they have."""
        try:
            self._saved = await in_thread(load)
            await self._update_documents()
        except Exception as error:  # noqa: BLE001 - the documents are checked without a marketplace
            self._missing_reason = f"the marketplace cannot be read: {kind_and_place(error)}"
            self._reports.failure(error)
            self._connection.reconfigure()

    async def _update_documents_soon(self) -> None:
        """Wait for further edits; longer where an update takes long."""
        await asyncio.sleep(max(_DELAY, 3 * self._update_seconds))
        self._is_update_planned = False
        await self._update_documents()

    async def _update_documents(self) -> None:
        """Give the documents a new catalog, if what was loaded or is being edited changes it."""
        from pai_lsp.catalog.loading import overlaid_catalog  # noqa: PLC0415 - loaded when the client is connected

        async with self._updating:
            saved, before = self._saved, self.catalog
            if saved is None:
                return
            documents = self._connection.documents.values()
            edited = {one.path: one.text for one in documents if one.context.catalog_folder is not None}

            def overlay() -> tuple[Catalog, bool, float]:
                begin = time.monotonic()
                catalog = overlaid_catalog(saved, edited, before)
                is_new = before is None or not before.has_same_answers(catalog)
                return (catalog.prepared() if is_new else catalog), is_new, time.monotonic() - begin

            catalog, is_new, self._update_seconds = await in_thread(overlay)
            if is_new:
                self.catalog = catalog
                self._connection.reconfigure()
        self._report_status()

    def _surroundings(self) -> Surroundings:
        from pai_lsp.catalog.store import Surroundings  # noqa: PLC0415 - as above

        return Surroundings(
            is_trusted=self._connection.trust.about(self.setup) is True,
            workspace=self._connection.folders,
            pause=lambda: time.sleep(_PAUSE),
        )

    def _used_addresses(self) -> Callable[[Catalog], Iterable[str]]:
        """A function that gives the web addresses that the open jobs need, by a catalog."""
        from pai_lsp.catalog.loading import uses_of  # noqa: PLC0415 - loaded when the client is connected

        documents = self._connection.documents.values()
        ours = [one for one in documents if one.context.lookup is self.catalog and not one.context.is_excluded]
        return lambda catalog: (
            uses_of((one.document.job for one in ours if one.kind is FileKind.JOB), catalog).on_the_web
        )

    async def _watch(self) -> None:
        """Ask the client to report changes of definition files and of the lock file."""
        names = dict.fromkeys(Path(directory).name for directory in self.setup.directories)
        globs = [*(f"**/{name}/**/*.{{yaml,yml}}" for name in names), f"**/{LOCK_NAME}"]
        if self._connection.client.watch_registration:
            await watch(self._connection.server, globs)
