"""Definitions outside the job: the addresses that name them, and the answers to a lookup.

    marketplace://name/NAME                 a definition by its name
    marketplace://TYPE/NAME                 by type (data, script, output, dockerimage) and name
    marketplace://prerequisites/itemId/ID   by the marketplace item that holds it
    http://…, https://…                     the definitions at a web address

`pai_lsp/catalog` implements `Lookup`. Source: docs/protocol.md, "References"; openpai, issues 5145 and 5345.
"""

from __future__ import annotations

import os
import re
from enum import Enum
from functools import cached_property

from pai_lsp.platform.tables import PREREQUISITE_NAME, TYPES
from pai_lsp.source.files import is_in_folder
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from pai_lsp.job.definition import Definition
else:
    Protocol = object


MARKETPLACE = "marketplace"
SCHEMES = (MARKETPLACE, "https", "http")

BY_NAME = f"{MARKETPLACE}://name/"
BY_ITEM = f"{MARKETPLACE}://prerequisites/itemId/"

_FORMS = ("name", *TYPES, "prerequisites")
_EXPECTED = "'marketplace://name/NAME', 'marketplace://TYPE/NAME' or 'marketplace://prerequisites/itemId/ID'"
_SCHEME = lazy_pattern(r"(?P<scheme>[^/:]*)(?P<mark>:/{0,2}|/{1,2})(?P<rest>.*)", re.DOTALL)
# The marketplace makes a UUID for an item that is stored without an id.
ITEM_ID = lazy_pattern(r"[a-zA-Z0-9_-]+")
_WEB = lazy_pattern(
    r"(?:[\w.~%!$&'()*+,;=:-]+@)?(?P<host>[a-zA-Z0-9.-]+|\[[0-9a-fA-F:.]+\])(?P<port>:[0-9]+)?(?:[/?#]\S*)?"
)


class AddressKind(Enum):
    """How an address names a definition; the values are used in messages."""

    NAME = "name"
    TYPE_AND_NAME = "type and name"
    ITEM = "marketplace item"
    WEB = "web address"


@dataclass(frozen=True, slots=True)
class Address:
    """A valid address.

    name: the definition's name, the marketplace item's id, or the whole web address.
    type: the definition's type; empty if the address has none.
    """

    kind: AddressKind
    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class AddressFault:
    """The message about an invalid address, and the probably intended address; empty if unknown."""

    message: str
    meant: str = ""


def looks_like_address(reference: str) -> bool:
    """Whether a reference has a `/` or `:`, which a plain name cannot have."""
    return "/" in reference or ":" in reference


def read_address(reference: str) -> Address | AddressFault:
    """Read a reference that looks like an address."""
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
    """The few known addresses of the same form with the most similar names, best first.

    Only names are compared, since whole addresses of one form are always similar. Without a similar one: the definition
    with this name, which may have another type.
    """
    form, _, name = reference.rpartition("/")
    known = tuple(known)
    near = nearest(name, (one[len(form) + 1 :] for one in known if one.startswith(f"{form}/")))
    by_name = BY_NAME + name
    return tuple(f"{form}/{one}" for one in near) or ((by_name,) if by_name in known else ())


def _wrong_scheme(reference: str, scheme: str, rest: str) -> AddressFault:
    meant = scheme if scheme in SCHEMES else next(iter(nearest(scheme, SCHEMES)), "")
    if not meant:
        return AddressFault(f"'{reference}' must begin with 'marketplace://', 'https://' or 'http://'")
    written = reference[: len(reference) - len(rest)]
    return AddressFault(f"an address must begin with '{meant}://', not '{written}'", _if_valid(f"{meant}://{rest}"))


def _if_valid(address: str) -> str:
    return "" if isinstance(read_address(address), AddressFault) else address


def _marketplace(rest: str) -> Address | AddressFault:
    form, *path = rest.split("/")
    if form not in {*_FORMS, "itemId"}:
        return _wrong_form(rest, form, path)
    if form in {"prerequisites", "itemId"}:
        if len(path) == 2 and path[0] == "itemId" and ITEM_ID.fullmatch(path[1]):
            return Address(AddressKind.ITEM, path[1])
        identifier = path[-1] if path and path[-1] != "itemId" and ITEM_ID.fullmatch(path[-1]) else ""
        meant = BY_ITEM + identifier if identifier else ""
        return AddressFault("the address of a marketplace item must be 'marketplace://prerequisites/itemId/ID'", meant)
    name = "/".join(path)
    if not name:
        return AddressFault(f"a name is missing after 'marketplace://{form}/'")
    if not PREREQUISITE_NAME.fullmatch(name):
        return AddressFault(f"'{name}' is not a prerequisite name; only letters, digits, '_' and '-' are allowed")
    if form == "name":
        return Address(AddressKind.NAME, name)
    return Address(AddressKind.TYPE_AND_NAME, name, form)


