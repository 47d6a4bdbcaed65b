"""Moves commands that use `$data` or `$script` into callbacks of the prerequisite that the role's field names.

The field stays: the runtime fills `$data` in a callback only for a task role that names its data.
Source: openpai-runtime, src/init.d/initializer.py, replace_ref.
"""

from __future__ import annotations

from functools import partial

from pai_lsp.embedded.template import tags
from pai_lsp.ide.refactorings.extract_prerequisite import (
    CallbackCommands,
    callback_commands,
    command_selection,
    flow_items,
    moved_lines,
    without_commands,
)
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    listed_in_role,
    refuse_shared,
    together,
)
from pai_lsp.job.definition import CMD_PLUGIN, TYPED_FIELDS, Origin
from pai_lsp.job.plugin_parameters import released_parameters, runtime_round_trip
from pai_lsp.source.edits import insert_entry
from pai_lsp.source.nodes import Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.text import Span, TextEdit


def legacy_field(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered at a task role's `data` or `script`, when the role's commands use it."""
    if document.is_catalog:
        return
    job = document.job
    for role in job.task_roles:
        for field in ("data", "script"):
            entry = role.node.own(field) if role.node else None
            reference = role.typed_references.get(field)
            if entry is None or reference is None or not entry.span.touches(span.start):
                continue
            definition = job.find_typed(TYPED_FIELDS[field], reference.name)
            numbers = _users(role, f"${field}")
            if definition is None or not numbers or span.end > max(entry.span.end, span.start):
                continue
            title = f"Run the commands that use ${field} from '{definition.name}'"
            make = partial(_moved, job, role, definition, numbers)
            yield attempted(title, RefactoringKind.REWRITE, make)


def _users(role: TaskRole, root: str) -> list[int]:
    """The numbers of the commands that have a tag with this root."""
    return [
        number
        for number, scalar in enumerate(role.commands)
        if root in scalar.text and any(tag.root == root for tag in tags(scalar.text)[0])
    ]


def _moved(job: Job, role: TaskRole, definition: Definition, numbers: list[int]) -> tuple[TextEdit, ...]:
    sequence = role.get("commands")
    is_plain_list = isinstance(sequence, Sequence) and all(isinstance(item, Scalar) for item in sequence.items)
    if not isinstance(sequence, Sequence) or not is_plain_list or role.node is None or not role.node.own("commands"):
        raise CanNotRefactorError(f"the commands of '{role.name}' are not a list of texts")
    _refuse_definition(job, role, definition)
    refuse_shared(job, sequence, f"the commands of '{role.name}'")
    refuse_shared(job, definition.node, f"the keys of '{definition.name}'")
    count, commands = _most(job, role, numbers)
    selection = command_selection(job, role, sequence, 0, count)
    node = definition.node
    if node.is_flow:
        callbacks = f"callbacks: [{{event: taskStarts, commands: {flow_items(job, selection, commands)}}}]"
        added = f"plugin: {CMD_PLUGIN}\n{callbacks}"
    else:
        items = [f"      {line}" if line else line for line in moved_lines(job, selection, commands)]
        head = [f"plugin: {CMD_PLUGIN}", "callbacks:", "  - event: taskStarts", "    commands:"]
        added = "\n".join([*head, *items])
    edits = [insert_entry(job.text, node, added), *without_commands(job, selection)]
    if all(reference.name != definition.name for reference in role.prerequisites):
        edits.append(listed_in_role(job, role, definition.name))
    return together(job.syntax, edits)


def _most(job: Job, role: TaskRole, numbers: list[int]) -> tuple[int, CallbackCommands]:
    """As many of the first commands as end with one that uses the field, and may run in a callback."""
    obstacle: CanNotRefactorError | None = None
    for number in reversed(numbers):
        try:
            return number + 1, callback_commands(job, role, number + 1)
        except CanNotRefactorError as error:
            obstacle = error
    raise obstacle or CanNotRefactorError("no command uses it")


def _refuse_definition(job: Job, role: TaskRole, definition: Definition) -> None:
    name = definition.name
    if definition.origin is not Origin.JOB or job.definitions_by_name.get(name) is not definition:
        raise CanNotRefactorError(f"another prerequisite is named '{name}' too; the runtime would take that one")
    if definition.plugin or definition.flat_parameters or definition.node.entry("plugin_params"):
        raise CanNotRefactorError(f"'{name}' has a plugin or parameters of one already")
    listing = [one for one in job.task_roles if any(reference.name == name for reference in one.prerequisites)]
    others = [one.name for one in listing if one is not role]
    if others:
        raise CanNotRefactorError(f"'{others[0]}' lists '{name}' too and would run these commands")
    if any(name == link.reference.name for one in job.definitions for link in job.require_graph.links(one)):
        raise CanNotRefactorError(f"another prerequisite requires '{name}' and would run these commands")
    if listing and role.prerequisites[-1].name != name:
        raise CanNotRefactorError(f"'{role.name}' lists other prerequisites after '{name}'")
    try:
        parameters = released_parameters(definition)
    except ValueError:
        parameters = None
    if parameters is None or runtime_round_trip(parameters, lambda text: text) != parameters:
        raise CanNotRefactorError(f"the runtime cannot read all keys of '{name}' as parameters of a plugin")
