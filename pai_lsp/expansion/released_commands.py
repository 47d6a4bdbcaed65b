"""The commands of callbacks in a form that a released cluster runs as they are meant.

The runtime fills a callback's commands as plugin parameters; commands that move into a task role are rendered by the
rest-server instead, and a second time by the runtime. Both fill `<% $… %>`, each in its own way.

The runtime writes a command as Python text and reads that as YAML (see pai_lsp/job/plugin_parameters.py): a text comes
through unchanged when it holds `'` and no `"`, or neither a backslash nor an invisible character, and not both quotes.
Any other text is written here in another way that means the same to bash: with a comment that holds `'`, line by line,
or with other quotes where that is enough, else as one `eval $'…'`.
Source of the grammar: the bash reference manual, "Quoting".
"""

from __future__ import annotations

import re
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pai_lsp.embedded.server_rendering import CallFailedError, looked_up, well_formed, written
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_script import PartKind
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.embedded.template import ESCAPED_CHARACTERS, MISSING, OPENING
from pai_lsp.expansion.released_run import (
    RuntimeJob,
    RuntimeReference,
    RuntimeRole,
    RuntimeStopError,
    references,
    runtime_job,
    runtime_role,
    server_values,
    with_references_filled,
)
from pai_lsp.job.plugin_parameters import damages, runtime_round_trip
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


def surviving(commands: Sequence[str]) -> tuple[str, ...]:
    """The commands of one script as texts that the runtime does not change and that, one after the other, run the same.

    Every `<% %>` in them must have a value that means nothing to bash, unless all commands come through as they are.
    """
    if not any(map(damages, commands)):
        return tuple(commands)
    texts = [without_last_line_ends(command) if damages(command) else command for command in commands]
    if not any(map(damages, texts)):
        return tuple(texts)
    if all(read_script(text).is_complete for text in texts):
        # Each is a command of its own, so only those that need it are written otherwise.
        return tuple(one for text in texts for one in _one_surviving(text))
    return _one_surviving("\n".join(texts))


def without_last_line_ends(command: str) -> str:
    """A command without the line ends of a block, which mean nothing except after a backslash."""
    text = command.rstrip(_LINE_END)
    return text + _LINE_END if text.endswith(_BACKSLASH) and text != command else text


def evaluated(text: str) -> str:
    """The script as one `eval $'…'`, which holds `'` and no `"`."""
    return f"eval {ansi_quoted(text)}"


def _one_surviving(text: str) -> tuple[str, ...]:
    if not damages(text):
        return (text,)
    return tuple(one for command in _commands(text) for one in _one_command(command))


def _one_command(text: str) -> tuple[str, ...]:
    if not damages(text):
        return (text,)
    # A backslash at the end goes on in the next line, where there is nothing.
    whole = text + _LINE_END if text.endswith(_BACKSLASH) else text
    kept = f"{_KEEPS_TEXT}\n{whole}"
    if _LINE_END in text and not damages(kept):
        return (kept,)
    lines = tuple(text.split("\n"))
    if not any(map(damages, lines)):
        return lines
    script = read_script(text)
    pieces = _pieces(script)
    if pieces is not None:
        rewritten = [_rewritten(line) for line in _logical_lines(pieces)]
        if all(line is not None for line in rewritten):
            return tuple(line for line in rewritten if line)
    if not damages(kept):
        return (kept,)
    # What bash cannot read ends a script, but not one that evaluates it.
    fault = syntax_problem(script)
    return (f"{evaluated(whole)} || exit" if fault and fault.is_error else evaluated(whole),)


# A text with an apostrophe and without a double quote comes through, see pai_lsp/job/plugin_parameters.py.
_KEEPS_TEXT = "# With an apostrophe (') in it, the runtime passes on this text as it is written."
# A longer text is not taken apart: each of its lines may begin a command.
_MOST_LINES = 200


