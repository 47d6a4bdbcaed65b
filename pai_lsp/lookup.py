"""Asking for definitions outside the job: what an answer looks like. Who answers is in pai_lsp/catalog."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pai_lsp.definition import Definition


class LookupState(Enum):
    """What a catalogue can answer."""

    FOUND = "found"
    ABSENT = "not there"
    UNKNOWN = "could not ask"


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """A catalogue's answer to a reference: definitions when found; `note` says more (the age of what is known, why)."""

    state: LookupState
    definitions: tuple[Definition, ...] = ()
    note: str = ""
    path: str | None = None


class Lookup(Protocol):
    """Finds definitions outside the job; answers from memory, at once."""

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that `marketplace://…` or `http(s)://…` names."""

    def names(self) -> tuple[str, ...]:
        """Every reference that `find` would find, for suggestions."""


class NoLookup:
    """The lookup of a workspace without any catalogue: it could not ask."""

    def find(self, reference: str) -> LookupAnswer:
        """Never knows."""
        del reference
        return LookupAnswer(LookupState.UNKNOWN, note="no marketplace is configured")

    def names(self) -> tuple[str, ...]:
        """Nothing to suggest."""
        return ()
