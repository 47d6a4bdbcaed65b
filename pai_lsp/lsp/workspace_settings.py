"""The user's settings: in the editor (section `openpai`) and in the project's `.pai-lsp.yaml`.

The section has the keys of the file: `rules`, `exclude`, `plugins`, `marketplace`; an extension may keep others
there. Where both set the same rule or a marketplace, the file wins: the command line and the other people in the
project use it. Plugins and excluded files of both add up.
"""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.findings.diagnostic import Settings
from pai_lsp.lsp.convert import path_of
from pai_lsp.project.configuration import FILE_NAME, Configuration, find_configuration, project_folder
from pai_lsp.source.frozen import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pygls.lsp.server import LanguageServer

    from pai_lsp.catalog.setup import Marketplace
    from pai_lsp.lsp.client import Client

SECTION = "openpai"
# How long the first check waits for the client's settings, in seconds.
PATIENCE = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings that apply to one file.

    base: the folder that the directories of `marketplace` count from, or empty.
    hidden_hints: the names of the inlay hints and lenses that are switched off.
    """

    settings: Settings = Settings()
    is_excluded: bool = False
    marketplace: Marketplace | None = None
    base: str = ""
    hidden_hints: frozenset[str] = frozenset()


class WorkspaceSettings:
    """The settings of all folders: those of the editor, and configuration files as they were when last read.

    sections, hidden_hints: the editor's settings by the path of a folder; the path is empty for files in no folder.
    """

    def __init__(self) -> None:
        self.sections: Mapping[str, Configuration] = {"": Configuration()}
        self.hidden_hints: dict[str, frozenset[str]] = {}
        self._files: dict[tuple[str, str], Configuration | None] = {}

    def effective(self, path: str, workspace_folder: str = "") -> Effective:
        """The settings that apply to the file `path`; for a document that is not a file only those of the editor.

        `workspace_folder` is the one that the file is in; empty for a file outside of all.
        """
        folders = [folder for folder in self.sections if not folder or Path(path).is_relative_to(folder)]
        folder = max(folders, key=len)
        file = self._file(str(Path(path).parent), workspace_folder) if Path(path).is_absolute() else None
        found = merged(self.sections[folder], file or Configuration(), path)
        return replace(found, hidden_hints=self.hidden_hints.get(folder, frozenset()))

    def _file(self, folder: str, workspace_folder: str) -> Configuration | None:
        key = (folder, workspace_folder)
        if key not in self._files:
            self._files[key] = _nearest_file(folder, workspace_folder or project_folder(folder) or folder)
        return self._files[key]

    def forget_files(self) -> None:
        """Read the configuration files again when they are needed next."""
        self._files.clear()


def _nearest_file(folder: str, top: str) -> Configuration | None:
    path = find_configuration(folder, top)
    if path is None:
        return None
    from pai_lsp.project.config_reader import load_configuration  # noqa: PLC0415 - most folders have none
    from pai_lsp.rules import BY_CODE  # noqa: PLC0415 - loaded when the client is connected

    return load_configuration(path, BY_CODE)


def merged(section: Configuration, file: Configuration, path: str) -> Effective:
    """The editor's and the file's configuration for one file, together."""
    severities = {**section.settings.severities, **file.settings.severities}
    plugins = section.settings.plugins | file.settings.plugins
    named = next((one for one in (file, section) if one.marketplace is not None and one.marketplace.is_named), file)
    return Effective(
        replace(file.settings, severities=severities, plugins=plugins),
        is_excluded=section.excludes(path) or file.excludes(path),
        marketplace=named.marketplace,
        base=named.folder,
    )


def section_configuration(section: Any, folder: str = "") -> Configuration:
    """The editor's section, read like a configuration file; `folder` is the absolute path that patterns count from."""
    if not isinstance(section, dict):
        return Configuration(folder=folder)
    from pai_lsp.project.config_reader import KEYS, parse_configuration  # noqa: PLC0415 - as above
    from pai_lsp.rules import BY_CODE  # noqa: PLC0415 - most editors have no settings

    ours = {key: section[key] for key in KEYS if section.get(key)}
    return parse_configuration(json.dumps(ours, ensure_ascii=False), BY_CODE, folder=folder)


def hidden_hints(section: Any) -> frozenset[str]:
    """The inlay hints and lenses that the editor's section switches off, by name: `inlayHints: {runOrder: false}`."""
    groups = [section.get(name) for name in ("inlayHints", "codeLens")] if isinstance(section, dict) else []
    kinds = [kind for group in groups if isinstance(group, dict) for kind in group.items()]
    return frozenset(name for name, is_shown in kinds if is_shown is False)


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
        if client.reading.refreshes_hints:
            await server.workspace_inlay_hint_refresh_async(None)
        if client.reading.refreshes_lenses:
            await server.workspace_code_lens_refresh_async(None)
    except JsonRpcException as error:
        _log.warning("the client does not refresh inlay hints or lenses: error %s", error.code)


def log_faults(server: LanguageServer, sections: Mapping[str, Configuration]) -> None:
    """Log the faults in the settings, in the client's log."""
    for message in {fault.message: None for section in sections.values() for fault in section.diagnostics}:
        server.window_log_message(
            lsp.LogMessageParams(lsp.MessageType.Warning, f"setting '{SECTION}': {message}"),
        )


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


async def known(event: asyncio.Event) -> None:
    """Wait, but not for long, for the client's settings."""
    if not event.is_set():
        try:
            await asyncio.wait_for(event.wait(), PATIENCE)
        except asyncio.TimeoutError:
            event.set()
