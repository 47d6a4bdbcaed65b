"""Files other than the document of a request: catalog files, and related places of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pygls.uris import from_fs_path

from pai_lsp.lsp.convert import Places
from pai_lsp.source.files import UnreadableFile, decoded, read_bytes
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from pai_lsp.lsp.documents import OpenDocument


class FilePlaces(NamedTuple):
    """A file's URI, and its places in the client's units."""

    uri: str
    places: Places


def file_at(document: OpenDocument, path: str | None) -> FilePlaces | None:
    """The file at `path`, or the document's own for None; None if it cannot be read.

    Of a catalog's file it is the text in the document's lookup: an open one may not be saved.
    """
    if path is None:
        return FilePlaces(document.uri, document.places)
    from pai_lsp.catalog.catalog import Catalog  # noqa: PLC0415 - most places are in the document itself

    text = document.lookup.text(path) if isinstance(document.lookup, Catalog) else None
    if "://" in path:
        return _view(document, path, text) if text is not None else None
    text = _on_disk(path) if text is None else text
    uri = from_fs_path(path)
    return FilePlaces(uri, Places(LineIndex(text), document.client.unit)) if uri and text is not None else None


def _on_disk(path: str) -> str | None:
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    return None if isinstance(source, UnreadableFile) else source.text


def _view(document: OpenDocument, address: str, text: str) -> FilePlaces | None:
    """A read-only file with the text that the catalog keeps for an address."""
    from pai_lsp.catalog.loading import Surroundings  # noqa: PLC0415 - few places are in a marketplace

    path = Surroundings().store.view(address, text)
    uri = from_fs_path(path) if path is not None else None
    return FilePlaces(uri, Places(LineIndex(text), document.client.unit)) if uri else None
