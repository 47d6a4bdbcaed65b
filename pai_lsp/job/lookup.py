"""Asking for definitions outside the job: what an answer looks like. Who answers is in pai_lsp/catalog."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.job.definition import Definition


class LookupState(Enum):
    """What a catalogue can answer."""

    FOUND = "found"
    ABSENT = "not there"
    UNKNOWN = "could not ask"


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """A catalogue's answer to a reference.

    definitions: what was found.
    note: more about it, in words: the age of what is known, or why nobody could be asked.
    path: the file or address in which the definitions stand.
    changed: how they differ from what the project has locked, in words; empty when they do not.
    lock_fault: why the project's lock file does not say what they should be, in words; empty when it can be used.
    """

    state: LookupState
    definitions: tuple[Definition, ...] = ()
    note: str = ""
    path: str | None = None
    changed: str = ""
    lock_fault: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A definition as a list of suggestions shows it; `variables` are the template variables that it wants filled."""

    reference: str
    name: str
    type: str = ""
    summary: str = ""
    variables: tuple[str, ...] = ()


class Lookup(Protocol):
    """Finds definitions outside the job; answers from memory, at once."""

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that `marketplace://…` or `http(s)://…` names."""

    def names(self) -> tuple[str, ...]:
        """Every reference that `find` would find."""

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """What to suggest where `typed` stands, the best first and at most so many; cheap in a large catalogue."""


class NoLookup:
    """The lookup of a workspace without any catalogue: it could not ask, for the reason in `note`."""

    def __init__(self, note: str = "no marketplace is configured") -> None:
        self.note = note

    def find(self, reference: str) -> LookupAnswer:
        """Never knows."""
        del reference
        return LookupAnswer(LookupState.UNKNOWN, note=self.note)

    def names(self) -> tuple[str, ...]:
        """Nothing is found."""
        return ()

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """Nothing to suggest."""
        del typed, most
        return ()


def told_path(path: str, folder: str) -> str:
    """A path as it is told to people: one below `folder` from there on; addresses, and with no folder all, as it is."""
    if folder and "://" not in path and Path(path).is_relative_to(folder):
        return Path(path).relative_to(folder).as_posix()
    return path


@dataclass(slots=True, eq=False)
class LazyLookup:
    """Answers as the lookup that `read` returns, which is called at most once, for the first question.

    Most jobs name no address, and their check does not wait for a catalog.
    """

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
