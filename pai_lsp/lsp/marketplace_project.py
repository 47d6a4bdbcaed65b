"""One project's marketplace in the server: what its documents ask, and what is going on with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pai_lsp.lookup import Lookup, NoLookup
from pai_lsp.lsp.open_document import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.setup import CatalogSetup
    from pai_lsp.lsp.open_document import OpenDocument


class Project:
    """One setup and what is known of it.

    catalog: what the project's documents have; None until it was read from the disk.
    state: why there is no catalog, in words.
    latest: what is known without the files that are being written, which count in `catalog`.
    is_to_be_read, is_to_be_shown: whether a reading, or taking over what is written, is planned and has not begun.
    effort: how long it took last time to take over what is written, in seconds.
    """

    def __init__(self, setup: CatalogSetup) -> None:
        self.setup = setup
        self.catalog: Catalog | None = None
        self.state = "the marketplace is being read"
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
        return self.catalog or NoLookup(self.state)

    @property
    def has_servers(self) -> bool:
        """Whether there is anybody to ask over the network."""
        return bool(self.setup.servers or self.setup.allowed_hosts)

    def addresses(self, documents: Iterable[OpenDocument]) -> Callable[[Catalog], Iterable[str]]:
        """Gives the web addresses that the project's open jobs lead to, by a catalogue."""
        from pai_lsp.catalog.uses import uses_of  # noqa: PLC0415 - loaded when the client is connected

        ours = [one for one in documents if one.lookup is self.catalog and not one.is_excluded]

        def named(catalog: Catalog) -> Iterable[str]:
            uses = uses_of((one.document.job for one in ours if one.kind is Kind.JOB), catalog)
            return [one for one in (*uses.found, *uses.missing) if one.startswith(("http://", "https://"))]

        return named
