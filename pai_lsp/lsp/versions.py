"""The texts of an open document, version by version, for changes that overtake each other on their way.

Helix 25.01 sends what is typed very fast in a wrong order now and then. The versions tell the right one, so that a late
change is put where it belongs instead of spoiling the text for the rest of the day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.lsp.convert import changed_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsprotocol import types as lsp

    from pai_lsp.text import ColumnUnit

# So many changes are remembered; none was seen to come later than two others.
REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Change:
    """A change as the client sent it: from which version to which, and the text that it was applied to."""

    former_version: int
    version: int
    events: Sequence[lsp.TextDocumentContentChangeEvent]
    text_before: str


@dataclass(frozen=True, slots=True)
class Versions:
    """The newest version of a text, and the changes that led to it, oldest first."""

    version: int
    text: str
    changes: tuple[Change, ...] = ()

    def changed(self, version: int, events: Sequence[lsp.TextDocumentContentChangeEvent], unit: ColumnUnit) -> Versions:
        """What there is after a change: behind all others, or in front of those that have overtaken it."""
        changes = self.changes
        overtaken = next((n for n, one in enumerate(changes) if one.former_version < version < one.version), None)
        if overtaken is not None:
            first = changes[overtaken]
            found = Versions(first.former_version, first.text_before, changes[:overtaken])
            found = found.changed(version, events, unit)
            for change in changes[overtaken:]:
                found = found.changed(change.version, change.events, unit)
            return found
        change = Change(self.version, version, events, self.text)
        text = changed_text(self.text, events, unit)
        return Versions(version, text, (*changes, change)[-REMEMBERED:])
