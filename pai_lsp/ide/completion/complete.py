"""Completion: what can be typed at the point, the most useful first.

The place decides (see cursor.py); what is offered comes from the schema, from the job itself, and from the catalog.
MPIJobs have keys and values of their own. Nothing is offered in other files.

Inside text: `<% $parameters.x %>`, `{{ name }}`, `$PAI_…` variables, and the words of a command. Of a command, options
of well-known programs and values of launchers' options are completed. The text before the cursor is read as a script of
its own; its last command line is the one that is being typed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.ide.completion import snippets
from pai_lsp.ide.completion.keys_and_values import (
    complete_collections,
    complete_items,
    complete_keys,
    complete_manifest,
    complete_scalars,
)
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped, inserted
from pai_lsp.ide.cursor import Cursor, InsertionPoint, Spot
from pai_lsp.ide.documentation import option_documentation, variable_documentation
from pai_lsp.ide.known_values import short, variable_value
from pai_lsp.job.this_lookup import this_parameters
from pai_lsp.job.variable_places import task_variables
from pai_lsp.platform.programs import known_line, option_help
from pai_lsp.platform.tables import PLUGIN_PREFIX, ROLE_TYPES, converted_role_name
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Node, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.platform.programs import KnownLine
    from pai_lsp.platform.tables import EnvironmentVariable

_OPENING = lazy_pattern(r"[\[{'\"]")
# What a line may end with whose value, item or key comes on the next one.
_CONTINUED = (":", ",", "[", "{")


def complete(document: Document, offset: int, *, is_asked: bool = True) -> list[Suggestion]:
    """What can be inserted at `offset`, in the order to show it; accepting any of it leaves valid YAML.

    Editors accept a suggestion with Enter, which also ends a line. So nothing is offered at the end of a word that is
    complete, and where a line may end nothing is offered that was not asked for.

    is_asked: whether someone asks for suggestions or types a word, and not just a character after which editors ask.
    """
    here = Cursor(document, offset).insertion_point
    if here is None:
        return []
    is_begun = is_asked or bool(here.prefix)
    found = _found(here, is_begun=is_begun)
    if _is_complete(here, found):
        return []
    found = _without_secrets(here, found)
    closing = _closing(document, here)
    first: dict[tuple[str, SuggestionKind], Suggestion] = {}
    for suggestion in found:
        first.setdefault((suggestion.label, suggestion.kind), suggestion)
    ordered = _shorter_first(sorted(first.values(), key=lambda suggestion: suggestion.order))
    return [replace(_closed(suggestion, closing), order=number) for number, suggestion in enumerate(ordered)]


def _found(point: InsertionPoint, *, is_begun: bool) -> list[Suggestion]:
    if point.document.is_mpijob:
        return [] if not is_begun and _may_end(point) else complete_manifest(point)
    found = complete_in_text(point)
    if found is not None:
        return found
    if point.spot is Spot.VALUE and point.path and (scalars := complete_scalars(point)):
        return scalars
    if not is_begun and _may_end(point):
        return []
    if not point.path and point.spot is not Spot.KEY:
        return [*snippets.whole_jobs(point), *complete_keys(point)]
    if point.spot is Spot.KEY:
        return complete_keys(point)
    return complete_items(point) if point.spot is Spot.ITEM else complete_collections(point)


def _may_end(point: InsertionPoint) -> bool:
    """Whether the line of an empty word may be meant as it is: it is blank, or goes on below."""
    line = point.line_before.rstrip()
    return not point.line_after.strip() and (not line or line.endswith(_CONTINUED))


def _is_complete(point: InsertionPoint, found: list[Suggestion]) -> bool:
    """Whether the cursor is at the end of a word that is one of the suggestions; a key is only with its colon."""
    spans = ((one, one.edit.span) for one in found if one.edit.span.end == point.offset)
    typed = ((one, point.document.text[span.start : span.end]) for one, span in spans)
    return any(word and is_written(one, word) for one, word in typed)


def is_written(suggestion: Suggestion, typed: str) -> bool:
    """Whether a word is a suggestion in full; a key is only with its colon."""
    if typed == suggestion.edit.new_text.partition("\n")[0]:
        return True
    if suggestion.kind is SuggestionKind.PLUGIN and typed == suggestion.label.removeprefix(PLUGIN_PREFIX):
        return True
    return suggestion.kind is not SuggestionKind.KEY and typed == suggestion.label


def _shorter_first(ordered: list[Suggestion]) -> list[Suggestion]:
    """A name before those that begin with it: editors choose the first that fits what is typed."""
    places = {suggestion.label: place for place, suggestion in reversed([*enumerate(ordered)])}
    first = dict(places)
    for label, place in places.items():
        for length in range(1, len(label)):
            if (beginning := label[:length]) in places:
                first[beginning] = min(first[beginning], place)
    return sorted(ordered, key=lambda suggestion: (first[suggestion.label], len(suggestion.label)))


def _without_secrets(point: InsertionPoint, found: list[Suggestion]) -> list[Suggestion]:
    """The suggestions without secrets in their details and documentation; those that would insert one are left out."""
    hidden = point.job.hidden
    texts = (text for one in found for text in (one.label, one.edit.new_text, one.detail, one.documentation))
    if not hidden.changes("\n".join(texts)):
        return found
    return [
        replace(one, detail=hidden.without(one.detail), documentation=hidden.without(one.documentation))
        for one in found
        if not hidden.shows(one.label) and not hidden.shows(one.edit.new_text)
    ]


def _closing(document: Document, point: InsertionPoint) -> str:
    """The bracket or quote that is missing at the end of the cursor's line; empty for none, or when more follows."""
    end = point.replace.end + len(point.line_after)
    # The text is only read a second time where its line could have something open.
    if point.line_after.strip() or not _OPENING.search(point.line_before):
        return ""
    return "".join(
        problem.fix[1].new_text
        for problem in document.syntax.problems
        if problem.fix
        and problem.fix[1].new_text in {"]", "}", "'", '"'}
        and point.replace.start - 1 <= problem.fix[1].span.start <= end
    )


