"""Checks of all job files of a folder, also of those that are not open, on request.

The files are those that `pai-lsp check FOLDER` looks at. Open documents have their own checks. The findings of closed
files stay until they are cleared, and follow what happens to the file, the settings and the definitions.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from functools import partial
from itertools import takewhile
from pathlib import PurePath
from threading import Event
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from pai_lsp.findings.diagnostic import Diagnostic
from pai_lsp.lsp.checks import diagnostics_of, in_time
from pai_lsp.lsp.convert import Places, lsp_diagnostic, path_of
from pai_lsp.lsp.documents import JOB_LANGUAGE, FileKind, OpenDocument
from pai_lsp.lsp.worker_threads import in_thread
from pai_lsp.lsp.workspace_settings import watch
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.project.projects import Projects
from pai_lsp.project.targets import faulty, files_of
from pai_lsp.rules.command_rules import unreadable_file
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.files import (
    JOB_ENDINGS,
    YAML_ENDINGS,
    UnreadableFile,
    decoded,
    full_path,
    is_in_folder,
    might_be_job,
    read_bytes,
)
from pai_lsp.source.frozen import replace
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pai_lsp.lsp.checks import Publisher
    from pai_lsp.lsp.connection import Connection

# How long changes of files wait for further ones, in seconds: a checkout changes many.
PAUSE = 0.3


class FolderChecks:
    """The folders that were checked, and their files with findings or without, by path.

    A file is kept without its text, as it was checked, to see when other settings or definitions apply to it.
    """

    def __init__(self, connection: Connection, publisher: Publisher) -> None:
        self._connection = connection
        self._publisher = publisher
        self._folders: dict[str, None] = {}
        self._files: dict[str, OpenDocument] = {}
        self._waiting: dict[str, None] = {}
        self._looks_for_files = False
        self._is_watching = False
        self._task: asyncio.Task[None] | None = None
        # A file is not checked twice at once.
        self._checking = asyncio.Lock()

    async def check(self, folders: Sequence[str], report: Callable[[int, int], None]) -> dict[str, int]:
        """Check the job files in folders, absolute paths, and show what is found.

        report: is called before each file with the number of files that are done, and of all.

        Returns:
            The numbers of `files`, `errors` and `warnings`.
        """
        self._folders.update(dict.fromkeys(folders))
        if self._connection.client.watch_registration and not self._is_watching:
            self._is_watching = True
            await watch(self._connection.server, ["**/*.{yaml,yml}"])
        await self._connection.settings.answered()
        counts: Counter[str] = Counter()
        async with self._checking:
            paths = await self._paths(folders)
            for number, path in enumerate(paths):
                report(number, len(paths))
                found = await self._checked(path)
                if found is not None:
                    counts["files"] += 1
                    counts.update(_COUNTED[one.severity] for one in found if one.severity in _COUNTED)
        return {name: counts[name] for name in ("files", *_COUNTED.values())}

    def clear(self) -> None:
        """Remove the findings of closed files, and let them be."""
        for path in list(self._files):
            self._drop(path)
        self._folders.clear()
        self._waiting.clear()
        self.stop()

    def stop(self) -> None:
        """Give up what is running in the background."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def closed(self, path: str) -> bool:
        """Check a file from now on as it is on the disk; false for a file that no check of a folder includes."""
        if path not in self._files:
            return False
        self._soon([path])
        return True

    def changed(self, changes: Sequence[lsp.FileEvent]) -> bool:
        """Check files again that have changed on the disk; whether the changes are of no other interest."""
        paths = [path_of(one.uri) for one in changes]
        ours = [path for path in paths if path in self._files]
        others = [path for path in paths if path not in self._files and _is_plain(path)]
        is_new = any(is_in_folder(path, folder) for path in others for folder in self._folders)
        if ours or is_new:
            self._soon(ours, looks_for_files=is_new)
        return self._is_watching and all(map(_is_plain, paths))

    def reconfigured(self, *, looks_for_files: bool) -> None:
        """Check the files again to which other settings or definitions apply."""
        if self._folders:
            configured = self._connection.configured
            files = self._files.items()
            affected = [path for path, one in files if configured(one).context != one.context]
            self._soon(affected, looks_for_files=looks_for_files)

    def _soon(self, paths: Sequence[str], *, looks_for_files: bool = False) -> None:
        self._waiting.update(dict.fromkeys(paths))
        self._looks_for_files = self._looks_for_files or looks_for_files
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        await asyncio.sleep(PAUSE)
        while self._waiting or self._looks_for_files:
            async with self._checking:
                if self._looks_for_files:
                    self._looks_for_files = False
                    paths = await self._paths([*self._folders])
                    self._waiting.update(dict.fromkeys(path for path in paths if path not in self._files))
                else:
                    path = next(iter(self._waiting))
                    del self._waiting[path]
                    await self._checked(path)

    async def _paths(self, folders: Sequence[str]) -> list[str]:
        """The files to look at; those that were checked and are no longer among them lose their findings."""
        stop = Event()
        # The session's own are used by the event loop; they have reported what is wrong.
        projects = Projects(len, kind_and_place)
        try:
            paths = await in_thread(lambda: list(takewhile(lambda _: not stop.is_set(), _paths(folders, projects))))
        finally:
            stop.set()
        found = set(paths)
        for path in [one for one in self._files if one not in found and any(is_in_folder(one, f) for f in folders)]:
            self._drop(path)
        return paths

    async def _checked(self, path: str) -> Sequence[lsp.Diagnostic] | None:
        """The findings of a file, which are shown if it is not open; None for a file that is not checked."""
        document = self._open_at(path)
        if document is None:
            document = await self._configured(path)
        check = self._connection.lane.run(partial(_diagnostics, document), is_request=False)
        found = await in_time(check, len(document.text))
        is_open = self._open_at(path) is not None
        if found is None:
            if not is_open:
                self._drop(path)
            return None
        self._files[path] = replace(document, text="", changes=())
        if not is_open:
            self._publisher.show(document.uri, found)
        return found

    async def _configured(self, path: str) -> OpenDocument:
        language = JOB_LANGUAGE if path.lower().endswith(JOB_ENDINGS) else "yaml"
        document = OpenDocument(from_fs_path(path) or "", CLOSED, language, "", path, self._connection.client)
        document = self._connection.configured(document)
        # The definitions that it may use are read now, if it is the first file that has them.
        await self._connection.ready_to_check()
        return self._connection.configured(document)

    def _open_at(self, path: str) -> OpenDocument | None:
        return next((one for one in self._connection.documents.values() if one.path == path), None)

    def _drop(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None and self._open_at(path) is None:
            self._publisher.show(file.uri, [])


# The version of a file that no client has opened.
CLOSED = -1
_COUNTED: Mapping[Any, str] = {lsp.DiagnosticSeverity.Error: "errors", lsp.DiagnosticSeverity.Warning: "warnings"}


def _paths(folders: Sequence[str], projects: Projects) -> Iterator[str]:
    for folder in dict.fromkeys(folders):
        yield from (one.path for one in files_of(folder, projects))
    for configuration in faulty(projects, besides=()):
        path = full_path(configuration.path or "")
        if any(is_in_folder(path, folder) for folder in folders):
            yield path


def _is_plain(path: str) -> bool:
    """Whether a file may be a job, and is not a configuration."""
    return path.lower().endswith(YAML_ENDINGS) and PurePath(path).name != FILE_NAME


def _diagnostics(document: OpenDocument) -> list[lsp.Diagnostic] | None:
    """The diagnostics of a file that is open, or of one on the disk; None if it is not checked."""
    if document.version == CLOSED:
        data = read_bytes(document.path)
        is_surely_checked = document.language == JOB_LANGUAGE or PurePath(document.path).name == FILE_NAME
        if isinstance(data, bytes) and not (
            is_surely_checked or document.context.catalog_folder is not None or might_be_job(data)
        ):
            return None
        source = decoded(document.path, data)
        if isinstance(source, UnreadableFile):
            return _unreadable(document, source) if os.path.lexists(document.path) else None
        document = replace(document, text=source.text)
    if document.context.is_excluded or document.kind is FileKind.OTHER:
        return None
    return diagnostics_of(document)


def _unreadable(document: OpenDocument, file: UnreadableFile) -> list[lsp.Diagnostic] | None:
    severity = document.context.settings.severity_of(unreadable_file)
    if severity is None:
        return None
    consequence = unreadable_file.consequence
    found = Diagnostic(unreadable_file.code, severity, file.span, file.message, consequence=consequence)
    places = Places(LineIndex(file.text), document.client.unit)
    return [lsp_diagnostic(found, document.uri, places, document.client)]
