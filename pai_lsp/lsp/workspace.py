"""All that a question about the whole workspace can be answered from: open documents and the job files on the disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.uris import from_fs_path

from pai_lsp.files import JOB_ENDINGS, UnreadableFile, candidates, decoded, might_be_job, read_bytes
from pai_lsp.frozen import dataclass
from pai_lsp.lsp.convert import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lsprotocol import types as lsp

    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.text import ColumnUnit

# How many YAML files of a workspace are looked at, and for how long, in seconds; some workspaces are whole disks.
MOST_FILES = 5_000
LONGEST_LOOK = 2.0
# A job is at most 100 kB; what is far beyond is none that anybody looks for.
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace at one moment: open documents by URI, and its folders as paths."""

    documents: Mapping[str, OpenDocument]
    folders: tuple[str, ...]
    unit: ColumnUnit
    job_files: JobFiles


class JobFiles:
    """The names in the job files of a workspace; a file that was read is read again only when it has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], tuple[lsp.WorkspaceSymbol, ...]]] = {}

    def symbols(
        self, folders: Iterable[str], unit: ColumnUnit, open_paths: frozenset[str]
    ) -> Iterator[lsp.WorkspaceSymbol]:
        """The names in the job files below the folders that are not open, as many as can be found in the time."""
        found: dict[str, tuple[tuple[int, int], tuple[lsp.WorkspaceSymbol, ...]]] = {}
        for path in self._paths(folders):
            try:
                status = Path(path).stat()
            except OSError:
                continue
            stamp = (status.st_mtime_ns, status.st_size)
            before = self._known.get(path)
            if before is None or before[0] != stamp:
                before = (stamp, _read(path, unit) if status.st_size <= MOST_BYTES else ())
            found[path] = before
        self._known = found
        for path, (_, symbols) in found.items():
            if path not in open_paths:
                yield from symbols

    def _paths(self, folders: Iterable[str]) -> Iterator[str]:
        end = time.monotonic() + LONGEST_LOOK
        seen: set[str] = set()
        for folder in folders:
            for candidate in candidates(folder, lambda _path, _is_folder: time.monotonic() > end):
                if len(seen) >= MOST_FILES or time.monotonic() > end:
                    return
                if candidate.path not in seen and candidate.problem is None:
                    seen.add(candidate.path)
                    yield candidate.path


def _read(path: str, unit: ColumnUnit) -> tuple[lsp.WorkspaceSymbol, ...]:
    """The names in a file; none where it is no job."""
    from pai_lsp.document import Document  # noqa: PLC0415 - loaded when the client is connected
    from pai_lsp.lsp.outlines import named_symbols  # noqa: PLC0415 - as above

    data = read_bytes(path)
    if isinstance(data, UnreadableFile) or not (path.lower().endswith(JOB_ENDINGS) or might_be_job(data)):
        return ()
    source, uri = decoded(path, data), from_fs_path(path)
    if isinstance(source, UnreadableFile) or uri is None:
        return ()
    document = Document(source.text, path=path)
    return tuple(named_symbols(document, path, uri, Places(document.lines, unit))) if document.is_job else ()