def _closed(suggestion: Suggestion, closing: str) -> Suggestion:
    if not closing or suggestion.kind is SuggestionKind.SNIPPET:
        return suggestion
    edit = TextEdit(suggestion.edit.span, suggestion.edit.new_text + closing)
    snippet = suggestion.snippet + escaped(closing) if suggestion.snippet is not None else None
    return replace(suggestion, edit=edit, snippet=snippet)


_OPEN_TAG = lazy_pattern(r"<%\s*([$\w.\[\]-]*)$")
_OPEN_VARIABLE = lazy_pattern(r"\{\{\s*([\w.-]*)$")
# A `$` after a word is the end of a pattern, as in `grep end$`.
_SHELL_NAME = lazy_pattern(r"((?<![\w)\]])\$\{?!?|\b)([A-Za-z_]\w*)?$")
# An absolute path at the beginning of a word, or after `=` or `:`.
_PATH = lazy_pattern(r"(?:(?<=[\s'\"=:(])|^)/[\w./-]*$")
_MOST_INDEXES = 8
_MOST_MEMBERS = 20
_DEPTH = 3


def complete_in_text(point: InsertionPoint) -> list[Suggestion] | None:
    """What can be typed inside a text; None where the cursor is not in a template or a command."""
    before = point.content[: point.index]
    line = before.rpartition("\n")[2]
    if tag := _OPEN_TAG.search(line):
        return list(_members(point, tag[1]))
    owner = point.location.definition
    if owner is not None and (variable := _OPEN_VARIABLE.search(line)):
        return list(_template_variables(point, owner, variable[1]))
    if not point.location.is_command:
        return None
    if (path := _PATH.search(line)) and (paths := list(_paths_for_user(point, path[0]))):
        return paths
    if options := complete_option(point, line):
        return options
    name = _SHELL_NAME.search(line)
    typed = (name[2] or "") if name else ""
    # One letter is rather a variable of the script's own.
    if name is None or len(typed) == 1 or not (name[1] or typed.startswith(("PAI", "FC_"))):
        return complete_value(point, line)
    values = complete_value(point, line)
    return [*values, *_variables(point, name[1], typed), *_tags(point, name[1], typed)]


def _paths_for_user(point: InsertionPoint, typed: str) -> Iterator[Suggestion]:
    """Where the prerequisites of the task role have their content."""
    from pai_lsp.expansion.effective import effective_job  # noqa: PLC0415 - only for a path that is being typed

    place = typed_place(point, typed, r"[\w./-]*")
    own = point.location.task_role
    roles = effective_job(point.job).roles
    for one in (one for role in roles if own and role.role.name == own.name for one in role.prerequisites):
        path = one.path_for_user
        if path.startswith(typed) and path != typed:
            detail = f"content of {one.definition.name}"
            yield Suggestion(path, SuggestionKind.VALUE, TextEdit(place, path), detail=detail)


def _members(point: InsertionPoint, typed: str) -> Iterator[Suggestion]:
    place = typed_place(point, typed, r"[$\w.\[\]-]*")
    blank, closing = _around(point, place, "<%", "%>")
    for path, detail in _paths_here(point):
        yield Suggestion(path, SuggestionKind.PARAMETER, TextEdit(place, blank + path + closing), detail=detail)
    for root, detail in _roots_without_names(point):
        snippet = f"{blank}{escaped(root)}.${{1:name}}{closing}"
        yield inserted(place, root, SuggestionKind.PARAMETER, snippet, detail)


