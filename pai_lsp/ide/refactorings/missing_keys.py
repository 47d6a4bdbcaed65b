"""Adds all keys that a mapping, or the whole job, must have and lacks, with values to start from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.ide.line_edits import line_edits
from pai_lsp.ide.location import locate
from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError, Refactoring, RefactoringKind, together
from pai_lsp.platform.job_schema import fields
from pai_lsp.rules.structure.structure_fixes import insert_fixes
from pai_lsp.rules.structure.structure_places import places
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.rules.structure.structure_fixes import Path
    from pai_lsp.rules.structure.structure_places import ErrorPlace
    from pai_lsp.source.text import Span, TextEdit

# A key that is added may make others necessary, such as a prerequisite's type.
_MOST_ROUNDS = 20


def missing_keys(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered if several keys are missing; a single one has its quick fix."""
    found = list(places(document.job, "missing-key"))
    here = locate(document, span.start)
    if len(found) < 2 or here is None:
        return
    path = _wanting(found, here.path)
    count = sum(1 for place in found if place.error.path[: len(path)] == path)
    if path and count > 1:
        title = f"Add the {count} missing keys of '{_name(document.job, path)}'"
        yield Refactoring(title, RefactoringKind.QUICK_FIX, partial(_edits, document, path))
    if count < len(found) or not path:
        title = f"Add all {len(found)} missing keys of the job"
        yield Refactoring(title, RefactoringKind.QUICK_FIX, partial(_edits, document, ()))


def _wanting(found: list[ErrorPlace], path: Path) -> Path:
    """The innermost mapping on a path below which keys are missing."""
    while path and not any(place.error.path[: len(path)] == path for place in found):
        path = path[:-1]
    return path


def _name(job: Job, path: Path) -> str:
    if isinstance(path[-1], str):
        return path[-1]
    owner = str(path[-2]) if len(path) > 1 else ""
    items = job.plain.get(owner) if isinstance(job.plain, dict) else None
    item = items[path[-1]] if isinstance(items, list) and path[-1] < len(items) else None
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else f"{owner}[{path[-1]}]"


def _edits(document: Document, path: Path) -> tuple[TextEdit, ...]:
    """Edits that add all missing keys at a path and below, and the docker image that a new key may name."""
    tried = document
    edits: tuple[TextEdit, ...] = ()
    for number in range(_MOST_ROUNDS):
        added = together(tried.syntax, _additions(tried.job, path) or _image(document, tried))
        if not added:
            break
        tried = replace(tried, text=apply_edits(tried.text, added))
        edits = added if number == 0 else line_edits(document.text, tried.text)
    if not edits or (tried.syntax.problems and not document.syntax.problems):
        raise CanNotRefactorError("nothing is known that could stand there")
    return edits


def _image(before: Document, after: Document) -> list[TextEdit]:
    """The edit that adds the docker image that a new key of a task role names."""
    code = "unknown-docker-image"
    if any(one.code == code for one in before.diagnostics):
        return []
    found = (one for one in after.diagnostics if one.code == code)
    return [edit for one in found for fix in one.fixes[-1:] for edit in fix.edits][:1]


def _additions(job: Job, path: Path) -> list[TextEdit]:
    """An edit for each missing key at a path or below, those of one mapping in the schema's order."""
    by_mapping: dict[int, list[ErrorPlace]] = {}
    wanted = [place for place in places(job, "missing-key") if place.error.path[: len(path)] == path]
    # What a task role may name must be known first.
    first = [place for place in wanted if place.error.path[:1] == ("prerequisites",)]
    for place in first or wanted:
        if isinstance(place.node, Mapping):
            by_mapping.setdefault(id(place.node), []).append(place)
    edits: list[TextEdit] = []
    for wanting in by_mapping.values():
        # Into an empty mapping one key goes at a time: where the next one goes depends on it.
        is_empty = isinstance(wanting[0].node, Mapping) and not wanting[0].node.entries
        for place in sorted(wanting, key=lambda one: _order(job, one))[: 1 if is_empty else None]:
            edits += (edit for fix in insert_fixes(job, place)[:1] for edit in fix.edits)
    return edits


def _order(job: Job, place: ErrorPlace) -> int:
    known = [one.key for one in fields(place.error.path, kind=job.schema_kind)]
    return known.index(place.error.key) if place.error.key in known else len(known)
