"""Files that are not the one that a question is about: catalogue files, and what rules point to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pygls.uris import from_fs_path

from pai_lsp.files import UnreadableFile, decoded, read_bytes
from pai_lsp.lsp.convert import Places
from pai_lsp.text import LineIndex

if TYPE_CHECKING:
    from pai_lsp.lsp.open_document import OpenDocument


class FilePlaces(NamedTuple):
    """A file's URI, and its places in the client's words."""

    uri: str
    places: Places


def file_at(document: OpenDocument, path: str | None) -> FilePlaces | None:
    """The file at `path` as it is on the disk, or the document's own for None; None where it can not be read."""
    if path is None:
        return FilePlaces(document.uri, document.places)
    if "://" in path:
        return _view(document, path)
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    uri = from_fs_path(path)
    if isinstance(source, UnreadableFile) or uri is None:
        return None
    return FilePlaces(uri, Places(LineIndex(source.text), document.client.unit))


def _view(document: OpenDocument, address: str) -> FilePlaces | None:
    """A file to look at, and not to write in, of what the catalogue keeps for an address."""
    from pai_lsp.catalog.catalog import Catalog  # noqa: PLC0415 - few places are in a marketplace
    from pai_lsp.catalog.sources import Surroundings  # noqa: PLC0415 - as above

    text = document.lookup.text(address) if isinstance(document.lookup, Catalog) else None
    path = Surroundings().store.view(address, text) if text is not None else None
    uri = from_fs_path(path) if path is not None else None
    return FilePlaces(uri, Places(LineIndex(text), document.client.unit)) if uri and text is not None else None
