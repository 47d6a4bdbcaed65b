"""Replaces references to prerequisites by what they refer to.

The commands of a role's prerequisites move into its own (inline), definitions from outside are copied into the job
(import), or the whole job becomes the one that every released cluster runs (expand).
"""

from __future__ import annotations

from functools import partial

from pai_lsp.expansion.filled_definition import is_storage
from pai_lsp.expansion.write.code_edits import CannotInlineError, import_edits, inline_edits, into_job_edits
from pai_lsp.expansion.write.released_edits import extras_edits
from pai_lsp.expansion.write.released_job import expanded
from pai_lsp.ide.refactorings.refactoring import (
    EXPANDED,
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    line_edits,
    refuse_another_run,
    refuse_unknown,
    together,
)
from pai_lsp.job.definition import COMMAND_KEYS, Origin
from pai_lsp.job.require_graph import expansion
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import line_span
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Sequence
from pai_lsp.source.text import Span, apply_edits
from pai_lsp.source.tree_edits import without_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition, Reference
    from pai_lsp.job.job import Job
    from pai_lsp.source.text import TextEdit


def inline_prerequisites(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference in a task role's list; for all of them also on the task role's name."""
    if document.is_catalog:
        return
    for role in document.job.task_roles:
        running = [one for one in role.prerequisites if _runs(document.job, one)]
        here = [one for one in running if _covers(one.scalar.span, span)]
        for reference in here:
            title = f"Inline '{reference.name}' into the commands of '{role.name}'"
            yield attempted(title, RefactoringKind.INLINE, partial(_inlined, document, role.name, [reference]))
        commands = [one for one in running if not _is_plugin(document.job, one)]
        if running and (_covers(role.name_span, span) or (here and len(commands) > 1)):
            title = f"Inline all prerequisites into the commands of '{role.name}'"
            make = partial(_inlined, document, role.name, commands or running)
            yield attempted(title, RefactoringKind.INLINE, make)


def _covers(place: Span, span: Span) -> bool:
    return place.touches(span.start) and place.touches(span.end)


def _runs(job: Job, reference: Reference) -> bool:
    """Whether a reference leads to anything that runs, or to a storage."""
    return any(_has_plugin(one) or is_storage(one) or _has_commands(one) for one in _led_to(job, reference))


def _is_plugin(job: Job, reference: Reference) -> bool:
    """Whether a reference leads to plugins without any commands: they stay in the list when all others are inlined."""
    found = _led_to(job, reference)
    return any(map(_has_plugin, found)) and not any(map(_has_commands, found))


def _led_to(job: Job, reference: Reference) -> list[Definition]:
    return [step.definition for step in expansion(job.require_graph, [reference]).steps]


def _has_plugin(definition: Definition) -> bool:
    return definition.extended_plugin not in {"cmd", None} and not is_storage(definition)


def _has_commands(definition: Definition) -> bool:
    return definition.extended_plugin == "cmd" and any(map(definition.parameter, COMMAND_KEYS))


def _inlined(document: Document, role_name: str, references: list[Reference]) -> tuple[TextEdit, ...]:
    try:
        return _without_unused(document, inline_edits(document.job, role_name, references))
    except CannotInlineError as error:
        raise CanNotRefactorError(str(error)) from None


def _line_above(text: str, offset: int) -> int:
    start = text.rfind("\n", 0, offset) + 1
    return text.rfind("\n", 0, max(start - 1, 0)) + 1


def _without_unused(document: Document, edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits, and the removal of definitions that nothing uses any more; one with a comment in or above it stays."""
    first = together(document.syntax, edits)
    after = replace(document, text=apply_edits(document.text, first)).job
    unused = _used(document.job) - _used(after)
    gone = {one.node for one in after.definitions if (one.origin, one.name) in unused}
    kept = [one.span.start for one in comments(after.syntax)] if gone else []
    second: list[TextEdit] = []
    for origin, entry in ((Origin.JOB, after.section("prerequisites")), (Origin.EXTRAS, after.extras_entry(_EXTRAS))):
        section = entry.value if entry else None
        if not isinstance(section, Sequence):
            continue
        places = [
            Span(_line_above(after.text, one.span.start), line_span(after.text, one.span).end) for one in section.items
        ]
        removed = [
            number
            for number, (item, place) in enumerate(zip(section.items, places, strict=True))
            if item in gone and not any(offset in place for offset in kept)
        ]
        if len(removed) < len(section.items):
            second += without_items(after.text, section, removed)
        elif removed and origin is Origin.EXTRAS:
            second += extras_edits(after, (), (_EXTRAS,), None)
    return line_edits(document.text, apply_edits(after.text, second)) if second else first


_EXTRAS = "reference_prerequisites"


def _used(job: Job) -> set[tuple[Origin, str]]:
    """The definitions of the file that are used; not those whose name means another one."""
    own = {definition.name for definition in job.prerequisites}
    return {
        (one.origin, one.name)
        for one in job.definitions
        if job.prerequisite_uses.is_used(one) and (one.origin is Origin.JOB or one.name not in own)
    }


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
                yield attempted(title, RefactoringKind.INLINE, partial(_proven, document, find))
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
            yield attempted(title, RefactoringKind.INLINE, partial(_proven, document, find))


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
    return _without_unused(document, edits)


def _proven(document: Document, find: Callable[[], tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
    edits = find()
    refuse_another_run(document.job, apply_edits(document.text, edits))
    return edits


def expand_job(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on the job's own keys, and at a finding that asks for expansion: beside the job, and in its place."""
    root = document.job.root
    needed = [one.span for one in document.diagnostics if one.code in ANSWERED_BY_EXPANSION]
    if root is None or not needed:
        return
    is_at_key = any(entry.key.span.touches(span.start) for entry in root.entries)
    if is_at_key or any(one.overlaps(span) for one in needed):
        make, check = partial(_expanded_edits, document), partial(_expanded_text, document)
        beside = attempted("Expand the job for submission", RefactoringKind.REWRITE, make, check)
        yield replace(beside, beside=EXPANDED)
        yield attempted("Replace the job with the expanded one", RefactoringKind.REWRITE, make, check)


def _expanded_edits(document: Document) -> tuple[TextEdit, ...]:
    return line_edits(document.text, _expanded_text(document))


def _expanded_text(document: Document) -> str:
    found = expanded(document.job)
    if found.text is None:
        raise CanNotRefactorError(found.problems[0].message)
    return found.text
