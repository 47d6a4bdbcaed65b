"""A value that is written out becomes a parameter of the job, or a password or token becomes a secret.

The rule `secret-in-clear` moves what it finds itself; here the author selects the secret.
"""

from __future__ import annotations

from functools import partial

from pai_lsp.embedded.template import ESCAPED_CHARACTERS
from pai_lsp.ide.refactorings.filled_text import Filler, piece_at, same_pieces
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    is_shared,
    refuse_new_findings,
    together,
    value_added,
)
from pai_lsp.platform.secrets_section import is_line_start
from pai_lsp.rules.secrets.secret_values import moved_to_secrets
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_scalar, quoted, scalar_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Fix
    from pai_lsp.ide.refactorings.filled_text import SelectedText
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry
    from pai_lsp.source.text import Span


# Numbers that both readers of the file take for the same, and that the rest-server writes into commands unchanged.
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,9}[1-9])?")
# What changes, or breaks, a plugin's parameters when the runtime fills it in (see pai_lsp/job/plugin_parameters.py).
_SPOILS_PLUGIN = lazy_pattern(r"['\"\\\t\r\n]")


def parameter_from_text(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for a selected part of a command, and for a value at the cursor; not for what looks like a secret."""
    job = document.job
    piece = None if document.is_catalog else piece_at(job, span)
    if piece is None or piece.filler is Filler.AUTH or is_clear_secret(document, piece.span):
        return
    places = same_pieces(job, piece)
    yield _offer(document, piece, (piece,), "")
    if len(places) > 1 and any(one.span == piece.span for one in places):
        yield _offer(document, piece, places, f", at all {len(places)} places")


def _offer(document: Document, piece: SelectedText, places: tuple[SelectedText, ...], where: str) -> Refactoring:
    job = document.job
    known = _known_parameter(job, piece, places)
    name = known or free_name(piece.name, job.parameters)
    title = f"{'Use' if known else 'Move to'} the parameter '{name}'{where}"
    find = partial(_moved_to_parameter, job, name, places, is_new=not known)
    return attempted(title, RefactoringKind.EXTRACT, lambda: refuse_new_findings(document, find()), find)


def _moved_to_parameter(job: Job, name: str, places: tuple[SelectedText, ...], *, is_new: bool) -> tuple[TextEdit, ...]:
    text = places[0].text
    if any(is_shared(job, one.span) for one in places):
        raise CanNotRefactorError("this text is shared through an anchor; write it out first")
    if any(one.filler is Filler.RUNTIME for one in places) and _SPOILS_PLUGIN.search(text):
        raise CanNotRefactorError("the runtime cannot fill quotes or backslashes into a plugin's parameters")
    edits = [value_added(job, "parameters", name, _written(job, text, places))] if is_new else []
    edits += (TextEdit(one.span, f"<% $parameters.{name} %>") for one in places)
    return together(job.syntax, edits)


def _known_parameter(job: Job, piece: SelectedText, places: tuple[SelectedText, ...]) -> str:
    """The parameter of the wanted name, if it has the same value already; else empty."""
    entry = job.parameters.get(piece.name)
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.value is None:
        return ""
    is_text = entry.value.is_string and entry.value.runtime_value == entry.value.text
    needs_text = any(one.filler is Filler.RUNTIME for one in places)
    return piece.name if server_text(entry.value.value) == piece.text and (is_text or not needs_text) else ""


def _written(job: Job, text: str, places: tuple[SelectedText, ...]) -> str:
    """The value in YAML: a number if only the rest-server fills it in, else text; the runtime accepts only text."""
    if _NUMBER.fullmatch(text):
        return quoted(text) if any(one.filler is Filler.RUNTIME for one in places) else text
    section = job.mapping("parameters")
    return flow_scalar(text) if section is not None and section.is_flow else scalar_line(text)


# pystache writes these as HTML, in commands and for the registry's login (openpai-runtime, src/common/utils.py).
_AS_HTML = "the runtime would write a secret with any of &<>\"' as HTML here"


def secret_from_text(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for a selected part of a command, for values of a registry's `auth`, and for a parameter's value."""
    job = document.job
    if document.is_catalog:
        return
    if (entry := _parameter_at(job, span)) is not None and not is_clear_secret(document, entry.value.span):
        yield from _parameter(document, entry)
    piece = piece_at(job, span)
    if piece is None or (piece.is_command and not len(span)) or is_clear_secret(document, piece.span):
        return
    wanted = f"docker_{piece.name}" if piece.filler is Filler.AUTH else piece.name
    name = free_name("token" if wanted in {"value", "path", "url"} else wanted, job.secrets)
    title = f"Move to the secret '{name}'"
    find = partial(_moved_to_secret, job, piece, name)
    yield attempted(title, RefactoringKind.EXTRACT, partial(_checked, document, find), find)


def is_clear_secret(document: Document, span: Span) -> bool:
    """Whether the rule has found a secret at a place, and can move it."""
    return any(one.code == "secret-in-clear" and one.fixes and one.span.overlaps(span) for one in document.diagnostics)


def _parameter_at(job: Job, span: Span) -> Entry | None:
    section = job.mapping("parameters")
    for entry in section.entries if section and len(section.span) else ():
        value = entry.value
        if isinstance(value, Scalar) and value.span.touches(span.start) and value.span.touches(span.end):
            return entry if value.text and value.value is not None else None
    return None


def _parameter(document: Document, entry: Entry) -> Iterator[Refactoring]:
    job, value = document.job, entry.value
    if not isinstance(value, Scalar) or server_text(value.value) != value.text:
        return
    for fix in moved_to_secrets(job, entry)[:1]:
        title = f"Move to the secret '{entry.name}'"
        find = partial(_moved_parameter, job, value, fix)
        make = partial(_checked, document, find)
        yield attempted(title, RefactoringKind.EXTRACT, make, find)


def _checked(document: Document, find: Callable[[], tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
    return refuse_new_findings(document, find())


def _moved_parameter(job: Job, value: Scalar, fix: Fix) -> tuple[TextEdit, ...]:
    _refuse_readable(job)
    if not ESCAPED_CHARACTERS.isdisjoint(value.text):
        raise CanNotRefactorError(_AS_HTML)
    return together(job.syntax, fix.edits)


def _refuse_readable(job: Job) -> None:
    first = job.root.entries[0].key.span.start if job.root and job.root.entries else 0
    if job.root is not None and (job.root.is_flow or not is_line_start(job.text, first)):
        raise CanNotRefactorError("the rest-server hides secrets only if 'secrets:' is at the start of a line")


def _moved_to_secret(job: Job, piece: SelectedText, name: str) -> tuple[TextEdit, ...]:
    _refuse_readable(job)
    if is_shared(job, piece.span):
        raise CanNotRefactorError("this text is shared through an anchor; write it out first")
    if piece.filler is not Filler.RUNTIME and not ESCAPED_CHARACTERS.isdisjoint(piece.text):
        raise CanNotRefactorError(_AS_HTML)
    if piece.filler is Filler.RUNTIME and _SPOILS_PLUGIN.search(piece.text):
        raise CanNotRefactorError("the runtime cannot fill quotes or backslashes into a plugin's parameters")
    edits = (
        value_added(job, "secrets", name, quoted(piece.text)),
        TextEdit(piece.span, f"<% $secrets.{name} %>"),
    )
    return together(job.syntax, edits)
