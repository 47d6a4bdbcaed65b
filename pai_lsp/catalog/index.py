"""What is known of one source at one moment, and which address names which definition over all sources.

A source has its texts, the age of that knowledge, and what is wrong with it. The index also answers which of many
definitions a person may mean who types.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from pai_lsp.job.addresses import TYPES
from pai_lsp.job.lookup import Offer
from pai_lsp.source.frozen import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pai_lsp.catalog.definition_text import Card, DefinitionText


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
class Index:
    """The definitions of some shelves by their addresses; of several with one address the first shelf's counts.

    more: what else is offered, in place of what a shelf has under the same address.
    """

    shelves: tuple[Shelf, ...]
    more: tuple[Offer, ...] = ()

    def find(self, reference: str) -> tuple[Place, ...]:
        """The places that an address names."""
        return self._places.get(reference, ())

    @cached_property
    def references(self) -> tuple[str, ...]:
        """Every address that names something, by name first."""
        return in_order(self._places)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """All definitions that can be found by their name, in the order of their names."""
        found = (places[0] for reference, places in self._places.items() if reference.startswith(_BY_NAME))
        return tuple(sorted(found, key=lambda place: place.card.name.lower()))

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """The definitions to suggest where `typed` stands, at most so many: names that begin with it come first.

        They are offered by name, unless another form of address is begun.
        """
        lower = typed.lower()
        if lower.startswith(_SCHEME) and not lower.startswith(_BY_NAME) and not _BY_NAME.startswith(lower):
            begun = (reference for reference in self._offered if reference.lower().startswith(lower))
            return tuple(_offer(self._offered[reference], reference) for reference in islice(begun, most))
        sought = lower.removeprefix(_BY_NAME)
        if not sought or _BY_NAME.startswith(lower):
            found = self._searched[:most]
        else:
            begin = [one for one in self._searched if one[0].startswith(sought)]
            within = [one for one in self._searched if sought in one[0] and not one[0].startswith(sought)]
            found = [*begin, *within][:most]
        return tuple(_offer(self._offered[reference], reference) for _, reference in found)

    @cached_property
    def _places(self) -> dict[str, tuple[Place, ...]]:
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
    def _offered(self) -> dict[str, Place | Offer]:
        """Everything to offer by its address, in the order of lists."""
        found: dict[str, Place | Offer] = {reference: places[0] for reference, places in self._places.items()}
        found |= {offer.reference: offer for offer in self.more}
        return {reference: found[reference] for reference in in_order(found)}

    @cached_property
    def _searched(self) -> list[tuple[str, str]]:
        """The addresses by name, each behind its name as searches see it."""
        names = (one for one in self._offered if one.startswith(_BY_NAME))
        return sorted(((one.removeprefix(_BY_NAME).lower(), one) for one in names), key=lambda one: one[0])


def in_order(references: Iterable[str]) -> tuple[str, ...]:
    """Addresses as lists show them: those by name first, those by item last."""

    def order(reference: str) -> tuple[bool, bool, str]:
        return not reference.startswith(_BY_NAME), reference.startswith(_BY_ITEM), reference

    return tuple(sorted(references, key=order))


def _offer(found: Place | Offer, reference: str) -> Offer:
    return found if isinstance(found, Offer) else card_offer(found.card, reference)


def card_offer(card: Card, reference: str) -> Offer:
    """A definition as it is offered under an address."""
    return Offer(reference, card.name, card.type, card.summary, card.variables)


# Knowledge that is older, in seconds, is no reason any more to say that something is not there.
FRESH = 24 * 60 * 60


class SourceState(Enum):
    """How well a source is known; from the best to the worst."""

    READY = "ready"
    STALE = "stale"
    UNTRUSTED = "untrusted"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Shelf:
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
        return sum(len(text.cards) for text in self.texts)


def age(seconds: float) -> str:
    """How long ago something was, in words."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"
