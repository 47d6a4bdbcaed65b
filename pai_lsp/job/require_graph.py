"""The require graph: which prerequisite requires which, in what order they run, and which references find nothing.

Pure values, shared by the rules and by the expansion. Nothing is recursive, so a chain can have any length.
Source of the semantics: docs/protocol.md (the extended protocol: references, template variables, expansion of a task
role); a released cluster follows no `require` at all.

The messages at the end are shared by rules and expansion.
"""

from __future__ import annotations

from _weakref import ref  # what `weakref` gives; importing that takes longer than this module
from operator import itemgetter

from pai_lsp.embedded.template import filled
from pai_lsp.job.lookup import (
    BY_NAME,
    AddressFault,
    AddressKind,
    LookupAnswer,
    LookupState,
    near_addresses,
    read_address,
)
from pai_lsp.platform.tables import events, released_events
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Mapping as MappingOf
    from typing import Any, TypeVar
    from weakref import ReferenceType

    from pai_lsp.job.definition import Definition, Reference, Requirement
    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.nodes import Mapping

    _Answer = TypeVar("_Answer")
    _Item = TypeVar("_Item")


# Different values make different steps, so a short file can require an unlimited number of them.
MAX_STEPS = 20_000
# A short file can also have thousands of long cycles.
MAX_CYCLES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class RequireLink:
    """One reference to a prerequisite with what it finds.

    requirement: the `require` entry with the reference; None for one in a task role's list.
    path: the file with the reference; None for the job's file.
    """

    reference: Reference
    answer: LookupAnswer
    requirement: Requirement | None = None
    path: str | None = None

    @property
    def targets(self) -> tuple[Definition, ...]:
        """The definitions it finds; an address can name several."""
        return self.answer.definitions if self.answer.state is LookupState.FOUND else ()


@dataclass(frozen=True, slots=True, eq=False)
class ExpansionStep:
    """A prerequisite in the order in which a task role runs them.

    values: the values of its template variables, by name; only declared variables that have a value.
    link: the first reference that leads to it.
    required: the steps that it requires itself, in written order.
    path: the file with the definition; None for the job's file.
    """

    definition: Definition
    values: MappingOf[str, Any]
    link: RequireLink
    required: tuple[ExpansionStep, ...]
    path: str | None

    @property
    def identity(self) -> tuple[Mapping, str]:
        """The same for steps of one definition with the same values, which run once."""
        return _identity(self.definition, self.values)


def _identity(definition: Definition, values: MappingOf[str, Any]) -> tuple[Mapping, str]:
    return definition.node, repr(sorted(values.items(), key=itemgetter(0)))


@dataclass(frozen=True, slots=True, eq=False)
class Cycle:
    """Prerequisites that require each other: `definitions[i]` names the next one by `links[i]`, the last the first."""

    definitions: tuple[Definition, ...]
    links: tuple[RequireLink, ...]

    @property
    def closing(self) -> RequireLink:
        """The reference that leads back to the first of them."""
        return self.links[-1]


@dataclass(frozen=True, slots=True)
class Expansion:
    """The steps of a list of references in start order (end events run in reverse), and the problems.

    unresolved: the references that find nothing or could not be looked up (see `RequireLink.answer`).
    unfilled: by reference, the template variables that what it finds declares and it gives no value.
    is_complete: False if there are more than `MAX_STEPS` steps.
    """

    steps: tuple[ExpansionStep, ...]
    unresolved: tuple[RequireLink, ...]
    cycles: tuple[Cycle, ...]
    unfilled: MappingOf[RequireLink, Iterable[str]]
    is_complete: bool


