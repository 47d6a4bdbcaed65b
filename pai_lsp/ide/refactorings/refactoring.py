"""What a refactoring is: a change of a job's text that its author asks for, with a name, or the reason against it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.comments import comments
from pai_lsp.edits import keeping_comments, line_end
from pai_lsp.frozen import dataclass
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.nodes import Syntax
    from pai_lsp.text import Span


class RefactoringKind(Enum):
    """What sort of change it is; the values are LSP's."""

    EXTRACT = "refactor.extract"
    INLINE = "refactor.inline"
    REWRITE = "refactor.rewrite"
    QUICK_FIX = "quickfix"


@dataclass(frozen=True, slots=True, eq=False)
class Refactoring:
    """One change that can be offered at a place.

    make: gives the edits, or raises `CanNotRefactorError` where only making them shows that it can not be done.
        None where that is known; `disabled_reason` then says why, in the form of a message. See `made`.
    """

    title: str
    kind: RefactoringKind
    make: Callable[[], tuple[TextEdit, ...]] | None
    disabled_reason: str = ""


class CanNotRefactorError(Exception):
    """Why a refactoring that belongs to a place can not be done there; tells no secret."""


def attempted(
    title: str,
    kind: RefactoringKind,
    make: Callable[[], tuple[TextEdit, ...]],
    check: Callable[[], object] | None = None,
) -> Refactoring:
    """The refactoring, or the reason that `check` raises; without it, the one that `make` raises, which is run now."""
    try:
        if check is not None:
            check()
            return Refactoring(title, kind, make)
        return ready(title, kind, make())
    except CanNotRefactorError as error:
        return refused(title, kind, str(error))


def made(refactoring: Refactoring) -> Refactoring:
    """The refactoring with its edits made, or the reason that stands against it after all."""
    make = refactoring.make
    return attempted(refactoring.title, refactoring.kind, make) if make else refactoring


def ready(title: str, kind: RefactoringKind, edits: tuple[TextEdit, ...]) -> Refactoring:
    """A refactoring whose edits are known."""
    return Refactoring(title, kind, lambda: edits)


def refused(title: str, kind: RefactoringKind, reason: str) -> Refactoring:
    """A refactoring that can not be done, and why."""
    return Refactoring(title, kind, None, reason)


def together(syntax: Syntax, edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """Edits that were made one by one, as one change: in order, each once, with the text's own line ends.

    What is inserted at one place comes in the order in which it was given. A comment that would go with what is taken
    out stays where it was.
    """
    found: dict[Span, TextEdit] = {}
    for edit in dict.fromkeys(edits):
        before = found.get(edit.span)
        new_text = edit.new_text if before is None or len(edit.span) else before.new_text + edit.new_text
        found[edit.span] = TextEdit(edit.span, new_text)
    kept = keeping_comments(syntax.text, tuple(found.values()), comments(syntax))
    return tuple(TextEdit(edit.span, _with_line_ends(edit.new_text, line_end(syntax.text))) for edit in sorted(kept))


def _with_line_ends(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)
