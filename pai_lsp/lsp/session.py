"""The state of the server: the client's open documents, each at its newest version, and the settings.

Only this state changes; every document in it is an immutable snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextvars import ContextVar
from pathlib import PurePath

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from pai_lsp.job.lookup import NoLookup
from pai_lsp.lsp.checks import Publisher
from pai_lsp.lsp.client import Client
from pai_lsp.lsp.convert import path_of
from pai_lsp.lsp.documents import OpenDocument
from pai_lsp.lsp.image_checks import ImageChecks, asks_on_save
from pai_lsp.lsp.marketplaces import Marketplaces
from pai_lsp.lsp.shellchecks import ShellChecks
from pai_lsp.lsp.worker_threads import Lane
from pai_lsp.lsp.workspace_settings import (
    ConfigurationFaults,
    asked_sections,
    hidden_hints,
    known,
    log_faults,
    refresh_hints,
    register_watches,
    section_configuration,
    section_in,
)
from pai_lsp.project.configuration import FILE_NAME, Configuration
from pai_lsp.project.projects import Projects, stamp_of
from pai_lsp.project.trust import TrustAnswers
from pai_lsp.source.files import is_in_folder
from pai_lsp.source.frozen import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from typing import Any

    from pygls.lsp.server import LanguageServer

    from pai_lsp.catalog.setup import CatalogSetup
    from pai_lsp.lsp.folder_checks import FolderChecks
    from pai_lsp.lsp.workspace import JobFiles, Workspace

_log = logging.getLogger(__name__)
# After how many seconds an edit looks for outside changes again, for a client that does not watch files.
LOOK_AGAIN = 2.0

# The documents as they were when the current message arrived: later changes do not count for it.
ARRIVED: ContextVar[Mapping[str, OpenDocument]] = ContextVar("documents at arrival")


class Session:
    """The state of one connection."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.client = Client()
        self.lane = Lane()
        self._hidden_hints: dict[str, frozenset[str]] = {}
        self.documents: Mapping[str, OpenDocument] = {}
        self._settings_known = asyncio.Event()
        self.marketplaces = Marketplaces(self)
        self.projects = Projects(_log.warning, self.marketplaces.setup_failed)
        self._answers = TrustAnswers(os.environ)
        self._is_trust_refused = False
        self._is_trust_withdrawn = False
        self._job_files: JobFiles | None = None
        self._publisher = Publisher(self, self.lane)
        self._shellchecks = ShellChecks(self)
        self._images = ImageChecks(self)
        self._folder_checks: FolderChecks | None = None
        self._asks_images_on_save: dict[str, bool] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._faults = ConfigurationFaults()
        self._read_stamps: object = None
        self._looked = 0.0

    def begin(self, params: lsp.InitializeParams, client: Client) -> None:
        """Take the folders, options and trust of an `initialize` request."""
        self.client = client
        if not params.workspace_folders and (root := _root(params)):
            self.server.workspace.add_folder(lsp.WorkspaceFolder(root, PurePath(path_of(root)).name))
        self.marketplaces.begin(params)
        options = params.initialization_options
        self._is_trust_refused = isinstance(options, dict) and options.get("trusted") is False
        self._take_sections({"": section_in(params.initialization_options)})
        if not client.configuration:
            self._settings_known.set()

    async def ask_settings(self) -> None:
        """Ask the client for its settings, if it supports that."""
        if not self.client.configuration:
            return
        sections = await asked_sections(self.server, list(self.server.workspace.folders.values()))
        self._settings_known.set()
        if sections is not None:
            self._take_sections(sections)

    async def start(self) -> None:
        """Ask the client for its settings and for reports of changed files, once it is initialized."""
        await self.ask_settings()
        await register_watches(self.server, self.client)

    async def settings_answered(self) -> None:
        """Wait for the client's settings, but not for long."""
        await known(self._settings_known)

    async def ready_to_check(self) -> None:
        """Wait for the client's settings and for the marketplaces on the disk, but not for long."""
        await self.settings_answered()
        await self.marketplaces.wait_until_read()

    def take_pushed_settings(self, settings: Any) -> None:
        """Take settings that the client has pushed."""
        if isinstance(settings, dict):
            self._take_sections({"": section_in(settings)})

    @property
    def refuses_trust(self) -> bool:
        """Whether the client or its settings refuse all trust, as VS Code does in an untrusted workspace."""
        return self._is_trust_refused or self._is_trust_withdrawn

    def trust_in(self, setup: CatalogSetup) -> bool | None:
        """Whether the user trusts a setup: what the client refuses is not trusted; None if the user was never asked."""
        return False if self.refuses_trust else self._answers.about(setup, self._trusted_folder(setup))

    def remember_trust(self, setup: CatalogSetup, *, is_trusted: bool) -> None:
        """Keep the user's answer, and let everything follow it.

        Raises:
            OSError: if it cannot be written.
        """
        self._answers.remember(setup, self._trusted_folder(setup), is_trusted=is_trusted)
        self.marketplaces.trust_changed()

    def _trusted_folder(self, setup: CatalogSetup) -> str:
        """The folder that an answer is about: the settings of an editor, which have none, count as the workspace's."""
        return setup.folder or next(iter(self.folders), "")

    def refuse_trust(self, value: Any) -> None:
        """Take a client's value `trusted`: with `false` nothing is trusted, otherwise the user's answers decide."""
        self._take_trust(is_refused=value is False, is_withdrawn=self._is_trust_withdrawn)

    def _take_trust(self, *, is_refused: bool, is_withdrawn: bool) -> None:
        before = self.refuses_trust
        self._is_trust_refused, self._is_trust_withdrawn = is_refused, is_withdrawn
        if self.refuses_trust != before:
            self.marketplaces.trust_changed()

    def _take_sections(self, sections: Mapping[str, Any]) -> None:
        read = {path: section_configuration(section, path) for path, section in sections.items()}
        self.projects.sections = {"": self.projects.sections.get("", Configuration()), **read}
        self._hidden_hints |= {path: hidden_hints(section) for path, section in sections.items()}
        self._asks_images_on_save |= {path: asks_on_save(section) for path, section in sections.items()}
        log_faults(self.server, read)
        is_withdrawn = any(isinstance(one, dict) and one.get("trusted") is False for one in sections.values())
        self._take_trust(is_refused=self._is_trust_refused, is_withdrawn=is_withdrawn)
        self.reconfigure(look_at_files=True)

    def open(self, item: lsp.TextDocumentItem) -> None:
        """Add a document that the client has opened."""
        self.projects.forget_files()
        self.marketplaces.reload()
        path = path_of(item.uri)
        document = OpenDocument(item.uri, item.version, item.language_id, item.text, path, self.client)
        self._put(self.configured(document))
        self._files_read()

    def change(
        self, identifier: lsp.VersionedTextDocumentIdentifier, changes: Sequence[lsp.TextDocumentContentChangeEvent]
    ) -> None:
        """Apply changes to an open document; those to any other document are ignored."""
        before = self.documents.get(identifier.uri)
        if not self.client.watch_registration and time.monotonic() > self._looked + LOOK_AGAIN:
            self._look_for_changes()
            before = self.documents.get(identifier.uri)
        if before is not None:
            self._put(self.configured(before.changed(identifier.version, changes)))
            if before.catalog_folder is not None:
                self.marketplaces.definitions_edited(before.path)

    def workspace(self, documents: Mapping[str, OpenDocument]) -> Workspace:
        """The workspace with the given state of the open documents."""
        from pai_lsp.lsp.workspace import JobFiles, Workspace  # noqa: PLC0415 - loaded when the client is connected

        self._job_files = self._job_files or JobFiles()
        return Workspace(documents, self.folders, self.client.unit, self._job_files)

    @property
    def folders(self) -> tuple[str, ...]:
        """The paths of the workspace's folders."""
        return tuple(path_of(folder.uri) for folder in self.server.workspace.folders.values())

    def folder_of(self, path: str) -> str:
        """The innermost workspace folder that contains a file or folder; empty without one."""
        return max((one for one in self.folders if is_in_folder(path, one)), key=len, default="")

    def saved(self, uri: str) -> None:
        """Reconfigure when a saved file is one that others depend on, or when such a file has changed outside."""
        path = path_of(uri)
        if PurePath(path).name == FILE_NAME or self.marketplaces.contains(path):
            self.reconfigure(look_at_files=True)
        else:
            self._look_for_changes()
        document = self.documents.get(uri)
        if document is not None and not self.refuses_trust:
            folder = self.projects.section_folder_of(document.path)
            if self._asks_images_on_save.get(folder, self._asks_images_on_save.get("", False)):
                self.in_background(self._images.ask_quietly(document))

    def _look_for_changes(self) -> None:
        """Take over changes of files by other programs: not every client watches files, and none the answers."""
        self._looked = time.monotonic()
        if self._stamps() != self._read_stamps:
            self.reconfigure(look_at_files=True)
            self.marketplaces.trust_changed()
        else:
            self.marketplaces.reload()

    def _stamps(self) -> object:
        return self.projects.stamps(), stamp_of(str(self._answers.path))

    def _files_read(self) -> None:
        """Remember the state of the files that were read, and show what is wrong in configurations."""
        self._looked = time.monotonic()
        self._read_stamps = self._stamps()
        self._faults.show(self.server, self.projects.configurations(), {one.path for one in self.documents.values()})

    async def ask_images(self, document: OpenDocument) -> list[dict[str, str]] | None:
        """Ask the registries for the images of a job, and show what they say; None for another file."""
        return await self._images.ask(document)

    def close(self, uri: str) -> None:
        """Remove a document that the client has closed."""
        self.documents = {other: document for other, document in self.documents.items() if other != uri}
        path = path_of(uri)
        self._publisher.forget(uri)
        if self._folder_checks is None or not self._folder_checks.closed(path):
            self._publisher.clear(uri)
        self.marketplaces.definitions_edited(path)

    @property
    def folder_checks(self) -> FolderChecks:
        """The checks of whole folders."""
        if self._folder_checks is None:
            from pai_lsp.lsp.folder_checks import FolderChecks  # noqa: PLC0415 - loaded when it is asked for

            self._folder_checks = FolderChecks(self, self._publisher, self.lane)
        return self._folder_checks

    def files_changed(self, changes: Sequence[lsp.FileEvent]) -> None:
        """Take over changes on the disk: of configurations, of definitions and of the files of checked folders."""
        if self._folder_checks is not None and self._folder_checks.changed(changes):
            paths = [path_of(change.uri) for change in changes]
            if not any(map(self.marketplaces.contains, paths)):
                return
        self.reconfigure(look_at_files=True)

    def reconfigure(self, *, look_at_files: bool = False) -> None:
        """Update the open documents whose settings or definitions have changed; `look_at_files` to read files again."""
        if look_at_files:
            self.projects.forget_files()
            self.marketplaces.reload()
            self._shellchecks.forget()
        again = [self.configured(one) for one in self.documents.values()]
        changed = [one for one in again if not one.is_checked_like(self.documents[one.uri])]
        for document in changed:
            self._put(document)
        if changed:
            self._publisher.refresh()
            self.in_background(refresh_hints(self.server, self.client))
        if self._folder_checks is not None:
            self._folder_checks.reconfigured(looks_for_files=look_at_files)
        if look_at_files:
            self._files_read()

    def configured(self, document: OpenDocument) -> OpenDocument:
        """The same version with the settings and definitions that apply to its file now."""
        folder = self.folder_of(document.path)
        effective = self.projects.settings_of(document.path)
        marketplace = self.marketplaces.marketplace_of(document.path)
        return replace(
            document,
            settings=effective.settings,
            shellcheck=self._shellchecks.of(effective.settings.shellcheck),
            images=self._images.asked,
            is_excluded=effective.is_excluded,
            lookup=marketplace.lookup if marketplace else NoLookup(),
            catalog_folder=marketplace.setup.catalog_folder_of(document.path) if marketplace else None,
            hidden_hints=self._hidden_hints.get(self.projects.section_folder_of(document.path), frozenset()),
            folder=folder,
        )

    def check_again(self, uri: str) -> None:
        """Check the same version of an open document again: another program has found something."""
        document = self.documents.get(uri)
        if document is not None:
            self.documents = {**self.documents, uri: replace(document, images=self._images.asked)}
            self._publisher.check_soon(uri)
            self._publisher.refresh()

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine without waiting for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background_ended)

    def end(self) -> None:
        """Cancel all checks and all background work."""
        self._publisher.stop()
        self._shellchecks.stop()
        if self._folder_checks is not None:
            self._folder_checks.stop()
        for task in self._background:
            task.cancel()

    def _background_ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("work in the background failed", exc_info=task.exception())

    def _put(self, document: OpenDocument) -> None:
        self.documents = {**self.documents, document.uri: document}
        self._publisher.check_soon(document.uri)
        self._shellchecks.soon(document)


def _root(params: lsp.InitializeParams) -> str | None:
    """The URI of the workspace's only folder, from a client that does not support several; None without one."""
    return params.root_uri or (from_fs_path(params.root_path) if params.root_path else None)