@dataclass(frozen=True, slots=True, eq=False)
class RequireGraph:
    """Every definition that a job's definitions and task roles lead to, with the references in their `require`.

    The graph has only a weak reference to its job, which refers to the graph: a cycle would delay freeing both.

    definitions: those of the file first, in written order, then those outside in the order in which they were found.
    entries: every reference in the file itself: first those of task roles, then those of definitions.
    """

    _job: ReferenceType[JobTree] = field(repr=False)
    definitions: tuple[Definition, ...]
    entries: tuple[RequireLink, ...]
    _links: MappingOf[Mapping, tuple[RequireLink, ...]] = field(repr=False)
    _homes: MappingOf[Mapping, LookupAnswer] = field(repr=False)
    _answers: dict[Any, Any] = field(default_factory=dict, repr=False)

    def links(self, definition: Definition) -> tuple[RequireLink, ...]:
        """What a definition of the graph requires, in written order."""
        return self._links.get(definition.node, ())

    def once(self, key: object, compute: Callable[[], _Answer]) -> _Answer:
        """What `compute` gives for a key, computed at the first call."""
        if key not in self._answers:
            self._answers[key] = compute()
        return self._answers[key]  # type: ignore[no-any-return]  # what the same function gave before

    def required(self, definition: Definition) -> Iterator[Definition]:
        """The definitions that a definition of the graph requires itself, in written order."""
        return (target for _, target in _targets(self.links(definition)))

    def reachable(self, first: Iterable[Definition]) -> Iterator[Definition]:
        """These definitions and all that they require, each once, nearest first."""
        return reachable(first, self.required, lambda one: one.node)

    def path(self, definition: Definition) -> str | None:
        """The file with a definition; None for the job's file."""
        home = self._homes.get(definition.node)
        return home.path if home else None

    def is_outside(self, definition: Definition) -> bool:
        """Whether a definition of the graph is outside the job's file."""
        return definition.node in self._homes

    @property
    def leaves_file(self) -> bool:
        """Whether a definition of the graph is outside the job's file."""
        return any(map(self.is_outside, self.definitions))

    def reached(self, entry: RequireLink) -> Iterator[Definition]:
        """Every definition outside the file that a reference of the file leads to, each once."""
        outside = filter(self.is_outside, entry.targets)
        return reachable(outside, lambda one: filter(self.is_outside, self.required(one)), lambda one: one.node)

    def beyond(self, entry: RequireLink) -> Iterator[RequireLink]:
        """Every reference outside the file that a reference of the file leads to, each once."""
        return (link for definition in self.reached(entry) for link in self.links(definition))

    @property
    def lock_fault(self) -> tuple[RequireLink, str] | None:
        """Why the project's lock file cannot be used, with the first reference it concerns; None if it can be used."""
        for entry in self.entries:
            for link in (entry, *self.beyond(entry)):
                if link.answer.lock_fault:
                    return entry, link.answer.lock_fault
        return None

    def link(self, reference: Reference) -> RequireLink:
        """What a reference in the job itself (a task role's, say) finds."""
        job = self._job()
        return RequireLink(reference, job.resolve(reference.name) if job else LookupAnswer(LookupState.UNKNOWN))


def require_graph(job: JobTree) -> RequireGraph:
    """Follow every `require` from the job's definitions and from what its task roles list."""
    found: list[Definition] = list(job.definitions)
    homes: dict[Mapping, LookupAnswer] = {}
    links: dict[Mapping, tuple[RequireLink, ...]] = {}
    known = {definition.node for definition in found}

    def meet(answer: LookupAnswer) -> None:
        if answer.state is LookupState.FOUND:
            for definition in answer.definitions:
                if definition.node not in known:
                    known.add(definition.node)
                    homes[definition.node] = answer
                    found.append(definition)

    entries = [RequireLink(one, job.resolve(one.name)) for role in job.task_roles for one in role.prerequisites]
    for link in entries:
        meet(link.answer)
    for definition in found:  # grows while it is read
        home = homes.get(definition.node)
        path = home.path if home else None
        links[definition.node] = tuple(
            RequireLink(requirement.reference, _resolve(job, requirement.reference, home), requirement, path)
            for requirement in definition.requirements
        )
        for link in links[definition.node]:
            meet(link.answer)
        if len(found) > MAX_STEPS:
            break
    entries += (link for definition in job.definitions for link in links[definition.node])
    return RequireGraph(ref(job), tuple(found), tuple(entries), links, homes)


def _resolve(job: JobTree, reference: Reference, home: LookupAnswer | None) -> LookupAnswer:
    """What a name in a `require` finds: a plain name in its own file, then in the catalog, then in the job."""
    if reference.is_address:
        return job.lookup.find(reference.name)
    in_job = job.resolve(reference.name)
    if home is None:
        if in_job.state is LookupState.FOUND or not job.is_catalog:
            return in_job
        named = job.lookup.find(BY_NAME + reference.name)
        return named if named.state is LookupState.FOUND else in_job
    beside = [definition for definition in home.definitions if definition.name == reference.name]
    if beside:
        return replace(home, definitions=(beside[-1],))
    named = job.lookup.find(BY_NAME + reference.name)
    return in_job if named.state is LookupState.ABSENT else named


