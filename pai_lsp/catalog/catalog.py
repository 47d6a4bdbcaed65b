"""The catalogue: everything that is known at one moment of the definitions outside the jobs, ready to answer.

Three answers: found, not there, could not ask. "Not there" is only said when every source is known and its knowledge
is not old; of several definitions with one name the first source's counts, and in it the first text's.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.addresses import TYPES, AddressFault, AddressKind, read_address
from pai_lsp.catalog.lock import definition_hash
from pai_lsp.catalog.setup import CatalogSetup
from pai_lsp.catalog.shelf import Shelf, SourceState
from pai_lsp.catalog.web_page import WebPage, page_key, why_not_asked
from pai_lsp.frozen import dataclass, field, replace
from pai_lsp.lookup import LookupAnswer, LookupState, Offer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.catalog.definition_text import Card, DefinitionText
    from pai_lsp.catalog.lock import Lock, LockedDefinition

_BY_NAME = "marketplace://name/"
_BY_ITEM = "marketplace://prerequisites/itemId/"
_SCHEME = "marketplace://"
# What can stand in an address: see addresses.py.
_WORD = re.compile(r"[a-zA-Z0-9_-]{1,255}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the definition of a card is kept: which text of which shelf, and the card's number in the text."""

    shelf: Shelf
    text: DefinitionText
    number: int

    @property
    def card(self) -> Card:
        """The card."""
        return self.text.cards[self.number]

    @property
    def reference(self) -> str:
        """The address by the definition's name."""
        return _BY_NAME + self.card.name


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
        return replace(answer, changed=self.lock.fault) if self.lock.fault else answer

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find, by name first."""
        return self._names

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """The definitions to suggest where `typed` stands, at most so many: names that begin with it come first.

        As many forms of address as fit what is typed are offered: by name, unless another form is begun.
        """
        lower = typed.lower()
        if lower.startswith(_SCHEME) and not lower.startswith(_BY_NAME) and not _BY_NAME.startswith(lower):
            return self._offers_of_form(lower, most)
        sought = lower.removeprefix(_BY_NAME)
        if not sought or _BY_NAME.startswith(lower):
            found = [place for _, place in self._searched[:most]]
        else:
            begin = [place for name, place in self._searched if name.startswith(sought)]
            within = [place for name, place in self._searched if sought in name and not name.startswith(sought)]
            found = (begin + within)[:most]
        return tuple(_offer(place, place.reference) for place in found)

    def places(self) -> tuple[Place, ...]:
        """All definitions that can be found by their name, in the order of their names."""
        return tuple(place for _, place in self._searched)

    def place(self, reference: str) -> Place | None:
        """Where the first definition that an address names is kept; None for what is not found, or only locked."""
        found = self._index.get(reference)
        return found[0] if found else None

    def text(self, path: str) -> str | None:
        """The text that an answer's `path` means; None where nothing of it is kept."""
        for texts in (*(shelf.texts for shelf in self.shelves), self._page_texts):
            for text in texts:
                if path in {text.path, self.told(text.path)}:
                    return text.text
        return None

    def told(self, path: str) -> str:
        """A path as it is told to people."""
        if self.base and "://" not in path and Path(path).is_relative_to(self.base):
            return str(Path(path).relative_to(self.base))
        return path

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
    def _index(self) -> dict[str, tuple[Place, ...]]:
        """The places that each address of the marketplace names."""
        index: dict[str, tuple[Place, ...]] = {}
        for shelf in self.shelves:
            for text in shelf.texts:
                places = tuple(Place(shelf, text, number) for number in range(len(text.cards)))
                for place in places:
                    card = place.card
                    if not _WORD.fullmatch(card.name):
                        continue
                    index.setdefault(_BY_NAME + card.name, (place,))
                    if card.type in TYPES:
                        index.setdefault(f"{_SCHEME}{card.type}/{card.name}", (place,))
                if places and _WORD.fullmatch(text.item):
                    index.setdefault(_BY_ITEM + text.item, places)
        return index

    @cached_property
    def _names(self) -> tuple[str, ...]:
        def order(reference: str) -> tuple[bool, bool, str]:
            return not reference.startswith(_BY_NAME), reference.startswith(_BY_ITEM), reference

        locked = self.lock.entries if self.lock else {}
        return tuple(sorted({*self._index, *locked}, key=order))

    @cached_property
    def _searched(self) -> list[tuple[str, Place]]:
        """The definitions by name, with the name as searches see it."""
        found = [
            (reference.removeprefix(_BY_NAME).lower(), places[0])
            for reference, places in self._index.items()
            if reference.startswith(_BY_NAME)
        ]
        return sorted(found, key=lambda one: one[0])

    @property
    def _page_texts(self) -> tuple[DefinitionText, ...]:
        return tuple(page.text for page in self.pages.values() if page.text is not None)

    def _offers_of_form(self, typed: str, most: int) -> tuple[Offer, ...]:
        found: list[Offer] = []
        for reference in self._names:
            places = self._index.get(reference)
            if places and reference.lower().startswith(typed):
                found.append(_offer(places[0], reference))
                if len(found) == most:
                    break
        return tuple(found)

    def _known(self, reference: str, *, is_page: bool) -> LookupAnswer:
        """What the sources say, without the lock."""
        if is_page:
            return self._page(reference)
        places = self._index.get(reference)
        if places:
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


def _offer(place: Place, reference: str) -> Offer:
    card = place.card
    return Offer(reference, card.name, card.type, card.summary, card.variables)


def _told(text: DefinitionText) -> tuple[str, str]:
    return text.path, text.text
