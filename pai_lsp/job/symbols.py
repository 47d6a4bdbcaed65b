"""What has a name in a job, every place where the name is written, and the edits that rename it.

Used for navigation, highlights, counts, F2, quick fixes and refactorings.

A task role is named in more places than keys: in `deployments`, `hivedScheduler`, plugins' `taskroles`, in `PAI_*`
variables (some spell it as written, some in lower case without `_`; schemas/environment.json) and in host names.

A field of a task role looks among the prerequisites of its own type, so it distinguishes those of one name; a plain
list and `require` mean the last of that name. Sources: rest-server, middlewares/v2/protocol.js; openpai-runtime,
src/init.d/initializer.py. Any other mention of a task role in a command is text of the author's program, and is not
renamed.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.embedded.template import variables
from pai_lsp.job.definition import TYPED_FIELDS, key_name_span, name_span
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.job.variable_places import RoleSpellings
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Entry, Scalar, ScalarStyle, scalars_below
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.platform.platforms import Platform
    from pai_lsp.source.content import MappedText
    from pai_lsp.source.text import Span


_VARIABLE = lazy_pattern(r"(?<!\w)PAI_\w+")
# After a role's name in a host name: the number of a task, or a variable for it; `worker-$i.log` is a file.
_TASK = r"-(?=(?:\d+|\$\w+|\$\{\w+\})(?![\w.])|\$[^\w{]|\$\{\w+[^\w}])"
# The ends of a variable's name in place of a shell variable that gives the number of the task.
_NUMBERS = ("0", "0_x")


class SymbolKind(Enum):
    """What a name refers to; the values are used in messages."""

    PREREQUISITE = "prerequisite"
    PARAMETER = "parameter"
    SECRET = "secret"  # noqa: S105 - a word, not a secret
    TASK_ROLE = "task role"
    DEPLOYMENT = "deployment"
    PORT = "port label"
    TEMPLATE_VARIABLE = "template variable"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class Symbol:
    """One named thing. `scope` is the role of a port label and the definition of a template variable, else empty."""

    kind: SymbolKind
    name: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place of a name; `span` is the name without quotes.

    is_definition: whether this place defines it.
    is_converted: whether it is spelled as in the runtime (see `converted_role_name`).
    """

    symbol: Symbol
    span: Span
    is_definition: bool = False
    is_converted: bool = False


ALL_KINDS = frozenset(SymbolKind)


def occurrences(job: Job, kinds: frozenset[SymbolKind] = ALL_KINDS) -> tuple[Occurrence, ...]:
    """Every place of every name of those kinds in the job, in text order, each once."""
    found = {
        (occurrence.span, occurrence.symbol.kind): occurrence
        for gathered, gather in (
            ({SymbolKind.PREREQUISITE}, _prerequisites),
            ({SymbolKind.PARAMETER, SymbolKind.SECRET}, _values),
            ({SymbolKind.TASK_ROLE}, _task_roles),
            ({SymbolKind.DEPLOYMENT}, _deployments),
            ({SymbolKind.PORT, SymbolKind.TASK_ROLE}, _ports_and_variables),
            ({SymbolKind.TEMPLATE_VARIABLE}, _template_variables),
            ({SymbolKind.ANCHOR}, _anchors),
        )
        if not kinds.isdisjoint(gathered)
        for occurrence in gather(job)
        if occurrence.symbol.kind in kinds
    }
    return tuple(sorted(found.values(), key=lambda occurrence: (occurrence.span, occurrence.symbol.kind.value)))


def occurrence_at(found: tuple[Occurrence, ...], offset: int) -> Occurrence | None:
    """The name at an offset; of several, the shortest."""
    here = [occurrence for occurrence in found if occurrence.span.touches(offset)]
    return min(here, key=lambda occurrence: (len(occurrence.span), occurrence.span), default=None)


def _prerequisites(job: Job) -> Iterator[Occurrence]:
    typed = (reference for role in job.task_roles for reference in role.typed_references.values())
    for reference in (*job.listed_references, *typed):
        if not reference.is_address:
            yield Occurrence(Symbol(SymbolKind.PREREQUISITE, reference.name), reference.span)
    for definition in job.definitions:
        if definition.name_scalar:
            symbol = Symbol(SymbolKind.PREREQUISITE, definition.name)
            yield Occurrence(symbol, definition.name_span, is_definition=True)


