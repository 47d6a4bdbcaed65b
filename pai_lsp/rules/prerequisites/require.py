"""Rules about `require`, about addresses of prerequisites outside the job, and about the lock file.

A mistake in a marketplace's file is reported on the reference in the job that leads there, with a related location in
that file.
"""

from __future__ import annotations

from itertools import islice

from pai_lsp.findings.diagnostic import MOST_RELATED, Finding, Order, Related, Severity, Stage, rule
from pai_lsp.findings.fixes import all_of, change_fix, near_name_fixes
from pai_lsp.job.definition import Origin
from pai_lsp.job.lookup import AddressFault, AddressKind, LookupState, looks_like_address, near_addresses, read_address
from pai_lsp.job.require_graph import cycle_found, cycles, needs_missing, no_prerequisite, not_looked_up, nothing_at
from pai_lsp.rules.prerequisites.references import by_title, callback_stub
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import Cycle, RequireLink


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.EXPANSION, about=("require",), spreads=True)
def unknown_required_prerequisite(job: Job) -> Iterator[Finding]:
    """A prerequisite requires an undefined one.

    A released cluster ignores `require`. In the extended protocol, such a job cannot be expanded.
    Source: docs/protocol.md, "References"; openpai, issue 5145.

        prerequisites:
          - name: storage
            type: script
          - name: mnist
            type: data
            require: [storag]
            #         ^^^^^^ error

    Good:

        prerequisites:
          - name: storage
            type: script
          - name: mnist
            type: data
            require: [storage]
    """
    graph = job.require_graph
    for definition in job.definitions:
        for link in graph.links(definition):
            name = link.reference.name
            if link.answer.state is LookupState.ABSENT and not looks_like_address(name):
                names, own = job.definitions_by_name, definition.name
                fixes = near_name_fixes(link.reference.span, name, names, besides=own)
                if definition.origin is not Origin.CATALOG:
                    fixes = all_of(fixes, callback_stub(job, name))
                wrong = Finding(link.reference.span, no_prerequisite(name, names, besides=own), fixes)
                yield by_title(job, link.reference) or wrong
    yield from _missing_beyond(job, addresses=False)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.EXPANSION)
def unknown_marketplace_item(job: Job) -> Iterator[Finding]:
    """No definition has this name or address.

    The marketplace or the web server responded that it has no such definition: for example `marketplace://name/mnits`
    when it has `mnist`. If it could not be reached, `marketplace-not-asked` is reported instead.
    Source: docs/protocol.md, "References"; openpai, issue 5345.
    """
    for link in job.require_graph.entries:
        name = link.reference.name
        if link.answer.state is not LookupState.ABSENT or not looks_like_address(name):
            continue
        if not isinstance(address := read_address(name), AddressFault):
            known = job.lookup.names()
            near = () if address.kind is AddressKind.WEB else near_addresses(name, known)
            fixes = near_name_fixes(link.reference.span, name, near)
            yield Finding(link.reference.span, nothing_at(name, known), fixes)
    yield from _missing_beyond(job, addresses=True)


def _missing_beyond(job: Job, *, addresses: bool) -> Iterator[Finding]:
    """Missing requirements of definitions outside the file, reported on the references that lead to them."""
    graph = job.require_graph
    for entry in graph.entries:
        for link in graph.beyond(entry):
            name = link.reference.name
            if link.answer.state is LookupState.ABSENT and looks_like_address(name) == addresses:
                message = needs_missing(entry.reference.name, name)
                related = (Related(link.reference.span, "required here", link.path),)
                yield Finding(entry.reference.span, message, related=related)


@rule(Severity.INFORMATION, order=Order.NAMES, stage=Stage.CHECKER)
def marketplace_not_asked(job: Job) -> Iterator[Finding]:
    """A definition could not be looked up.

    Its requirements and template variables are not checked. Configure a marketplace in `.pai-lsp.yaml`, or refresh it;
    in an editor, trust the folder (docs/editors.md, "Trust"). Reported once for each reason.
    Source: docs/protocol.md, "References".

        taskRoles:
          worker:
            prerequisites: ["marketplace://name/mnist", "marketplace://name/tools"]
            #                ^^^^^^^^^^^^^^^^^^^^^^^^ information

    Good:

        prerequisites:
          - name: mnist
            type: data
        taskRoles:
          worker:
            prerequisites: [mnist]
    """
    by_note: dict[str, list[RequireLink]] = {}
    for link in job.require_graph.entries:
        if link.answer.state is LookupState.UNKNOWN and not isinstance(read_address(link.reference.name), AddressFault):
            by_note.setdefault(link.answer.note, []).append(link)
    for note, links in by_note.items():
        first, *others = sorted(links, key=lambda link: link.reference.span)
        related = tuple(Related(link.reference.span, "this one could not be looked up either") for link in others)
        yield Finding(first.reference.span, not_looked_up(first.reference.name, note, len(others)), related=related)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.EXPANSION)
