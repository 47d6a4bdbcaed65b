"""Which configurations the user trusts; decides whether one may run a command, send a token or ask an address.

Nothing is trusted until the user answers, for one folder and exactly the section that was shown: with `pai-lsp trust`,
or to the question that an editor asks. The answers are in the user's state folder. Sources in the user's own
configuration need no answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.setup import DirectorySource
from pai_lsp.source.files import is_in_folder, write_at_once
from pai_lsp.source.foreign import as_mapping, as_text, json_mapping, texts_in
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import visible
from pai_lsp.source.user_folders import user_state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pai_lsp.catalog.setup import CatalogSetup, ServerSource

FILE_NAME = "trust.json"
# For CI: `1` trusts every configuration on the command line. The language server does not read it, because editors take
# environment variables from files of a project too.
VARIABLE = "PAI_LSP_TRUST"
_VERSION = 1
# How much is read of a script that a token command names, in bytes.
_MOST_BYTES = 1_000_000


def wanted(setup: CatalogSetup, workspace: Sequence[str] | None) -> tuple[str, ...]:
    """What would happen if a configuration were trusted, one line each; empty if it needs no trust.

    `workspace` has the folders that are open in an editor, see `CatalogSetup.needs_trust`.
    """
    lines = [_about_server(server) for server in setup.foreign_servers]
    if setup.foreign_hosts:
        lines.append(f"request the addresses that jobs name on {', '.join(sorted(setup.foreign_hosts))}")
    outside = (directory for directory in setup.directories if setup.needs_trust(directory, workspace))
    lines += (f"read the folder '{directory}'" for directory in outside)
    return tuple(map(visible, lines))


def _about_server(server: ServerSource) -> str:
    if server.token_command:
        return f"run `{shlex.join(server.token_command)}` and send its output to {server.url}"
    if server.token_env is not None:
        return f"send the environment variable {server.token_env} to {server.url}"
    return f"request definitions from {server.url}"


def fingerprint(setup: CatalogSetup) -> str:
    """The SHA-256 of everything in a configuration that needs trust, with the scripts in its folder that it runs."""
    servers = [[one.url, one.token_env, one.token_command, _scripts(setup, one)] for one in setup.foreign_servers]
    known = {setup.found, *(one.directory for one in setup.own.sources if isinstance(one, DirectorySource))}
    directories = [one for one in setup.directories if one not in known]
    content = [servers, sorted(setup.foreign_hosts), directories]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _scripts(setup: CatalogSetup, server: ServerSource) -> list[str]:
    """The hashes of the files of the project that a token command names."""
    found: list[str] = []
    for word in server.token_command:
        try:
            path = os.path.realpath(Path(setup.folder) / word)
            if setup.folder and is_in_folder(path, os.path.realpath(setup.folder)) and os.path.isfile(path):
                with Path(path).open("rb") as file:
                    found.append(hashlib.sha256(file.read(_MOST_BYTES)).hexdigest())
        except (OSError, ValueError):
            continue
    return found


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """What the user answered for a folder: the fingerprint of what was shown, and whether it is trusted."""

    folder: str
    sha256: str
    is_trusted: bool
    wanted: tuple[str, ...]


class TrustAnswers:
    """The user's answers. They are read from the disk at each question: another process may have changed them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.path = user_state_folder(environment) / FILE_NAME

    def about(self, setup: CatalogSetup, folder: str) -> bool | None:
        """Whether the user trusts a setup as it is now; None without an answer.

        `folder` is the one that the answer is about: the configuration's, or for settings of an editor the workspace's.
        """
        known = self.all().get(_key(folder)) if folder else None
        return known.is_trusted if known is not None and known.sha256 == fingerprint(setup) else None

    def all(self) -> dict[str, TrustAnswer]:
        """The answers by folder; none if the file is missing or damaged."""
        try:
            content = json_mapping(self.path.read_bytes())
        except OSError:
            return {}
        folders = as_mapping(content.get("folders")) if content.get("version") == _VERSION else {}
        # What others wrote may name what no folder can be.
        known = ((folder, one) for folder, one in folders.items() if isinstance(one, dict) and "\0" not in folder)
        return {folder: _answer(folder, one) for folder, one in known}

    def remember(self, setup: CatalogSetup, folder: str, *, is_trusted: bool) -> None:
        """Keep an answer in place of the former one for the same folder.

        Raises:
            OSError: if it cannot be written.
        """
        key = _key(folder)
        answer = TrustAnswer(key, fingerprint(setup), is_trusted, wanted(setup, ()))
        self._write({**self.all(), key: answer})

    def forget(self, folder: str) -> bool:
        """Remove the answer for a folder; returns whether there was one.

        Raises:
            OSError: if the file cannot be written.
        """
        answers = self.all()
        if answers.pop(_key(folder), None) is None:
            return False
        self._write(answers)
        return True

    def _write(self, answers: Mapping[str, TrustAnswer]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders = {
            folder: {"sha256": one.sha256, "trusted": one.is_trusted, "wanted": one.wanted}
            for folder, one in sorted(answers.items())
        }
        text = json.dumps({"version": _VERSION, "folders": folders}, indent=2, ensure_ascii=False)
        write_at_once(self.path, [text.encode("utf-8", "surrogatepass"), b"\n"], 0o600)


def is_trusted_by_variable(environment: Mapping[str, str]) -> bool:
    """Whether the environment of a command line trusts every configuration."""
    return environment.get(VARIABLE, "").strip().lower() in {"1", "true", "yes"}


def _key(folder: str) -> str:
    """A folder without links, so that a link to a trusted folder is trusted and no other one is."""
    return os.path.normcase(os.path.realpath(folder))


def _answer(folder: str, record: Mapping[str, Any]) -> TrustAnswer:
    sha256 = as_text(record.get("sha256")) or ""
    return TrustAnswer(folder, sha256, record.get("trusted") is True, tuple(texts_in(record.get("wanted"))))
