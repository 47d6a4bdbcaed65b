"""The definitions of a project as they are in a commit of git: its folders of definitions, and its lock file.

git only reads here: what it runs needs no work tree, no filter and no network.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.definition_text import read_definition_text
from pai_lsp.catalog.lock import read_lock
from pai_lsp.catalog.setup import LOCK_NAME
from pai_lsp.catalog.store import LoadedSource
from pai_lsp.source.files import YAML_ENDINGS, UnreadableFile, decoded, program_on_path
from pai_lsp.source.frozen import replace

if TYPE_CHECKING:
    from pai_lsp.catalog.catalog import Catalog

_PATIENCE = 30.0
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


class RevisionError(Exception):
    """A folder cannot be read at a commit; the message has the reason."""


def folder_at(source: LoadedSource, revision: str) -> LoadedSource:
    """A folder of definitions as it is in a commit.

    Raises:
        RevisionError: if the folder is in no repository of git, or the commit does not exist.
    """
    texts = tuple(
        read_definition_text(path, text, item=Path(path).stem)
        for path, text in sorted(_files(source.label, revision, ".").items())
    )
    return LoadedSource(source.label, texts)


def catalog_at(catalog: Catalog, revision: str) -> Catalog:
    """The catalog with its folders and its lock file as they are in a commit; servers and addresses as they are now.

    Raises:
        RevisionError: as `folder_at`.
    """
    folders = set(catalog.setup.directories)
    sources = tuple(folder_at(one, revision) if one.label in folders else one for one in catalog.sources)
    file = catalog.setup.lock
    text = _files(catalog.setup.folder, revision, LOCK_NAME).get(file) if file else None
    return replace(catalog, sources=sources, lock=None if text is None else read_lock(file, text))


def _files(folder: str, revision: str, below: str) -> dict[str, str]:
    """The texts of the YAML files, or of one file, in a commit, by absolute path."""
    listing = _git(folder, "ls-tree", "-r", "-z", "--end-of-options", revision, below).split(b"\0")
    found: dict[str, str] = {}
    for row in filter(None, listing):
        facts, _, name = row.partition(b"\t")
        mode, _, identifier = facts.split()[:3]
        path = str(Path(folder) / os.fsdecode(name))
        if not mode.startswith(b"100") or not (path.lower().endswith(YAML_ENDINGS) or below != "."):
            continue
        source = decoded(path, _git(folder, "cat-file", "blob", identifier.decode()))
        if not isinstance(source, UnreadableFile):
            found[path] = source.text
    return found


def _git(folder: str, *words: str) -> bytes:
    program = program_on_path("git", os.environ.get("PATH", ""))
    if not program:
        raise RevisionError("git is not installed")
    try:
        ended = subprocess.run(  # noqa: S603 - a program of the user's machine, with fixed words but for the revision
            [program, *words],
            cwd=folder,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        raise RevisionError(f"git cannot be run in '{folder}'") from None
    if ended.returncode:
        line = ended.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        raise RevisionError(f"git cannot read '{folder}': {line}")
    return ended.stdout
