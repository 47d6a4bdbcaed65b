"""Keeps on the disk what was read, so that a large catalog is there at once and the last known one without network.

One file a source, in the user's cache folder, readable by the user alone. It holds texts and headers; whoever fills it
leaves tokens and secrets out. A file that can not be understood counts as none: it is written again some time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.catalog.definition_text import Content, DefinitionHeader, DefinitionText
from pai_lsp.source.files import write_at_once
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Mapping


# Knowledge that is older, in seconds, is no reason any more to say that something is not there.
FRESH = 24 * 60 * 60


class SourceState(Enum):
    """How well a source is known; from the best to the worst."""

    READY = "ready"
    STALE = "stale"
    UNTRUSTED = "untrusted"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """One source.

    label: what people call it: the folder, or the server's address.
    state: UNREACHABLE means that nothing is known of it.
    note: why it is in this state, how old the knowledge is; empty where there is nothing to say.
    skipped: what of it could not be read, in words.
    stamps: by path, what tells a text from a later one in the same file.
    asked: when a server last answered, in seconds since 1970; None for never, and for a folder.
    """

    label: str
    texts: tuple[DefinitionText, ...] = ()
    state: SourceState = SourceState.READY
    note: str = ""
    skipped: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict, repr=False)
    asked: float | None = None

    @property
    def count(self) -> int:
        """How many definitions it holds."""
        return sum(len(text.headers) for text in self.texts)


def age(seconds: float) -> str:
    """How long ago something was, in words."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


# Counts the forms of the file; one of another form is not read.
_FORM = 1
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Stored:
    """What is kept of one source.

    stamps: by path, what told a text from an earlier one in the same place.
    etag: what the server called its last answer; skipped: what of it could not be read, in words.
    asked: when the source last answered, in seconds since 1970.
    """

    texts: tuple[DefinitionText, ...]
    stamps: Mapping[str, str]
    etag: str = ""
    skipped: tuple[str, ...] = ()
    asked: float = 0.0


@dataclass(frozen=True, slots=True)
class Store:
    """The cache folder; all methods take a key that stands for a source."""

    folder: Path

    def load(self, key: str) -> Stored | None:
        """What is kept; None for nothing."""
        file = self._file(key)
        try:
            with file.open(encoding="utf-8") as lines:
                asked = os.fstat(lines.fileno()).st_mtime
                head = json.loads(next(lines))
                if head["form"] != _FORM:
                    return None
                records = [json.loads(line) for line in lines]
            texts = tuple(_text(record) for record in records)
            stamps = {str(record["path"]): str(record["stamp"]) for record in records if record["stamp"]}
            skipped = tuple(map(str, head["skipped"]))
            return Stored(texts, stamps, str(head["etag"]), skipped, asked)
        except (OSError, ValueError, LookupError, TypeError, StopIteration, RecursionError):
            return None

    def save(self, key: str, stored: Stored) -> None:
        """Keep something in place of what was kept before; its time is now.

        Raises:
            OSError: if it can not be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        head = {"form": _FORM, "etag": stored.etag, "skipped": stored.skipped}
        records = (_record(text, stored.stamps.get(text.path, "")) for text in stored.texts)
        lines = (f"{json.dumps(line)}\n".encode() for line in chain([head], records))
        write_at_once(self._file(key), lines, 0o600)

    def view(self, path: str, text: str) -> str | None:
        """The path of a file that nobody can write, and that holds a text which is none itself; None without one.

        So every editor can show what a server has given, and show it as what it is: not to be changed.
        """
        name = re.sub(r"[^\w.-]+", "-", path.rstrip("/").rpartition("/")[2])[:_LONGEST_NAME] or "item"
        folder = (
            self.folder / "views" / hashlib.sha256(f"{path}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        )
        file = folder / f"{name}.yaml"
        try:
            if not file.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_at_once(file, [text.encode("utf-8")], 0o400)
        except (OSError, UnicodeError):
            return None
        return str(file)

    def asked(self, key: str) -> float | None:
        """The time of what is kept, in seconds since 1970; None for nothing."""
        try:
            return self._file(key).stat().st_mtime
        except OSError:
            return None

    def touch(self, key: str) -> None:
        """What is kept was found to be right: its time is now."""
        now = time.time()
        try:
            os.utime(self._file(key), (now, now))
        except OSError:  # gone meanwhile; it will be made again
            return

    def _file(self, key: str) -> Path:
        return self.folder / (hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40] + ".jsonl")


def user_cache_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where a user's programs keep what they can make again.

    Sources: XDG Base Directory Specification, "XDG_CACHE_HOME"; Apple, File System Programming Guide, "Library/Caches".
    """
    home = Path(environment.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises without one
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "pai-lsp" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "pai-lsp"
    given = environment.get("XDG_CACHE_HOME", "")
    # The specification tells to pass over a relative path.
    return (Path(given) if given.startswith("/") else home / ".cache") / "pai-lsp"


def _record(text: DefinitionText, stamp: str) -> dict[str, Any]:
    return {
        "path": text.path,
        "stamp": stamp,
        "item": text.item,
        "content": text.content.name,
        "entangled": text.is_entangled,
        "fault": text.fault,
        "headers": [
            [header.name, header.type, header.summary, header.variables, header.span.start, header.span.end]
            for header in text.headers
        ],
        "text": text.text,
    }


def _text(record: Any) -> DefinitionText:
    """The text of a record.

    Raises:
        ValueError, LookupError, TypeError: if it is none.
    """
    text = record["text"]
    if not isinstance(text, str) or not isinstance(record["path"], str):
        raise TypeError("no record of ours")
    return DefinitionText(
        record["path"],
        text,
        str(record["item"]),
        tuple(_header(record, len(text)) for record in record["headers"]),
        Content[record["content"]],
        is_entangled=bool(record["entangled"]),
        fault=str(record["fault"]),
    )


def _header(record: Any, length: int) -> DefinitionHeader:
    name, kind, summary, variables, start, end = record
    words = (name, kind, summary, *variables)
    if not all(isinstance(word, str) for word in words) or not 0 <= start <= end <= length:
        raise TypeError("no header of ours")
    return DefinitionHeader(name, kind, summary, tuple(variables), Span(start, end))
