"""Completion inside text: `<% $parameters.x %>`, `{{ name }}`, and `$PAI_…` variables in commands."""

from __future__ import annotations

import re

from pai_lsp.ide.completion.completion_options import complete_option, complete_value, typed_place
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped
from pai_lsp.ide.documentation import variable_documentation
from pai_lsp.ide.known_values import short, variable_value
from pai_lsp.job.this_lookup import this_parameters
from pai_lsp.job.variable_places import task_variables
from pai_lsp.platform.tables import ROLE_TYPES
from pai_lsp.source.nodes import Mapping, Node, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.text import Span, TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.ide.cursor import InsertionPoint
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.platform.tables import EnvironmentVariable

_OPEN_TAG = lazy_pattern(r"<%\s*([$\w.\[\]-]*)$")
_OPEN_VARIABLE = lazy_pattern(r"\{\{\s*([\w.-]*)$")
# A `$` after a word is the end of a pattern, as in `grep end$`.
_SHELL_NAME = lazy_pattern(r"((?<![\w)\]])\$\{?!?|\b)([A-Za-z_]\w*)?$")
# An absolute path at the beginning of a word, or after `=` or `:`.
_PATH = lazy_pattern(r"(?:(?<=[\s'\"=:(])|^)/[\w./-]*$")
_MOST_INDEXES = 8
_MOST_MEMBERS = 20
_DEPTH = 3
_ROOT_ORDER = 900


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
    for role in effective_job(point.job).roles:
        if own is None or role.role.name != own.name:
            continue
        for number, one in enumerate(role.prerequisites):
            path = one.path_for_user
            if path.startswith(typed) and path != typed:
                detail = f"content of {one.definition.name}"
                yield Suggestion(path, SuggestionKind.VALUE, TextEdit(place, path), None, detail, "", number)


def _members(point: InsertionPoint, typed: str) -> Iterator[Suggestion]:
    place = typed_place(point, typed, r"[$\w.\[\]-]*")
    rest = point.content[point.index :].split("\n")[0]
    following = re.sub(r"^[$\w.\[\]-]*", "", rest)
    closing = "" if following.lstrip().startswith("%>") else " %>"
    blank = " " if point.content[: point.index - len(typed)].endswith("<%") else ""
    for number, (path, value, detail) in enumerate(_paths_here(point)):
        shown = detail or value
        edit = TextEdit(place, blank + path + closing)
        yield Suggestion(path, SuggestionKind.PARAMETER, edit, None, shown, "", number)
    for root, detail in _roots_without_names(point):
        edit = TextEdit(place, f"{blank}{root}.name{closing}")
        snippet = f"{blank}{escaped(root)}.${{1:name}}{closing}"
        yield Suggestion(root, SuggestionKind.PARAMETER, edit, snippet, detail, "", _ROOT_ORDER)


def _paths_here(point: InsertionPoint) -> Iterator[tuple[str, str, str]]:
    """`(path, value as text, detail)` of what works at the cursor; never a secret's value."""
    job = point.job
    is_auth = "auth" in point.path
    if not is_auth:
        for name, entry in job.parameters.items():
            yield from _paths(f"$parameters.{name}", entry.value)
    for name in job.secrets:
        yield f"$secrets.{name}", "", "secret"
    if is_auth:
        return
    definition = point.location.definition
    role = point.location.task_role
    roles = (role,) if role else _roles_listing(job, definition) if definition else job.task_roles
    for field in ROLE_TYPES:
        for one in roles:
            reference = one.typed_references.get(field)
            bound = job.find_typed(field, reference.name) if reference else None
            if bound is not None:
                for entry in bound.node.effective_entries():
                    if entry.name not in {"callbacks", "require", "plugin"}:
                        yield from _paths(f"${field}.{entry.name}", entry.value)
                break
    if definition is not None:
        yield from _this_paths(job, definition)


def _roots_without_names(point: InsertionPoint) -> Iterator[tuple[str, str]]:
    """`(root, detail)` of the sections whose first name can be written here; a quick fix then defines the name."""
    if not point.job.parameters and "auth" not in point.path:
        yield "$parameters", "a parameter of the job, not defined yet"
    if not point.job.secrets:
        yield "$secrets", "a secret of the job, not defined yet"


def _this_paths(job: Job, definition: Definition) -> Iterator[tuple[str, str, str]]:
    """What `this` finds in a definition, and in what it requires."""
    whole = job.definitions_by_name.get(definition.name, definition)
    for name, entry in this_parameters(job.require_graph, whole).items():
        yield from _paths(f"this.{name}", entry.value, with_null=False)


def _roles_listing(job: Job, definition: Definition) -> tuple[TaskRole, ...]:
    return job.roles_listing(job.definitions_by_name.get(definition.name, definition))


def _paths(path: str, node: Node, depth: int = _DEPTH, *, with_null: bool = True) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, Scalar):
        if with_null or node.value is not None:
            yield path, _shown(node.value), ""
    elif isinstance(node, Sequence) and depth:
        for number, item in enumerate(node.items[:_MOST_MEMBERS]):
            yield from _paths(f"{path}[{number}]", item, depth - 1, with_null=with_null)
    elif isinstance(node, Mapping) and depth:
        for entry in node.effective_entries()[:_MOST_MEMBERS]:
            yield from _paths(f"{path}.{entry.name}", entry.value, depth - 1, with_null=with_null)


def _shown(value: Any) -> str:
    return "" if value is None else short(server_text(value))


def _template_variables(point: InsertionPoint, owner: Definition, typed: str) -> Iterator[Suggestion]:
    place = typed_place(point, typed, r"[\w.-]*")
    following = re.sub(r"^[\w.-]*", "", point.content[point.index :].split("\n")[0])
    closing = "" if following.lstrip().startswith("}}") else " }}"
    blank = " " if point.content[: point.index - len(typed)].endswith("{{") else ""
    for number, variable in enumerate(owner.template_variables):
        edit = TextEdit(place, blank + variable.name + closing)
        yield Suggestion(variable.name, SuggestionKind.VARIABLE, edit, None, "template variable", "", number)


def _variables(point: InsertionPoint, sigil: str, typed: str) -> Iterator[Suggestion]:
    place = typed_place(point, typed, r"\w*")
    closing = "}" if "{" in sigil and not point.content[point.index :].lstrip("_" + _WORD).startswith("}") else ""
    for number, (name, variable, value) in enumerate(_names(point.job, point.location.task_role)):
        if not name.lower().startswith(typed.lower()):
            continue
        detail = value or variable.description
        documentation = variable_documentation(variable, name, value)
        edit = TextEdit(place, name + closing)
        yield Suggestion(
            name, SuggestionKind.VARIABLE, edit, None, detail, documentation, number + 100 * _rank(variable)
        )


_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _rank(variable: EnvironmentVariable) -> int:
    return {"current": 0, "legacy": 10, "deprecated": 20}.get(variable.status, 30)


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
    for number, (path, value, detail) in enumerate(_paths_here(point)):
        text = f"<% {path} %>"
        yield Suggestion(
            text, SuggestionKind.PARAMETER, TextEdit(place, text), None, detail or value, "", 5000 + number
        )
