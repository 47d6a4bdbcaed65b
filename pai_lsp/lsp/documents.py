"""Open documents, each an immutable snapshot of one version, and the other files that their answers lead to.

Helix 25.01 sometimes sends fast changes in the wrong order. The versions show the right order, so that a late change is
applied where it belongs instead of damaging the text from then on.
"""

from __future__ import annotations

import os
import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from pai_lsp.findings.diagnostic import Settings, Severity, causes, limited
from pai_lsp.job.lookup import Lookup, NoLookup
from pai_lsp.lsp.convert import Places, changed_text, workspace_edit
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.source.files import UnreadableFile, decoded, read_bytes
from pai_lsp.source.frozen import dataclass, field, lazy, replace
from pai_lsp.source.text import LineIndex, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pai_lsp.catalog.setup import CatalogFolder
    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.lsp.client import Client
    from pai_lsp.project.image_answers import AskedImages
    from pai_lsp.project.shellcheck import ShellCheck
    from pai_lsp.source.text import TextEdit


# How many changes are kept; none was seen that arrived after more than two later ones.
REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Change:
    """A change as the client sent it: from which version to which, and the text that it was applied to."""

    former_version: int
    version: int
    events: Sequence[lsp.TextDocumentContentChangeEvent]
    text_before: str


JOB_LANGUAGE = "openpai-job"


class FileKind(Enum):
    """The kind of a file; any other YAML has no diagnostics."""

    JOB = "job"
    CONFIGURATION = "configuration"
    MPIJOB = "mpijob"
    OTHER = "other"


# The editor's setting for the findings that a baseline accepts.
ACCEPTED = "acceptedFindings"
# What the characters of a word of a job are: a key, a name, a variable, an option.
_OF_WORD = re.compile(r"[\w.$-]*")
_WORD_BEFORE = re.compile(r"[\w.$-]{0,200}\Z")

# The files with findings that fixes and comments are about.
CHECKED_BY_RULES = frozenset({FileKind.JOB, FileKind.MPIJOB})


@dataclass(frozen=True, slots=True)
class FileContext:
    """What applies to a file; an edit does not change it. A document has the same answers in two that are equal.

    is_excluded: whether the configuration leaves this file out; then it has no diagnostics.
    lookup: finds definitions outside of the document.
    catalog_folder: the folder of definitions that it is in; None for any other file.
    switched_off: the names of the inlay hints and lenses that are not shown, and `ACCEPTED`.
    folder: its workspace folder, which the paths of other files are shown relative to; empty for none.
    """

    settings: Settings = field(default_factory=Settings)
    is_excluded: bool = False
    lookup: Lookup = field(default_factory=NoLookup)
    catalog_folder: CatalogFolder | None = None
    switched_off: frozenset[str] = frozenset()
    folder: str = field(default="", compare=False)


