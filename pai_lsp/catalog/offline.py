"""The catalogue of a run of the command line: read when the first address is asked for, and never from the network.

Most jobs name no address, and must not wait for a catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.catalog.setup import CatalogSetup
    from pai_lsp.lookup import Lookup, LookupAnswer, Offer


@dataclass(slots=True, eq=False)
class OfflineLookup:
    """Answers as the catalogue of `setup` does; it is read once."""

    setup: Callable[[], CatalogSetup]
    base: str
    _catalog: Lookup | None = None

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        return self._read().find(reference)

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find."""
        return self._read().names()

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """What to suggest."""
        return self._read().offers(typed, most)

    def _read(self) -> Lookup:
        if self._catalog is None:
            from pai_lsp.catalog.sources import Surroundings, load_catalog  # noqa: PLC0415 - as the file says

            self._catalog = load_catalog(self.setup(), Surroundings(base=self.base))
        return self._catalog
