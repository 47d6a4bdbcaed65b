"""Outlines of a job, and names in all jobs of the workspace: in open documents and in files on the disk."""

from __future__ import annotations

import re
import time
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from pai_lsp.ide.outline import OutlineItem, OutlineKind, outline
from pai_lsp.lsp.convert import Places, around, location
from pai_lsp.lsp.documents import FileKind
from pai_lsp.source.files import JOB_ENDINGS, UnreadableFile, candidates, decoded, might_be_job, read_bytes

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from pai_lsp.document import Document
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.source.text import ColumnUnit


# How many YAML files of a workspace are looked at, and for how long, in seconds; some workspaces are whole disks.
MOST_FILES = 5_000
LONGEST_LOOK = 2.0
# A job is at most 100 kB; a file far larger is not a job.
MOST_BYTES = 1_000_000


class JobFiles:
    """The names in the job files of a workspace; a file that was read is read again only when it has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], tuple[lsp.WorkspaceSymbol, ...]]] = {}

    def search(
        self, documents: Mapping[str, OpenDocument], folders: Iterable[str], unit: ColumnUnit, query: str
    ) -> list[lsp.WorkspaceSymbol]:
        """The names in all jobs, open ones as they are in the editor, that have the query's letters in their order."""
        letters = re.compile(".*".join(map(re.escape, query)), re.IGNORECASE | re.DOTALL)
        jobs = [one for one in documents.values() if one.kind is FileKind.JOB]
        in_editor = (_named_symbols(one.document, one.path, one.uri, one.places) for one in jobs)
        on_disk = self._on_disk(folders, unit, {one.path for one in documents.values()})
        found = (one for one in chain(chain.from_iterable(in_editor), on_disk) if letters.search(one.name))
        return list(islice(found, MOST_SYMBOLS))

    def _on_disk(
        self, folders: Iterable[str], unit: ColumnUnit, open_paths: Container[str]
    ) -> Iterator[lsp.WorkspaceSymbol]:
        """The names in the job files below the folders that are not open, as many as are found in time."""
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
                if len(seen) >= MOST_FILES:
                    return
                if candidate.path not in seen and candidate.problem is None:
                    seen.add(candidate.path)
                    yield candidate.path


def _read(path: str, unit: ColumnUnit) -> tuple[lsp.WorkspaceSymbol, ...]:
    """The names in a file; empty if it is not a job."""
    from pai_lsp.document import Document  # noqa: PLC0415 - loaded when the client is connected

    data = read_bytes(path)
    if isinstance(data, UnreadableFile) or not (path.lower().endswith(JOB_ENDINGS) or might_be_job(data)):
        return ()
    document, uri = Document(decoded(path, data).text, path=path), from_fs_path(path) or ""
    return tuple(_named_symbols(document, path, uri, Places(document.lines, unit))) if document.is_job else ()


MOST_SYMBOLS = 500

# A search in the workspace finds names, and not what is of these kinds.
_NO_NAMES = {OutlineKind.SECTION, OutlineKind.CALLBACK, OutlineKind.COMMAND, OutlineKind.FIELD, OutlineKind.PLUGIN}


def document_symbols(
    document: OpenDocument, _params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol] | list[lsp.SymbolInformation]:
    """The outline of a job; flat for clients that do not support a tree."""
    items, places = outline(document.document), document.places
    if document.client.nested_symbols:
        return [_symbol(item, places) for item in items]
    return [
        lsp.SymbolInformation(
            location(document.uri, item.span, places), item.name, lsp.SymbolKind[item.kind.value], container_name=holder
        )
        for item, holder in _flat(items)
    ]


def _named_symbols(document: Document, path: str, uri: str, places: Places) -> Iterator[lsp.WorkspaceSymbol]:
    """The symbols of a file, each with the file's name."""
    for item, _ in _flat(outline(document)):
        if item.kind not in _NO_NAMES:
            place = location(uri, item.name_span, places)
            yield lsp.WorkspaceSymbol(
                place, item.name, lsp.SymbolKind[item.kind.value], container_name=PurePath(path).name
            )


def _symbol(item: OutlineItem, places: Places) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        item.name,
        lsp.SymbolKind[item.kind.value],
        places.range(around(item.span, item.name_span)),
        places.range(item.name_span),
        detail=item.detail or None,
        children=[_symbol(child, places) for child in item.children] or None,
    )


def _flat(items: Iterable[OutlineItem], holder: str | None = None) -> Iterator[tuple[OutlineItem, str | None]]:
    """The items and all below them, each with the name of the one that it belongs to."""
    for item in items:
        yield item, holder
        yield from _flat(item.children, item.name)
