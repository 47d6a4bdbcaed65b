"""Selected commands of a task role become a prerequisite that runs them before the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.refactorings.command_selection import (
    callback_commands,
    flow_items,
    moved_lines,
    selected_commands,
    without_commands,
)
from pai_lsp.ide.refactorings.job_sections import (
    definition_added,
    free_prerequisite_name,
    listed_in_role,
    refuse_shared,
)
from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError, Refactoring, RefactoringKind, attempted, together
from pai_lsp.job.definition import CMD_PLUGIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.ide.refactorings.command_selection import CommandSelection
    from pai_lsp.source.text import Span, TextEdit


def extract_prerequisite(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for whole commands; they then run as a `taskStarts` callback of a new prerequisite of the role."""
    selection = None if document.is_catalog else selected_commands(document, span)
    if selection is None:
        return
    name = free_prerequisite_name(document.job, "setup")
    title = f"Extract into a prerequisite '{name}'"
    yield attempted(title, RefactoringKind.EXTRACT, lambda: _extracted(document, selection, name))


def _extracted(document: Document, selection: CommandSelection, name: str) -> tuple[TextEdit, ...]:
    job = document.job
    if selection.first:
        raise CanNotRefactorError("only the first commands can run before the others")
    refuse_shared(job, selection.sequence, f"the commands of '{selection.role.name}'")
    commands = callback_commands(job, selection.role, selection.last)
    head = ["type: script", f"name: {name}", f"plugin: {CMD_PLUGIN}"]
    items = [f"      {line}" if line else line for line in moved_lines(job, selection, commands)]
    lines = [*head, "callbacks:", "  - event: taskStarts", "    commands:", *items]
    callbacks = f"callbacks: [{{event: taskStarts, commands: {flow_items(job, selection, commands)}}}]"
    flow = f"{{{', '.join([*head, callbacks])}}}"
    edits = (
        definition_added(job, "\n".join(lines), flow),
        listed_in_role(job, selection.role, name),
        *without_commands(job, selection),
    )
    return together(document.syntax, edits)
