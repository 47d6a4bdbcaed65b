"""Quick fixes that a rule cannot offer itself: for several findings at once, or for any finding.

All keys that a mapping or the whole job lacks; values for template variables.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.ide.cursor import Cursor
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    covers,
    definition_added,
    line_edits,
    together,
)
from pai_lsp.rules.structure.structure_fixes import insert_fixes
from pai_lsp.rules.structure.structure_places import places
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.text import Span, TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition, Reference
    from pai_lsp.job.job import Job
    from pai_lsp.rules.structure.structure_fixes import Path
    from pai_lsp.rules.structure.structure_places import ErrorPlace


# A key that is added may make others necessary, such as a prerequisite's type: the text is read again, so often and
# as long as it has not so many characters in all.
_MOST_ROUNDS = 20
_MOST_CHARACTERS = 100_000


def missing_keys(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered if several keys are missing; a single one has its quick fix."""
    found = list(places(document.job, "missing-key"))
    here = Cursor(document, span.start).location
    if len(found) < 2 or here is None:
        return
    path = _wanting(found, here.path)
    count = len(_below(found, path))
    if path and count > 1:
        # An item of a list that lacks several keys has no name.
        owner = path[-1] if isinstance(path[-1], str) else f"{path[-2] if path[1:] else ''}[{path[-1]}]"
        title = f"Add the {count} missing keys of '{owner}'"
        yield Refactoring(title, RefactoringKind.QUICK_FIX, partial(_adding_edits, document, path))
    if count < len(found) or not path:
        title = f"Add all {len(found)} missing keys of the job"
        yield Refactoring(title, RefactoringKind.QUICK_FIX, partial(_adding_edits, document, ()))


def _wanting(found: list[ErrorPlace], path: Path) -> Path:
    """The innermost mapping on a path below which keys are missing."""
    while path and not _below(found, path):
        path = path[:-1]
    return path


def _below(found: Iterable[ErrorPlace], path: Path) -> list[ErrorPlace]:
    return [place for place in found if place.error.path[: len(path)] == path]


def _adding_edits(document: Document, path: Path) -> tuple[TextEdit, ...]:
    """Edits that add all missing keys at a path and below, and the docker image that a new key may name."""
    tried = document
    edits: tuple[TextEdit, ...] = ()
    for number in range(_MOST_ROUNDS):
        added = together(tried.syntax, _additions(tried.job, path) or _missing_image(document, tried))
        if not added:
            break
        tried = replace(tried, text=apply_edits(tried.text, added))
        edits = added if number == 0 else line_edits(document.text, tried.text)
        if len(tried.text) * (number + 1) > _MOST_CHARACTERS:
            break
    if not edits or (tried.syntax.problems and not document.syntax.problems):
        raise CanNotRefactorError("no value for the missing keys is known")
    return edits


def _missing_image(before: Document, after: Document) -> list[TextEdit]:
    """The edit that adds the docker image that a new key of a task role names."""
    code = "unknown-docker-image"
    if any(one.code == code for one in before.diagnostics):
        return []
    found = (one for one in after.diagnostics if one.code == code)
    return [edit for one in found for fix in one.fixes[-1:] for edit in fix.edits][:1]


def _additions(job: Job, path: Path) -> list[TextEdit]:
    """An edit for each missing key at a path or below, those of one mapping in the schema's order."""
    by_mapping: dict[Mapping, list[ErrorPlace]] = {}
    wanted = _below(places(job, "missing-key"), path)
    # What a task role may name must be known first.
    for place in _below(wanted, ("prerequisites",)) or wanted:
        if isinstance(place.node, Mapping):
            by_mapping.setdefault(place.node, []).append(place)
    return [edit for wanting in by_mapping.values() for fix in insert_fixes(job, wanting) for edit in fix.edits]


def template_variables(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference in a task role's list to a definition that needs values."""
    job = document.job
    for role in job.task_roles:
        for reference in role.prerequisites:
            targets = job.resolve(reference.name).definitions
            wanting = [target for target in targets if target.template_variables]
            if wanting and covers(reference.scalar.span, span):
                title = f"Fill the template variables of '{wanting[0].name}' in a prerequisite of the job"
                yield attempted(title, RefactoringKind.REWRITE, partial(_filled, document, reference, wanting))
    fillable = [one for one in document.diagnostics if one.code == "unfilled-template-variable" and one.fixes]
    here = next((one for one in job.definitions if one.node.span.touches(span.start)), None)
    inside = [one for one in fillable if here is not None and one.span.start in here.node.span]
    if here is not None and len(inside) > 1:
        edits = [edit for one in inside for edit in one.fixes[0].edits]
        title = f"Add all template variables that '{here.name}' must set"
        yield Refactoring(title, RefactoringKind.QUICK_FIX, partial(together, job.syntax, edits))


def _filled(document: Document, reference: Reference, wanting: list[Definition]) -> tuple[TextEdit, ...]:
    job = document.job
    names = dict.fromkeys(variable.name for target in wanting for variable in target.template_variables)
    name = job.free_name(wanting[0].name)
    value = {
        "type": wanting[0].type or "script",
        "name": name,
        "require": [{"name": reference.name, "template_variables": dict.fromkeys(names, "")}],
    }
    return together(job.syntax, (definition_added(job, value), TextEdit(reference.span, name)))
