"""Finds, reads and writes files.

Texts are read as they are: line ends stay, and a byte order mark is put aside so that offsets count from the first
character an editor shows.
"""

from __future__ import annotations

import codecs
import os
from stat import S_IMODE, S_ISREG, S_IWGRP, S_IWOTH, S_IWUSR

from pai_lsp.source.failures import why
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import FileIO
    from pathlib import Path

JOB_ENDINGS = (".pai.yaml", ".pai.yml")
YAML_ENDINGS = (".yaml", ".yml")

_HERE = os.curdir + os.sep

# Four bytes for each of the characters that syntax.py reads at most.
MAX_BYTES = 20_000_000

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
# git looks as far for a NUL before it calls a file binary (xdiff-interface.c, FIRST_FEW_BYTES).
_FIRST_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be a job; `problem` is the reason why a folder or file cannot be read, in words."""

    path: str
    is_named: bool
    problem: str | None = None

    @property
    def is_surely_job(self) -> bool:
        """Whether it is checked whatever it contains: it was named by the user, or has the name of a job file."""
        return self.is_named or self.path.lower().endswith(JOB_ENDINGS)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text file: its text without the byte order mark, and whether it had one."""

    path: str
    text: str
    has_byte_order_mark: bool = False


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that cannot be read; `text` and `span` are the place of the fault, if it has one."""

    path: str
    message: str
    text: str = ""
    span: Span = field(default=Span(0, 0))


def candidates(path: str, is_excluded: Callable[[str, bool], bool]) -> Iterator[Candidate]:
    """The files that `path`, which a user named, may mean: itself, or the YAML files below it, folder by folder.

    Hidden folders, node_modules and links to folders are not entered. `is_excluded` is asked with a path and whether it
    is a folder, for everything below `path`.
    """
    if not os.path.isdir(path):
        yield Candidate(path, is_named=True)
        return
    folders = ["" if os.path.normpath(path) == os.curdir else path]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder or os.curdir) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Candidate(folder or path, is_named=False, problem=f"this folder cannot be listed: {why(error)}")
            continue
        inner: list[str] = []
        for entry in entries:
            here = entry.path.removeprefix(_HERE)
            if entry.is_dir(follow_symlinks=False):
                is_skipped = entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS
                if not is_skipped and not is_excluded(here, True):
                    inner.append(here)
            elif entry.name.lower().endswith(YAML_ENDINGS) and os.path.isfile(here) and not is_excluded(here, False):
                yield Candidate(here, is_named=False)
        folders += reversed(inner)


def might_be_job(data: bytes) -> bool:
    """Whether a file's bytes could hold a job's root or an MPIJob: a cheap test that spares parsing other YAML."""
    return (b"protocolVersion" in data and (b"taskRoles" in data or b"job" in data)) or b"mpijob" in data.lower()


def full_path(path: str | Path) -> str:
    """The absolute path of a file without `..`, which pathlib keeps: the folders above would be another file's."""
    return os.path.abspath(path)  # noqa: PTH100 - as above


def is_in_folder(path: str, folder: str) -> bool:
    """Whether a path is a folder, or below it; both are absolute."""
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def program_on_path(name: str, path: str, foreign: Iterable[str] = ()) -> str:
    """The absolute path of a program in one of the folders of `path`, a value of PATH; empty without one.

    Folders that are not absolute do not count, nor do programs that lie in the repository of the working folder, in one
    of the `foreign` folders or in their repositories, wherever a link to them is: they may be somebody else's files.
    """
    try:
        around = [*foreign, os.getcwd()]  # noqa: PTH109 - as above
    except OSError:  # the folder is gone
        around = [*foreign]
    not_from = [*map(os.path.realpath, foreign), *filter(None, map(repository_of, around))]
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        for ending in ("", ".exe") if os.name == "nt" else ("",):
            program = os.path.join(folder, name + ending)  # noqa: PTH118 - importing pathlib takes longer
            if os.path.isfile(program) and os.access(program, os.X_OK):
                real = os.path.realpath(program)
                if not any(is_in_folder(real, one) for one in not_from):
                    return program
    return ""


