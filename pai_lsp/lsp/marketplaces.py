"""The marketplaces of the open files: read from the disk and asked over the network while everything else goes on.

Documents use a `Catalog` as it was last known and never wait for another. When there is a new one, they get it and are
checked again. Servers are asked when a marketplace is first used, when its answers are old, and when the user asks for
it; never because of the content of a file, and never for a folder that is not trusted (`Marketplaces._decide`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.catalog.setup import LOCK_NAME, CatalogSetup, catalog_setup
from pai_lsp.job.lookup import Lookup, NoLookup
from pai_lsp.lsp.documents import FileKind
from pai_lsp.lsp.progress_reports import progress
from pai_lsp.lsp.worker_threads import in_thread
from pai_lsp.lsp.workspace_settings import watch
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pygls.lsp.server import LanguageServer

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.loading import Surroundings
    from pai_lsp.lsp.connection import Connection
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.workspace_settings import Effective


# In seconds: when the answer of a server is old, when to retry a server that could not be reached, and how long the
# first check of a document waits for the definitions on the disk.
ASK_AGAIN = 30 * 60.0
TRY_AGAIN = 5 * 60.0
PATIENCE = 0.5
# How long an edit of a definition file waits for further edits, in seconds, before other documents are checked with it.
_DELAY = 0.1
# Between two texts, in seconds, so that the event loop can use the interpreter.
_PAUSE = 0.0002
HOW_TO_TRUST = "https://pai-lsp.readthedocs.io/editors/#trust"

_log = logging.getLogger(__name__)


class Decision(Enum):
    """Whether the servers of a marketplace are asked over the network now."""

    NO_SERVERS = auto()
    UNTRUSTED = auto()
    RECENT = auto()
    DUE = auto()


class Marketplaces:
    """The marketplaces that are in use, by setup."""

    def __init__(self, connection: Connection) -> None:
        self._shows_progress = False
        self._connection = connection
        self._marketplaces: dict[CatalogSetup, ProjectMarketplace] = {}
        self._setups: dict[str, CatalogSetup] = {}
        self._status: Status | None = None
        self._messages: set[str] = set()

    def begin(self, params: lsp.InitializeParams) -> None:
        """Take from an `initialize` request whether the client shows progress."""
        window = params.capabilities.window
        self._shows_progress = window is not None and bool(window.work_done_progress)

    def marketplace_of(self, path: str, effective: Effective) -> ProjectMarketplace | None:
        """The marketplace of a file, by what is configured for the file; None without any source of definitions."""
        folder = self._folder_of(path)
        if folder is None:
            return None
        setup = self._setups.get(folder)
        if setup is None:
            setup = self._setups[folder] = self._setup(folder, effective)
        if not setup.sources and not setup.allowed_hosts:
            return None
        if setup not in self._marketplaces:
            self._marketplaces[setup] = marketplace = ProjectMarketplace(setup)
            self._connection.in_background(self._keep_current(marketplace))
        return self._marketplaces[setup]

    def reload(self) -> None:
        """Read everything on the disk again: folders or settings may have changed."""
        self._setups.clear()
        for marketplace in self._marketplaces.values():
            if marketplace.was_read.is_set() and not marketplace.is_read_planned:
                marketplace.is_read_planned = True
                self._connection.in_background(self._read_from_disk(marketplace))

    def definitions_edited(self, path: str) -> None:
        """Update the documents that use a definition file after it was edited or closed."""
        for marketplace in self._marketplaces.values():
            if not marketplace.is_update_planned and marketplace.setup.directory_of(path) is not None:
                marketplace.is_update_planned = True
                self._connection.in_background(self._update_documents_soon(marketplace))

    def contains(self, path: str) -> bool:
        """Whether a file is in a marketplace folder, or is a lock file."""
        return any(path == setup.lock or setup.directory_of(path) is not None for setup in self._marketplaces)

    def trust_changed(self) -> None:
        """Decide again whether servers are asked: other folders are trusted than before."""
        for marketplace in self._marketplaces.values():
            marketplace.wake.set()

    def lookups(self) -> list[Lookup]:
        """The lookups of all marketplaces."""
        return [marketplace.lookup for marketplace in self._marketplaces.values()]

    async def wait_until_read(self) -> None:
        """Wait, but not for long, until every marketplace was read from the disk."""
        waiting = [one.was_read.wait() for one in self._marketplaces.values() if not one.was_read.is_set()]
        if waiting:
            try:
                await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
            except asyncio.TimeoutError:
                return

    async def refresh(self) -> Status:
        """Ask all servers again, however recent their answers are; the user wants it."""
        for marketplace in list(self._marketplaces.values()):
            await marketplace.was_read.wait()
            decision, _ = self._decide(marketplace)
            if decision in {Decision.RECENT, Decision.DUE}:
                await self._ask_servers(marketplace)
            else:
                await self._read_from_disk(marketplace)
        return self._report_status()

    async def _keep_current(self, marketplace: ProjectMarketplace) -> None:
        """Read a marketplace, and ask its servers whenever it is time to."""
        await self._read_from_disk(marketplace)
        self._connection.in_background(self._watch(marketplace.setup))
        await self._connection.settings_answered()  # they may say that nothing is trusted
        while True:
            decision, wait = self._decide(marketplace)
            if decision is Decision.UNTRUSTED:
                self._report_untrusted(marketplace)
            elif decision is Decision.DUE:
                await self._ask_servers(marketplace)
                wait = ASK_AGAIN if _state_of(marketplace.catalog) in _GOOD else TRY_AGAIN
            try:
                await asyncio.wait_for(marketplace.wake.wait(), wait)
            except asyncio.TimeoutError:
                continue
            marketplace.wake.clear()
            await self._read_from_disk(marketplace)

    def _decide(self, marketplace: ProjectMarketplace) -> tuple[Decision, float]:
        """Whether the servers are asked now, and in how many seconds to decide again; nothing else decides this."""
        from pai_lsp.catalog.loading import seconds_since_asked  # noqa: PLC0415 - loaded when the client is connected

        if not marketplace.has_servers:
            return Decision.NO_SERVERS, ASK_AGAIN
        surroundings = self._surroundings(marketplace)
        if not surroundings.is_trusted:
            return Decision.UNTRUSTED, ASK_AGAIN
        since = seconds_since_asked(marketplace.setup, surroundings)
        if since is not None and since < ASK_AGAIN:
            return Decision.RECENT, ASK_AGAIN - since
        return Decision.DUE, 0.0

    async def _read_from_disk(self, marketplace: ProjectMarketplace) -> None:
        """Read folders, lock file and cache."""
        from pai_lsp.catalog.loading import load_catalog  # noqa: PLC0415 - loaded when the client is connected

        try:
            async with marketplace.loading:
                marketplace.is_read_planned = False
                before, surroundings = marketplace.saved, self._surroundings(marketplace)
                await self._load(marketplace, lambda: load_catalog(marketplace.setup, surroundings, before))
        finally:
            marketplace.was_read.set()

    async def _ask_servers(self, marketplace: ProjectMarketplace) -> None:
        """Ask the servers of a marketplace, and the addresses that its open documents name."""
        from pai_lsp.catalog.loading import refreshed_catalog  # noqa: PLC0415 - as above

        async with marketplace.loading, progress(self._connection.server, is_shown=self._shows_progress) as report:
            before = marketplace.saved
            if before is None:
                return
            surroundings = self._surroundings(marketplace)
            addresses = marketplace.addresses(self._connection.documents.values())
            await self._load(marketplace, lambda: refreshed_catalog(before, surroundings, addresses, report))

    async def _load(self, marketplace: ProjectMarketplace, load: Callable[[], Catalog]) -> None:
        """Load a catalog in a thread and give it to the documents; when that fails, they keep what they have."""
        try:
            marketplace.saved = await in_thread(load)
            await self._update_documents(marketplace)
        except Exception as error:  # noqa: BLE001 - the documents are checked without a marketplace
            marketplace.missing_reason = f"the marketplace cannot be read: {kind_and_place(error)}"
            self._report_failure(error)
            self._connection.reconfigure()

    async def _watch(self, setup: CatalogSetup) -> None:
        """Ask the client to report changes of definition files and of the lock file."""
        names = dict.fromkeys(Path(directory).name for directory in setup.directories)
        globs = [*(f"**/{name}/**/*.{{yaml,yml}}" for name in names), f"**/{LOCK_NAME}"]
        if self._connection.client.watch_registration:
            await watch(self._connection.server, globs)

    async def _update_documents_soon(self, marketplace: ProjectMarketplace) -> None:
        """Give the documents what is being edited, after a delay; a longer one where that takes long."""
        await asyncio.sleep(max(_DELAY, 3 * marketplace.update_seconds))
        marketplace.is_update_planned = False
        await self._update_documents(marketplace)

    async def _update_documents(self, marketplace: ProjectMarketplace) -> None:
        """Give the documents a new catalog, if what was loaded or is being edited changes it."""
        from pai_lsp.catalog.loading import overlaid_catalog  # noqa: PLC0415 - loaded when the client is connected

        async with marketplace.updating:
            saved, before = marketplace.saved, marketplace.catalog
            if saved is None:
                return
            edited = {one.path: one.text for one in self._connection.documents.values() if one.is_in_catalog}

            def overlay() -> tuple[Catalog, bool, float]:
                begin = time.monotonic()
                catalog = overlaid_catalog(saved, edited, before)
                is_new = before is None or not before.has_same_answers(catalog)
                return (catalog.prepared() if is_new else catalog), is_new, time.monotonic() - begin

            catalog, is_new, marketplace.update_seconds = await in_thread(overlay)
            if is_new:
                marketplace.catalog = catalog
                self._connection.reconfigure()
        self._report_status()

    def _surroundings(self, marketplace: ProjectMarketplace) -> Surroundings:
        from pai_lsp.catalog.loading import Surroundings  # noqa: PLC0415 - as above

        is_trusted = self._connection.trusts(marketplace.setup.folder)
        return Surroundings(is_trusted=is_trusted, pause=lambda: time.sleep(_PAUSE))

    def _setup(self, folder: str, effective: Effective) -> CatalogSetup:
        """Where the definitions for the files of a folder come from; from nowhere when finding out fails."""
        top = self._connection.folder_of(folder) or folder
        try:
            return catalog_setup(effective.marketplace, effective.base, folder, top)
        except Exception as error:  # noqa: BLE001 - the documents are checked without a marketplace
            self._report_failure(error)
            return CatalogSetup()

    def _report_untrusted(self, marketplace: ProjectMarketplace) -> None:
        """Show that servers are not asked; in the log where the client shows this itself."""
        folder = marketplace.setup.folder
        whose = f"of '{folder}'" if folder else "in the editor's settings"
        message = f"the marketplace {whose} is not asked, because the folder is not trusted; see {HOW_TO_TRUST}"
        self._report_once(message, lsp.MessageType.Info, is_shown=not self._connection.trust.is_refused)

    def _report_failure(self, error: Exception) -> None:
        rest = "jobs are checked without it; please report this fault of pai-lsp"
        message = f"the marketplace cannot be read: {kind_and_place(error)}; {rest}"
        if message not in self._messages:
            _log.error("the marketplace cannot be read", exc_info=error)
        self._report_once(message, lsp.MessageType.Error, is_shown=True)

    def _report_once(self, message: str, kind: lsp.MessageType, *, is_shown: bool) -> None:
        if message in self._messages:
            return
        self._messages.add(message)
        if is_shown:
            self._connection.server.window_show_message(lsp.ShowMessageParams(kind, message))
        else:
            self._connection.server.window_log_message(lsp.LogMessageParams(kind, message))

    def _report_status(self) -> Status:
        """Send the client the state of all marketplaces, if it has changed."""
        status = status_of([one.catalog for one in self._marketplaces.values() if one.catalog is not None])
        if status != self._status:
            self._status = status
            send_status(self._connection.server, status)
        return status

    def _folder_of(self, path: str) -> str | None:
        """The folder of a file; for a document that is no file, the workspace's first."""
        if Path(path).is_absolute():
            return str(Path(path).parent)
        return next(iter(self._connection.folders), None)


