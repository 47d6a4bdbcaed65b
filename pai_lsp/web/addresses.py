"""The parts of web addresses, as configurations, answers of servers and redirects give them, unchecked."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


def address_parts(address: str) -> SplitResult:
    """The parts of an address; all of them are empty if it is not valid, also if the port is not a number."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


def address_below(base: str, reference: str) -> str:
    """The address that a reference means on the page `base`; empty if it is not valid."""
    try:
        return urljoin(base, reference)
    except ValueError:
        return ""


def host_and_port(address: str) -> str:
    """The host and the port as they are written, without a user name; empty if the address is not valid."""
    return address_parts(address).netloc.rpartition("@")[2]