def _wrong_form(rest: str, form: str, path: list[str]) -> AddressFault:
    if not path and PREREQUISITE_NAME.fullmatch(form):
        return AddressFault(f"expected '{BY_NAME}{form}'", BY_NAME + form)
    if not form:
        return AddressFault(f"'marketplace://{rest}' is not an address; expected {_EXPECTED}")
    near = nearest(form, _FORMS)
    meant = _if_valid(f"marketplace://{near[0]}/{'/'.join(path)}") if near else ""
    return AddressFault(f"'{form}' is not a kind of address; expected {_EXPECTED}{did_you_mean(form, _FORMS)}", meant)


class LookupState(Enum):
    """The result of a lookup."""

    FOUND = "found"
    ABSENT = "not there"
    UNKNOWN = "could not be looked up"


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """What a reference finds outside the job.

    definitions: the definitions found.
    note: a message: the age of the answer, or why the reference could not be looked up.
    path: the file or address of the definitions.
    changed: a message if they differ from the project's lock file, else empty.
    lock_fault: a message if the project's lock file cannot be used, else empty.
    title: the title of the marketplace's item, as its page shows it; empty for none.
    """

    state: LookupState
    definitions: tuple[Definition, ...] = ()
    note: str = ""
    path: str | None = None
    changed: str = ""
    lock_fault: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class SuggestedDefinition:
    """A definition as completion suggests it.

    variables: its template variables.
    title: the title of the server's item that holds it, as its page shows it; empty for none.
    """

    reference: str
    name: str
    type: str = ""
    summary: str = ""
    variables: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """A whole job of a marketplace, to begin a new one with; its secrets have no values."""

    name: str
    summary: str
    text: str


class Lookup(Protocol):
    """Finds definitions outside the job; answers from memory, at once."""

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that `marketplace://…` or `http(s)://…` names."""

    def names(self) -> tuple[str, ...]:
        """Every reference that `find` would find."""

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        """At most `most` definitions that match what is `typed`, best first; fast in a large catalog.

        Only what a task role can list or a definition can require: docker images are not.
        """

    def job_templates(self) -> tuple[JobTemplate, ...]:
        """The jobs to begin a new one with."""


class NoLookup:
    """The lookup of a workspace without a catalog: everything is unknown, for the reason in `note`."""

    def __init__(self, note: str = "no marketplace is configured") -> None:
        self.note = note

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(self.note)

    def find(self, reference: str) -> LookupAnswer:
        """Always unknown."""
        del reference
        return LookupAnswer(LookupState.UNKNOWN, note=self.note)

    def names(self) -> tuple[str, ...]:
        """Nothing is found."""
        return ()

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        """Nothing to suggest."""
        del typed, most
        return ()

    def job_templates(self) -> tuple[JobTemplate, ...]:
        """Nothing to begin with."""
        return ()


def titled(lookup: Lookup, reference: str) -> tuple[str, ...]:
    """The addresses of the items that the pages of a marketplace show with this title; it may follow `BY_NAME`."""
    title = reference.removeprefix(BY_NAME)
    found = lookup.suggestions(title, 50) if title else ()
    return tuple(one.reference for one in found if one.title.lower() == title.lower())


def displayed_path(path: str, folder: str) -> str:
    """A path for messages: relative to `folder` if it is below it; addresses and other paths unchanged."""
    if folder and "://" not in path and is_in_folder(path, folder):
        return path[len(folder) :].replace(os.sep, "/").lstrip("/")
    return path


@dataclass(frozen=True, eq=False)
class LazyLookup:
    """Answers as the lookup that `read` returns; it is called at most once, for the first question.

    Most jobs name no address, and their check does not wait for a catalog.
    """

    read: Callable[[], Lookup]

    @cached_property
    def _lookup(self) -> Lookup:
        return self.read()

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        return self._lookup.find(reference)

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find."""
        return self._lookup.names()

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        """At most `most` definitions that match what is `typed`, best first."""
        return self._lookup.suggestions(typed, most)

    def job_templates(self) -> tuple[JobTemplate, ...]:
        """The jobs to begin a new one with."""
        return self._lookup.job_templates()
