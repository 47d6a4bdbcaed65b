"""The user's settings in the editor: asked from the client, read like a configuration file, and watched.

The section `openpai` has the keys of `.pai-lsp.yaml`: `rules`, `exclude`, `plugins`, `marketplace`; an extension may
keep others there.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.findings.diagnostic import Severity
from pai_lsp.lsp.convert import path_of
from pai_lsp.lsp.documents import ACCEPTED
from pai_lsp.project.configuration import FILE_NAME, Configuration
from pai_lsp.source.files import full_path
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.text import LineIndex, visible

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from pygls.lsp.server import LanguageServer

    from pai_lsp.lsp.client import Client

SECTION = "openpai"
# How long the first check waits for the client's settings, in seconds.
PATIENCE = 1.0

_log = logging.getLogger(__name__)


def section_configuration(section: Any, folder: str = "") -> Configuration:
    """The editor's section, read like a configuration file; `folder` is the absolute path that patterns count from."""
    if not isinstance(section, dict):
        return Configuration(folder=folder)
    from pai_lsp.project.config_reader import KEYS, parse_configuration  # noqa: PLC0415 - as above

    ours = {key: section[key] for key in KEYS if section.get(key)}
    return parse_configuration(json.dumps(ours, ensure_ascii=False), folder=folder, is_users=True)


def section_in(settings: Any) -> Any:
    """The section in settings that a client pushes: some send it bare, some under its name."""
    return settings[SECTION] if isinstance(settings, dict) and SECTION in settings else settings


async def asked_sections(server: LanguageServer, folders: Sequence[lsp.WorkspaceFolder]) -> dict[str, Any] | None:
    """The sections of every folder, and of files outside of them, asked from the client; None without an answer."""
    items = [lsp.ConfigurationItem(section=SECTION)]
    items += [lsp.ConfigurationItem(scope_uri=folder.uri, section=SECTION) for folder in folders]
    try:
        answer = await server.workspace_configuration_async(lsp.ConfigurationParams(items))
    except JsonRpcException as error:
        _log.warning("the client does not answer with its settings: error %s", error.code)
        return None
    paths = ["", *(path_of(folder.uri) for folder in folders)]
    return {path: section for path, section in zip(paths, answer, strict=False) if isinstance(section, dict)}


async def refresh_hints(server: LanguageServer, client: Client) -> None:
    """Let the client ask for inlay hints and lenses again, because they have changed."""
    try:
        if client.refreshes_hints:
            await server.workspace_inlay_hint_refresh_async(None)
        if client.refreshes_lenses:
            await server.workspace_code_lens_refresh_async(None)
    except JsonRpcException as error:
        _log.warning("the client does not refresh inlay hints or lenses: error %s", error.code)


class EditorSettings:
    """The sections that the client has answered or pushed.

    configurations: what they configure, by the path of the workspace folder that they are for; empty for other files.
    known: is set when no check needs to wait for them.
    """

    def __init__(self, server: LanguageServer) -> None:
        self.configurations: Mapping[str, Configuration] = {"": Configuration()}
        self._server = server
        self._sections: dict[str, Any] = {}
        self.known = asyncio.Event()

    def take(self, sections: Mapping[str, Any]) -> None:
        """Take sections, and log their mistakes."""
        read = {path: section_configuration(section, path) for path, section in sections.items()}
        self.configurations = {"": self.configurations[""], **read}
        self._sections |= sections
        for message in {fault.message: None for section in read.values() for fault in section.diagnostics}:
            logged = f"setting '{SECTION}': {message}"
            self._server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, logged))

    async def answered(self) -> None:
        """Wait, but not for long, for the client's settings."""
        if not self.known.is_set():
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.known.wait(), PATIENCE)
            self.known.set()

    def switched_off(self, folder: str) -> frozenset[str]:
        """What is switched off, by name, as in `inlayHints: {runOrder: false}`, `acceptedFindings: hidden`."""
        section = as_mapping(self._sections.get(folder))
        groups = (as_mapping(section.get(name)) for name in ("inlayHints", "codeLens"))
        hidden = [name for group in groups for name, is_shown in group.items() if is_shown is False]
        return frozenset([*hidden, ACCEPTED] if section.get(ACCEPTED) == "hidden" else hidden)

    def asks_images_on_save(self, folder: str) -> bool:
        """Whether the images of a job are checked when it is saved: `images: {checkOnSave: true}`."""
        section = as_mapping(self._sections.get(folder, self._sections.get("")))
        return as_mapping(section.get("images")).get("checkOnSave") is True


def show_faults(
    server: LanguageServer, configurations: Iterable[Configuration], open_paths: Container[str], shown: set[str]
) -> None:
    """Show one message for each configuration file with errors; not for an open one, whose marks show them.

    shown: the messages so far, which are not shown again.
    """
    for found in configurations:
        fault = next((one for one in found.diagnostics if one.severity is Severity.ERROR), None)
        if fault is None or found.path is None or full_path(found.path) in open_paths:
            continue
        line = LineIndex(found.text).line_of(fault.span.start) + 1
        message = f"{visible(found.path)}:{line}: {fault.message}; the rest of the file applies"
        if message not in shown:
            shown.add(message)
            server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, message))


async def register_watches(server: LanguageServer, client: Client) -> None:
    """Ask the client to report changes of settings and configuration files."""
    wanted: list[lsp.Registration] = []
    if client.configuration_registration:
        method = lsp.WORKSPACE_DID_CHANGE_CONFIGURATION
        wanted.append(lsp.Registration(method, method, {"section": SECTION}))
    if client.watch_registration:
        wanted.append(_watching(f"**/{FILE_NAME}"))
    if wanted:
        await _register(server, wanted)


async def watch(server: LanguageServer, globs: Sequence[str]) -> None:
    """Ask the client to report changes of other files."""
    await _register(server, [_watching(*globs)])


def _watching(*globs: str) -> lsp.Registration:
    method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
    watchers = [lsp.FileSystemWatcher(glob) for glob in globs]
    return lsp.Registration(" ".join((method, *globs)), method, lsp.DidChangeWatchedFilesRegistrationOptions(watchers))


async def _register(server: LanguageServer, wanted: Sequence[lsp.Registration]) -> None:
    try:
        await server.client_register_capability_async(lsp.RegistrationParams(wanted))
    except JsonRpcException as error:
        _log.warning("the client does not watch for changed settings: error %s", error.code)