def repository_of(folder: str) -> str | None:
    """The root of the git repository that a folder is in, its real path; None outside of repositories.

    A repository that the user's home is in does not count: programs below it are the user's own.
    """
    here, home = os.path.realpath(folder), os.path.realpath(os.path.expanduser("~"))
    while not os.path.lexists(os.path.join(here, ".git")):  # noqa: PTH118 - as above
        parent = os.path.dirname(here)  # noqa: PTH120 - as above
        if parent == here:
            return None
        here = parent
    return None if is_in_folder(home, here) else here


def read_bytes(path: str) -> bytes | UnreadableFile:
    """What is in the file, as far as `decoded` takes it, or why it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        return UnreadableFile(path, f"this file cannot be read: {why(error)}")


def decoded(path: str, data: bytes | UnreadableFile) -> SourceFile | UnreadableFile:
    """The text in a file's bytes; what `read_bytes` could not read stays so.

    A job is UTF-8: the rest-server reads the request's text as such unless the client names another charset
    (body-parser, lib/types/text.js), and no client of OpenPAI does.
    """
    if isinstance(data, UnreadableFile):
        return data
    if len(data) > MAX_BYTES:
        return UnreadableFile(
            path, f"this file is larger than {MAX_BYTES:,} bytes; OpenPAI accepts jobs of up to 102,400"
        )
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UnreadableFile(path, "this file is UTF-16; OpenPAI reads UTF-8, so save it as UTF-8")
    if b"\0" in data[:_FIRST_BYTES]:
        return UnreadableFile(path, "this is a binary file: it contains a NUL character")
    has_byte_order_mark = data.startswith(codecs.BOM_UTF8)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return SourceFile(path, data.decode("utf-8"), has_byte_order_mark)
    except UnicodeDecodeError as error:
        shown = data.decode("utf-8", "replace")
        start = len(data[: error.start].decode("utf-8", "replace"))
        message = f"this file is not UTF-8: byte 0x{data[error.start]:02x} cannot be read; OpenPAI reads UTF-8"
        return UnreadableFile(path, message, shown, Span(start, start + 1))


def write_text(source: SourceFile, text: str) -> None:
    """Replace the text of a file at once: a reader sees the old or the new one, never a part.

    The file keeps its mode, its byte order mark and, where that is allowed, its owner; a link stays a link. A file with
    several names (hard links) is written in place, so that all of them keep meaning it.

    Raises:
        OSError: if it cannot be written, if it is read-only, or if it no longer holds the text of `source`.
    """
    from pathlib import Path  # noqa: PLC0415 - most runs write nothing, and importing it takes a while

    path = Path(os.path.realpath(source.path))
    data = read_bytes(str(path))
    if isinstance(data, UnreadableFile) or decoded(source.path, data) != source:
        raise OSError("another program has changed the file in the meantime")
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise OSError("this is not a regular file")
    if not status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH):  # root could write it, and its folder lets others replace it
        raise OSError("this file is read-only")
    mark = codecs.BOM_UTF8 if source.has_byte_order_mark else b""
    new = mark + text.encode("utf-8")
    if status.st_nlink > 1:
        _write_in_place(path, new, data)
        return
    write_at_once(path, [new], S_IMODE(status.st_mode), lambda temporary: _keep_owner(temporary, status))


def _write_in_place(path: Path, new: bytes, old: bytes) -> None:
    """Overwrite a file; where the new bytes do not fit, the old ones are put back."""
    with path.open("r+b", buffering=0) as file:
        try:
            _write_whole(file, new)
        except OSError:
            _write_whole(file, old)
            raise


def _write_whole(file: FileIO, data: bytes) -> None:
    file.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()


def write_at_once(
    path: Path, parts: Iterable[bytes], mode: int, prepare: Callable[[Path], None] = lambda _: None
) -> None:
    """Write a file beside its place and move it there: whoever reads it sees the old or the new one, never a part.

    prepare: does what else must be done to the new file before it gets its mode and its place.

    Raises:
        OSError: if it cannot be written; then no temporary file is left.
    """
    from pathlib import Path  # noqa: PLC0415 - as above
    from tempfile import mkstemp  # noqa: PLC0415 - as above

    handle, name = mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
        prepare(temporary)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _keep_owner(path: Path, status: os.stat_result) -> None:
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.chown(path, status.st_uid, status.st_gid)
        except OSError:  # only root may give files away; the text matters more
            return
