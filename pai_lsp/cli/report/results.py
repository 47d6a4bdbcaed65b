"""What a run of the checker found, as values: the input of every report format."""

from __future__ import annotations

import os

from pai_lsp.findings.diagnostic import causes, limited, without_count
from pai_lsp.job.hidden import with_hidden
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.text import LineIndex, Span, any_overlaps
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic, Fix, Related
    from pai_lsp.job.hidden import Hidden
    from pai_lsp.source.text import Place


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """One file and what was found in it.

    path: as the user would write it from the working directory.
    text: the checked text with the characters of `hidden` replaced one by one, so that offsets mean the same.
    diagnostics: those to report, in the order of their places.
    hidden: the places of values that no report may show, in order and apart from each other.
    other_texts: the texts of the other files that related places are in, by `Related.path`.
    not_shown: how many findings were left out because they are below the severity asked for.
    accepted: how many findings were left out because a baseline accepts them.
    """

    path: str
    text: str
    diagnostics: tuple[Diagnostic, ...] = ()
    hidden: tuple[Span, ...] = ()
    other_texts: Mapping[str, str] = field(default_factory=dict)
    not_shown: int = 0
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """A file that could not be checked or written to the end; `reason` quotes nothing from the file.

    is_fault: whether pai-lsp is to blame, and not, say, a full disk.
    """

    path: str
    reason: str
    is_fault: bool = True


@dataclass(frozen=True, slots=True)
class Results:
    """All files of a run, sorted by path.

    changed: how many findings were fixed or ignored in them before this check.
    verb: what was done with these, such as `fixed`; empty if it was only tried.
    folder: the absolute path of the working directory, from which relative paths count.
    """

    files: tuple[CheckedFile, ...] = ()
    failures: tuple[CheckFailure, ...] = ()
    changed: int = 0
    verb: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class PlacedRelated:
    """A related place with its file; `start` and `end` are None where that file could not be read."""

    path: str
    message: str
    span: Span
    lines: LineIndex | None

    @property
    def start(self) -> Place | None:
        """Where it begins."""
        return None if self.lines is None else self.lines.place(self.span.start)

    @property
    def end(self) -> Place | None:
        """Where it ends."""
        return None if self.lines is None else self.lines.place(self.span.end)


@dataclass(frozen=True, slots=True)
class PlacedDiagnostic:
    """A diagnostic with its file and its places."""

    path: str
    lines: LineIndex
    diagnostic: Diagnostic
    start: Place
    end: Place
    related: tuple[PlacedRelated, ...]
    fixes: tuple[Fix, ...]


def placed(results: Results) -> Iterator[PlacedDiagnostic]:
    """Every diagnostic of the run with its places, by file and offset."""
    for file in results.files:
        if not file.diagnostics:
            continue
        lines = LineIndex(file.text)
        others = {path: LineIndex(text) for path, text in file.other_texts.items()}
        for diagnostic in file.diagnostics:
            start, end = lines.place(diagnostic.span.start), lines.place(diagnostic.span.end)
            related = tuple(_related(file.path, lines, others, one) for one in diagnostic.related)
            fixes = tuple(fix for fix in diagnostic.fixes if not _shows_hidden(fix, file))
            yield PlacedDiagnostic(file.path, lines, diagnostic, start, end, related, fixes)


def fingerprints(results: Results) -> Iterator[tuple[PlacedDiagnostic, str]]:
    """Every diagnostic of the run with what identifies it in the next run, 64 hexadecimal digits.

    Neither the line nor the number of other places is a part of it: an edit above a finding does not make it a new one,
    and neither does one more place with the same cause. Findings of one file with the same
    message are numbered.
    """
    import hashlib  # noqa: PLC0415 - most formats do not need it

    seen: dict[tuple[str, str, str], int] = {}
    for item in placed(results):
        path = os.path.normpath(item.path).replace(os.sep, "/")
        same = (path, item.diagnostic.code, without_count(item.diagnostic.message))
        seen[same] = seen.get(same, 0) + 1
        words = "\0".join((*same, str(seen[same])))
        yield item, hashlib.sha256(words.encode("utf-8", "surrogateescape")).hexdigest()


def checked_file(document: Document, diagnostics: Iterable[Diagnostic], *, not_shown: int = 0) -> CheckedFile:
    """A document with the findings to report, `limited`, and nothing hidden in its text, its messages and its fixes."""
    path, found = document.path or "", limited(causes(diagnostics))
    if not found:
        return CheckedFile(path, "", not_shown=not_shown)
    hidden = document.job.hidden
    shown = tuple(_without_revealing_fixes(one.without_secrets(hidden), hidden) for one in found)
    return CheckedFile(path, with_hidden(document.text, hidden.spans), shown, hidden.spans, not_shown=not_shown)


def _without_revealing_fixes(diagnostic: Diagnostic, hidden: Hidden) -> Diagnostic:
    fixes = tuple(
        fix for fix in diagnostic.fixes if all(hidden.without(edit.new_text) == edit.new_text for edit in fix.edits)
    )
    return diagnostic if len(fixes) == len(diagnostic.fixes) else replace(diagnostic, fixes=fixes)


def _related(path: str, lines: LineIndex, others: Mapping[str, LineIndex], related: Related) -> PlacedRelated:
    place = related.path or path
    return PlacedRelated(place, related.message, related.span, lines if place == path else others.get(place))


def _shows_hidden(fix: Fix, file: CheckedFile) -> bool:
    """Whether the fix touches a hidden value, so that its new text may hold it."""
    return any(any_overlaps(file.hidden, edit.span) for edit in fix.edits)
