"""Replaces references to prerequisites by what they refer to.

The commands of a role's prerequisites move into its own (inline), definitions from outside are copied into the job
(import), or the whole job becomes the one that every released cluster runs (expand).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.expand.effective import effective_job
from pai_lsp.expand.write.code_edits import import_edits, inline_edits, into_job_edits
from pai_lsp.expand.write.released_form import cmd_plugins
from pai_lsp.expand.write.released_job import expanded
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    is_shared,
    line_edits,
    refuse_another_run,
    refuse_unknown,
    together,
)
from pai_lsp.job.definition import COMMAND_KEYS
from pai_lsp.job.require_graph import expansion
from pai_lsp.platform.tables import EventForm, Moment, moments_with
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import line_span
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Sequence
from pai_lsp.source.text import Span, apply_edits
from pai_lsp.source.tree_edits import without_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.expand.effective import EffectiveRole, Prerequisite
    from pai_lsp.job.definition import Reference
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Node
    from pai_lsp.source.text import TextEdit


def inline_prerequisites(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference in a task role's list, and on a task role's name for all of them."""
    if document.is_catalog:
        return
    for role in document.job.task_roles:
        for number, reference in enumerate(role.prerequisites):
            if _covers(reference.scalar.span, span) and _runs(document.job, reference):
                title = f"Inline '{reference.name}' into the commands of '{role.name}'"
                make = partial(_inlined, document, role.name, [number])
                check = partial(_refuse, document.job, role, [reference])
                yield attempted(title, RefactoringKind.INLINE, make, check)
        if _covers(role.name_span, span):
            numbers = [number for number, one in enumerate(role.prerequisites) if _runs(document.job, one)]
            title = f"Inline all prerequisites into the commands of '{role.name}'"
            if numbers:
                make = partial(_inlined, document, role.name, numbers)
                check = partial(_refuse, document.job, role, [role.prerequisites[number] for number in numbers])
                yield attempted(title, RefactoringKind.INLINE, make, check)


def _covers(place: Span, span: Span) -> bool:
    return place.touches(span.start) and place.touches(span.end)


def _runs(job: Job, reference: Reference) -> bool:
    """Whether what a reference leads to runs anything."""
    found = expansion(job.require_graph, [reference])
    return any(
        step.definition.extended_plugin not in {"cmd", None} or any(map(step.definition.parameter, COMMAND_KEYS))
        for step in found.steps
    )


def _inlined(document: Document, role_name: str, numbers: list[int]) -> tuple[TextEdit, ...]:
    """The edits for the references with these numbers, the last one first: it comes nearest to the commands."""
    tried = document
    edits: tuple[TextEdit, ...] = ()
    for number in reversed(numbers):
        role = next(one for one in tried.job.task_roles if one.name == role_name)
        if number >= len(role.prerequisites):
            continue  # an earlier one brought it in
        reference = role.prerequisites[number]
        _refuse(tried.job, role, [reference])
        edits = together(tried.syntax, inline_edits(tried.job, role_name, reference))
        if not edits:
            raise CanNotRefactorError(f"the commands of '{reference.name}' cannot be among those of a task role")
        tried = replace(tried, text=apply_edits(tried.text, edits))
    cleaned = _without_unused(document, tried)
    return edits if len(numbers) == 1 and cleaned is tried else line_edits(document.text, cleaned.text)


def _refuse(job: Job, role: TaskRole, references: list[Reference]) -> None:
    """Raise the reason why references cannot be inlined, if it is known."""
    effective = effective_job(job)
    if effective.problems:
        raise CanNotRefactorError(effective.problems[0].message)
    found = next(one for one in effective.roles if one.role.name == role.name)
    for key in ("prerequisites", "commands"):
        entry = role.node.own(key) if role.node else None
        if entry is None or is_shared(job, entry.value.span):
            raise CanNotRefactorError(f"the {key} of '{role.name}' are shared; write them out first")
    if len(job.command_parts(role)) != len(role.commands):
        raise CanNotRefactorError("a deployment puts commands around those of the task role")
    inlined = {one.scalar for one in references}
    others = [one for one in role.prerequisites if one.scalar not in inlined]
    kept = {one.identity for one in expansion(job.require_graph, others).steps}
    own = [one for one in found.prerequisites if one.step.identity not in kept]
    for one in own:
        if one.plugin not in {"cmd", None}:
            raise CanNotRefactorError(f"'{one.definition.name}' is a plugin '{one.plugin}', which is not a command")
        if one.storages:
            raise CanNotRefactorError(f"'{one.definition.name}' needs a storage, which no command can mount")
    _refuse_what_runs_between(found, own, references[0])


