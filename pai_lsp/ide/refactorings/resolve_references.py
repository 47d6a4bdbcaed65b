"""Replaces references to prerequisites by what they refer to.

The commands of a role's prerequisites move into its own (inline), definitions from outside are copied into the job
(import), or the whole job becomes the one that every released cluster runs (expand). After an inline or an import, the
task roles run the same commands in the same order, in the extended protocol; the rest of the job is not expanded.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pai_lsp.expansion.effective import (
    CmdPluginEntry,
    EffectiveJob,
    EffectiveRole,
    Prerequisite,
    Storage,
    effective_job,
    is_storage,
    merged_storages,
    step_value,
)
from pai_lsp.expansion.released_commands import role_values
from pai_lsp.expansion.released_edits import extras_edits, limited_to, role_list_edits
from pai_lsp.expansion.released_form import has_hooks
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.task_shell import added_commands, command_list
from pai_lsp.ide.refactorings.refactoring import (
    EXPANDED,
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    covers,
    line_edits,
    refuse_another_run,
    refuse_unknown,
    together,
)
from pai_lsp.job.definition import COMMAND_KEYS, Origin
from pai_lsp.job.lookup import BY_NAME
from pai_lsp.job.require_graph import expansion
from pai_lsp.platform.tables import Moment, free_prerequisite_name
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import line_span
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Sequence, plain_value
from pai_lsp.source.text import Span, TextEdit, apply_edits, start_of_line
from pai_lsp.source.tree_edits import items_after, without_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Sequence as SequenceOf

    from pai_lsp.document import Document
    from pai_lsp.expansion.task_shell import Source
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.definition import Definition, Reference
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import ExpansionStep
    from pai_lsp.source.nodes import Scalar


def inline_prerequisites(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference in a task role's list; for all of them also on the task role's name."""
    for role in document.job.task_roles:
        running = [one for one in role.prerequisites if _runs(document.job, one)]
        here = [one for one in running if covers(one.scalar.span, span)]
        for reference in here:
            title = f"Inline '{reference.name}' into the commands of '{role.name}'"
            yield attempted(title, RefactoringKind.INLINE, partial(_inlined, document, role.name, [reference]))
        commands = [one for one in running if not _is_plugin(document.job, one)]
        if running and (covers(role.name_span, span) or (here and len(commands) > 1)):
            title = f"Inline all prerequisites into the commands of '{role.name}'"
            make = partial(_inlined, document, role.name, commands or running)
            yield attempted(title, RefactoringKind.INLINE, make)


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
    return _without_unused(document, inline_edits(document.job, role_name, references))


def _line_above(text: str, offset: int) -> int:
    start = start_of_line(text, offset)
    return start_of_line(text, max(start - 1, 0))


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
        removed = []
        for number, item in enumerate(section.items):
            place = Span(_line_above(after.text, item.span.start), line_span(after.text, item.span).end)
            if item in gone and not any(offset in place for offset in kept):
                removed.append(number)
        if len(removed) < len(section.items):
            second += without_items(after.text, section, removed)
        elif removed and origin is Origin.EXTRAS:
            second += extras_edits(after, (), (_EXTRAS,), ())
    return line_edits(document.text, apply_edits(after.text, second)) if second else first


_EXTRAS = "reference_prerequisites"


def _used(job: Job) -> set[tuple[Origin, str]]:
    """The definitions of the file that are used; not those whose name means another one."""
    own = {definition.name for definition in job.prerequisites}
    return {
        (one.origin, one.name)
        for one in job.definitions
        if job.is_used(one) and (one.origin is Origin.JOB or one.name not in own)
    }


