"""How the marketplaces are, all in all: what an editor shows in its status bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygls.lsp.server import LanguageServer

    from pai_lsp.catalog.catalog import Catalog

METHOD = "pai-lsp/marketplaceStatus"
_WORST_LAST = ("none", "ready", "stale", "untrusted", "unreachable")


@dataclass(frozen=True, slots=True)
class Status:
    """`state`: ready, stale, untrusted, unreachable, or none without any marketplace. `note` says more, in words."""

    state: str = "none"
    note: str = ""


def status_of(catalogs: Sequence[Catalog]) -> Status:
    """The worst state, and what is to be said of all that are in it."""
    states = [catalog.state.value if catalog.state else "none" for catalog in catalogs]
    worst = max(states, key=_WORST_LAST.index, default="none")
    if worst in {"none", "ready"}:
        count = sum(shelf.count for catalog in catalogs for shelf in catalog.shelves)
        return Status(worst, f"{count} definition{'s' if count > 1 else ''}" if count else "")
    notes = (note for catalog in catalogs if catalog.state and catalog.state.value == worst for note in catalog.doubts)
    return Status(worst, "; ".join(dict.fromkeys(notes)))


def tell_status(server: LanguageServer, status: Status) -> None:
    """Send it to the client."""
    server.protocol.notify(METHOD, {"state": status.state, "note": status.note})