def _values(job: Job) -> Iterator[Occurrence]:
    for kind, entries in ((SymbolKind.PARAMETER, job.parameters), (SymbolKind.SECRET, job.secrets)):
        for name, entry in entries.items():
            if isinstance(entry.key, Scalar):
                yield Occurrence(Symbol(kind, name), name_span(entry.key), is_definition=True)
    roots = {"$parameters": SymbolKind.PARAMETER, "$secrets": SymbolKind.SECRET}
    for use in job.template_uses:
        steps = use.tag.steps
        if len(steps) < 2 or steps[0].name not in roots or use.place is TemplatePlace.LITERAL:
            continue
        # A dot separates names, so a parameter with a dot in its name is never found; the author still means it.
        path = use.tag.server_steps
        dotted = ".".join(str(step.name) for step in path[1:])
        is_parameter = steps[0].name == "$parameters" and str(steps[1].name) not in job.parameters
        if is_parameter and len(path) > 2 and dotted in job.parameters:
            span = use.text.span(path[1].span.start, path[-1].span.end)
            yield Occurrence(Symbol(SymbolKind.PARAMETER, dotted), span)
            continue
        # A tag that is not closed in its own command continues in the next ones, so its content is not a name.
        if "\n" not in str(steps[1].name):
            yield Occurrence(Symbol(roots[str(steps[0].name)], str(steps[1].name)), use.step_span(1))


def role_keys(job: Job) -> Iterator[Entry]:
    """The entries, besides those of `taskRoles`, whose keys are names of task roles."""
    for deployment in job.deployments:
        yield from deployment.role_entries
    yield from job.hived_role_entries


def _task_roles(job: Job) -> Iterator[Occurrence]:
    for role in job.task_roles:
        yield Occurrence(Symbol(SymbolKind.TASK_ROLE, role.name), role.name_span, is_definition=True)
    for entry in role_keys(job):
        if isinstance(entry.key, Scalar):
            yield Occurrence(Symbol(SymbolKind.TASK_ROLE, entry.name), name_span(entry.key))
    roles = _roles_as_spelled(job)
    for plugin in job.plugins:
        for scalar in plugin.task_roles or ():
            if scalar.text in roles:
                symbol = Symbol(SymbolKind.TASK_ROLE, roles[scalar.text].name)
                yield Occurrence(symbol, name_span(scalar), is_converted=True)


def _roles_as_spelled(job: Job) -> dict[str, TaskRole]:
    """The task roles by their names as written, and as the runtime knows them."""
    spellings = RoleSpellings(job.task_roles)
    return spellings.converted | spellings.raw


def _deployments(job: Job) -> Iterator[Occurrence]:
    for deployment in job.deployments:
        if deployment.name_scalar:
            symbol = Symbol(SymbolKind.DEPLOYMENT, deployment.name)
            yield Occurrence(symbol, name_span(deployment.name_scalar), is_definition=True)
    reference = job.default_deployment_reference
    if reference:
        yield Occurrence(Symbol(SymbolKind.DEPLOYMENT, reference.name), reference.span)


def _ports_and_variables(job: Job) -> Iterator[Occurrence]:
    """Port labels where they are declared, and roles and port labels inside commands."""
    for role in job.task_roles:
        for entry in role.port_labels:
            if isinstance(entry.key, Scalar):
                symbol = Symbol(SymbolKind.PORT, entry.name, role.name)
                yield Occurrence(symbol, name_span(entry.key), is_definition=True)
    roles = _roles_as_spelled(job)
    names = "|".join(map(re.escape, sorted(roles, key=len, reverse=True)))
    host = re.compile(rf"(?<![\w.-])({names}){_TASK}")
    for scalar, own in mentioning_scalars(job):
        text = mapped(job.text, scalar)
        for match in _VARIABLE.finditer(scalar.text):
            yield from _in_variable(job.platform, text, match, roles, own)
        for match in host.finditer(scalar.text) if roles else ():
            symbol = Symbol(SymbolKind.TASK_ROLE, roles[match[1]].name)
            yield Occurrence(symbol, text.span(*match.span(1)), is_converted=True)


