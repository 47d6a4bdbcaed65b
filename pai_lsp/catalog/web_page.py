"""Single web addresses in references: which may be asked, and what is kept of them.

Nothing is asked because a job names it: the configuration must list the host, and somebody must refresh. What is kept
says neither a user's name nor a query, which may be a key; the whole address is only known by its hash.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pai_lsp.catalog.shelf import SourceState
from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection

    from pai_lsp.catalog.definition_text import DefinitionText


@dataclass(frozen=True, slots=True)
class WebPage:
    """What is known of one address: its text; None when nothing is there, or with UNREACHABLE nothing is known."""

    text: DefinitionText | None
    state: SourceState = SourceState.READY
    note: str = ""


def page_key(address: str) -> str:
    """What stands for an address where it is kept."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def page_path(address: str) -> str:
    """An address as it may be shown: without a user's name or a query, which the start of its hash stands for."""
    parts = urlsplit(address)
    shown = f"{parts.scheme}://{(parts.netloc or '').rpartition('@')[2]}{parts.path}"
    return f"{shown}#{page_key(address)[:8]}" if parts.query or parts.fragment else shown


def why_not_asked(address: str, allowed_hosts: Collection[str]) -> str:
    """Why an address may not be asked, in words; empty when it may.

    An allowed host is a name, for all ports, or a name with a port.
    """
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "this is no address that can be asked"
    if parts.username is not None or parts.password is not None:
        return "an address with a user's name or a password in it is never asked"
    allowed = {one.lower() for one in allowed_hosts}
    name = f"[{host}]" if ":" in host else host
    if host and not allowed.isdisjoint({host, name, f"{name}:{port}"}):
        return ""
    return f"the configuration does not list the host '{host}' under 'allowed_hosts' of 'marketplace'"
