"""Turns a literal in a command or plugin parameter into a parameter of the job, at one place or everywhere."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.filled_text import Filler, piece_at, same_pieces
from pai_lsp.ide.refactorings.job_sections import is_shared, value_added
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    refuse_new_findings,
    together,
)
from pai_lsp.ide.refactorings.secret_from_text import is_clear_secret
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_scalar, quoted, scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.ide.refactorings.filled_text import SelectedText
    from pai_lsp.job.job import Job
    from pai_lsp.source.text import Span

# Numbers that both readers of the file take for the same, and that the rest-server writes into commands unchanged.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,9}[1-9])?")
# What changes, or breaks, a plugin's parameters when the runtime fills it in (see pai_lsp/job/plugin_parameters.py).
_SPOILS_PLUGIN = re.compile(r"['\"\\\t\r\n]")


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
    find = partial(_moved, job, name, places, is_new=not known)
    return attempted(title, RefactoringKind.EXTRACT, lambda: refuse_new_findings(document, find()), find)


def _moved(job: Job, name: str, places: tuple[SelectedText, ...], *, is_new: bool) -> tuple[TextEdit, ...]:
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