def cycles(graph: RequireGraph) -> tuple[Cycle, ...]:
    """The first `MAX_CYCLES` cycles: one for every reference that leads back, depth first in written order."""
    found: list[Cycle] = []
    done: set[Mapping] = set()
    for root in graph.definitions:
        if root.node in done:
            continue
        open_at = {root.node: 0}
        path, through, waiting = [root], list[RequireLink](), [_targets(graph.links(root))]
        while waiting:
            link, target = next(waiting[-1], (None, None))
            if link is None or target is None:
                waiting.pop()
                closed = path.pop()
                del open_at[closed.node], through[-1:]
                done.add(closed.node)
            elif target.node in open_at:
                first = open_at[target.node]
                found.append(Cycle(tuple(path[first:]), (*through[first:], link)))
                if len(found) == MAX_CYCLES:
                    return tuple(found)
            elif target.node not in done:
                open_at[target.node] = len(path)
                path.append(target)
                through.append(link)
                waiting.append(_targets(graph.links(target)))
    return tuple(found)


def reachable(
    first: Iterable[_Item], required: Callable[[_Item], Iterable[_Item]], key: Callable[[_Item], object]
) -> Iterator[_Item]:
    """Definitions or steps and all that they require, each once by its key, nearest first."""
    waiting = list(first)
    seen: set[object] = set()
    for one in waiting:  # grows while it is read
        if key(one) not in seen:
            seen.add(key(one))
            yield one
            waiting += required(one)


def _targets(links: Iterable[RequireLink]) -> Iterator[tuple[RequireLink, Definition]]:
    return ((link, target) for link in links for target in link.targets)


@dataclass(slots=True, eq=False)
class _OpenStep:
    """A step whose requirements are being followed."""

    key: tuple[Mapping, str]
    definition: Definition
    values: dict[str, Any]
    link: RequireLink
    waiting: Iterator[tuple[RequireLink, Definition]]
    required: list[ExpansionStep] = field(default_factory=list)


def expansion(graph: RequireGraph, references: Iterable[Reference]) -> Expansion:
    """The steps of references (a task role's `prerequisites`): each after the steps that it requires.

    The same definition with the same values is one step, at its first place. A definition met while its own
    requirements are followed is a cycle, whatever its values; it is not followed again.
    """
    order: list[ExpansionStep] = []
    taken: dict[tuple[Mapping, str], ExpansionStep] = {}
    unresolved: dict[RequireLink, None] = {}
    found: dict[RequireLink, Cycle] = {}
    unfilled: dict[RequireLink, dict[str, None]] = {}
    stack: list[_OpenStep] = []
    open_at: dict[Mapping, int] = {}

    def follow(links: tuple[RequireLink, ...]) -> Iterator[tuple[RequireLink, Definition]]:
        unresolved.update((link, None) for link in links if not link.targets)
        return _targets(links)

    def begin(link: RequireLink, definition: Definition, scope: MappingOf[str, Any]) -> ExpansionStep | None:
        """Go into a definition; or the step that was made of it before."""
        values = _values(link, definition, scope)
        key = _identity(definition, values)
        for variable in definition.template_variables:
            if variable.name not in values:
                unfilled.setdefault(link, {})[variable.name] = None
        if key not in taken:
            open_at[definition.node] = len(stack)
            stack.append(_OpenStep(key, definition, values, link, follow(graph.links(definition))))
        return taken.get(key)

    for root_link, root in follow(tuple(graph.link(reference) for reference in references)):
        begin(root_link, root, {})
        while stack and len(order) < MAX_STEPS:
            top = stack[-1]
            link, target = next(top.waiting, (None, None))
            if link is None or target is None:
                stack.pop()
                del open_at[top.definition.node]
                step = ExpansionStep(
                    top.definition, top.values, top.link, tuple(top.required), graph.path(top.definition)
                )
                taken[top.key] = step
                order.append(step)
                if stack:
                    stack[-1].required.append(step)
            elif (first := open_at.get(target.node)) is not None:
                if len(found) == MAX_CYCLES:
                    continue
                path = stack[first:]
                links = (*(one.link for one in path[1:]), link)
                found.setdefault(link, Cycle(tuple(one.definition for one in path), links))
            elif known := begin(link, target, top.values):
                top.required.append(known)
    return Expansion(tuple(order), tuple(unresolved), tuple(found.values()), unfilled, is_complete=not stack)


