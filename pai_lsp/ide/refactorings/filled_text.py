"""The part of a text that is selected and that a `<% %>` can replace.

Sources of what fills which template: pai_lsp/job/template_uses.py.
"""

from __future__ import annotations

import re
from enum import Enum

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.template import tags, tags_without_dollar
from pai_lsp.job.definition import SIMPLE_KEYS
from pai_lsp.job.template_uses import COMMAND_PLACES, RUNTIME_PLACES, TemplatePlace, place_at
from pai_lsp.rules.templates.template_fixes import text_at
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Scalar

_NUMBER = lazy_pattern(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ASSIGNED = lazy_pattern(r"(-{0,2}[A-Za-z_][\w-]*)=(.+)", re.DOTALL)
_OPTION = lazy_pattern(r"--?[A-Za-z][\w-]*")
_BOUNDARY_BEFORE, _BOUNDARY_BEHIND = r"(?<![^\s=:,'\"(])", r"(?![^\s,;:'\")])"
# Keys of a prerequisite whose values are used as they are written.
_KEPT = frozenset({"name", "type", "plugin", "require", "template_variables", "event", "uri", "failurePolicy"})


class Filler(Enum):
    """The program that fills the templates of a text."""

    SERVER = "commands"  # the rest-server, as text
    RUNTIME = "plugin"  # the runtime, strings only
    AUTH = "auth"  # the rest-server, secrets only


@dataclass(frozen=True, slots=True, eq=False)
class SelectedText:
    """A part of a scalar that a template can replace.

    span: in the file. text: its content. name: a name for it, after the option or key of which it is the value.
    """

    scalar: Scalar
    span: Span
    text: str
    name: str
    filler: Filler
    is_command: bool


def piece_at(job: Job, span: Span) -> SelectedText | None:
    """The selected text, or the value at an empty selection; None if a template is not possible or not filled there."""
    text = job.text
    chosen = text[span.start : span.end]
    start = span.start + len(chosen) - len(chosen.lstrip())
    end = span.start + len(chosen.rstrip()) if chosen.strip() else start
    keys, scalar = text_at(job, start)
    if scalar is None and start:
        keys, scalar = text_at(job, start - 1)
    if scalar is None or not scalar.is_string or not scalar.text or end > scalar.span.end:
        return None
    filler = _filler(job, keys, scalar)
    if filler is None:
        return None
    is_command = _is_command(keys)
    found = _selected(job, scalar, Span(start, end)) if start < end else _at_cursor(job, scalar, start, is_command)
    if found is None or _touches_template(scalar.text, found):
        return None
    if is_command and any(found.start in comment for comment in read_script(scalar.text).comments):
        return None
    place = mapped(text, scalar).span(found.start, found.end)
    content = scalar.text[found.start : found.end]
    if "\n" in text[place.start : place.end] or not content.strip() or "<%" in content or "%>" in content:
        return None
    return SelectedText(scalar, place, content, _name(scalar.text, found, keys, is_command), filler, is_command)


def same_pieces(job: Job, piece: SelectedText) -> tuple[SelectedText, ...]:
    """All places in commands with the same text, including the given one."""
    if not piece.is_command:
        return (piece,)
    pattern = re.compile(_BOUNDARY_BEFORE + re.escape(piece.text) + _BOUNDARY_BEHIND)
    found: list[SelectedText] = []
    for scalar, filler in _commands(job):
        if piece.text not in scalar.text:
            continue
        places = mapped(job.text, scalar)
        for match in pattern.finditer(scalar.text):
            span = places.span(*match.span())
            is_one_line = "\n" not in job.text[span.start : span.end]
            if is_one_line and not _touches_template(scalar.text, Span(*match.span())):
                found.append(SelectedText(scalar, span, piece.text, piece.name, filler, is_command=True))
    return tuple(found)


def _commands(job: Job) -> Iterator[tuple[Scalar, Filler]]:
    """The commands with templates, each once, although several task roles may share them."""
    found: dict[Scalar, Filler] = {}
    for role in job.task_roles:
        found |= dict.fromkeys(job.command_parts(role), Filler.SERVER)
    for definition in job.prerequisites:
        if definition.extended_plugin == "cmd" and definition.type != "dockerimage":
            for callback in definition.callbacks:
                found |= dict.fromkeys(callback.commands, Filler.RUNTIME)
    yield from ((scalar, filler) for scalar, filler in found.items() if scalar.is_string)


def _filler(job: Job, keys: tuple[str, ...], scalar: Scalar) -> Filler | None:
    place = place_at(job, scalar.span.start)
    if place in COMMAND_PLACES:
        return Filler.SERVER if _is_command(keys) else None
    if place is TemplatePlace.AUTH:
        return Filler.AUTH
    if place not in RUNTIME_PLACES or _KEPT.intersection(keys):
        return None
    owner = next((one for one in job.definitions if scalar.span.start in one.node.span), None)
    is_parameter = owner is None or any(scalar.span.start in entry.value.span for entry in owner.parameters)
    return Filler.RUNTIME if is_parameter else None


def _is_command(keys: tuple[str, ...]) -> bool:
    return not {"commands", *SIMPLE_KEYS}.isdisjoint(keys[-2:-1])


def _selected(job: Job, scalar: Scalar, chosen: Span) -> Span | None:
    """The range of the scalar's text that a selection in the file holds, where it begins and ends with a character."""
    places = mapped(job.text, scalar)
    if chosen == scalar.span and not scalar.is_block:
        return Span(0, len(scalar.text))
    # The line end that a block adds is not in the file.
    shown = range(len(scalar.text.rstrip()))
    starts = [index for index in shown if places.starts[index] == chosen.start]
    ends = [index for index in shown if places.ends[index] == chosen.end]
    return Span(starts[0], ends[-1] + 1) if starts and ends and starts[0] <= ends[-1] else None


def _at_cursor(job: Job, scalar: Scalar, offset: int, is_command: bool) -> Span | None:
    """The value at the cursor: in a command an option's, an assignment's or a number; else the whole text."""
    if not is_command:
        return Span(0, len(scalar.text)) if not scalar.is_block else None
    index = mapped(job.text, scalar).index(offset)
    if index is None:
        return None
    for command in read_script(scalar.text).commands:
        for before, word in zip(command.words, command.words[1:], strict=False):
            if not word.span.touches(index) or not word.is_literal:
                continue
            written = scalar.text[word.span.start : word.span.end]
            if assigned := _ASSIGNED.fullmatch(written):
                value = Span(word.span.start + assigned.start(2), word.span.end)
                return _bare(scalar.text, value) if value.touches(index) else None
            is_value = _OPTION.fullmatch(before.text) and not written.startswith("-")
            return _bare(scalar.text, word.span) if is_value or _NUMBER.fullmatch(written) else None
    return None


def _bare(text: str, span: Span) -> Span | None:
    """A word without the quotes around it; None for one with other quotes in it."""
    written = text[span.start : span.end]
    if len(written) > 2 and written[0] == written[-1] and written[0] in "'\"":
        span, written = Span(span.start + 1, span.end - 1), written[1:-1]
    return None if any(character in written for character in "'\"\\$`") else span


def _touches_template(text: str, span: Span) -> bool:
    """Whether a range shares a character with a `<% %>`."""
    found = [tag.span for tag in (*tags(text)[0], *tags_without_dollar(text))] if "<%" in text else []
    return any(one.start < span.end and span.start < one.end for one in found)


def _name(text: str, span: Span, keys: tuple[str, ...], is_command: bool) -> str:
    """A name for the text: after the option or variable in front of it, else after the key."""
    before = text[: span.start].rstrip("'\" \t=")
    match = re.search(r"(?:^|\s)-{0,2}([A-Za-z_][\w-]*)$", before)
    is_value = match is not None and (text[len(before) : span.start].startswith("=") or match[0].strip()[0] == "-")
    base = match[1] if match is not None and is_value else ""
    if not base and not is_command:
        base = next((key for key in reversed(keys) if key), "")
    if not base:
        piece = text[span.start : span.end]
        base = "url" if "://" in piece else "path" if "/" in piece else "value"
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", base).replace("-", "_").strip("_").lower()
    return re.sub(r"\W", "_", name, flags=re.ASCII) or "value"