def _in_variable(
    platform: Platform, text: MappedText, match: re.Match[str], roles: dict[str, TaskRole], own: TaskRole | None
) -> Iterator[Occurrence]:
    name = match[0]
    if text.text.startswith("$", match.end()):
        name = next((one for end in _NUMBERS if platform.environment_variable(one := name + end)), "")
    variable = platform.environment_variable(name)
    whole = variable.places(name).items() if variable else ()
    places = {part: span for part, span in whole if span.end <= len(match[0])}
    role = roles.get(match[0][places["role"].start : places["role"].end]) if "role" in places else own
    if variable is None or role is None:
        return
    if "role" in places:
        span = places["role"].shifted(match.start())
        symbol = Symbol(SymbolKind.TASK_ROLE, role.name)
        yield Occurrence(symbol, text.span(span.start, span.end), is_converted=variable.role_spelling == "converted")
    if "label" in places:
        span = places["label"].shifted(match.start())
        label = text.text[span.start : span.end]
        if any(entry.name == label for entry in role.port_labels):
            yield Occurrence(Symbol(SymbolKind.PORT, label, role.name), text.span(span.start, span.end))


def mentioning_scalars(job: Job) -> Iterator[tuple[Scalar, TaskRole | None]]:
    """Every scalar in which a role may be mentioned, each once: those that may hold commands, and parameters."""
    found = dict(reversed(tuple(_command_scalars(job))))
    yield from reversed(found.items())
    for entry in job.parameters.values():
        yield from ((scalar, None) for scalar in scalars_below(entry.value) if scalar not in found)


def _command_scalars(job: Job) -> Iterator[tuple[Scalar, TaskRole | None]]:
    """Every scalar that may hold commands, with the role whose own ports it sees."""
    for role in job.task_roles:
        yield from ((scalar, role) for scalar in role.commands)
    for deployment in job.deployments:
        for entry in deployment.role_entries:
            role_of = job.task_roles_by_name.get(entry.name)
            yield from ((scalar, role_of) for scalar in scalars_below(entry.value))
    for definition in job.definitions:
        if definition.type != "dockerimage":
            yield from ((scalar, None) for scalar in scalars_below(definition.node))
    for plugin in job.plugins:
        yield from ((scalar, None) for scalar in scalars_below(plugin.parameters))


def definition_scope(definition: Definition) -> str:
    """The `Symbol.scope` of a definition's template variables, unique even if definitions have one name."""
    return f"{definition.name}@{definition.node.span.start}"


def _template_variables(job: Job) -> Iterator[Occurrence]:
    for definition in job.definitions:
        declared = {variable.name for variable in definition.template_variables}
        scope = definition_scope(definition)
        for variable in definition.template_variables:
            symbol = Symbol(SymbolKind.TEMPLATE_VARIABLE, variable.name, scope)
            yield Occurrence(symbol, variable.span, is_definition=True)
        for scalar in scalars_below(definition.node) if declared else ():
            if "{{" in scalar.text:
                text = mapped(job.text, scalar)
                for use in variables(scalar.text):
                    if use.name in declared:
                        symbol = Symbol(SymbolKind.TEMPLATE_VARIABLE, use.name, scope)
                        yield Occurrence(symbol, text.span(use.name_span.start, use.name_span.end))
        for requirement in definition.requirements:
            required = job.definitions_by_name.get(requirement.reference.name)
            if required is None or requirement.bindings is None:
                continue
            for entry in requirement.bindings.entries:
                symbol = Symbol(SymbolKind.TEMPLATE_VARIABLE, entry.name, definition_scope(required))
                yield Occurrence(symbol, key_name_span(entry))


def _anchors(job: Job) -> Iterator[Occurrence]:
    for number, anchor in enumerate(job.syntax.anchors):
        symbol = Symbol(SymbolKind.ANCHOR, anchor.name, str(number))
        yield Occurrence(symbol, anchor.span, is_definition=True)
        yield from (Occurrence(symbol, alias.span) for alias in job.syntax.aliases if alias.anchor is anchor)