def _values(link: RequireLink, definition: Definition, scope: MappingOf[str, Any]) -> dict[str, Any]:
    given = link.requirement.values() if link.requirement else {}
    return {
        variable.name: filled(given[variable.name], scope)
        for variable in definition.template_variables
        if variable.name in given
    }


_LONGEST_CYCLE = 6


def no_prerequisite(name: str, known: Iterable[str], *, besides: str | None = None) -> str:
    """The name of an undefined prerequisite; `known` are candidates for a suggestion, except `besides`."""
    return f"no prerequisite is named '{name}'{did_you_mean(name, known, besides=besides)}"


def nothing_at(address: str, known: Iterable[str]) -> str:
    """An address that does not exist; `known` are the addresses in the catalog."""
    read = read_address(address)
    if isinstance(read, AddressFault):
        return read.message
    if read.kind is AddressKind.WEB:
        return f"nothing is found at '{address}'"
    near = near_addresses(address, known)
    return f"the marketplace has no '{address}'" + (f"; did you mean '{near[0]}'?" if near else "")


def needs_missing(reference: str, required: str) -> str:
    """A referenced definition requires something that does not exist."""
    return f"'{reference}' requires '{required}', which does not exist"


def not_looked_up(reference: str, note: str, others: int = 0) -> str:
    """A reference could not be looked up, for the reason in `note`; `others` more had the same reason."""
    more = f" (and {others} more)" if others else ""
    return f"'{reference}' could not be looked up{more}" + (f": {note}" if note else "")


def cycle_found(cycle: Cycle) -> str:
    """Prerequisites that require each other."""
    names = [f"'{definition.name}'" for definition in cycle.definitions]
    if len(names) == 1:
        return f"{names[0]} requires itself"
    if len(names) > _LONGEST_CYCLE:
        return f"prerequisite cycle: {names[0]} → … → {names[0]} ({len(names)} prerequisites)"
    return f"prerequisite cycle: {' → '.join([*names, names[0]])}"


def needs_values(reference: str, variables: Iterable[str], *, is_listed: bool) -> str:
    """A reference, in a task role's list or in a `require`, without values for some template variables."""
    hint = "; set it in a 'require', because the list of a task role cannot set values" if is_listed else ""
    listed = " and ".join(f"'{name}'" for name in variables)
    return f"'{reference}' needs a value for {listed}{hint}"


def requires_without_value(reference: str, required: str, variable: str) -> str:
    """A referenced definition requires another one without a value for one of its template variables."""
    return f"'{reference}' requires '{required}' without a value for '{variable}'"


def undeclared_variable(name: str, declared: Iterable[str], definition: str = "") -> str:
    """A template variable that its definition does not declare; the definition is named if it is in another file."""
    where = f" in '{definition}'" if definition else ""
    return f"template variable '{name}' is not declared{where}{did_you_mean(name, declared)}"


def no_parameter(name: str, definition: str, known: Iterable[str]) -> str:
    """The parameter of a `<% this.NAME %>` is not defined; `known` are the parameters that are."""
    return (
        f"neither '{definition}' nor a definition that it requires has a parameter '{name}'{did_you_mean(name, known)}"
    )


def no_event(name: str) -> str:
    """An unknown or empty callback event."""
    expected = " or ".join(f"'{event}'" for event in released_events())
    if not name:
        return f"expected an event: {expected}"
    return f"'{name}' is not an event{did_you_mean(name, events()) or f'; expected {expected}'}"


def mounted_already(storage: str, mount_path: str) -> str:
    """A storage that is already mounted, or a mount path that is already used."""
    return f"the storage '{storage}' is already mounted at '{mount_path}'"


CALLBACKS_FORM = "'callbacks' must be a list of mappings with 'event' and 'commands'"
CALLBACK_FORM = "a callback must be a mapping with 'event' and 'commands'"
CALLBACK_NEEDS_EVENT = "a callback needs an 'event'"
CALLBACK_NEEDS_COMMANDS = "a callback needs 'commands'"
EVENT_FORM = "'event' must be one word, such as 'taskStarts'"


def command_is_no_text(kind: str) -> str:
    """A command that is a list or a mapping."""
    return f"a command must be a string, not a {kind}"
