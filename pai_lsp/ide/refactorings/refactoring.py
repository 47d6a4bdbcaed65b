"""What a refactoring is: a change of a job's text that its author asks for, with a name, or the reason against it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.edits import line_end
from pai_lsp.frozen import dataclass
from pai_lsp.ide.refactorings.comments import comments
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pai_lsp.syntax import Syntax


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
        found[edit.span] = TextEdit(edit.span, new_text.replace("\r\n", "\n"))
    _keep_comments(syntax, found)
    newline = line_end(syntax.text)
    return tuple(TextEdit(edit.span, edit.new_text.replace("\n", newline)) for edit in sorted(found.values()))


def _keep_comments(syntax: Syntax, edits: dict[Span, TextEdit]) -> None:
    text = syntax.text
    written = "\n".join(edit.new_text for edit in edits.values())
    for comment in comments(syntax):
        span = next((one for one in edits if one.start <= comment.span.start < one.end), None)
        if span is None or comment.text in written:
            continue
        line = text.rfind("\n", 0, span.start) + 1
        pad = text[line : span.start] if not text[line : span.start].strip() else ""
        pad = pad or " " * (len(text[line:]) - len(text[line:].lstrip(" ")))
        at = Span(line, line)
        if span.start == line:
            edits[span] = TextEdit(span, f"{pad}{comment.text}\n{edits[span].new_text}")
        else:
            before = edits[at].new_text if at in edits else ""
            edits[at] = TextEdit(at, f"{before}{pad}{comment.text}\n")
