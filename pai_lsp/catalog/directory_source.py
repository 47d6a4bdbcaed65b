"""Reads the definition files of a folder; touches the disk.

Nothing outside the folder is read: links to files outside it are skipped, and no name in a reference becomes part of a
path.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from pai_lsp.catalog.definition_text import read_definition_text
from pai_lsp.catalog.store import LoadedSource, SourceState, Stored
from pai_lsp.source.files import YAML_ENDINGS, UnreadableFile, decoded, read_bytes
from pai_lsp.source.frozen import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pai_lsp.catalog.definition_text import DefinitionText
    from pai_lsp.catalog.store import Store

# A folder with more files is not a marketplace; the rest is not read.
MOST_FILES = 50_000
MOST_BYTES = 10_000_000
# Smaller folders, in bytes, are not cached: reading them is as fast as reading the cache.
_WORTH_STORING = 200_000
# Files changed within this time, in seconds, may change again without a new time on their stamp.
_UNSETTLED = 2.0


def read_directory(
    directory: str,
    store: Store | None = None,
    before: LoadedSource | None = None,
    pause: Callable[[], None] = lambda: None,
) -> LoadedSource:
    """The definitions in the YAML files of a folder and its subfolders. Never raises.

    Args:
        directory: an absolute path.
        store: the cache for a large folder.
        before: the former result; unchanged files are not read again.
        pause: called between files, so that the caller can let other work run.
    """
    if not Path(directory).is_dir():
        return LoadedSource(directory, state=SourceState.UNREACHABLE, note=f"'{directory}' is not a folder")
    found, skipped, size = _files(directory)
    is_large = store is not None and size >= _WORTH_STORING
    known = {text.path: text for text in before.texts} if before else {}
    stamps = dict(before.stamps) if before else {}
    stored = store.load(directory) if store and is_large and before is None else None
    if stored is not None:
        known, stamps = {text.path: text for text in stored.texts}, dict(stored.stamps)
    texts: list[DefinitionText] = []
    new_stamps: dict[str, str] = {}
    news = 0
    for path, stamp in found:
        text: DefinitionText | str | None = known.get(path) if stamp and stamps.get(path) == stamp else None
        if text is None:
            news += 1
            text = _read(directory, path)
            pause()
        if isinstance(text, str):
            skipped.append(text)
            continue
        texts.append(text)
        if stamp:
            new_stamps[path] = stamp
    if store and is_large and (news or len(texts) != len(known)):
        _keep(store, directory, Stored(tuple(texts), new_stamps))
    return LoadedSource(directory, tuple(texts), skipped=(*skipped, *_faults(directory, texts)), stamps=new_stamps)


def with_open_texts(
    source: LoadedSource, open_texts: Mapping[str, str], before: LoadedSource | None = None
) -> LoadedSource:
    """A folder with the texts of files that are open in the editor; the same object if they change nothing.

    Args:
        source: the folder as it is on the disk.
        open_texts: by path; all paths are in the folder.
        before: the former result; unchanged texts are not read again.
    """
    texts = {text.path: text for text in source.texts}
    former = {text.path: text for text in before.texts} if before else {}
    changed = [path for path, text in open_texts.items() if path not in texts or texts[path].text != text]
    if not changed:
        return source
    for path in changed:
        known = former.get(path)
        is_known = known is not None and known.text == open_texts[path]
        texts[path] = known if known and is_known else _definition_text(path, open_texts[path])
    names = tuple(f"{_below(source.label, path)}{mark}" for path in changed for mark in ",:")
    kept = [note for note in source.skipped if not note.startswith(names)]
    faults = _faults(source.label, (texts[path] for path in changed))
    return replace(source, texts=tuple(texts[path] for path in sorted(texts)), skipped=(*kept, *faults))


def _faults(directory: str, texts: Iterable[DefinitionText]) -> list[str]:
    return [f"{_below(directory, text.path)}, {text.fault}" for text in texts if text.fault]


def _definition_text(path: str, text: str) -> DefinitionText:
    return read_definition_text(path, text, item=Path(path).stem)


def _files(directory: str) -> tuple[list[tuple[str, str]], list[str], int]:
    """The YAML files in a folder, sorted, each with a stamp that changes with it; messages; the size in bytes."""
    found: list[tuple[str, str]] = []
    skipped: list[str] = []
    size = 0
    real = os.path.realpath(directory)
    unsettled = time.time() - _UNSETTLED
    folders = [directory]
    while folders and len(found) < MOST_FILES:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = [entry for entry in listing if not entry.name.startswith(".")]
        except OSError as error:
            skipped.append(f"{_below(directory, folder)} cannot be listed: {(error.strerror or 'an error').lower()}")
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.lower().endswith(YAML_ENDINGS):
                reason, stamp, length = _file_stamp(entry, real, unsettled)
                if reason:
                    skipped.append(f"{_below(directory, entry.path)} {reason}")
                else:
                    found.append((entry.path, stamp))
                    size += length
    if len(found) >= MOST_FILES:
        skipped.append(f"more than {MOST_FILES:,} files; the rest is not read")
    return sorted(found)[:MOST_FILES], sorted(skipped), size


def _file_stamp(entry: os.DirEntry[str], real: str, unsettled: float) -> tuple[str, str, int]:
    """Why a file is skipped, or its stamp and size in bytes; the stamp is empty for one that is read every time."""
    try:
        if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(real):
            return "is a link to a file outside the folder", "", 0
        if not entry.is_file():
            return "is not a regular file", "", 0
        status = entry.stat()
    except OSError as error:
        return f"cannot be read: {(error.strerror or 'an error').lower()}", "", 0
    if status.st_size > MOST_BYTES:
        return f"is larger than {MOST_BYTES:,} bytes", "", 0
    stamp = f"{status.st_mtime_ns}:{status.st_size}" if status.st_mtime < unsettled else ""
    return "", stamp, status.st_size


def _read(directory: str, path: str) -> DefinitionText | str:
    """A file's definitions, or why it cannot be read."""
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    if isinstance(source, UnreadableFile):
        return f"{_below(directory, path)}: {source.message}"
    return _definition_text(path, source.text)


def _keep(store: Store, directory: str, stored: Stored) -> None:
    try:
        store.save(directory, stored)
    except OSError:  # next time it is read again
        return


def _below(directory: str, path: str) -> str:
    return f"'{Path(path).relative_to(directory).as_posix()}'"
