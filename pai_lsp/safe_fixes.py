"""Applies the safe fixes of a text's findings, until no finding has one."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import MOST_FOUND, Diagnostic, Fix, Severity
from pai_lsp.rules.structure.job_shape import MAX_BYTES
from pai_lsp.source.comments import written_comments
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import any_overlaps, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.text import Span

# A fix may uncover another finding, but not this often: then fixes undo each other.
MOST_ROUNDS = 10
# So many fixes are tried on their own where together they make a text worse.
_MOST_ALONE = 20


@dataclass(frozen=True, slots=True)
class FixedDocument:
    """A document after its fixes, the remaining findings, and how many were fixed."""

    document: Document
    diagnostics: tuple[Diagnostic, ...]
    fixed: int


def with_safe_fixes(
    document: Document,
    check: Callable[[Document], tuple[Diagnostic, ...]],
    is_wanted: Callable[[Diagnostic], bool],
    *,
    unsafe_too: bool = False,
) -> FixedDocument:
    """Apply the safe fixes of all findings for which `is_wanted` is true; `check` returns a document's findings.

    With `unsafe_too`, a finding's only fix is applied although it is not safe.

    Of two fixes that change the same place the first is applied, and the other one in the next round. A fix that
    causes an error of a new kind, or more errors of a kind, is dropped.
    """
    diagnostics = check(document)
    fixed = 0
    dropped: set[tuple[str, str, str]] = set()
    seen = {document.text}
    for _ in range(MOST_ROUNDS):
        wanted = (
            item for item in _applicable(diagnostics, is_wanted, unsafe_too=unsafe_too) if _name(*item) not in dropped
        )
        batch = list(_fitting(_without_overlaps(wanted), document))
        if not batch:
            break
        tried = _better(document, diagnostics, batch, check, seen)
        if tried is None:
            by_name = {_name(*item): item for item in reversed(batch)}
            tried_alone = list(by_name.items())[-_MOST_ALONE:]
            bad = {name for name, item in tried_alone if _better(document, diagnostics, [item], check, seen) is None}
            # If each is good alone, they conflict; apply the first one.
            dropped.update(bad or (_name(*item) for item in batch[1:]))
            continue
        document, diagnostics = tried
        fixed += len(batch)
        seen.add(document.text)
        if fixed >= MOST_FOUND:  # each round takes as long as a check; another run goes on
            break
    return FixedDocument(document, diagnostics, fixed)


def _better(
    document: Document,
    diagnostics: tuple[Diagnostic, ...],
    items: list[tuple[Diagnostic, Fix]],
    check: Callable[[Document], tuple[Diagnostic, ...]],
    seen: set[str],
) -> tuple[Document, tuple[Diagnostic, ...]] | None:
    """The document with these fixes and its findings; None if it is not better, not new, or has lost a comment."""
    try:
        text = apply_edits(document.text, dict.fromkeys(edit for _, fix in items for edit in fix.edits))
    except ValueError:  # the edits of one fix contradict each other
        return None
    if text in seen or written_comments(document.text) - written_comments(text):
        return None
    tried = replace(document, text=text)
    left = check(tried)
    if new_errors(diagnostics, left):
        return None
    started = _started(tried)
    is_worse = started < len(document.job.task_roles) and started < _started(document)
    return None if is_worse else (tried, left)


def _applicable(
    diagnostics: Iterable[Diagnostic], is_wanted: Callable[[Diagnostic], bool], *, unsafe_too: bool
) -> Iterator[tuple[Diagnostic, Fix]]:
    for diagnostic in diagnostics:
        fix = next((fix for fix in diagnostic.fixes if fix.safe), None)
        if fix is None and unsafe_too and len(diagnostic.fixes) == 1:
            fix = diagnostic.fixes[0]
        if fix is not None and is_wanted(diagnostic):
            yield diagnostic, fix


def _without_overlaps(items: Iterable[tuple[Diagnostic, Fix]]) -> Iterator[tuple[Diagnostic, Fix]]:
    taken: list[Span] = []  # sorted
    for diagnostic, fix in items:
        if not any(any_overlaps(taken, edit.span) for edit in fix.edits):
            for edit in fix.edits:
                insort(taken, edit.span)
            yield diagnostic, fix


def _fitting(items: Iterable[tuple[Diagnostic, Fix]], document: Document) -> Iterator[tuple[Diagnostic, Fix]]:
    """The fixes that do not make a job larger than the rest-server accepts."""
    text = document.text
    space = MAX_BYTES - _size(text)
    for diagnostic, fix in items:
        added = sum(_size(edit.new_text) - _size(text[edit.span.start : edit.span.end]) for edit in fix.edits)
        if added <= space or space < 0 or document.is_catalog:
            space -= added
            yield diagnostic, fix


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _name(diagnostic: Diagnostic, fix: Fix) -> tuple[str, str, str]:
    """Identifies a fix although its place moves."""
    return diagnostic.code, diagnostic.message, fix.title


def _started(document: Document) -> int:
    """How many task roles a released cluster starts; 0 if it cannot read the file."""
    if document.is_catalog or document.syntax.problems or not document.job.task_roles:
        return 0
    from pai_lsp.expansion.released_run import released_run  # noqa: PLC0415 - only fixing needs it

    return len(released_run(document.job).roles)


def new_errors(before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The errors of each kind of which a change has made more, in the order of `after`."""
    errors = [one for one in after if one.severity is Severity.ERROR]
    known = Counter(one.code for one in before if one.severity is Severity.ERROR)
    more = Counter(one.code for one in errors) - known
    return [one for one in errors if one.code in more]
