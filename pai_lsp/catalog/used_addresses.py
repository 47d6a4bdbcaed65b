"""Which addresses jobs lead to: what a lock holds, and what a refresh may ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.lock import LockedDefinition, definition_hash, locked_source
from pai_lsp.job.lookup import LookupState
from pai_lsp.source.frozen import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.lookup import Lookup, LookupAnswer, Offer


@dataclass(slots=True, eq=False)
class RecordingLookup:
    """Answers as `lookup` does, and keeps what was asked with what was answered."""

    lookup: Lookup
    answers: dict[str, LookupAnswer] = field(default_factory=dict)

    def find(self, reference: str) -> LookupAnswer:
        """The definition(s) that an address names."""
        answer = self.answers[reference] = self.lookup.find(reference)
        return answer

    def names(self) -> tuple[str, ...]:
        """Every address that `find` would find."""
        return self.lookup.names()

    def offers(self, typed: str, most: int) -> tuple[Offer, ...]:
        """What to suggest where `typed` stands."""
        return self.lookup.offers(typed, most)


@dataclass(frozen=True, slots=True)
class Uses:
    """The addresses that jobs and what they require lead to, with the answers.

    found: those that find something. missing: the others, of those that somebody wrote.
    """

    found: Mapping[str, LookupAnswer]
    missing: Mapping[str, LookupAnswer]


def uses_of(jobs: Iterable[Job], lookup: Lookup) -> Uses:
    """What jobs ask of a lookup, in place of their own."""
    recording = RecordingLookup(lookup)
    written: set[str] = set()
    for job in jobs:
        graph = replace(job, lookup=recording).require_graph
        for entry in graph.entries:
            written |= {link.reference.name for link in (entry, *graph.beyond(entry)) if link.reference.is_address}
    answers = recording.answers
    found = {name: answer for name, answer in answers.items() if answer.state is LookupState.FOUND}
    missing = {name: answers[name] for name in sorted(written) if name in answers and name not in found}
    return Uses(found, missing)


def locked_entries(catalog: Catalog, uses: Uses) -> dict[str, tuple[LockedDefinition, ...]]:
    """What a lock file is to hold of what jobs use; what could not be asked stays as it was locked."""
    entries = {
        name: tuple(_locked(catalog, answer, definition) for definition in answer.definitions)
        for name, answer in uses.found.items()
    }
    before = catalog.lock.entries if catalog.lock else {}
    unknown = (name for name, answer in uses.missing.items() if answer.state is LookupState.UNKNOWN)
    kept = {name: before[name] for name in unknown if name in before}
    for name, locked in kept.items():
        entries[name] = tuple(replace(one, source=locked_source(one.source, catalog.setup.folder)) for one in locked)
    return entries


def _locked(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> LockedDefinition:
    path = answer.path or ""
    project = Path(catalog.setup.folder)
    file = Path(catalog.base) / path
    is_own = "://" not in path and file.is_relative_to(project)
    source = locked_source(path if "://" in path else str(file), catalog.setup.folder)
    return LockedDefinition(definition.name, source, definition_hash(definition), None if is_own else definition)
