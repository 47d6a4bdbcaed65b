"""ShellCheck in the editor: it reads the commands of an open job when the user has not typed for a while.

It never runs for each keystroke, one program runs at a time, and an edit ends it. Its findings in a script are
kept, so that only scripts that have changed are read again.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from pai_lsp.lsp.checks import PAUSE
from pai_lsp.lsp.documents import FileKind
from pai_lsp.lsp.worker_threads import in_thread

if TYPE_CHECKING:
    from pai_lsp.lsp.connection import Connection
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.project.shellcheck import ShellCheck

_log = logging.getLogger(__name__)


class ShellChecks:
    """The programs by setting, and the documents that wait for one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._programs: dict[str, ShellCheck | None] = {}
        self._waiting: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None

    def of(self, setting: str) -> ShellCheck | None:
        """The ShellCheck that a setting means; None if it is absent, or where nothing is trusted."""
        if setting in {"", "off"} or self._connection.trust.refuses_all:
            return None
        if setting not in self._programs:
            from pai_lsp.project.shellcheck import ShellCheck, shellcheck_program  # noqa: PLC0415 - rarely there

            # Settings may come with a folder, and so may a program; it is not run.
            program = shellcheck_program(setting, self._connection.folders)
            self._programs[setting] = ShellCheck(program) if program else None
        return self._programs[setting]

    def forget(self) -> None:
        """Look for the programs again when they are needed next."""
        self._programs = {setting: found for setting, found in self._programs.items() if found is not None}

    def soon(self, document: OpenDocument) -> None:
        """Let ShellCheck read a document once the user stops typing; what it reads now is given up."""
        if document.shellcheck is not None:
            self._waiting[document.uri] = None
            self.stop()
            self._task = Context().run(asyncio.get_running_loop().create_task, self._run())

    def stop(self) -> None:
        """Give up what is running."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        await asyncio.sleep(PAUSE)
        while self._waiting:
            uri = next(iter(self._waiting))
            document = self._connection.documents.get(uri)
            if document is not None and await self._has_read(document):
                self._connection.check_again(uri)
            self._waiting.pop(uri, None)

    async def _has_read(self, document: OpenDocument) -> bool:
        """Let ShellCheck read what it does not know; whether there was something."""
        stop = Event()
        try:
            return await in_thread(partial(_read, document, stop))
        except asyncio.CancelledError:
            stop.set()
            raise
        except Exception as error:  # noqa: BLE001 - the findings of the rules are shown
            _log.warning("%s", error)
            return False


def _read(document: OpenDocument, stop: Event) -> bool:
    shellcheck = document.shellcheck
    if shellcheck is None or document.kind is not FileKind.JOB or document.context.is_excluded:
        return False
    unread = shellcheck.unread(document.document)
    shellcheck.read(unread, stop)
    return bool(unread)
