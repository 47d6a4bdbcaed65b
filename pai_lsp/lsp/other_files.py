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
        return None
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    uri = from_fs_path(path)
    if isinstance(source, UnreadableFile) or uri is None:
        return None
    return FilePlaces(uri, Places(LineIndex(source.text), document.client.unit))