def _commands(text: str) -> list[str]:
    """The commands of a script, each with all of its lines: a compound command or a here-document stays one."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        return [text]
    found: list[str] = []
    first = 0
    for number in range(1, len(lines) + 1):
        command = "\n".join(lines[first:number])
        if number == len(lines) or read_script(command).is_complete:
            found.append(command)
            first = number
    return found


_LINE_END, _BACKSLASH = "\n", "\\"
_BLANKS = " \t"
# In these, other quotes would have another meaning, or lines must stay lines.
_KEPT = frozenset({PartKind.HERE_DOCUMENT, PartKind.REGULAR_EXPRESSION})
_PLAIN = lazy_pattern(r"[ \t]+|\n|[^ \t\n]+")


@dataclass(frozen=True, slots=True)
class _QuotedPart:
    """A part of a script, as it is written; `kind` is None for blanks, line ends and plain words."""

    kind: PartKind | None
    text: str


def _pieces(script: Script) -> tuple[_QuotedPart, ...] | None:
    """The parts of a script; None if it is not certain how to write it differently."""
    if not script.is_complete or any(part.kind in _KEPT for part in script.parts):
        return None
    found: list[_QuotedPart] = []
    at = 0
    for part in script.parts:
        found += _plain(script.text[at : part.span.start])
        found.append(_QuotedPart(part.kind, script.text[part.span.start : part.span.end]))
        at = part.span.end
    found += _plain(script.text[at:])
    return tuple(piece for piece in found if piece.text != "\\\n")  # a line that continues in the next one


def _plain(text: str) -> Iterator[_QuotedPart]:
    return (_QuotedPart(None, match[0]) for match in _PLAIN.finditer(text))


def _logical_lines(pieces: Iterable[_QuotedPart]) -> Iterator[list[_QuotedPart]]:
    line: list[_QuotedPart] = []
    for piece in pieces:
        if piece.kind is None and piece.text == _LINE_END:
            yield line
            line = []
        else:
            line.append(piece)
    yield line


def _rewritten(line: list[_QuotedPart]) -> str | None:
    """One line with other quotes so that the runtime does not change it; None if that is impossible."""
    candidates = ["".join(piece.text for piece in line)]
    code = [piece for piece in line if piece.kind is not PartKind.COMMENT]
    while len(code) < len(line) and code and code[-1].kind is None and not code[-1].text.strip(_BLANKS):
        code.pop()
    for write in (lambda piece: piece.text, _with_double_quotes, _with_single_quotes):
        written = [write(piece) for piece in code]
        if all(part is not None for part in written):
            candidates.append("".join(part for part in written if part is not None))
    return next((text for text in candidates if not damages(text)), None)


def _with_double_quotes(piece: _QuotedPart) -> str | None:
    """The piece without a `'`."""
    if piece.kind is PartKind.SINGLE_QUOTED:
        content = piece.text[1:-1]
        return None if re.search(r'[$`\\"!\n]', content) else f'"{content}"'
    return None if piece.kind in {PartKind.ANSI_QUOTED, PartKind.ESCAPED} else piece.text


def _with_single_quotes(piece: _QuotedPart) -> str | None:
    """The piece without a `"`, and with a `'` in place of a backslash."""
    if piece.kind is PartKind.DOUBLE_QUOTED:
        literal = _literal(piece.text[1:-1])
        return None if literal is None else _quoted(literal)
    if piece.kind is PartKind.SINGLE_QUOTED:
        return _quoted(piece.text[1:-1])
    if piece.kind is PartKind.ESCAPED:
        return _quoted(piece.text[1:])
    if piece.kind is PartKind.ANSI_QUOTED:
        return _QUOTE_IN_ANSI.sub(_without_double_quote, piece.text)
    return piece.text.replace("\t", " ") if piece.kind is None else piece.text


_QUOTE_IN_ANSI = lazy_pattern(r'"|\\[\s\S]')


def _without_double_quote(match: re.Match[str]) -> str:
    return r"\x22" if match[0].endswith('"') else match[0]


def _literal(text: str) -> str | None:
    """The content of double quotes, as plain text; None if something in it is expanded."""
    parts: list[str] = []
    for match in re.finditer(r"<%[\s\S]*?%>|\\([$`\"\\\n])|(\$[A-Za-z0-9_@*#?!{(-]|`)|[\s\S]", text):
        if match[2]:
            return None
        parts.append(match[0] if match[1] is None else match[1].replace("\n", ""))
    return "".join(parts)


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text and '"' not in text else ansi_quoted(text)


def ansi_quoted(text: str) -> str:
    """The text as `$'…'` without a `"` in it."""
    escapes = {"\\": "\\\\", "'": "\\'", '"': "\\x22"}
    return "$'" + "".join(escapes.get(character, character) for character in text) + "'"


# A value that means nothing to bash, in or out of quotes, so that it may be written in other quotes.
_INERT = lazy_pattern(r"[A-Za-z0-9_./:@%+=,-]*")


class CanNotExpressError(Exception):
    """Commands without a released form; the message gives the reason and contains no secret."""


class FindsNothingError(CanNotExpressError):
    """A reference in the commands finds no usable value in any protocol."""


@dataclass(frozen=True, eq=False)
class RoleValues:
    """The values of the references in a task role's commands; computed on first use."""

    job: Job
    role: TaskRole

    @cached_property
    def server(self) -> dict[str, Any]:
        """The values of the rest-server, by root."""
        return server_values(self.job, self.role)

    @cached_property
    def secrets(self) -> dict[str, Any]:
        """The job's secrets as the rest-server reads them."""
        return as_mapping(as_mapping(self.job.plain).get("secrets"))

    @cached_property
    def runtime(self) -> RuntimeRole | None:
        """The role in the runtime; None for one that never starts."""
        known = self.job.once(_runtime_job)
        try:
            return runtime_role(known, self.role.name) if known else None
        except RuntimeStopError:
            return None