@dataclass(frozen=True)
class OpenDocument:
    """One version of a document that is open in the client.

    path: the name of the file in reports and rules.
    language: the client's name for its language.
    shellcheck: the ShellCheck that reads its commands, and its findings.
    images: the answers of registries about images.
    changes: the last changes that led to this version, oldest first.
    """

    uri: str
    version: int
    language: str
    text: str
    path: str
    client: Client
    context: FileContext = field(default_factory=FileContext)
    shellcheck: ShellCheck | None = None
    images: AskedImages | None = None
    changes: tuple[Change, ...] = field(default=(), repr=False)

    def changed(self, version: int, events: Sequence[lsp.TextDocumentContentChangeEvent]) -> OpenDocument:
        """The document after a change, which comes last, or before the changes that have overtaken it."""
        changes = self.changes
        overtaken = next((n for n, one in enumerate(changes) if one.former_version < version < one.version), None)
        if overtaken is None:
            change = Change(self.version, version, events, self.text)
            text = changed_text(self.lines, events, self.client.unit)
            return replace(self, version=version, text=text, changes=(*changes, change)[-REMEMBERED:])
        first = changes[overtaken]
        before = replace(self, version=first.former_version, text=first.text_before, changes=changes[:overtaken])
        found = before.changed(version, events)
        for change in changes[overtaken:]:
            found = found.changed(change.version, change.events)
        return found

    @lazy
    def lines(self) -> LineIndex:
        """Where the lines begin: both for the places of this version and for the change that leads to the next."""
        return LineIndex(self.text)

    @lazy
    def document(self) -> Document:
        """The snapshot for the analysis."""
        from pai_lsp.document import Document  # noqa: PLC0415 - loaded when the client is connected

        document = Document(self.text, self.context.settings, self.path, self.context.lookup)
        return document if self.language == JOB_LANGUAGE else document.in_folder(self.context.catalog_folder)

    @lazy
    def places(self) -> Places:
        """Translates between offsets and the client's positions."""
        return Places(self.lines, self.client.unit)

    def edit(self, edits: Iterable[TextEdit]) -> lsp.WorkspaceEdit:
        """The edits of this version, as the client takes them."""
        return workspace_edit(edits, self.uri, self.version, self.places, self.client)

    @lazy
    def unfinished(self) -> Span | None:
        """The word that the user is typing: the last change wrote or removed one character of it.

        The protocol does not report where the cursor is; pasted, completed or ended words do not count.
        """
        events = self.changes[-1].events if self.changes else ()
        if len(events) != 1 or not isinstance(events[0], lsp.TextDocumentContentChangePartial):
            return None
        typed, place = events[0].text, events[0].range
        changed = place.end.character - place.start.character + len(typed)
        if place.start.line != place.end.line or changed != 1 or not _OF_WORD.fullmatch(typed):
            return None
        at = self.places.offset(place.start)
        before, after = _WORD_BEFORE.search(self.text, 0, at), _OF_WORD.match(self.text, at)
        word = Span(before.start() if before else at, after.end() if after else at)
        return word if len(word) else None

    @lazy
    def kind(self) -> FileKind:
        """A job is known by the language the editor gave it, its name or its root; definitions count as jobs."""
        if os.path.basename(self.path) == FILE_NAME:  # noqa: PTH119 - asked after each edit
            return FileKind.CONFIGURATION
        if self.document.is_mpijob:
            return FileKind.MPIJOB
        is_ours = self.language == JOB_LANGUAGE or self.document.is_job or self.document.is_catalog
        return FileKind.JOB if is_ours else FileKind.OTHER

    @property
    def _of_others(self) -> tuple[Diagnostic, ...]:
        of_shellcheck = self.shellcheck.diagnostics(self.document) if self.shellcheck is not None else ()
        return (*of_shellcheck, *self.images.diagnostics(self.document)) if self.images is not None else of_shellcheck

    @property
    def _found(self) -> tuple[Diagnostic, ...]:
        """All findings; those that a baseline accepts are hints, or left out."""
        document, others = self.document, self._of_others
        from pai_lsp.document import check  # noqa: PLC0415 - as in `OpenDocument.document`

        found = check(document, others=others) if others else document.diagnostics
        if not document.settings.accepted:
            return found
        from pai_lsp.project.baseline import is_accepted  # noqa: PLC0415 - few projects have one

        old = is_accepted(found, document.settings.accepted)
        if ACCEPTED in self.context.switched_off:
            return tuple(one for one in found if one.code not in old)
        return tuple(replace(one, severity=Severity.HINT) if one.code in old else one for one in found)

    @lazy
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics by place, none while the file is empty; no message contains the value of a secret."""
        if not self.text.strip():
            return ()
        if self.kind in CHECKED_BY_RULES and not self.context.is_excluded:
            found, hidden = limited(causes(self._found, keeps_places=True)), self.document.job.hidden
            return tuple(one.without_secrets(hidden) for one in found)
        if self.kind is FileKind.CONFIGURATION:
            from pai_lsp.project.config_reader import parse_configuration  # noqa: PLC0415 - rarely open

            return parse_configuration(self.text).diagnostics
        return ()


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

    lookup = document.context.lookup
    text = lookup.text(path) if isinstance(lookup, Catalog) else None
    shown: str | None = path
    if "://" in path:  # a read-only file has the text that the catalog keeps for an address
        from pai_lsp.catalog.store import Surroundings  # noqa: PLC0415 - few places are in a marketplace

        shown = Surroundings().store.view(path, text) if text is not None else None
    elif text is None:
        source = decoded(path, read_bytes(path))
        text = None if isinstance(source, UnreadableFile) else source.text
    uri = from_fs_path(shown) if shown is not None else None
    return FilePlaces(uri, Places(LineIndex(text), document.client.unit)) if uri and text is not None else None