def malformed_reference(job: Job) -> Iterator[Finding]:
    """A reference is neither a name nor a valid address.

    A definition outside the job has an address: `marketplace://name/NAME`, `marketplace://TYPE/NAME` (data, script,
    output or dockerimage), `marketplace://prerequisites/itemId/ID`, or an `https://` or `http://` URL.
    Source: docs/protocol.md, "References"; openpai, issues 5145 and 5345; names: rest-server, config/v2/protocol.js.

        taskRoles:
          worker:
            prerequisites: ["marketplace://mnist"]
            #                ^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            prerequisites: ["marketplace://name/mnist"]
    """
    for link in job.require_graph.entries:
        name = link.reference.name
        if looks_like_address(name) and isinstance(fault := read_address(name), AddressFault):
            span = link.reference.span
            fixes = change_fix(span, fault.meant) if fault.meant else ()
            yield by_title(job, link.reference) or Finding(span, fault.message, fixes)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.EXPANSION, about=("require",))
def prerequisite_cycle(job: Job) -> Iterator[Finding]:
    """Prerequisites require each other in a cycle.

    A required prerequisite runs before the one that requires it, so prerequisites that require each other have no
    order, and the job cannot be expanded. The finding marks the entry that closes the cycle; the related locations show
    all of it.
    Source: docs/protocol.md, "Expansion of a task role".

        prerequisites:
          - name: data
            type: data
            require: [tools]
          - name: tools
            type: script
            require: [data]
            #         ^^^^ error

    Good:

        prerequisites:
          - name: data
            type: data
            require: [tools]
          - name: tools
            type: script
    """
    for cycle in cycles(job.require_graph):
        related = tuple(
            Related(link.reference.span, f"'{definition.name}' requires '{link.reference.name}' here", link.path)
            for definition, link in islice(zip(cycle.definitions, cycle.links, strict=True), MOST_RELATED)
        )
        if (place := _place(job, cycle)) is not None:
            yield Finding(place.reference.span, cycle_found(cycle), related=related)


def _place(job: Job, cycle: Cycle) -> RequireLink | None:
    """The reference in the file to report a cycle on: the one that closes it, or one that leads to it."""
    outside = job.require_graph.is_outside
    own = [link for one, link in zip(cycle.definitions, cycle.links, strict=True) if not outside(one)]
    if own:
        return own[-1]
    return next((link for link in job.require_graph.entries if cycle.closing in job.require_graph.beyond(link)), None)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.EXPANSION)
def broken_lock_file(job: Job) -> Iterator[Finding]:
    """`.pai-lsp.lock` cannot be used.

    The file has merge conflicts, is truncated, or was edited by hand. Jobs are not expanded with such a file, because
    the result could differ from that of others in the project. Resolve the conflict, or run `pai-lsp marketplace lock`
    again. Reported once in each job that uses a definition outside it.
    Source: docs/marketplace.md, "The lock file".
    """
    if fault := job.require_graph.lock_fault:
        entry, message = fault
        yield Finding(entry.reference.span, message)


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.EXPANSION)
def locked_definition_changed(job: Job) -> Iterator[Finding]:
    """A definition outside the job differs from the locked one.

    `.pai-lsp.lock` has the hash of every definition that the project's jobs use, and this definition has changed since.
    Others may get a different result from the same job. Review the change, then run `pai-lsp marketplace lock`.
    Source: docs/marketplace.md, "The lock file".
    """
    graph = job.require_graph
    for entry in graph.entries:
        name, span = entry.reference.name, entry.reference.span
        if entry.answer.changed:
            yield Finding(span, f"'{name}': {entry.answer.changed}")
        for link in graph.beyond(entry):
            if link.answer.changed:
                related = (Related(link.reference.span, "required here", link.path),)
                message = f"'{name}' requires '{link.reference.name}': {link.answer.changed}"
                yield Finding(span, message, related=related)
