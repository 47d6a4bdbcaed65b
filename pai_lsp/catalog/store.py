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
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pai_lsp.catalog.definition_text import DefinitionHeader, DefinitionText
from pai_lsp.catalog.setup import SourceState
from pai_lsp.job.lookup import JobTemplate
from pai_lsp.source.files import write_at_once
from pai_lsp.source.foreign import json_value
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import Span
from pai_lsp.source.user_folders import user_cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from pai_lsp.catalog.setup import CatalogSetup, ServerSource
    from pai_lsp.web.fetching import Limits


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
    etag: the ETag of the server's last answer.
    asked: when a server was last asked, whether it answered or not, in seconds since 1970; None for never, and for a
        folder. Of what the cache has, when it was stored.
    """

    label: str = ""
    texts: tuple[DefinitionText, ...] = ()
    state: SourceState = SourceState.READY
    note: str = ""
    skipped: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict, repr=False)
    etag: str = ""
    asked: float | None = None

    @property
    def count(self) -> int:
        """The number of its definitions."""
        return sum(len(text.headers) for text in self.texts)

    @property
    def seconds(self) -> float:
        """The time since it was asked, in seconds."""
        return time.time() - (self.asked or 0)


def age(seconds: float) -> str:
    """A time span in words: "3 hours ago"."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{plural(int(seconds // length), unit)} ago"
    return "just now"


# The version of the file format; files of other versions are ignored.
_FORM = 5
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Store:
    """The cache folder; every `key` identifies a source."""

    folder: Path

    def load(self, key: str) -> LoadedSource | None:
        """What is stored of a source; None for nothing."""
        try:
            with self._file(key).open("rb") as file:
                asked, (*lines, digest) = os.fstat(file.fileno()).st_mtime, file.read().split(b"\n")
        except OSError:
            return None
        if digest != _digest(lines):
            return None
        (etag, skipped), *records = map(json_value, lines)
        texts = tuple(_text(*record) for record, _ in records)
        stamps = {text.path: stamp for text, (_, stamp) in zip(texts, records, strict=True) if stamp}
        return LoadedSource(texts=texts, skipped=tuple(skipped), stamps=stamps, etag=etag, asked=asked)

    def save(self, key: str, source: LoadedSource) -> None:
        """Store the texts of a source; they replace what was stored, and their time is now.

        Raises:
            OSError: if the file cannot be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        records = ((_record(text), source.stamps.get(text.path, "")) for text in source.texts)
        lines = [json.dumps(one).encode() for one in ((source.etag, source.skipped), *records)]
        write_at_once(self._file(key), (b"\n".join((*lines, _digest(lines))),), 0o600)

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


def _digest(lines: list[bytes]) -> bytes:
    """The last line of a file, by which one that is damaged, or of another version, is known."""
    return hashlib.sha256(b"\n".join((b"%d" % _FORM, *lines))).hexdigest().encode()


def _record(text: DefinitionText) -> tuple[Any, ...]:
    headers = [(one.name, one.type, one.summary, one.variables, one.span.start, one.span.end) for one in text.headers]
    template = text.template and (text.template.name, text.template.summary, text.template.text)
    about = (text.reads_jobs, text.is_entangled, text.fault, template, text.title)
    return text.path, text.text, text.item, headers, *about


def _text(path: str, text: str, item: str, headers: list[Any], *about: Any) -> DefinitionText:
    """The text of a record."""
    read = tuple(
        DefinitionHeader(name, kind, summary, tuple(variables), Span(start, end))
        for name, kind, summary, variables, start, end in headers
    )
    reads_jobs, is_entangled, fault, template, title = about
    known = JobTemplate(*template) if template else None
    return DefinitionText(path, text, item, read, reads_jobs, is_entangled, fault, known, title)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What loading a catalog needs besides its setup.

    is_trusted: whether requests may be sent, and commands run, because the project's configuration is trusted.
        Sources in the user's own configuration need no trust.
    workspace: without trust, only directories in these folders are read; None for every directory of this machine.
    base: see `Catalog.base`.
    pause: called between texts, so that the caller can let other work run.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    is_trusted: bool = True
    workspace: tuple[str, ...] | None = None
    base: str = ""
    limits: Limits | None = None
    pause: Callable[[], None] = lambda: None

    @property
    def store(self) -> Store:
        """The user's cache."""
        return Store(user_cache_folder(self.environment))

    def servers_of(self, setup: CatalogSetup) -> tuple[ServerSource, ...]:
        """The servers that may be asked."""
        return setup.servers if self.is_trusted else tuple(one for one in setup.servers if one in setup.own.sources)

    def hosts_of(self, setup: CatalogSetup) -> frozenset[str]:
        """The hosts from which single addresses may be fetched."""
        return setup.allowed_hosts if self.is_trusted else setup.own.allowed_hosts
