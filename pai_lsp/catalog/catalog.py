"""The catalogue: everything that is known at one moment of the definitions outside the jobs, ready to answer.

Three answers: found, not there, could not ask. "Not there" is only said when every source is known and its knowledge
is not old; of several definitions with one name the first source's counts, and in it the first text's.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.definition_text import card_of
from pai_lsp.catalog.index import Index, Place, Shelf, SourceState, card_offer, in_order
from pai_lsp.catalog.lock import definition_hash
from pai_lsp.catalog.setup import CatalogSetup
from pai_lsp.catalog.web_source import WebPage, page_key, why_not_asked
from pai_lsp.job.addresses import AddressFault, AddressKind, read_address
from pai_lsp.job.lookup import LookupAnswer, LookupState, Offer, told_path
from pai_lsp.source.frozen import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pai_lsp.catalog.definition_text import DefinitionText
    from pai_lsp.catalog.lock import Lock, LockedDefinition


@dataclass(frozen=True, eq=False)
class Catalog:
    """What is known of the sources of `setup`; a value: whoever learns more makes another one.

    shelves: one for each source, in the setup's order.
    pages: what is known of single web addresses, by `page_key`; `pages_asked` when that was, in seconds since 1970.
    base: a folder; paths below it are told from there on. Empty to tell them as they are.
    """

    setup: CatalogSetup = field(default_factory=CatalogSetup)
    shelves: tuple[Shelf, ...] = ()
    pages: Mapping[str, WebPage] = field(default_factory=dict)
    pages_asked: float | None = None
    lock: Lock | None = None
    base: str = ""

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        address = read_address(reference)
        if isinstance(address, AddressFault):
            return LookupAnswer(LookupState.ABSENT, note=address.message)
        is_page = address.kind is AddressKind.WEB
        if self.lock is None:
            return self._known(reference, is_page=is_page)
        if locked := self.lock.entries.get(reference):
            return self._locked(reference, locked)
        answer = self._known(reference, is_page=is_page)
        return replace(answer, lock_fault=self.lock.fault) if self.lock.fault else answer

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find, by name first."""
        if self.lock is None or not self.lock.entries:
            return self._index.references
        return in_order({*self._index.references, *self.lock.entries})

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """The definitions to suggest where `typed` stands, at most so many; see `Index.offers`."""
        return self._index.offers(typed, most)

    def places(self) -> tuple[Place, ...]:
        """All definitions that can be found by their name, in the order of their names."""
        return self._index.places

    def text(self, path: str) -> str | None:
        """The text that an answer's `path` means; None where nothing of it is kept."""
        found = self._texts.get(path) or self._texts.get(str(Path(self.base) / path))
        return found.text if found else None

    def prepared(self) -> Catalog:
        """The catalogue itself, after everything that answers are made of was put in order."""
        self.names()
        self.offers("", 1)
        return self

    def told(self, path: str) -> str:
        """A path as it is told to people."""
        return told_path(path, self.base)

    @property
    def state(self) -> SourceState | None:
        """The worst state of all sources; None without any."""
        order = list(SourceState)
        states = [shelf.state for shelf in self.shelves] + [page.state for page in self.pages.values()]
        return max(states, key=order.index, default=None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why sources and addresses are not known as well as they could be, in words."""
        pages = ((page.text.path if page.text else "a web address", page.state, page.note) for page in self._pages)
        found = (f"{name}: {note}" for name, state, note in pages if state is not SourceState.READY)
        return (*self._shelf_doubts, *found)

    def says_the_same(self, other: Catalog) -> bool:
        """Whether the two give the same answers, but for the age of what is known."""
        return self._knowledge == other._knowledge and self._locked_hashes == other._locked_hashes

    @property
    def _shelf_doubts(self) -> tuple[str, ...]:
        unsure = (shelf for shelf in self.shelves if shelf.state is not SourceState.READY)
        return tuple(f"{shelf.label}: {shelf.note}" for shelf in unsure)

    @property
    def _pages(self) -> tuple[WebPage, ...]:
        return tuple(self.pages.values())

    @cached_property
    def _knowledge(self) -> object:
        """All that answers are made of."""
        shelves = [(shelf.label, shelf.state, shelf.skipped, list(map(_told, shelf.texts))) for shelf in self.shelves]
        pages = [(key, page.state, page.text and _told(page.text)) for key, page in sorted(self.pages.items())]
        return self.setup, shelves, pages, self.doubts

    @cached_property
    def _locked_hashes(self) -> object:
        if self.lock is None:
            return None
        entries = {name: [one.sha256 for one in locked] for name, locked in self.lock.entries.items()}
        return entries, self.lock.fault

    @cached_property
    def _index(self) -> Index:
        return Index(self.shelves, tuple(self._locked_offers()))

    @cached_property
    def _texts(self) -> dict[str, DefinitionText]:
        """All texts by their path; of several with one path the first."""
        pages = (page.text for page in self.pages.values() if page.text is not None)
        texts = [*(text for shelf in self.shelves for text in shelf.texts), *pages]
        return {text.path: text for text in reversed(texts)}

    def _locked_offers(self) -> Iterator[Offer]:
        """What the lock file holds itself."""
        for reference, locked in self.lock.entries.items() if self.lock else ():
            held = [one.definition for one in locked if one.definition is not None]
            if len(held) == len(locked):
                yield card_offer(card_of(held[0]), reference)

    def _known(self, reference: str, *, is_page: bool) -> LookupAnswer:
        """What the sources say, without the lock."""
        if is_page:
            return self._page(reference)
        if places := self._index.find(reference):
            first = places[0]
            definitions = tuple(place.text.definition(place.number) for place in places)
            return LookupAnswer(LookupState.FOUND, definitions, first.shelf.note, self.told(first.text.path))
        if not self.shelves:
            return LookupAnswer(LookupState.UNKNOWN, note="no marketplace is configured")
        if doubts := self._shelf_doubts:
            return LookupAnswer(LookupState.UNKNOWN, note="; ".join(doubts))
        skipped = [note for shelf in self.shelves for note in shelf.skipped]
        more = f", and {len(skipped) - 1} more" if skipped[1:] else ""
        return LookupAnswer(LookupState.ABSENT, note=f"{skipped[0]}{more}" if skipped else "")

    def _page(self, address: str) -> LookupAnswer:
        if reason := why_not_asked(address, self.setup.allowed_hosts):
            return LookupAnswer(LookupState.UNKNOWN, note=reason)
        page = self.pages.get(page_key(address))
        if page is None:
            return LookupAnswer(LookupState.UNKNOWN, note="it was not asked yet; see 'pai-lsp marketplace refresh'")
        if page.text is not None and page.text.cards:
            return LookupAnswer(LookupState.FOUND, page.text.definitions(), page.note, page.text.path)
        if page.text is not None and page.text.fault:
            return LookupAnswer(LookupState.UNKNOWN, note=f"what stands there can not be read: {page.text.fault}")
        if page.state is SourceState.READY:
            return LookupAnswer(LookupState.ABSENT, note="no definition stands there" if page.text else page.note)
        return LookupAnswer(LookupState.UNKNOWN, note=page.note)

    def _locked(self, reference: str, locked: tuple[LockedDefinition, ...]) -> LookupAnswer:
        """What is locked; of what lies in the project, the file itself, with a word when it is another one now."""
        held = tuple(one.definition for one in locked if one.definition is not None)
        path = self.told(self.lock.path) if self.lock else None
        if len(held) == len(locked):
            return LookupAnswer(LookupState.FOUND, held, "locked", path)
        live = self._known(reference, is_page=False)
        if live.state is not LookupState.FOUND:
            return live
        wanted = sorted(one.sha256 for one in locked)
        if wanted == sorted(map(definition_hash, live.definitions)):
            return live
        changed = f"it is not what '{Path(path or '').name}' holds; see 'pai-lsp marketplace lock'"
        return replace(live, changed=changed)


def _told(text: DefinitionText) -> tuple[str, str]:
    return text.path, text.text
