"""The state of the server: the client's open documents, each at its newest version, and the settings.

Only this state changes; every document in it is an immutable snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import ContextVar
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from pai_lsp.job.lookup import NoLookup
from pai_lsp.lsp.checks import Publisher
from pai_lsp.lsp.client import Client
from pai_lsp.lsp.client_trust import ClientTrust
from pai_lsp.lsp.convert import path_of
from pai_lsp.lsp.documents import FileContext, OpenDocument
from pai_lsp.lsp.image_checks import ImageChecks
from pai_lsp.lsp.marketplaces import Marketplaces
from pai_lsp.lsp.shellchecks import ShellChecks
from pai_lsp.lsp.worker_threads import Lane
from pai_lsp.lsp.workspace_settings import (
    EditorSettings,
    asked_sections,
    refresh_hints,
    register_watches,
    section_in,
    show_faults,
)
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.project.projects import Projects
from pai_lsp.source.files import is_in_folder
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import lazy, replace

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from pygls.lsp.server import LanguageServer

    from pai_lsp.lsp.folder_checks import FolderChecks
    from pai_lsp.lsp.workspace import JobFiles

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
        self.documents: Mapping[str, OpenDocument] = {}
        self.settings = EditorSettings(server)
        self.marketplaces = Marketplaces(self)
        self.projects = Projects(_log.warning, self.marketplaces.setup_failed)
        self.trust = ClientTrust(lambda: self.folders, self.marketplaces.trust_changed)
        self._publisher = Publisher(self)
        self._shellchecks = ShellChecks(self)
        self.images = ImageChecks(self)
        self._folder_checks: FolderChecks | None = None
        self._background: set[asyncio.Task[object]] = set()
        self._shown_faults: set[str] = set()
        self._read_stamps: object = None
        self._looked = 0.0

    def begin(self, params: lsp.InitializeParams, client: Client) -> None:
        """Take the folders, options and trust of an `initialize` request."""
        self.client = client
        if not params.workspace_folders and (root := _root(params)):
            self.server.workspace.add_folder(lsp.WorkspaceFolder(root, PurePath(path_of(root)).name))
        options = params.initialization_options
        self.trust.take_value(as_mapping(options).get("trusted"))
        self._take_sections({"": section_in(options)})
        if not client.configuration:
            self.settings.known.set()

    async def ask_settings(self) -> None:
        """Ask the client for its settings, if it supports that."""
        if self.client.configuration:
            sections = await asked_sections(self.server, list(self.server.workspace.folders.values()))
            self.settings.known.set()
            if sections is not None:
                self._take_sections(sections)

    async def start(self) -> None:
        """Ask the client for its settings and for reports of changed files, once it is initialized."""
        await self.ask_settings()
        await register_watches(self.server, self.client)

    async def ready_to_check(self) -> None:
        """Wait for the client's settings and for the marketplaces on the disk, but not for long."""
        await self.settings.answered()
        await self.marketplaces.wait_until_read()

    def take_pushed_settings(self, settings: Any) -> None:
        """Take settings that the client has pushed."""
        if isinstance(settings, dict):
            self._take_sections({"": section_in(settings)})

    def _take_sections(self, sections: Mapping[str, Any]) -> None:
        self.settings.take(sections)
        self.projects.sections = self.settings.configurations
        self.trust.take_sections(sections)
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
        if not self.client.watch_registration and time.monotonic() > self._looked + LOOK_AGAIN:
            self._look_for_changes()
        before = self.documents.get(identifier.uri)
        if before is not None:
            self._put(before.changed(identifier.version, changes))
            if before.context.catalog_folder is not None:
                self.marketplaces.definitions_edited(before.path)

    @lazy
    def job_files(self) -> JobFiles:
        """The names in the job files of the workspace."""
        from pai_lsp.lsp.workspace import JobFiles  # noqa: PLC0415 - loaded when the client is connected

        return JobFiles()

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
        if document is not None and not self.trust.refuses_all:
            folder = self.projects.section_folder_of(document.path)
            if self.settings.asks_images_on_save(folder):
                self.in_background(self.images.ask(document))

    def _look_for_changes(self) -> None:
        """Take over changes of files by other programs: not every client watches files, and none the answers."""
        self._looked = time.monotonic()
        if self._stamps() != self._read_stamps:
            self.reconfigure(look_at_files=True)
            self.marketplaces.trust_changed()
        else:
            self.marketplaces.reload()

    def _stamps(self) -> object:
        return self.projects.stamps(), self.trust.stamp()

    def _files_read(self) -> None:
        """Remember the state of the files that were read, and show what is wrong in configurations."""
        self._looked = time.monotonic()
        self._read_stamps = self._stamps()
        open_paths = {one.path for one in self.documents.values()}
        show_faults(self.server, self.projects.configurations(), open_paths, self._shown_faults)

    def close(self, uri: str) -> None:
        """Remove a document that the client has closed."""
        self.documents = {other: document for other, document in self.documents.items() if other != uri}
        path = path_of(uri)
        self._publisher.forget(uri)
        if self._folder_checks is None or not self._folder_checks.closed(path):
            self._publisher.show(uri, [])
        self.marketplaces.definitions_edited(path)

    @property
    def folder_checks(self) -> FolderChecks:
        """The checks of whole folders."""
        if self._folder_checks is None:
            from pai_lsp.lsp.folder_checks import FolderChecks  # noqa: PLC0415 - loaded when it is asked for

            self._folder_checks = FolderChecks(self, self._publisher)
        return self._folder_checks

    def files_changed(self, changes: Sequence[lsp.FileEvent]) -> None:
        """Take over changes on the disk: of configurations, of definitions and of the files of checked folders."""
        is_seen = self._folder_checks is not None and self._folder_checks.changed(changes)
        if not is_seen or any(self.marketplaces.contains(path_of(change.uri)) for change in changes):
            self.reconfigure(look_at_files=True)

    def reconfigure(self, *, look_at_files: bool = False) -> None:
        """Update the open documents whose settings or definitions have changed; `look_at_files` to read files again."""
        if look_at_files:
            self.projects.forget_files()
            self.marketplaces.reload()
            self._shellchecks.forget()
        again = [self.configured(one) for one in self.documents.values()]
        changed = [one for one in again if one.context != self.documents[one.uri].context]
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
        path = document.path
        effective, marketplace = self.projects.settings_of(path), self.marketplaces.marketplace_of(path)
        context = FileContext(
            effective.settings,
            effective.is_excluded,
            marketplace.lookup if marketplace else NoLookup(),
            marketplace.setup.catalog_folder_of(path) if marketplace else None,
            self.settings.switched_off(self.projects.section_folder_of(path)),
            self.folder_of(path),
        )
        shellcheck = self._shellchecks.of(effective.settings.shellcheck)
        return replace(document, context=context, shellcheck=shellcheck, images=self.images.asked)

    def check_again(self, uri: str) -> None:
        """Check the same version of an open document again: another program has found something."""
        document = self.documents.get(uri)
        if document is not None:
            self.documents = {**self.documents, uri: replace(document, images=self.images.asked)}
            self._publisher.check_soon(uri)
            self._publisher.refresh()

    def in_background(self, work: Coroutine[Any, Any, object]) -> None:
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

    def _background_ended(self, task: asyncio.Task[object]) -> None:
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
