"""Turns a password or token in clear text into a secret of the job.

The rule `secret-in-clear` moves what it finds itself; here the author selects the secret.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.filled_text import Filler, piece_at
from pai_lsp.ide.refactorings.job_sections import is_shared, value_added
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    refuse_new_findings,
    together,
)
from pai_lsp.platform.masking import is_line_start
from pai_lsp.rules.secrets.secret_values import moved_to_secrets
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Fix
    from pai_lsp.ide.refactorings.filled_text import SelectedText
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry
    from pai_lsp.source.text import Span

# pystache writes these as HTML, in commands and for the registry's login (openpai-runtime, src/common/utils.py).
_CHANGED_IN_HTML = re.compile(r"[&<>\"']")
_AS_HTML = "the runtime would write a secret with any of &<>\"' as HTML here"
_SPOILS_PLUGIN = re.compile(r"['\"\\\t\r\n]")


def secret_from_text(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for a selected part of a command, for values of a registry's `auth`, and for a parameter's value."""
    job = document.job
    if document.is_catalogue:
        return
    if (entry := _parameter_at(job, span)) is not None and not is_clear_secret(document, entry.value.span):
        yield from _parameter(document, entry)
    piece = piece_at(job, span)
    if piece is None or (piece.is_command and not len(span)) or is_clear_secret(document, piece.span):
        return
    wanted = f"docker_{piece.name}" if piece.filler is Filler.AUTH else piece.name
    name = free_name("token" if wanted in {"value", "path", "url"} else wanted, job.secrets)
    title = f"Move to the secret '{name}'"
    find = partial(_moved, job, piece, name)
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
    if _CHANGED_IN_HTML.search(value.text):
        raise CanNotRefactorError(_AS_HTML)
    return together(job.syntax, fix.edits)


def _refuse_readable(job: Job) -> None:
    first = job.root.entries[0].key.span.start if job.root and job.root.entries else 0
    if job.root is not None and (job.root.is_flow or not is_line_start(job.text, first)):
        raise CanNotRefactorError("the rest-server hides secrets only where 'secrets:' stands at the start of a line")


def _moved(job: Job, piece: SelectedText, name: str) -> tuple[TextEdit, ...]:
    _refuse_readable(job)
    if is_shared(job, piece.span):
        raise CanNotRefactorError("this text is shared through an anchor; write it out first")
    if piece.filler is not Filler.RUNTIME and _CHANGED_IN_HTML.search(piece.text):
        raise CanNotRefactorError(_AS_HTML)
    if piece.filler is Filler.RUNTIME and _SPOILS_PLUGIN.search(piece.text):
        raise CanNotRefactorError("the runtime cannot fill quotes or backslashes into a plugin's parameters")
    edits = (
        value_added(job, "secrets", name, quoted(piece.text)),
        TextEdit(piece.span, f"<% $secrets.{name} %>"),
    )
    return together(job.syntax, edits)
