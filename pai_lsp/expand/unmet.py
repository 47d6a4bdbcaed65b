"""What a task role lists and needs, and does not get: references that find nothing, circles, variables left open.

Said with the codes and in the words of the rules, so that it is the same wherever somebody reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.addresses import AddressFault, looks_like_address, read_address
from pai_lsp.expand.problem import CANNOT_BE_EXPANDED
from pai_lsp.lookup import LookupState
from pai_lsp.requirement_words import (
    circle,
    needs_missing,
    needs_values,
    no_prerequisite,
    not_looked_up,
    nothing_at,
    requires_without_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole
    from pai_lsp.requirements import Expansion, Link, UnfilledVariable


def entries_beyond(job: Job, role: TaskRole) -> dict[int, Link]:
    """For references outside the file (by identity) that the role's lead to, the one in the file that leads there."""
    graph = job.require_graph
    found: dict[int, Link] = {}
    seen: set[int] = set()
    waiting = [graph.link(reference) for reference in role.prerequisites]
    for link in waiting:  # grows while it is read
        for target in link.targets:
            if id(target.node) not in seen:
                seen.add(id(target.node))
                waiting += graph.links(target)
                if graph.is_outside(target):
                    entry = found.get(id(link), link)
                    found.update((id(further), entry) for further in graph.links(target))
    return found


def unmet(job: Job, found: Expansion, entries: Mapping[int, Link]) -> Iterator[tuple[str, Link, str]]:
    """What is wrong with what a task role's list comes to: a code, the reference it is about, and the message.

    entries: what `entries_beyond` gives for the role.
    """
    for link in found.unresolved:
        yield _unresolved(job, link, entries.get(id(link)))
    for cycle in found.cycles:
        yield "prerequisite-cycle", cycle.closing, circle(cycle)
    for link, names in _open_variables(found.unfilled):
        entry, name = entries.get(id(link)), link.reference.name
        if entry is None:
            message = needs_values(name, names, is_listed=link.requirement is None)
        else:
            message = requires_without_value(entry.reference.name, name, names[0])
        yield "unfilled-template-variable", link, message


def _unresolved(job: Job, link: Link, entry: Link | None) -> tuple[str, Link, str]:
    name = link.reference.name
    is_address = looks_like_address(name)
    if is_address and isinstance(read_address(name), AddressFault):
        return "malformed-reference", link, nothing_at(name, ())
    if link.answer.state is LookupState.UNKNOWN:
        return CANNOT_BE_EXPANDED, link, not_looked_up(name, link.answer.note)
    required = "unknown-required-prerequisite" if link.requirement else "unknown-prerequisite"
    code = "unknown-marketplace-item" if is_address else required
    if entry is not None:
        return code, link, needs_missing(entry.reference.name, name)
    known = job.lookup.names() if is_address else _meant(job, link)
    return code, link, nothing_at(name, known) if is_address else no_prerequisite(name, known)


def _meant(job: Job, link: Link) -> tuple[str, ...]:
    """The names that a reference in the job may mean: all but that of the definition in which it stands."""
    graph = job.require_graph
    holder = next((one for one in graph.definitions if any(other is link for other in graph.links(one))), None)
    return tuple(name for name in job.definitions_by_name if holder is None or name != holder.name)


def _open_variables(unfilled: Iterable[UnfilledVariable]) -> list[tuple[Link, list[str]]]:
    """By reference, the names of the template variables that it leaves open."""
    found: dict[int, tuple[Link, list[str]]] = {}
    for one in unfilled:
        found.setdefault(id(one.link), (one.link, []))[1].append(one.variable.name)
    return list(found.values())
