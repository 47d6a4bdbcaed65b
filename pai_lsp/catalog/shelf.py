"""What is known of one source at one moment: its texts, how old that knowledge is, and what is wrong with it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.catalog.definition_text import DefinitionText

# Knowledge that is older, in seconds, is no reason any more to say that something is not there.
FRESH = 24 * 60 * 60


class SourceState(Enum):
    """How well a source is known; from the best to the worst."""

    READY = "ready"
    STALE = "stale"
    UNTRUSTED = "untrusted"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Shelf:
    """One source.

    label: what people call it: the folder, or the server's address.
    state: UNREACHABLE means that nothing is known of it.
    note: why it is in this state, how old the knowledge is; empty where there is nothing to say.
    skipped: what of it could not be read, in words.
    stamps: by path, what tells a text from a later one in the same file.
    asked: when a server last answered, in seconds since 1970; None for never, and for a folder.
    """

    label: str
    texts: tuple[DefinitionText, ...] = ()
    state: SourceState = SourceState.READY
    note: str = ""
    skipped: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict, repr=False)
    asked: float | None = None

    @property
    def count(self) -> int:
        """How many definitions it holds."""
        return sum(len(text.cards) for text in self.texts)


def age(seconds: float) -> str:
    """How long ago something was, in words."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"