def import_prerequisites(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered on a reference: the definition with all that it requires for a role's list, the bare copy anywhere."""
    job = document.job
    for role in job.task_roles:
        for reference in role.prerequisites:
            if covers(reference.scalar.span, span) and _leads_out(document, reference):
                title = f"Import '{_short(reference)}' and what it requires into the job"
                find = partial(into_job_edits, job, role.name, reference)
                yield attempted(title, RefactoringKind.INLINE, partial(_imported, document, find))
    for reference in job.listed_references:
        is_here = reference.is_address and covers(reference.scalar.span, span)
        if is_here and len(job.resolve(reference.name).definitions) == 1:
            title = f"Copy '{_short(reference)}' into the job"
            find = partial(import_edits, job, reference)
            yield attempted(title, RefactoringKind.INLINE, partial(_imported, document, find))


def _leads_out(document: Document, reference: Reference) -> bool:
    """Whether a reference leads to another file, or to a definition that requires others: it can be imported."""
    targets = document.job.resolve(reference.name).definitions
    own = {definition.node for definition in document.job.prerequisites}
    return any(target.node not in own or target.requirements for target in targets)


def _short(reference: Reference) -> str:
    return reference.name.rsplit("/", 1)[-1] or reference.name


def _imported(document: Document, find: Callable[[], tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
    refuse_unknown(document.job)
    found = find()
    if not found:
        raise CanNotRefactorError("other prerequisites also require it, so it would run twice")
    edits = _without_unused(document, found)
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


def inline_edits(job: Job, role_name: str, references: SequenceOf[Reference]) -> tuple[TextEdit, ...]:
    """Put the commands of some of a role's references, and of all that they require, into the role's own commands.

    The storages that they need, and the commands of `cmd` plugins of `extras`, which would run in between, go along.

    Raises:
        CanNotRefactorError: if they would run in another order, or are not possible among commands.
    """
    refuse_unknown(job)
    effective = effective_job(job)
    role = next(one for one in effective.roles if one.role.name == role_name)
    inlined = {one.scalar for one in references}
    others = [one for one in role.role.prerequisites if one.scalar not in inlined]
    own = _brought_in(job, role, references, others)
    plugins = tuple(plugin for plugin in role.cmd_plugins if _runs_something(plugin))
    _refuse_what_stays(role, own, plugins, references)
    commands = _command_list(job, role, own=bool(plugins))
    problems: list[Diagnostic] = []
    sources: tuple[Source, ...] = (*(one for one in own if _runs_something(one)), *plugins)
    added = added_commands(sources, role_values(job)[role_name], problems.append, shares_shell=True)
    storages, conflicts = merged_storages(job, [storage for one in own for storage in one.storages])
    for problem in (*problems, *conflicts):
        raise CanNotRefactorError(problem.message)
    kept = _order_kept(job, role, own, others)
    return (
        *role_list_edits(job.text, role.role, tuple(kept.values()), kept),
        *added.edits(job.text, commands),
        *_plugins_without(job, effective, role, plugins, storages),
    )


def _order_kept(
    job: Job, role: EffectiveRole, own: SequenceOf[Prerequisite], others: SequenceOf[Reference]
) -> dict[Scalar, str]:
    """The names that the role still lists, by their scalars, so that what stays runs in the same order."""
    gone = {one.step.identity for one in own}
    order = [one.step.identity for one in role.prerequisites if one.step.identity not in gone]
    places = {identity: number for number, identity in enumerate(order)}
    lasts = {one.scalar: expansion(job.require_graph, [one]).steps[-1:] for one in others}
    by_place = sorted(others, key=lambda one: max((places[step.identity] for step in lasts[one.scalar]), default=0))
    for listed in (others, by_place):
        if [step.identity for step in expansion(job.require_graph, listed).steps] == order:
            return {one.scalar: one.name for one in listed}
    raise CanNotRefactorError("the other prerequisites would run in another order; inline all prerequisites at once")


def _runs_something(source: Source) -> bool:
    return any(map(source.moments, Moment))


def _refuse_what_stays(
    role: EffectiveRole,
    own: SequenceOf[Prerequisite],
    plugins: SequenceOf[CmdPluginEntry],
    references: SequenceOf[Reference],
) -> None:
    """Raise the reason why the others keep these from being inlined."""
    name = references[0].name
    names = [one.name for one in role.role.prerequisites]
    twice = next((one.name for one in references if names.count(one.name) > 1), None)
    if twice is not None:
        raise CanNotRefactorError(f"'{twice}' is listed twice, and runs twice until it is expanded")
    for one in own:
        if one.plugin not in {"cmd", None}:
            raise CanNotRefactorError(f"{one.title} is a plugin '{one.plugin}', which is not a command")
    running = [one for one in role.prerequisites if _runs_something(one)]
    first = next((number for number, one in enumerate(running) if one in own), None)
    if first is None:
        reason = "is also required by another prerequisite of this task role"
        if own:
            reason = "only mounts a storage" if any(one.storages for one in own) else "runs nothing"
        raise CanNotRefactorError(f"'{name}' {reason}")
    between = next((one for one in running[first:] if one not in own), None)
    if between is not None:
        raise CanNotRefactorError(f"{between.title} runs between '{name}' and the commands; inline it first")
    # What runs at the end is among the commands, and those do not run if a callback of the runtime fails.
    staying = [one for one in running if one not in own]
    if staying and has_hooks((*own, *plugins)) and not has_hooks(staying):
        reason = f"commands of '{name}' at the end would not run when {staying[0].title} fails"
        raise CanNotRefactorError(f"{reason}; inline all prerequisites at once")


def _command_list(job: Job, role: EffectiveRole, *, own: bool) -> Sequence:
    """The list to add to; raises the reason if it, or what else changes, is shared through an alias.

    own: whether the plugins under `extras` change, too.
    """
    node = role.role.node
    commands = command_list(job, role.role)
    if node is None or commands is None:
        raise CanNotRefactorError(f"'{role.role.name}' has no list of commands")
    named = {anchor.node for anchor in job.syntax.anchors}
    listed, written = node.own("prerequisites"), node.own("commands")
    is_merged = written is None and role.role.get("commands") is commands
    for what, value in (("prerequisites", listed.value if listed else None), ("commands", commands)):
        if value is None or value in named or (value is commands and is_merged):
            raise CanNotRefactorError(f"the {what} of '{role.role.name}' are shared; write them out first")
    if own and job.syntax.aliases:
        raise CanNotRefactorError("the cmd plugin of extras runs in between, and the file has aliases")
    return commands


def _plugins_without(
    job: Job,
    effective: EffectiveJob,
    role: EffectiveRole,
    plugins: SequenceOf[CmdPluginEntry],
    storages: tuple[Storage, ...],
) -> Iterator[TextEdit]:
    """Add storages to `extras`, and let plugins act for the other roles only."""
    gone = set()
    for plugin in plugins:
        names = tuple(one.role.name for one in effective.roles if one is not role and plugin in one.plugins)
        if names:
            yield limited_to(job.text, plugin, names)
        else:
            gone.add(plugin.entry.node)
    if storages or gone:
        yield from extras_edits(job, storages, (), gone)


def into_job_edits(job: Job, role_name: str, reference: Reference) -> tuple[TextEdit, ...]:
    """Put the definition of one of a role's references, and all that it requires, into the job's prerequisites.

    Variables are filled; the role lists all of it in order, instead of the reference.
    """
    role = _role(job, role_name)
    section = job.section("prerequisites")
    if role is None or section is None or not isinstance(section.value, Sequence):
        return ()
    listed = role.role.prerequisites
    at = next(number for number, one in enumerate(listed) if one.scalar is reference.scalar)
    brought_in = _brought_in(job, role, [reference], listed[:at])
    needed_later = _brought_in(job, role, listed[at + 1 :], [])
    taken = {definition.name for definition in job.prerequisites}
    names: list[str] = []
    values: list[dict[str, Any]] = []
    copied: set[ExpansionStep] = set()
    for one in brought_in:
        is_there = one.is_own and one.definition.origin is Origin.JOB and not one.step.values
        if (one in needed_later and not is_there) or (is_there and any(step in copied for step in one.step.required)):
            return ()  # a copy would run beside it
        if is_there:
            names.append(one.definition.name)
        elif one.commands or one.plugin or one.storages:
            names.append(free_prerequisite_name(one.definition.name, taken))
            taken.add(names[-1])
            values.append(_filled(one, names[-1]))
            copied.add(one.step)
    if names == [reference.name]:
        return ()
    written = [one.name for one in listed]
    released = {one.scalar: one.name for one in listed if one.scalar is not reference.scalar}
    if names:
        released[reference.scalar] = names[-1]
    return (
        *items_after(job.text, section.value, values),
        *role_list_edits(job.text, role.role, (*written[:at], *names, *written[at + 1 :]), released),
    )


def import_edits(job: Job, reference: Reference) -> tuple[TextEdit, ...]:
    """Copy the definition of one address into the job's prerequisites, and name it there."""
    targets = job.resolve(reference.name).definitions if reference.is_address else ()
    section = job.section("prerequisites")
    if len(targets) != 1 or section is None or not isinstance(section.value, Sequence):
        return ()
    graph = job.require_graph
    links = [link for entry in graph.entries for link in (entry, *graph.beyond(entry))]
    if sum(target.node is targets[0].node for link in links for target in link.targets) > 1:
        return ()  # the copy would run beside it
    name = job.free_name(targets[0].name)
    return (
        *items_after(job.text, section.value, [_copied(job, targets[0], name)]),
        TextEdit(reference.span, name),
    )


def _role(job: Job, name: str) -> EffectiveRole | None:
    """The role, if all that it needs is known and its lists are not shared."""
    effective = effective_job(job)
    role = next((role for role in effective.roles if role.role.name == name), None)
    if effective.problems or role is None or role.role.node is None:
        return None
    lists = [role.role.node.own("prerequisites"), role.role.node.own("commands")]
    named = {anchor.node for anchor in job.syntax.anchors}
    return None if any(entry is None or entry.value in named for entry in lists) else role


def _brought_in(
    job: Job, role: EffectiveRole, references: SequenceOf[Reference], others: SequenceOf[Reference]
) -> tuple[Prerequisite, ...]:
    """What these references of a role lead to and the others do not, in start order."""
    mine, theirs = (
        {step.identity for step in expansion(job.require_graph, listed).steps} for listed in (references, others)
    )
    return tuple(one for one in role.prerequisites if one.step.identity in mine - theirs)


def _filled(prerequisite: Prerequisite, name: str) -> dict[str, Any]:
    """A definition with its variables filled; the role that lists it also lists what it requires."""
    node = prerequisite.definition.node
    left = {"name", "require", "template_variables", "title", "summary"}
    kept = [entry for entry in node.effective_entries() if entry.name not in left]
    value: dict[str, Any] = {"name": name} | ({"type": "script"} if node.entry("type") is None else {})
    return value | {entry.name: step_value(entry.value, prerequisite.step) for entry in kept}


def _copied(job: Job, definition: Definition, name: str) -> dict[str, Any]:
    value: dict[str, Any] = {"name": name, "type": definition.type or "script"}
    entries = definition.node.effective_entries()
    value |= {entry.name: plain_value(entry.value) for entry in entries if entry.name not in {"name", "type"}}
    if isinstance(required := value.get("require"), list):
        value["require"] = [_addressed(job, one) for one in required]
    return value


def _addressed(job: Job, required: Any) -> Any:
    """An entry of `require` that means the same in the job: a plain name there means the job's own."""
    if isinstance(required, dict) and "name" in required:
        return required | {"name": _addressed(job, required["name"])}
    address = BY_NAME + required
    is_plain = isinstance(required, str) and "://" not in required
    return address if is_plain and job.lookup.find(address).definitions else required
