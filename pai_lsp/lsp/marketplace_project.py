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
    latest: what is known without the files that are being written, which count in `catalog`.
    is_to_be_read, is_to_be_shown: whether a reading, or taking over what is written, is planned and has not begun.
    effort: how long it took last time to take over what is written, in seconds.
    """

    def __init__(self, setup: CatalogSetup) -> None:
        self.setup = setup
        self.catalog: Catalog | None = None
        self.latest: Catalog | None = None
        self.is_to_be_read = False
        self.is_to_be_shown = False
        self.effort = 0.0
        self.is_read = asyncio.Event()
        self.is_wanted = asyncio.Event()
        self.at_work = asyncio.Lock()
        self.at_showing = asyncio.Lock()

    @property
    def lookup(self) -> Lookup:
        """What the project's documents ask."""
        return self.catalog or _NotReadYet()