class ProjectMarketplace:
    """The definitions of one setup, and the work on them.

    saved: the catalog of what is on the disk and was answered by servers; None until it was read.
    catalog: the catalog that documents use: `saved` with the definition files that are being edited.
    missing_reason: why there is no catalog, in words.
    is_read_planned, is_update_planned: whether reading the disk, or updating the documents, is planned and not begun.
    update_seconds: how long the last update of `catalog` took.
    was_read: set after the disk was read once. wake: set to decide again whether servers are asked.
    loading, updating: held while `saved`, or `catalog`, is made anew.
    """

    def __init__(self, setup: CatalogSetup) -> None:
        self.setup = setup
        self.saved: Catalog | None = None
        self.catalog: Catalog | None = None
        self.missing_reason = "the marketplace is being read"
        self.is_read_planned = False
        self.is_update_planned = False
        self.update_seconds = 0.0
        self.was_read = asyncio.Event()
        self.wake = asyncio.Event()
        self.loading = asyncio.Lock()
        self.updating = asyncio.Lock()

    @property
    def lookup(self) -> Lookup:
        """Finds the definitions for the documents."""
        return self.catalog or NoLookup(self.missing_reason)

    @property
    def has_servers(self) -> bool:
        """Whether definitions come over the network, too."""
        return bool(self.setup.servers or self.setup.allowed_hosts)

    def addresses(self, documents: Iterable[OpenDocument]) -> Callable[[Catalog], Iterable[str]]:
        """A function that gives the web addresses that the open jobs need, by a catalog."""
        from pai_lsp.catalog.loading import uses_of  # noqa: PLC0415 - loaded when the client is connected

        ours = [one for one in documents if one.lookup is self.catalog and not one.is_excluded]

        def needed(catalog: Catalog) -> Iterable[str]:
            uses = uses_of((one.document.job for one in ours if one.kind is FileKind.JOB), catalog)
            return [one for one in (*uses.found, *uses.missing) if one.startswith(("http://", "https://"))]

        return needed


