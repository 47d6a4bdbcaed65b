"""One project's marketplace in the server: what its documents ask, and what is going on with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pai_lsp.lookup import Lookup, LookupAnswer, LookupState, NoLookup

if TYPE_CHECKING:
    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.setup import CatalogSetup


class _NotReadYet(NoLookup):
    """The catalogue of a project that was met a moment ago."""

    def find(self, reference: str) -> LookupAnswer:
        del reference
        return LookupAnswer(LookupState.UNKNOWN, note="the marketplace is being read")


class Project:
    """One setup and what is known of it.

    catalog: what the project's documents have; None until it was read from the disk.
    latest: the same, or one that says the same and was read later.
    is_to_be_read: whether a reading is planned that has not begun.
    """

    def __init__(self, setup: CatalogSetup) -> None:
        self.setup = setup
        self.catalog: Catalog | None = None
        self.latest: Catalog | None = None
        self.is_to_be_read = False
        self.is_read = asyncio.Event()
        self.is_wanted = asyncio.Event()
        self.at_work = asyncio.Lock()

    @property
    def lookup(self) -> Lookup:
        """What the project's documents ask."""
        return self.catalog or _NotReadYet()