def _runtime_job(job: Job) -> RuntimeJob | None:
    """The job as the runtime reads it; None for one that never starts."""
    try:
        return runtime_job(job)
    except RuntimeStopError:
        return None


def role_values(job: Job) -> dict[str, RoleValues]:
    """The values of references, by task role."""
    return {role.name: RoleValues(job, role) for role in job.task_roles}


def callback_items(commands: Sequence[str], roles: Sequence[RoleValues]) -> tuple[str, ...]:
    """The items of a callback's `commands` that run as these commands are meant, in all of the roles.

    Raises:
        CanNotExpressError: if no items do.
    """
    if not any(OPENING in command for command in commands):
        return surviving(commands)
    commands = [_with_references_on_one_line(command) for command in commands]
    items = surviving(commands)
    is_kept = _lines(items) == _lines(commands)
    if (is_kept or _are_inert(commands, roles, only_secrets=False)) and _come_through(items, roles) is None:
        return items
    # The references that spoil the text are replaced by their values; secrets stay references.
    commands = [_with_values(command, roles) for command in commands]
    items = surviving(commands)
    is_kept = _lines(items) == _lines(commands)
    if not is_kept and not _are_inert(commands, roles, only_secrets=True):
        raise CanNotExpressError(
            "a secret in a command with these quotes must consist of letters, digits and any of '_./:@%+=,-'"
        )
    if problem := _come_through(items, roles):
        raise CanNotExpressError(problem)
    return items


def command_text(commands: Sequence[str], values: RoleValues) -> str:
    """The commands of a callback as text for the commands of a task role.

    Raises:
        CanNotExpressError: if no such text exists.
    """
    text = "\n".join(map(without_last_line_ends, commands))
    if OPENING not in text:
        return text
    parts: list[str | RuntimeReference] = []
    at = 0
    for reference in references(text):
        parts.append(text[at : reference.span.start])
        if reference.names_secret:
            _check_secret(reference, values)
        if reference.names_secret or _value(reference, values):
            parts.append(reference)
        at = reference.span.end
    parts.append(text[at:])
    if any(OPENING in part for part in parts if isinstance(part, str)):
        return _without_own_marks(parts, values)
    return "".join(part if isinstance(part, str) else part.for_server for part in parts)


