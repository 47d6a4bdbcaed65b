"""The catalogue of a run of the command line: read when the first address is asked for.

Most jobs name no address, and must not wait for a catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.lookup import Lookup, LookupAnswer, Offer


@dataclass(slots=True, eq=False)
class LazyLookup:
    """Answers as the lookup does that `read` gives, which is called at most once."""

    read: Callable[[], Lookup]
    _known: Lookup | None = None

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        return self._lookup().find(reference)

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find."""
        return self._lookup().names()

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """What to suggest where `typed` stands."""
        return self._lookup().offers(typed, most)

    def _lookup(self) -> Lookup:
        if self._known is None:
            self._known = self.read()
        return self._known
