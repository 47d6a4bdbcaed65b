"""The catalog: all definitions outside the jobs that are known at one moment.

A lookup has three results: found, absent, unknown. The result is "absent" only if every source is known and up to date.
If several definitions have one name, the first source wins, and within it the first text.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.definition_text import header_of
from pai_lsp.catalog.lock import definition_hash
from pai_lsp.catalog.remote_sources import NOT_LOADED_NOTE, WebPage, page_key, why_not_asked
from pai_lsp.catalog.setup import CatalogSetup, SourceState
from pai_lsp.job.lookup import (
    BY_ITEM,
    BY_NAME,
    ITEM_ID,
    MARKETPLACE,
    AddressFault,
    LookupAnswer,
    LookupState,
    SuggestedDefinition,
    displayed_path,
    read_address,
)
from pai_lsp.platform.tables import PREREQUISITE_NAME, TYPES
from pai_lsp.source.frozen import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pai_lsp.catalog.definition_text import DefinitionHeader, DefinitionText
    from pai_lsp.catalog.lock import Lock, LockedDefinition
    from pai_lsp.catalog.store import LoadedSource
    from pai_lsp.job.lookup import JobTemplate


@dataclass(frozen=True, eq=False)
class Catalog:
    """What is known of the sources of `setup`: an immutable value.

    sources: one for each source, in the setup's order.
    pages: single web addresses, by `page_key`.
    pages_asked: when those were last asked, in seconds since 1970.
    base: a folder; paths below it are displayed relative to it. Empty for none.
    """

    setup: CatalogSetup = field(default_factory=CatalogSetup)
    sources: tuple[LoadedSource, ...] = ()
    pages: Mapping[str, WebPage] = field(default_factory=dict)
    pages_asked: float | None = None
    lock: Lock | None = None
    base: str = ""

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        address = read_address(reference)
        if isinstance(address, AddressFault):
            return LookupAnswer(LookupState.ABSENT, note=address.message)
        if self.lock and (locked := self.lock.entries.get(reference)):
            return replace(self._locked(reference, locked, self.lock), title=self._title(reference))
        answer = self._known(reference)
        return replace(answer, lock_fault=self.lock.fault) if self.lock and self.lock.fault else answer

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find, by name first."""
        return self._names

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        """At most `most` definitions that match what is `typed`; names that begin with it come first.

        The suggested addresses are those by name, unless another form of address is begun or needed. The typed text may
        also be a part of the title of a server's item.
        """
        lower = typed.lower()
        if lower.startswith(_SCHEME) and not lower.startswith(BY_NAME) and not BY_NAME.startswith(lower):
            begun = (reference for reference in self._suggested if reference.lower().startswith(lower))
            return tuple(self._suggested[reference] for reference in islice(begun, most))
        sought = lower.removeprefix(BY_NAME)
        if not sought or BY_NAME.startswith(lower):
            by_item = (one for one in self._titled if one[1].startswith(BY_ITEM))
            found = [*self._searched, *by_item][:most]
        else:
            begin = [one for one in self._searched if one[0].startswith(sought)]
            within = [one for one in self._searched if sought in one[0] and not one[0].startswith(sought)]
            titled = [one for one in self._titled if sought in one[0]]
            found = [*begin, *within, *titled]
        references = list(dict.fromkeys(reference for _, reference in found))[:most]
        return tuple(self._suggested[reference] for reference in references)

    def job_templates(self) -> tuple[JobTemplate, ...]:
        """The jobs to begin a new one with, in the order of their names."""
        found = (text.template for source in self.sources for text in source.texts if text.template is not None)
        return tuple(sorted(found, key=lambda one: one.name.lower()))

    def entries(self) -> tuple[CatalogEntry, ...]:
        """All definitions that can be found by their name, in the order of their names."""
        found = (entries[0] for reference, entries in self._by_address.items() if reference.startswith(BY_NAME))
        return tuple(sorted(found, key=lambda entry: entry.header.name.lower()))

    def text(self, path: str) -> str | None:
        """The text at the `path` of an answer; None if it is not known."""
        found = self._texts.get(path) or self._texts.get(str(Path(self.base) / path))
        return found.text if found else None

    def prepared(self) -> Catalog:
        """The catalog itself, after its index is built."""
        self.names()
        self.suggestions("", 1)
        return self

    def displayed(self, path: str) -> str:
        """A path as messages show it."""
        return displayed_path(path, self.base)

    @property
    def state(self) -> SourceState | None:
        """The worst state of all sources; None without any."""
        order = list(SourceState)
        states = [source.state for source in self.sources] + [page.state for page in self.pages.values()]
        return max(states, key=order.index, default=None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Messages about the sources and addresses that are unknown or out of date."""
        found = (f"{one.path}: {one.note}" for one in self.pages.values() if one.state is not SourceState.READY)
        return (*self._source_doubts, *found)

    def has_same_answers(self, other: Catalog) -> bool:
        """Whether both give the same answers, except for their age."""
        return self._knowledge == other._knowledge

    @property
    def _source_doubts(self) -> tuple[str, ...]:
        unsure = (source for source in self.sources if source.state is not SourceState.READY)
        return tuple(f"{source.label}: {source.note}" for source in unsure)

    @cached_property
    def _knowledge(self) -> object:
        """Everything that the answers depend on."""
        sources = [(one.label, one.state, one.skipped, list(map(_content, one.texts))) for one in self.sources]
        pages = [(key, page.state, page.text and _content(page.text)) for key, page in sorted(self.pages.items())]
        entries = self.lock.entries.items() if self.lock else ()
        locked = {name: [one.sha256 for one in definitions] for name, definitions in entries}
        return self.setup, sources, pages, self.doubts, locked, self.lock and self.lock.fault

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return _in_order({*self._by_address, *(self.lock.entries if self.lock else ())})

    @cached_property
    def _by_address(self) -> dict[str, tuple[CatalogEntry, ...]]:
        index: dict[str, tuple[CatalogEntry, ...]] = {}
        for source in self.sources:
            for text in source.texts:
                entries = tuple(CatalogEntry(source, text, number) for number in range(len(text.headers)))
                for entry in entries:
                    header = entry.header
                    if not PREREQUISITE_NAME.fullmatch(header.name):
                        continue
                    index.setdefault(BY_NAME + header.name, (entry,))
                    if header.type in TYPES:
                        index.setdefault(f"{_SCHEME}{header.type}/{header.name}", (entry,))
                if entries and ITEM_ID.fullmatch(text.item):
                    index.setdefault(BY_ITEM + text.item, entries)
        return index

    @cached_property
    def _suggested(self) -> dict[str, SuggestedDefinition]:
        """All suggestions by address, in display order; see `Lookup.suggestions`."""
        found = {
            reference: _suggestion(entries[0].header, reference, entries[0].title)
            for reference, entries in self._by_address.items()
            if any(entry.header.type != "dockerimage" for entry in entries)
        }
        found |= {one.reference: one for one in self._locked_suggestions() if one.type != "dockerimage"}
        return {reference: found[reference] for reference in _in_order(found)}

    @cached_property
    def _searched(self) -> list[tuple[str, str]]:
        """Pairs of the lower-case name and the address, for the addresses by name."""
        names = (one for one in self._suggested if one.startswith(BY_NAME))
        return sorted(((one.removeprefix(BY_NAME).lower(), one) for one in names), key=lambda one: one[0])

    @cached_property
    def _titled(self) -> list[tuple[str, str]]:
        """Pairs of an item's lower-case title and an address: by name where that finds the item's only definition."""
        found: list[tuple[str, str]] = []
        for reference, entries in self._by_address.items():
            title = entries[0].text.title
            if not title or not reference.startswith(BY_ITEM) or reference not in self._suggested:
                continue
            useful = [one for one in entries if one.header.type != "dockerimage"]
            is_named = len(useful) == 1 and self._by_address.get(useful[0].reference) == (useful[0],)
            found.append((title.lower(), useful[0].reference if is_named else reference))
        return sorted(found)

    @cached_property
    def _texts(self) -> dict[str, DefinitionText]:
        """All texts by path; of several with one path the first."""
        pages = (page.text for page in self.pages.values() if page.text is not None)
        texts = [*(text for source in self.sources for text in source.texts), *pages]
        return {text.path: text for text in reversed(texts)}

    def _locked_suggestions(self) -> Iterator[SuggestedDefinition]:
        """The definitions in the lock file itself."""
        for reference, locked in self.lock.entries.items() if self.lock else ():
            held = [one.definition for one in locked if one.definition is not None]
            if len(held) == len(locked):
                yield _suggestion(header_of(held[0]), reference)

    def _known(self, reference: str) -> LookupAnswer:
        """The answer of the sources, without the lock."""
        if not reference.startswith(_SCHEME):
            return self._page(reference)
        if entries := self._by_address.get(reference, ()):
            first = entries[0]
            definitions = tuple(entry.text.definition(entry.number) for entry in entries)
            path = self.displayed(first.text.path)
            return LookupAnswer(LookupState.FOUND, definitions, first.source.note, path, title=self._title(reference))
        if not self.sources:
            return LookupAnswer(LookupState.UNKNOWN, note="no marketplace is configured")
        if doubts := self._source_doubts:
            return LookupAnswer(LookupState.UNKNOWN, note="; ".join(doubts))
        skipped = [note for source in self.sources for note in source.skipped]
        more = f", and {len(skipped) - 1} more" if skipped[1:] else ""
        return LookupAnswer(LookupState.ABSENT, note=f"{skipped[0]}{more}" if skipped else "")

    def _title(self, reference: str) -> str:
        return next((entry.title for entry in self._by_address.get(reference, ()) if entry.title), "")

    def _page(self, address: str) -> LookupAnswer:
        if reason := why_not_asked(address, self.setup.allowed_hosts):
            return LookupAnswer(LookupState.UNKNOWN, note=reason)
        page = self.pages.get(page_key(address), WebPage("", None, SourceState.UNREACHABLE, NOT_LOADED_NOTE))
        text = page.text
        if text and text.headers:
            return LookupAnswer(LookupState.FOUND, text.definitions(), page.note, text.path)
        if text and text.fault:
            return LookupAnswer(LookupState.UNKNOWN, note=f"the file at this address cannot be read: {text.fault}")
        if page.state is SourceState.READY:
            note = "the file at this address has no definition" if text else page.note
            return LookupAnswer(LookupState.ABSENT, note=note)
        return LookupAnswer(LookupState.UNKNOWN, note=page.note)

    def _locked(self, reference: str, locked: tuple[LockedDefinition, ...], lock: Lock) -> LookupAnswer:
        """The locked definitions; for those in the project, the file itself, marked if it differs from the lock."""
        held = tuple(one.definition for one in locked if one.definition is not None)
        path = self.displayed(lock.path)
        if len(held) == len(locked):
            return LookupAnswer(LookupState.FOUND, held, "locked", path)
        live = self._known(reference)
        if live.state is not LookupState.FOUND:
            return live
        wanted = sorted(one.sha256 for one in locked)
        if wanted == sorted(map(definition_hash, live.definitions)):
            return live
        changed = f"it differs from '{Path(path).name}'; run 'pai-lsp marketplace lock' to accept the change"
        return replace(live, changed=changed)


def _content(text: DefinitionText) -> tuple[str, str, JobTemplate | None, str]:
    return text.path, text.text, text.template, text.title


_SCHEME = f"{MARKETPLACE}://"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One definition: its source, its text, and its number in `text.headers`."""

    source: LoadedSource
    text: DefinitionText
    number: int

    @property
    def header(self) -> DefinitionHeader:
        """The definition's name, type, summary and variables."""
        return self.text.headers[self.number]

    @property
    def title(self) -> str:
        """The title of the server's item; empty for none, and for the images that an item's job runs in."""
        return "" if self.header.type == "dockerimage" else self.text.title

    @property
    def reference(self) -> str:
        """The address by the definition's name."""
        return BY_NAME + self.header.name


def _in_order(references: Iterable[str]) -> tuple[str, ...]:
    """Addresses in display order: those by name first, those by item last."""

    def order(reference: str) -> tuple[bool, bool, str]:
        return not reference.startswith(BY_NAME), reference.startswith(BY_ITEM), reference

    return tuple(sorted(references, key=order))


def _suggestion(header: DefinitionHeader, reference: str, title: str = "") -> SuggestedDefinition:
    """The suggestion of a definition under an address."""
    return SuggestedDefinition(reference, header.name, header.type, header.summary, header.variables, title)
