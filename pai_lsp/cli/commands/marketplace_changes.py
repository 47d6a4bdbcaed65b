"""What a change of definitions does: `marketplace diff` for the jobs of a folder, `lock --diff` for the lock file."""

from __future__ import annotations

import re
import sys
from difflib import unified_diff
from typing import TYPE_CHECKING

from pai_lsp.catalog.loading import RecordingLookup
from pai_lsp.catalog.lock import definition_hash
from pai_lsp.catalog.revision import RevisionError, catalog_at, folder_at
from pai_lsp.cli import FINDINGS, failed
from pai_lsp.document import Document
from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.script import scripts
from pai_lsp.job.lookup import LookupState, displayed_path
from pai_lsp.source.files import full_path
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.text import visible
from pai_lsp.source.writing import value_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.lock import LockedDefinition
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.lookup import LookupAnswer

# The file of a definition in a title of the script: it differs between a lock file and the source that it pins.
_FILE = re.compile(r"(?<=# --- ).*(?= ---$)")
_FOR_PEOPLE = frozenset({"title", "summary", "description"})
_PLACE = re.compile(r" in [^()]*\)")


def diff(catalog: Catalog, base: str | None, documents: Iterable[Document]) -> int:
    """Print which jobs a change of definitions changes, and how what they run changes; returns the exit status.

    The former definitions are those of the commit `base`; without one, those that the lock file pins and, of folders,
    those of git's HEAD.
    """
    before, after = catalog, catalog
    if base is not None:
        try:
            before = catalog_at(catalog, base)
        except RevisionError as error:
            return failed("marketplace diff", visible(str(error)))
    else:
        before, fault = _at_head(catalog)
        after = replace(catalog, lock=None)
        if fault and catalog.lock is None:
            return failed("marketplace diff", f"nothing to compare with: {visible(fault)}")
    count = changed = 0
    for document in documents:
        count += 1
        lines = list(_changes(document.job, before, after))
        if lines:
            changed += 1
            name = displayed_path(full_path(document.path or ""), catalog.base)
            sys.stdout.write(visible(f"{name}: {lines[0]}") + "\n")
            sys.stdout.write("".join(f"  {visible(line)}".rstrip() + "\n" for line in lines[1:]) + "\n")
    sys.stdout.write(f"changed jobs: {changed} of {count}\n")
    return FINDINGS if changed else 0


def _at_head(catalog: Catalog) -> tuple[Catalog, str]:
    """The catalog with its folders as they are in git's HEAD; of one that git cannot read, as it is now, and why."""
    folders, fault = set(catalog.setup.directories), ""
    sources = []
    for source in catalog.sources:
        try:
            sources.append(folder_at(source, "HEAD") if source.label in folders else source)
        except RevisionError as error:
            sources.append(source)
            fault = fault or str(error)
    return replace(catalog, sources=tuple(sources)), fault


def _changes(job: Job, before: Catalog, after: Catalog) -> Iterator[str]:
    """Which definitions change, then the difference of what the job runs; nothing where it runs the same."""
    first, second = RecordingLookup(lambda: before), RecordingLookup(lambda: after)
    old, new = replace(job, lookup=first), replace(job, lookup=second)
    difference = list(_compared(_script(old), _script(new))) or list(_compared(_text(old), _text(new)))
    if not difference:
        return
    asked = {*first.answers, *second.answers}
    names = sorted(name for name in asked if _values(before.find(name)) != _values(after.find(name)))
    yield f"changes by {', '.join(names)}"
    yield from difference


def _values(answer: LookupAnswer) -> list[dict[str, object]]:
    """The values of the definitions, without the texts for people."""
    plain = [plain_value(one.node) for one in answer.definitions]
    return [{key: value for key, value in one.items() if key not in _FOR_PEOPLE} for one in plain]


def _script(job: Job) -> list[str]:
    effective = effective_job(job)
    if effective.problems:
        return [f"cannot be expanded: {one.message}" for one in effective.problems]
    text = job.hidden.without(scripts(job, effective))
    return [_FILE.sub(lambda title: _PLACE.sub(")", title[0]), line) for line in text.splitlines()]


def _text(job: Job) -> list[str]:
    """The expanded job: it holds storages and the parameters of other plugins too."""
    found = expanded(job)
    return job.hidden.without(found.text or "").splitlines()


def _written(definitions: Iterable[Definition]) -> list[str]:
    """The values of definitions as YAML, without passwords."""
    text = "\n".join(line for one in definitions for line in value_lines([plain_value(one.node)]))
    return Document(text).as_definitions(is_wanted=True).job.hidden.without(text).splitlines()


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    return (line.rstrip("\n") for line in list(unified_diff(before, after, n=2, lineterm=""))[2:])


def print_lock_changes(
    changes: Mapping[str, str],
    before: Mapping[str, tuple[LockedDefinition, ...]],
    after: Mapping[str, tuple[LockedDefinition, ...]],
    catalog: Catalog,
) -> None:
    """Print each changed entry of the lock file with the difference of its definitions.

    Of a definition in the project the lock file has only the hash; its former text is that of git's HEAD, if it fits.
    """
    unlocked = replace(catalog, lock=None)
    committed = _at_head(unlocked)[0] if "changed" in changes.values() else unlocked
    for name, word in changes.items():
        sys.stdout.write(visible(f"{name}: {word}") + "\n")
        held = [one.definition for one in before.get(name, ()) if one.definition is not None]
        if word == "changed" and not held:
            hashes = {one.sha256 for one in before[name]}
            held = [one for one in _found(committed, name) if definition_hash(one) in hashes]
        if word == "changed" and not held:
            sys.stdout.write("  its former text is in the project's history: pai-lsp marketplace diff --base COMMIT\n")
            continue
        current = _found(unlocked, name) if name in after else ()
        texts = [_written(definitions) for definitions in (held, current)]
        sys.stdout.write("".join(f"  {visible(line)}\n" for line in _compared(*texts)))


def _found(catalog: Catalog, name: str) -> tuple[Definition, ...]:
    answer = catalog.find(name)
    return answer.definitions if answer.state is LookupState.FOUND else ()