METHOD = "pai-lsp/marketplaceStatus"


class MarketplaceState(Enum):
    """How well definitions are known, from the best to the worst; the values are what the client gets."""

    NONE = "none"
    READY = "ready"
    STALE = "stale"
    UNTRUSTED = "untrusted"
    UNREACHABLE = "unreachable"


_ORDER = tuple(MarketplaceState)
_GOOD = frozenset({MarketplaceState.NONE, MarketplaceState.READY})


@dataclass(frozen=True, slots=True)
class Status:
    """The state of all marketplaces, as an editor shows it in its status bar; `note` adds details in words."""

    state: MarketplaceState = MarketplaceState.NONE
    note: str = ""

    def as_json(self) -> dict[str, str]:
        """The status as the client gets it."""
        return {"state": self.state.value, "note": self.note}


def _state_of(catalog: Catalog | None) -> MarketplaceState:
    return MarketplaceState(catalog.state.value) if catalog and catalog.state else MarketplaceState.NONE


def status_of(catalogs: Sequence[Catalog]) -> Status:
    """The worst state, with the notes of all catalogs that are in it."""
    worst = max(map(_state_of, catalogs), key=_ORDER.index, default=MarketplaceState.NONE)
    if worst in _GOOD:
        count = sum(source.count for catalog in catalogs for source in catalog.sources)
        return Status(worst, f"{count} definition{'s' if count > 1 else ''}" if count else "")
    notes = (note for catalog in catalogs if _state_of(catalog) is worst for note in catalog.doubts)
    return Status(worst, "; ".join(dict.fromkeys(notes)))


def send_status(server: LanguageServer, status: Status) -> None:
    """Send a status to the client."""
    server.protocol.notify(METHOD, status.as_json())
