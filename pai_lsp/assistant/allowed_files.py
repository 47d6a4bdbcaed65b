"""The files that an assistant may name: those below the folders that its client or its user gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pai_lsp.source.failures import why
from pai_lsp.source.files import UnreadableFile, decoded, is_in_folder, read_bytes
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pai_lsp.project.configuration import Configuration


class AnswerError(ValueError):
    """A question cannot be answered; the message says what to ask instead, and quotes no content of a file."""


@dataclass(frozen=True, slots=True)
class AllowedFiles:
    """The folders below which files may be read, as real absolute paths; a path without a folder counts from the first.

    cluster: the name of the chosen cluster; empty for that of each project.
    opened: the texts of files that are open in an editor, by their real paths; they count instead of those on the disk.
    sections: the settings in an editor, see `Projects`.
    """

    folders: tuple[str, ...] = ()
    cluster: str = ""
    opened: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, Configuration] = field(default_factory=dict)

    def real_path(self, path: str) -> str:
        """The real path of a file.

        Raises:
            AnswerError: if it is not below one of the folders, also by a link or `..`.
        """
        if not self.folders:
            raise AnswerError("no files can be read: the client names no folder (roots), so give the text instead")
        try:
            real = os.path.realpath(os.path.join(self.folders[0], path))  # noqa: PTH118 - pathlib keeps `..`
        except (OSError, ValueError):
            raise AnswerError(f"'{visible(path)}' cannot be the path of a file") from None
        if not any(is_in_folder(real, folder) for folder in self.folders):
            raise AnswerError(f"'{visible(path)}' is not below {' or '.join(map(visible, self.folders))}")
        return real

    def folder_of(self, real: str) -> str:
        """The folder that a file is below."""
        return next(folder for folder in self.folders if is_in_folder(real, folder))

    def text_of(self, path: str) -> str:
        """The text of a file.

        Raises:
            AnswerError: if it may not or cannot be read.
        """
        real = self._file(path)
        if (text := self.opened.get(real)) is not None:
            return text
        source = decoded(real, read_bytes(real))
        if isinstance(source, UnreadableFile):
            raise AnswerError(f"'{visible(path)}': {source.message}")
        return source.text

    def end_of(self, path: str, most: int) -> str:
        """The end of a file of any size, of at most so many bytes; what is not UTF-8 in it is replaced.

        Raises:
            AnswerError: if it may not or cannot be read.
        """
        try:
            with open(self._file(path), "rb") as file:  # noqa: PTH123 - as above
                file.seek(max(0, file.seek(0, os.SEEK_END) - most))
                return file.read(most).decode("utf-8", "replace")
        except OSError as error:
            raise AnswerError(f"'{visible(path)}': {why(error)}") from None

    def _file(self, path: str) -> str:
        real = self.real_path(path)
        if real not in self.opened and not os.path.isfile(real):  # a pipe would block, and a device has no end
            raise AnswerError(f"'{visible(path)}' is not a file")
        return real


def folders_of(uris: Iterable[str]) -> tuple[str, ...]:
    """The real paths of the folders that a client names with `file:` URIs; others are left out."""
    found: list[str] = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
            path = os.path.realpath(url2pathname(parts.path))
            if os.path.isdir(path):
                found.append(path)
    return tuple(dict.fromkeys(found))
