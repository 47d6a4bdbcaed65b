"""What is known of a source, and the cache that stores it on the disk.

With the cache a large catalog loads at once, and the last answer of a server is available without network. There is one
file per source, in the user's cache folder, readable only by the user. It has texts and headers; the caller leaves
tokens and secrets out. A file that cannot be read is ignored and later written again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from itertools import chain

from pai_lsp.catalog.definition_text import DefinitionHeader, DefinitionText
from pai_lsp.catalog.setup import SourceState
from pai_lsp.job.lookup import JobTemplate
from pai_lsp.source.files import write_at_once
from pai_lsp.source.foreign import as_list, as_text, as_whole, json_mapping, texts_in
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any


# After this time, in seconds, an answer is stale: a definition that it lacks may exist by now.
FRESH = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """One source as it is known now.

    label: its name in messages: the folder, or the server's address.
    state: UNREACHABLE means that nothing is known of it.
    note: a message about the state and the age; empty for none.
    skipped: messages about files or items that cannot be read.
    stamps: by path, a text that changes whenever the file does.
    asked: when a server was last asked, whether it answered or not, in seconds since 1970; None for never, and for a
        folder.
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
        """The number of its definitions."""
        return sum(len(text.headers) for text in self.texts)


def age(seconds: float) -> str:
    """A time span in words: "3 hours ago"."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{plural(int(seconds // length), unit)} ago"
    return "just now"


# The version of the file format; files of other versions are ignored.
_FORM = 5
_LONGEST_NAME = 60
# Name, summary and text of a template; name, type, summary, variables, start and end of a header.
_TEMPLATE_TEXTS, _HEADER_VALUES = 3, 6


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored state of one source.

    stamps: by path, a text that changes whenever the file does; for a web address its ETag.
    etag: the ETag of the server's last answer.
    skipped: messages about files or items that cannot be read.
    asked: when the source last answered, in seconds since 1970.
    """

    texts: tuple[DefinitionText, ...]
    stamps: Mapping[str, str]
    etag: str = ""
    skipped: tuple[str, ...] = ()
    asked: float = 0.0


@dataclass(frozen=True, slots=True)
class Store:
    """The cache folder; every `key` identifies a source."""

    folder: Path

    def load(self, key: str) -> Stored | None:
        """What is stored; None for nothing."""
        try:
            with self._file(key).open("rb") as lines:
                asked = os.fstat(lines.fileno()).st_mtime
                head = json_mapping(next(lines, b""))
                records = [json_mapping(line) for line in lines] if head.get("form") == _FORM else None
        except OSError:
            return None
        texts = [] if records is None else [_text(record) for record in records]
        if records is None or None in texts:
            return None
        stamps = {record["path"]: stamp for record in records if (stamp := as_text(record.get("stamp")))}
        etag, skipped = as_text(head.get("etag")) or "", tuple(texts_in(head.get("skipped")))
        return Stored(tuple(filter(None, texts)), stamps, etag, skipped, asked)

    def save(self, key: str, stored: Stored) -> None:
        """Store something; it replaces what was stored, and its time is now.

        Raises:
            OSError: if the file cannot be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        head = {"form": _FORM, "etag": stored.etag, "skipped": stored.skipped}
        records = (_record(text, stored.stamps.get(text.path, "")) for text in stored.texts)
        lines = (f"{json.dumps(line)}\n".encode() for line in chain([head], records))
        write_at_once(self._file(key), lines, 0o600)

    def forget(self, key: str) -> None:
        """Delete what is stored, if anything is."""
        with suppress(OSError):
            self._file(key).unlink(missing_ok=True)

    def view(self, path: str, text: str, ending: str = ".yaml") -> str | None:
        """The path of a read-only file with `text`, which every editor can show; None if it cannot be written.

        Used for texts that are not files: a server's items, web addresses, rules. `path` is the address of the text, or
        its name.
        """
        name = re.sub(r"[^\w.-]+", "-", path.rstrip("/").rpartition("/")[2])[:_LONGEST_NAME] or "item"
        file = self.folder / "views" / _hash(f"{path}\n{text}")[:16] / f"{name}{ending}"
        try:
            if not os.path.exists(file):
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_at_once(file, [text.encode("utf-8")], 0o400)
        except (OSError, UnicodeError):
            return None
        return str(file)

    def asked(self, key: str) -> float | None:
        """When something was stored, in seconds since 1970; None if nothing is."""
        try:
            return self._file(key).stat().st_mtime
        except OSError:
            return None

    def touch(self, key: str) -> None:
        """Set the time of what is stored to now, because it is still current."""
        with suppress(OSError):  # deleted in the meantime; it will be written again
            os.utime(self._file(key))

    def _file(self, key: str) -> Path:
        return self.folder / f"{_hash(key)[:40]}.jsonl"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _record(text: DefinitionText, stamp: str) -> dict[str, Any]:
    return {
        "path": text.path,
        "stamp": stamp,
        "item": text.item,
        "readsJobs": text.reads_jobs,
        "entangled": text.is_entangled,
        "fault": text.fault,
        "headers": [
            [one.name, one.type, one.summary, one.variables, one.span.start, one.span.end] for one in text.headers
        ],
        "text": text.text,
        "title": text.title,
        "template": [text.template.name, text.template.summary, text.template.text] if text.template else None,
    }


def _text(record: Mapping[str, Any]) -> DefinitionText | None:
    """The text of a record; None if it is malformed."""
    path, text, item, fault = (as_text(record.get(key)) for key in ("path", "text", "item", "fault"))
    if path is None or text is None or item is None or fault is None:
        return None
    headers = [_header(as_list(one), len(text)) for one in as_list(record.get("headers"))]
    template = texts_in(record.get("template"))
    if None in headers:
        return None
    return DefinitionText(
        path,
        text,
        item,
        tuple(filter(None, headers)),
        record.get("readsJobs") is True,
        record.get("entangled") is True,
        fault,
        title=as_text(record.get("title")) or "",
        template=JobTemplate(*template) if len(template) == _TEMPLATE_TEXTS else None,
    )


def _header(record: list[Any], length: int) -> DefinitionHeader | None:
    if len(record) != _HEADER_VALUES:
        return None
    name, kind, summary = map(as_text, record[:3])
    start, end = map(as_whole, record[4:])
    if name is None or kind is None or summary is None or start is None or end is None:
        return None
    if not 0 <= start <= end <= length:
        return None
    return DefinitionHeader(name, kind, summary, tuple(texts_in(record[3])), Span(start, end))