def _refuse_what_runs_between(role: EffectiveRole, own: list[Prerequisite], reference: Reference) -> None:
    if any(plugin.commands for plugin in cmd_plugins(role)):
        raise CanNotRefactorError("the cmd plugin of extras runs between the prerequisites and the commands")
    running = [one for one in role.prerequisites if any(map(one.moments, Moment))]
    first = next((number for number, one in enumerate(running) if one in own), len(running))
    between = next((one for one in running[first:] if one not in own), None)
    if between is not None:
        raise CanNotRefactorError(
            f"'{between.definition.name}' runs between '{reference.name}' and the commands; inline it first"
        )
    hooks = [one for one in running if any(map(one.moments, moments_with(EventForm.TRAP)))]
    if any(one in own for one in hooks) and any(one not in own for one in hooks):
        other = next(one for one in hooks if one not in own)
        raise CanNotRefactorError(f"'{other.definition.name}' also runs commands at the end, in a trap of its own")


def _line_above(text: str, offset: int) -> int:
    start = text.rfind("\n", 0, offset) + 1
    return text.rfind("\n", 0, max(start - 1, 0)) + 1


def _without_unused(before: Document, after: Document) -> Document:
    """The job without the definitions that nothing uses any more; one with a comment in it or above it stays."""
    section = after.job.section("prerequisites")
    if section is None or not isinstance(section.value, Sequence):
        return after
    used = {one.name for one in before.job.prerequisites if before.job.prerequisite_uses.is_used(one)}
    gone: set[Node] = {
        one.node for one in after.job.prerequisites if one.name in used and not after.job.prerequisite_uses.is_used(one)
    }
    kept = [one.span.start for one in comments(after.syntax)] if gone else []
    removed: list[int] = []
    for number, item in enumerate(section.value.items):
        place = Span(_line_above(after.text, item.span.start), line_span(after.text, item.span).end)
        if item in gone and not any(offset in place for offset in kept):
            removed.append(number)
    if not removed or len(removed) == len(section.value.items):
        return after
    return replace(after, text=apply_edits(after.text, without_items(after.text, section.value, removed)))


def import_prerequisites(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference: the definition with all that it requires for a role's list, the bare copy anywhere."""
    job = document.job
    if document.is_catalog:
        return
    for role in job.task_roles:
        for reference in role.prerequisites:
            if _covers(reference.scalar.span, span) and _leads_out(document, reference):
                title = f"Import '{_short(reference)}' and what it requires into the job"
                find = partial(_imported, document, role.name, reference)
                yield attempted(title, RefactoringKind.INLINE, partial(_proven, document, find), find)
    references = [reference for role in job.task_roles for reference in role.prerequisites]
    references += [one.reference for definition in job.definitions for one in definition.requirements]
    for reference in references:
        if (
            reference.is_address
            and _covers(reference.scalar.span, span)
            and len(job.resolve(reference.name).definitions) == 1
        ):
            title = f"Copy '{_short(reference)}' into the job"
            find = partial(_copied, document, reference)
            yield attempted(title, RefactoringKind.INLINE, partial(_proven, document, find), find)


def _leads_out(document: Document, reference: Reference) -> bool:
    """Whether a reference leads to another file, or to a definition that requires others: it can be imported."""
    targets = document.job.resolve(reference.name).definitions
    own = {definition.node for definition in document.job.prerequisites}
    return any(target.node not in own or target.requirements for target in targets)


def _short(reference: Reference) -> str:
    return reference.name.rsplit("/", 1)[-1] or reference.name


def _imported(document: Document, role_name: str, reference: Reference) -> tuple[TextEdit, ...]:
    refuse_unknown(document.job)
    return _there(document, into_job_edits(document.job, role_name, reference))


def _copied(document: Document, reference: Reference) -> tuple[TextEdit, ...]:
    refuse_unknown(document.job)
    return _there(document, import_edits(document.job, reference))


def _there(document: Document, edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...]:
    if not edits:
        raise CanNotRefactorError("other prerequisites need the same one; a copy would run beside it")
    return together(document.syntax, edits)


def _proven(document: Document, find: Callable[[], tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
    edits = find()
    refuse_another_run(document.job, apply_edits(document.text, edits))
    return edits


def expand_job(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on the job's own keys, and at a finding that asks for expansion."""
    root = document.job.root
    needed = [one.span for one in document.diagnostics if one.code in ANSWERED_BY_EXPANSION]
    if root is None or not needed:
        return
    is_at_key = any(entry.key.span.touches(span.start) for entry in root.entries)
    if is_at_key or any(one.overlaps(span) for one in needed):
        title, make = "Expand the job for submission", partial(_expanded_edits, document)
        yield attempted(title, RefactoringKind.REWRITE, make, partial(refuse_unknown, document.job))


def _expanded_edits(document: Document) -> tuple[TextEdit, ...]:
    found = expanded(document.job)
    if found.text is None:
        raise CanNotRefactorError(found.problems[0].message)
    return line_edits(document.text, found.text)