def _paths_here(point: InsertionPoint) -> Iterator[tuple[str, str]]:
    """What works at the cursor, each path with its value as text, or "secret"."""
    job = point.job
    is_auth = "auth" in point.path
    if not is_auth:
        for name, entry in job.parameters.items():
            yield from _paths(f"$parameters.{name}", entry.value)
    for name in job.secrets:
        yield f"$secrets.{name}", "secret"
    if is_auth:
        return
    definition, role = point.location.definition, point.location.task_role
    whole = job.definitions_by_name.get(definition.name, definition) if definition else None
    roles = (role,) if role else job.roles_listing(whole) if whole else job.task_roles
    for field in ROLE_TYPES:
        for one in roles:
            bound = job.named_by(one, field)
            if bound is not None:
                for entry in bound.node.effective_entries():
                    if entry.name not in {"callbacks", "require", "plugin"}:
                        yield from _paths(f"${field}.{entry.name}", entry.value)
                break
    # What `this` finds in the definition, and in what it requires.
    for name, entry in this_parameters(job.require_graph, whole).items() if whole else ():
        yield from _paths(f"this.{name}", entry.value, with_null=False)


def _roots_without_names(point: InsertionPoint) -> Iterator[tuple[str, str]]:
    """`(root, detail)` of the sections whose first name can be written here; a quick fix then defines the name."""
    if not point.job.parameters and "auth" not in point.path:
        yield "$parameters", "a parameter of the job, not defined yet"
    if not point.job.secrets:
        yield "$secrets", "a secret of the job, not defined yet"


def _paths(path: str, node: Node, depth: int = _DEPTH, *, with_null: bool = True) -> Iterator[tuple[str, str]]:
    if isinstance(node, Scalar):
        if with_null or node.value is not None:
            yield path, "" if node.value is None else short(server_text(node.value))
    elif isinstance(node, Sequence) and depth:
        for number, item in enumerate(node.items[:_MOST_MEMBERS]):
            yield from _paths(f"{path}[{number}]", item, depth - 1, with_null=with_null)
    elif isinstance(node, Mapping) and depth:
        for entry in node.effective_entries()[:_MOST_MEMBERS]:
            yield from _paths(f"{path}.{entry.name}", entry.value, depth - 1, with_null=with_null)


def _template_variables(point: InsertionPoint, owner: Definition, typed: str) -> Iterator[Suggestion]:
    place = typed_place(point, typed, r"[\w.-]*")
    blank, closing = _around(point, place, "{{", "}}")
    for variable in owner.template_variables:
        edit = TextEdit(place, blank + variable.name + closing)
        yield Suggestion(variable.name, SuggestionKind.VARIABLE, edit, detail="template variable")


def _around(point: InsertionPoint, place: Span, opening: str, closing: str) -> tuple[str, str]:
    """What is missing before and after a name in a template: a blank after its sign, and the sign that closes it."""
    before = point.content[: point.index - (point.offset - place.start)]
    after = _after(point, place).split("\n")[0]
    return " " if before.endswith(opening) else "", "" if after.lstrip().startswith(closing) else f" {closing}"


def _after(point: InsertionPoint, place: Span) -> str:
    """The text after a place that the cursor is in."""
    return point.content[point.index + place.end - point.offset :]


def _variables(point: InsertionPoint, sigil: str, typed: str) -> Iterator[Suggestion]:
    place = typed_place(point, typed, r"\w*")
    closing = "}" if "{" in sigil and not _after(point, place).startswith("}") else ""
    for name, variable, value in _names(point.job, point.location.task_role):
        if name.lower().startswith(typed.lower()):
            detail, documentation = value or variable.description, variable_documentation(variable, name, value)
            order = _STATUS_ORDER.index(variable.status)
            edit = TextEdit(place, name + closing)
            yield Suggestion(name, SuggestionKind.VARIABLE, edit, None, detail, documentation, order)


_STATUS_ORDER = ("current", "legacy", "deprecated")


def _names(job: Job, own: TaskRole | None) -> Iterator[tuple[str, EnvironmentVariable, str]]:
    """The variables that this job's containers really have, with the value where it is known before the job runs."""
    known: set[str] = set()  # two roles may have ports of one name
    for name, variable, role in task_variables(job, own, _MOST_INDEXES):
        if name not in known:
            known.add(name)
            yield name, variable, variable_value(job, role, variable, name)


