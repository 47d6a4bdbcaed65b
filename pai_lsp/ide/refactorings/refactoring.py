"""What a refactoring is: a change of a job's text that its author asks for, with a name, or the reason against it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.edits import line_end
from pai_lsp.frozen import dataclass
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class RefactoringKind(Enum):
    """What sort of change it is; the values are LSP's."""

    EXTRACT = "refactor.extract"
    INLINE = "refactor.inline"
    REWRITE = "refactor.rewrite"
    QUICK_FIX = "quickfix"


@dataclass(frozen=True, slots=True)
class Refactoring:
    """One change that can be offered at a place.

    edits: None where it can not be done here; `disabled_reason` then says why, in the form of a message.
    """

    title: str
    kind: RefactoringKind
    edits: tuple[TextEdit, ...] | None
    disabled_reason: str = ""


class CanNotRefactorError(Exception):
    """Why a refactoring that belongs to a place can not be done there; tells no secret."""


def attempted(title: str, kind: RefactoringKind, make: Callable[[], tuple[TextEdit, ...]]) -> Refactoring:
    """The refactoring with the edits that `make` gives, or with the reason that it raises."""
    try:
        return Refactoring(title, kind, make())
    except CanNotRefactorError as error:
        return refused(title, kind, str(error))


def refused(title: str, kind: RefactoringKind, reason: str) -> Refactoring:
    """A refactoring that can not be done, and why."""
    return Refactoring(title, kind, None, reason)


def together(text: str, edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """Edits that were made one by one, as one change: in order, each once, with the text's own line ends.

    What is inserted at one place comes in the order in which it was given.
    """
    found: dict[object, TextEdit] = {}
    for edit in dict.fromkeys(edits):
        before = found.get(edit.span)
        new_text = edit.new_text if before is None or len(edit.span) else before.new_text + edit.new_text
        found[edit.span] = TextEdit(edit.span, new_text)
    newline = line_end(text)
    return tuple(
        TextEdit(edit.span, edit.new_text.replace("\r\n", "\n").replace("\n", newline))
        for edit in sorted(found.values())
    )
