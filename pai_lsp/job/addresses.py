"""The addresses by which a prerequisite outside the job is named, and what is wrong with one that names nothing.

    marketplace://name/NAME                 a definition by its name
    marketplace://TYPE/NAME                 by type (data, script, output, dockerimage) and name
    marketplace://prerequisites/itemId/ID   by the marketplace item that holds it
    http://…, https://…                     what is found there

Source: docs/protocol.md, "References"; openpai, issues 5145 and 5345.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.job.definition import ROLE_TYPES
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.spelling import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKETPLACE = "marketplace"
TYPES = (*ROLE_TYPES, "dockerimage")
SCHEMES = (MARKETPLACE, "https", "http")

_FORMS = ("name", *TYPES, "prerequisites")
_EXPECTED = "'marketplace://name/NAME', 'marketplace://TYPE/NAME' or 'marketplace://prerequisites/itemId/ID'"
_SCHEME = re.compile(r"(?P<scheme>[^/:]*)(?P<mark>:/{0,2}|/{1,2})(?P<rest>.*)", re.DOTALL)
# The rest-server's pattern of a prerequisite's name (config/v2/protocol.js).
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,255}")
# The marketplace makes a UUID where whoever stores the item gives no id of his own.
_ITEM = re.compile(r"[a-zA-Z0-9_-]+")
_WEB = re.compile(
    r"(?:[\w.~%!$&'()*+,;=:-]+@)?(?P<host>[a-zA-Z0-9.-]+|\[[0-9a-fA-F:.]+\])(?P<port>:[0-9]+)?(?:[/?#]\S*)?"
)


class AddressKind(Enum):
    """By what an address names a definition; the values are for people."""

    NAME = "name"
    TYPE_AND_NAME = "type and name"
    ITEM = "marketplace item"
    WEB = "web address"


@dataclass(frozen=True, slots=True)
class Address:
    """An address that is written as it should be; `type` is empty unless it says one, `name` is the item's id too."""

    kind: AddressKind
    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class AddressFault:
    """What is wrong with an address, in words, and the whole address as it may have been meant, empty where unknown."""

    message: str
    meant: str = ""


def looks_like_address(reference: str) -> bool:
    """Whether it can be no plain name, in which neither `/` nor `:` may stand."""
    return "/" in reference or ":" in reference


def read_address(reference: str) -> Address | AddressFault:
    """What an address says, for a reference that looks like one."""
    match = _SCHEME.fullmatch(reference)
    if match is None or not match["scheme"]:
        return AddressFault(f"'{reference}' is neither a name nor an address; expected a name or {_EXPECTED}")
    scheme, rest = match["scheme"], match["rest"]
    if scheme not in SCHEMES or match["mark"] != "://":
        return _wrong_scheme(reference, scheme, rest)
    if scheme == MARKETPLACE:
        return _marketplace(rest)
    if not _WEB.fullmatch(rest):
        return AddressFault(f"'{reference}' is not a valid URL")
    return Address(AddressKind.WEB, reference)


def near_addresses(reference: str, known: Iterable[str]) -> tuple[str, ...]:
    """The few known addresses of the same form whose names look most like that of `reference`, best first.

    Only the names are compared: whole addresses look alike by their form alone. Without a near one, the definition of
    this very name, which may have another type.
    """
    form, _, name = reference.rpartition("/")
    known = tuple(known)
    near = nearest(name, (one[len(form) + 1 :] for one in known if one.startswith(f"{form}/")))
    by_name = f"{MARKETPLACE}://name/{name}"
    return tuple(f"{form}/{one}" for one in near) or ((by_name,) if by_name in known else ())


def _wrong_scheme(reference: str, scheme: str, rest: str) -> AddressFault:
    meant = scheme if scheme in SCHEMES else next(iter(nearest(scheme, SCHEMES)), "")
    if not meant:
        return AddressFault(f"'{reference}' must begin with 'marketplace://', 'https://' or 'http://'")
    whole = f"{meant}://{rest}"
    if isinstance(read_address(whole), AddressFault):
        whole = ""
    return AddressFault(
        f"an address must begin with '{meant}://', not '{reference[: len(reference) - len(rest)]}'", whole
    )


def _marketplace(rest: str) -> Address | AddressFault:
    form, *path = rest.split("/")
    if form == "itemId":
        form = "prerequisites"  # the word was left out, and is missed below
    elif form not in _FORMS:
        return _wrong_form(rest, form, path)
    if form == "prerequisites":
        if len(path) == 2 and path[0] == "itemId" and _ITEM.fullmatch(path[1]):
            return Address(AddressKind.ITEM, path[1])
        identifier = path[-1] if path and path[-1] != "itemId" and _ITEM.fullmatch(path[-1]) else ""
        meant = f"marketplace://prerequisites/itemId/{identifier}" if identifier else ""
        return AddressFault("the address of a marketplace item must be 'marketplace://prerequisites/itemId/ID'", meant)
    name = "/".join(path)
    if not name:
        return AddressFault(f"a name is missing after 'marketplace://{form}/'")
    if not _NAME.fullmatch(name):
        return AddressFault(f"'{name}' is not a prerequisite name; only letters, digits, '_' and '-' are allowed")
    if form == "name":
        return Address(AddressKind.NAME, name)
    return Address(AddressKind.TYPE_AND_NAME, name, form)


def _wrong_form(rest: str, form: str, path: list[str]) -> AddressFault:
    if not path and _NAME.fullmatch(form):
        return AddressFault(f"expected 'marketplace://name/{form}'", f"marketplace://name/{form}")
    near = nearest(form, _FORMS)
    meant = f"marketplace://{near[0]}/{'/'.join(path)}" if near else ""
    if meant and isinstance(read_address(meant), AddressFault):
        meant = ""
    return AddressFault(
        f"'{form}' is not a kind of address; expected {_EXPECTED}{did_you_mean(form, _FORMS)}"
        if form
        else f"'marketplace://{rest}' is not an address; expected {_EXPECTED}",
        meant,
    )