def _tags(point: InsertionPoint, sigil: str, typed: str) -> Iterator[Suggestion]:
    """`<% $parameters.x %>` after a bare `$`."""
    if sigil != "$" or not any(root.startswith(typed) for root in ("parameters", "secrets")):
        return
    place = Span(point.offset - len(typed) - 1, point.offset)
    for path, detail in _paths_here(point):
        text = f"<% {path} %>"
        yield Suggestion(text, SuggestionKind.PARAMETER, TextEdit(place, text), detail=detail, order=4)


_OPTION = lazy_pattern(r"(?:^|[ \t])(--?[\w-]*)$")
_VALUE = lazy_pattern(r"(?:^|[ \t])(--?[A-Za-z][\w-]*)(?:[ \t]+|=)(\$?\w*)$")
_MOST_HOSTS = 16


def complete_option(point: InsertionPoint, line: str) -> list[Suggestion]:
    """The options of the program that a command runs; `line` is the text before the cursor, from the line's start."""
    match = _OPTION.search(line)
    typed = match[1] if match else ""
    known = _typed_line(point, typed) if typed else None
    if known is None or known.arguments.without_value:
        return []
    place = typed_place(point, typed, r"[\w-]*")
    is_doubled = known.program.style == "mpi" and typed.startswith("--")
    found = []
    for names, _ in dict.fromkeys(known.program.options.values()):
        spelt = (f"-{name}" if is_doubled and len(name) > 2 else name for name in names)
        if shown := next((one for one in spelt if one.startswith(typed)), ""):
            help_text, documentation = option_help(known.name).get(names[0], ""), option_documentation(known, names[0])
            edit = TextEdit(place, shown)
            order = 0 if help_text else 1
            found.append(Suggestion(shown, SuggestionKind.KEY, edit, None, help_text, documentation, order))
    return found


def complete_value(point: InsertionPoint, line: str) -> list[Suggestion]:
    """What a launcher's option is in this job, such as the rank of the task and the address of the first one."""
    match = _VALUE.search(line)
    role = point.location.task_role
    known = _typed_line(point, match[2]) if match and role else None
    if match is None or role is None or known is None:
        return []
    names = known.program.options.get(match[1]) or known.program.options.get(f"-{match[1].lstrip('-')}")
    meaning = next((key for key, all_names in known.program.launch.items() if names and names[0][0] in all_names), "")
    place = typed_place(point, match[2], r"\w*")
    return [
        Suggestion(value, SuggestionKind.VALUE, TextEdit(place, value), detail=detail)
        for value, detail in _values(meaning, role, point)
        if value.startswith(match[2]) and not (point.is_flow and "," in value)
    ]


def _values(meaning: str, role: TaskRole, point: InsertionPoint) -> Iterable[tuple[str, str]]:
    """The value and the detail of what an option means."""
    name, gpu = converted_role_name(role.name), role.amount("gpu")
    roles = [one for one in point.job.task_roles if one.instances <= _MOST_HOSTS]
    known: dict[str, list[tuple[str, str]]] = {
        "rank": [("$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "the index of the task")],
        "master": [(f"$PAI_HOST_IP_{name}_0", "the address of the first task")],
        "port": [(f"$PAI_PORT_LIST_{name}_0_{one.name}", "the port of the first task") for one in role.port_labels],
        "nodes": [
            (f"$PAI_TASK_ROLE_TASK_COUNT_{name}", f"{role.instances} instances"),
            (str(role.instances), "instances"),
        ],
        "processes": [(str(gpu), "the GPUs of the task")] if gpu else [],
        "total": [(str(gpu * role.instances), "the GPUs of all tasks")] if gpu else [],
        "hosts": [(_hosts(one), f"the tasks of '{one.name}'") for one in roles],
    }
    return known.get(meaning, ())


def _hosts(role: TaskRole) -> str:
    gpus = role.amount("gpu")
    hosts = [f"{converted_role_name(role.name)}-{task}" for task in range(role.instances)]
    return ",".join(f"{host}:{gpus}" if gpus else host for host in hosts)


def _typed_line(point: InsertionPoint, typed: str) -> KnownLine | None:
    """The command line before a word; None where the word is rather one of the program that this one runs."""
    lines = command_lines(read_script(point.content[: point.index - len(typed)])).all
    last = max(lines, key=lambda line: line.name.span.start, default=None)
    known = known_line(last) if last is not None else None
    return known if known and not (known.program.takes_rest and known.arguments.operands) else None


def typed_place(point: InsertionPoint, typed: str, word_end: str) -> Span:
    """The place in the document of what is typed before the cursor and of the rest of the word after it."""
    rest = re.match(word_end, point.content[point.index :].split("\n")[0])
    return Span(point.offset - len(typed), point.offset + (len(rest[0]) if rest else 0))