@dataclass(frozen=True, slots=True)
class RoleRenaming:
    """The edits that rename a role.

    is_complete: whether no command or parameter mentions the old name in another way.
    """

    edits: tuple[TextEdit, ...]
    is_complete: bool


def _plain_scalars(job: Job) -> frozenset[Span]:
    return frozenset(scalar.span for scalar in job.syntax.scalars if scalar.style is ScalarStyle.PLAIN)


def renaming_edits(job: Job, places: Iterable[Occurrence], new_name: str) -> tuple[TextEdit, ...]:
    """The edits that write another name at some places, with the spelling and quotes of each place."""
    plain = job.once(_plain_scalars)
    edits: list[TextEdit] = []
    for place in places:
        text = converted_role_name(new_name) if place.is_converted else new_name
        is_whole = place.span in plain and place.symbol.kind is not SymbolKind.ANCHOR
        edits.append(TextEdit(place.span, flow_scalar(text) if is_whole else text))
    return tuple(sorted(edit for edit in edits if job.text[edit.span.start : edit.span.end] != edit.new_text))


def rename_symbol(job: Job, symbol: Symbol, new_name: str) -> tuple[TextEdit, ...]:
    """The edits that rename a symbol at all its places."""
    return renaming_edits(job, _places(job, symbol), new_name)


def rename_role(job: Job, name: str, new_name: str) -> RoleRenaming:
    """The edits that rename the task role `name`; both names as the rest-server reads them."""
    places = _places(job, Symbol(SymbolKind.TASK_ROLE, name))
    known = {place.span for place in places}
    mention = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])|_{re.escape(name)}(?![A-Za-z0-9])")
    spans = (
        mapped(job.text, scalar).span(*match.span())
        for scalar, _ in mentioning_scalars(job)
        for match in mention.finditer(scalar.text)
    )
    is_complete = all(any(span.holds(one) for one in known) for span in spans)
    return RoleRenaming(renaming_edits(job, places, new_name), is_complete)


def rename_prerequisite(job: Job, definition: Definition, new_name: str) -> tuple[TextEdit, ...]:
    """The edits that rename a prerequisite; ambiguous references to one of several of that name are kept."""
    places = job.once(_prerequisite_places).get(definition.name, {})
    meant = job.once(_definitions_of_names)[definition.name]
    spans = [*places] if sum(meant.values()) == 1 else _surely_meant(job, definition, meant)
    return renaming_edits(job, [places[span] for span in spans if span in places], new_name)


def meant_prerequisite(job: Job, place: Occurrence) -> Definition | None:
    """The definition that a prerequisite's name means at a place; a typed field prefers its own type."""
    name = place.symbol.name
    for definition in job.definitions:
        if definition.name_scalar and definition.name_span == place.span:
            return definition
    for role in job.task_roles:
        for field, reference in role.typed_references.items():
            if reference.span == place.span and (typed := job.find_typed(TYPED_FIELDS[field], name)):
                return typed
    return job.definitions_by_name.get(name)


def _prerequisite_places(job: Job) -> dict[str, dict[Span, Occurrence]]:
    found: dict[str, dict[Span, Occurrence]] = {}
    for one in occurrences(job, frozenset({SymbolKind.PREREQUISITE})):
        found.setdefault(one.symbol.name, {})[one.span] = one
    return found


def _definitions_of_names(job: Job) -> dict[str, Counter[str]]:
    """Of each name, how many definitions of each type have it."""
    found: dict[str, Counter[str]] = {}
    for one in job.definitions:
        found.setdefault(one.name, Counter())[one.type] += 1
    return found


def _places(job: Job, symbol: Symbol) -> list[Occurrence]:
    return [one for one in occurrences(job, frozenset({symbol.kind})) if one.symbol == symbol]


def _surely_meant(job: Job, definition: Definition, meant: Counter[str]) -> set[Span]:
    name, kind = definition.name, definition.type
    spans = {definition.name_span}
    if job.find_typed(kind, name) is definition:
        for role in job.task_roles:
            references = role.typed_references.items()
            spans |= {one.span for field, one in references if one.name == name and TYPED_FIELDS[field] == kind}
    if meant[kind] == 1 and job.definitions_by_name.get(name) is definition:
        spans |= {reference.span for reference in job.listed_references if reference.name == name}
    return spans