def shown_text(command: str, values: RoleValues) -> str:
    """The command with every reference but those to secrets replaced by its value, if it finds one."""
    try:
        return _with_values(command, [values])
    except CanNotExpressError:
        return command


def _without_own_marks(parts: list[str | RuntimeReference], values: RoleValues) -> str:
    """Text that holds `<%` of its own, which the rest-server must not see: as one `eval` that writes it differently."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += ansi_quoted(part)[2:-1].replace(OPENING, r"\x3c%")
        elif _is_inert(part, values):
            text += part.for_server
        else:
            raise CanNotExpressError("the value of a reference must be plain text in a command that also contains '<%'")
    return f"eval $'{text}'"


def _lines(commands: Sequence[str]) -> tuple[str, ...]:
    lines = (line for command in commands for line in without_last_line_ends(command).split("\n"))
    return tuple(line for line in lines if line != _KEEPS_TEXT)


def _with_references_on_one_line(command: str) -> str:
    """The command with each reference on one line, so that the command can be split at line ends."""
    broken = (one for one in references(command) if "\n" in command[one.span.start : one.span.end])
    return apply_edits(command, [TextEdit(one.span, f"<% ${one.path} %>") for one in broken])


def _check_secret(reference: RuntimeReference, values: RoleValues) -> None:
    secret = _secret(reference, values)
    if not isinstance(secret, str):
        raise FindsNothingError(f"'${reference.path}' is not text")
    if not ESCAPED_CHARACTERS.isdisjoint(secret):
        raise CanNotExpressError(
            f"the runtime writes the secret '${reference.path}' as HTML among commands, which changes it"
        )


def _secret(reference: RuntimeReference, values: RoleValues) -> Any:
    return looked_up(reference.server_path, {"$secrets": values.secrets})


def _value(reference: RuntimeReference, values: RoleValues) -> str:
    """The value of a reference that is not to a secret; empty for null.

    Raises:
        FindsNothingError: if it finds nothing, or a list or mapping.
    """
    try:
        value = looked_up(reference.server_path, values.server, values.job.platform.mustache)
    except CallFailedError:
        value = MISSING
    if value is MISSING:
        raise FindsNothingError(f"'${reference.path}' finds nothing")
    if isinstance(value, (list, dict)):
        raise FindsNothingError(f"'${reference.path}' is not a single value")
    return well_formed(written(value) or "")


def _is_inert(reference: RuntimeReference, values: RoleValues) -> bool:
    value = _secret(reference, values) if reference.names_secret else _value(reference, values)
    return isinstance(value, str) and _INERT.fullmatch(value) is not None


def _are_inert(commands: Sequence[str], roles: Sequence[RoleValues], *, only_secrets: bool) -> bool:
    try:
        return all(
            _is_inert(reference, values)
            for command in commands
            for reference in references(command)
            for values in roles
            if reference.names_secret or not only_secrets
        )
    except CanNotExpressError:
        return False


def _with_values(command: str, roles: Sequence[RoleValues]) -> str:
    """The command with every reference but those to secrets replaced by its value, the same in all roles."""
    edits: list[TextEdit] = []
    for reference in references(command):
        if reference.names_secret:
            continue
        found = {_value(reference, values) for values in roles}
        if len(found) > 1:
            raise CanNotExpressError(f"'${reference.path}' has different values in the task roles that use it")
        edits += (TextEdit(reference.span, value) for value in found)
    return apply_edits(command, edits)


def _come_through(items: Sequence[str], roles: Sequence[RoleValues]) -> str | None:
    """The reason why the runtime would change an item with references; None if it would not."""
    for values in roles:
        runtime = values.runtime
        if runtime is None:
            continue
        filled = partial(with_references_filled, role=runtime, shows_secrets=True)
        for item in items:
            try:
                if OPENING in item and runtime_round_trip([item], filled) != [filled(item)]:
                    return "a value in this command holds quotes or other characters that the runtime changes"
            except RuntimeStopError as error:
                return str(error)
    return None
