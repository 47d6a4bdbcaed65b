"""Completion in the words of a command: options of well-known programs, and values of launchers' options.

What is before the cursor is read as a script of its own; its last command line is the one that is being typed.
"""

from __future__ import annotations

import re

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind
from pai_lsp.ide.documentation import option_documentation
from pai_lsp.platform.launchers import known_line
from pai_lsp.platform.programs import option_help
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.ide.cursor import InsertionPoint
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.platform.launchers import KnownLine

_OPTION = lazy_pattern(r"(?:^|[ \t])(--?[\w-]*)$")
_VALUE = lazy_pattern(r"(?:^|[ \t])(--?[A-Za-z][\w-]*)(?:[ \t]+|=)(\$?\w*)$")
_MOST_HOSTS = 16


def complete_option(point: InsertionPoint, line: str) -> list[Suggestion]:
    """The options of the program that a command runs; `line` is the text before the cursor, from the line's start."""
    match = _OPTION.search(line)
    typed = match[1] if match else ""
    known = _typed_line(point.content[: point.index - len(typed)]) if typed else None
    if known is None or (known.program.takes_rest and known.arguments.operands) or known.arguments.without_value:
        return []
    place = typed_place(point, typed, r"[\w-]*")
    found: dict[str, Suggestion] = {}
    for number, (names, _) in enumerate(dict.fromkeys(known.program.options.values())):
        for name in names:
            shown = f"-{name}" if known.program.style == "mpi" and typed.startswith("--") and len(name) > 2 else name
            if shown.startswith(typed):
                help_text = option_help(known.name).get(names[0], "")
                documentation = option_documentation(known, names[0])
                edit = TextEdit(place, shown)
                order = number + (0 if help_text else 1000)
                found[shown] = Suggestion(shown, SuggestionKind.KEY, edit, None, help_text, documentation, order)
                break
    return list(found.values())


def complete_value(point: InsertionPoint, line: str) -> list[Suggestion]:
    """What a launcher's option is in this job, such as the rank of the task and the address of the first one."""
    match = _VALUE.search(line)
    role = point.location.task_role
    known = _typed_line(point.content[: point.index - len(match[2])]) if match and role else None
    if match is None or role is None or known is None or (known.program.takes_rest and known.arguments.operands):
        return []
    names = known.program.options.get(match[1]) or known.program.options.get(f"-{match[1].lstrip('-')}")
    meaning = next((key for key, all_names in known.program.launch.items() if names and names[0][0] in all_names), "")
    place = typed_place(point, match[2], r"\w*")
    return [
        Suggestion(value, SuggestionKind.VALUE, TextEdit(place, value), None, detail, "", number)
        for number, (value, detail) in enumerate(_values(meaning, role, point))
        if value.startswith(match[2]) and not (point.is_flow and "," in value)
    ]


def _values(meaning: str, role: TaskRole, point: InsertionPoint) -> Iterator[tuple[str, str]]:
    """`(value, detail)` for what an option says."""
    name = converted_role_name(role.name)
    gpu = role.amount("gpu")
    if meaning == "rank":
        yield "$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "the index of the task"
    elif meaning == "master":
        yield f"$PAI_HOST_IP_{name}_0", "the address of the first task"
    elif meaning == "port":
        for entry in role.port_labels:
            yield f"$PAI_PORT_LIST_{name}_0_{entry.name}", "the port of the first task"
    elif meaning == "nodes":
        yield f"$PAI_TASK_ROLE_TASK_COUNT_{name}", f"{role.instances} instances"
        yield str(role.instances), "instances"
    elif meaning == "processes" and gpu:
        yield str(gpu), "the GPUs of the task"
    elif meaning == "total" and gpu:
        yield str(gpu * role.instances), "the GPUs of all tasks"
    elif meaning == "hosts":
        for one in point.job.task_roles:
            if one.instances <= _MOST_HOSTS:
                gpus = one.amount("gpu")
                names = [f"{converted_role_name(one.name)}-{task}" for task in range(one.instances)]
                yield ",".join(f"{host}:{gpus}" if gpus else host for host in names), f"the tasks of '{one.name}'"


def _typed_line(before: str) -> KnownLine | None:
    """The last command line of a script that is still typed."""
    lines = command_lines(read_script(before)).all
    last = max(lines, key=lambda line: line.name.span.start, default=None)
    return known_line(last) if last is not None else None


def typed_place(point: InsertionPoint, typed: str, word_end: str) -> Span:
    """The place in the document of what is typed before the cursor and of the rest of the word after it."""
    rest = re.match(word_end, point.content[point.index :].split("\n")[0])
    return Span(point.offset - len(typed), point.offset + (len(rest[0]) if rest else 0))
