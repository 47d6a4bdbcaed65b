"""A value that is written out becomes a parameter of the job, or a password or token becomes a secret.

The rule `secret-in-clear` moves what it finds itself; here the author selects the secret. `piece_at` finds the part of
a text that a `<% %>` can replace. Sources of what fills which template: pai_lsp/job/template_uses.py.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.template import ESCAPED_CHARACTERS, tags, tags_without_dollar
from pai_lsp.ide.refactorings.refactoring import (
    CanNotRefactorError,
    Refactoring,
    RefactoringKind,
    attempted,
    is_shared,
    refuse_new_findings,
    together,
    trimmed,
    value_added,
)
from pai_lsp.job.definition import SIMPLE_KEYS
from pai_lsp.job.template_uses import COMMAND_PLACES, RUNTIME_PLACES, TemplatePlace, place_at
from pai_lsp.platform.secrets_section import is_line_start
from pai_lsp.rules.secrets.secret_values import moved_to_secrets
from pai_lsp.rules.templates.template_fixes import text_at
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import Span, TextEdit, any_overlaps, apart
from pai_lsp.source.writing import flow_scalar, quoted, scalar_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Fix
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry

# Numbers that both readers of the file take for the same, and that the rest-server writes into commands unchanged.
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,9}[1-9])?")
# A job in which so many places have the same text is not one that somebody reads.
_MOST_PLACES = 1_000
# What changes, or breaks, a plugin's parameters when the runtime fills it in (see pai_lsp/job/plugin_parameters.py).
_SPOILS_PLUGIN = lazy_pattern(r"['\"\\\t\r\n]")


def parameter_from_text(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for a selected part of a command, and for a value at the cursor; not for what looks like a secret."""
    job = document.job
    piece = piece_at(job, span)
    if piece is None or piece.filler is Filler.AUTH or is_clear_secret(document, piece.span):
        return
    places = same_pieces(job, piece)
    yield _offer(document, piece, (piece,), "")
    if 1 < len(places) <= _MOST_PLACES and any(one.span == piece.span for one in places):
        yield _offer(document, piece, places, f", at all {len(places)} places")


def _offer(document: Document, piece: SelectedText, places: tuple[SelectedText, ...], where: str) -> Refactoring:
    job = document.job
    known = _known_parameter(job, piece, places)
    name = known or free_name(piece.name, job.parameters)
    title = f"{'Use' if known else 'Move to'} the parameter '{name}'{where}"
    return _extracting(document, title, partial(_moved_to_parameter, job, name, places, is_new=not known))


def _moved_to_parameter(job: Job, name: str, places: tuple[SelectedText, ...], *, is_new: bool) -> tuple[TextEdit, ...]:
    for one in places:
        _refuse_place(job, one)
    edits = [value_added(job, "parameters", name, _written(job, places[0].text, places))] if is_new else []
    edits += (TextEdit(one.span, f"<% $parameters.{name} %>") for one in places)
    return together(job.syntax, edits)


def _refuse_place(job: Job, place: SelectedText) -> None:
    if is_shared(job, place.span):
        raise CanNotRefactorError("this text is shared through an anchor; write it out first")
    if place.filler is Filler.RUNTIME and _SPOILS_PLUGIN.search(place.text):
        raise CanNotRefactorError("the runtime cannot fill quotes or backslashes into a plugin's parameters")


def _known_parameter(job: Job, piece: SelectedText, places: tuple[SelectedText, ...]) -> str:
    """The parameter of the wanted name, if it has the same value already; else empty."""
    entry = job.parameters.get(piece.name)
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.value is None:
        return ""
    is_text = entry.value.is_string and entry.value.runtime_value == entry.value.text
    needs_text = any(one.filler is Filler.RUNTIME for one in places)
    return piece.name if server_text(entry.value.value) == piece.text and (is_text or not needs_text) else ""


def _written(job: Job, text: str, places: tuple[SelectedText, ...]) -> str:
    """The value in YAML: a number if only the rest-server fills it in, else text; the runtime accepts only text."""
    if _NUMBER.fullmatch(text):
        return quoted(text) if any(one.filler is Filler.RUNTIME for one in places) else text
    section = job.mapping("parameters")
    return flow_scalar(text) if section is not None and section.is_flow else scalar_line(text)


# pystache writes these as HTML, in commands and for the registry's login (openpai-runtime, src/common/utils.py).
_AS_HTML = "the runtime would write a secret with any of &<>\"' as HTML here"


def secret_from_text(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered for a selected part of a command, for values of a registry's `auth`, and for a parameter's value."""
    job = document.job
    if (entry := _parameter_at(job, span)) is not None and not is_clear_secret(document, entry.value.span):
        yield from _parameter(document, entry)
    piece = piece_at(job, span)
    if piece is None or (piece.is_command and not len(span)) or is_clear_secret(document, piece.span):
        return
    wanted = f"docker_{piece.name}" if piece.filler is Filler.AUTH else piece.name
    name = free_name("token" if wanted in {"value", "path", "url"} else wanted, job.secrets)
    yield _extracting(document, f"Move to the secret '{name}'", partial(_moved_to_secret, job, piece, name))


def is_clear_secret(document: Document, span: Span) -> bool:
    """Whether the rule has found a secret at a place, and can move it."""
    return any(one.code == "secret-in-clear" and one.fixes and one.span.overlaps(span) for one in document.diagnostics)


def _parameter_at(job: Job, span: Span) -> Entry | None:
    section = job.mapping("parameters")
    for entry in section.entries if section and len(section.span) else ():
        value = entry.value
        if isinstance(value, Scalar) and value.span.touches(span.start) and value.span.touches(span.end):
            return entry if value.text and value.value is not None else None
    return None


def _parameter(document: Document, entry: Entry) -> Iterator[Refactoring]:
    job, value = document.job, entry.value
    if not isinstance(value, Scalar) or server_text(value.value) != value.text:
        return
    for fix in moved_to_secrets(job, entry)[:1]:
        yield _extracting(document, f"Move to the secret '{entry.name}'", partial(_moved_parameter, job, value, fix))


def _extracting(document: Document, title: str, find: Callable[[], tuple[TextEdit, ...]]) -> Refactoring:
    """A refactoring whose new findings are looked for only when it is chosen."""
    return attempted(title, RefactoringKind.EXTRACT, lambda: refuse_new_findings(document, find()), find)


def _moved_parameter(job: Job, value: Scalar, fix: Fix) -> tuple[TextEdit, ...]:
    _refuse_readable(job)
    if not ESCAPED_CHARACTERS.isdisjoint(value.text):
        raise CanNotRefactorError(_AS_HTML)
    return together(job.syntax, fix.edits)


def _refuse_readable(job: Job) -> None:
    first = job.root.entries[0].key.span.start if job.root and job.root.entries else 0
    if job.root is not None and (job.root.is_flow or not is_line_start(job.text, first)):
        raise CanNotRefactorError("the rest-server hides secrets only if 'secrets:' is at the start of a line")


def _moved_to_secret(job: Job, piece: SelectedText, name: str) -> tuple[TextEdit, ...]:
    _refuse_readable(job)
    _refuse_place(job, piece)
    if piece.filler is not Filler.RUNTIME and not ESCAPED_CHARACTERS.isdisjoint(piece.text):
        raise CanNotRefactorError(_AS_HTML)
    filled = TextEdit(piece.span, f"<% $secrets.{name} %>")
    return together(job.syntax, (value_added(job, "secrets", name, quoted(piece.text)), filled))


_TYPED_NUMBER = lazy_pattern(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
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


@dataclass(frozen=True, slots=True)
class SelectedText:
    """A part of a scalar that a template can replace.

    span: in the file. text: its content. name: a name for it, after the option or key of which it is the value.
    """

    span: Span
    text: str
    name: str
    filler: Filler
    is_command: bool


def piece_at(job: Job, span: Span) -> SelectedText | None:
    """The selected text, or the value at an empty selection; None if a template is not possible or not filled there."""
    text = job.text
    chosen = trimmed(text, span)
    start = chosen.start
    keys, scalar = text_at(job, start)
    if scalar is None and start:
        keys, scalar = text_at(job, start - 1)
    if scalar is None or not scalar.is_string or not scalar.text or chosen.end > scalar.span.end:
        return None
    filler = _filler(job, keys, scalar)
    if filler is None:
        return None
    is_command = _is_command(keys)
    found = _selected(job, scalar, chosen) if len(chosen) else _at_cursor(job, scalar, start, is_command)
    if found is None or any_overlaps(_templates(scalar.text), found):
        return None
    if is_command and any(found.start in comment for comment in read_script(scalar.text).comments):
        return None
    place = mapped(text, scalar).span(found.start, found.end)
    content = scalar.text[found.start : found.end]
    if "\n" in text[place.start : place.end] or not content.strip() or "<%" in content or "%>" in content:
        return None
    return SelectedText(place, content, _name(scalar.text, found, keys, is_command), filler, is_command)


def same_pieces(job: Job, piece: SelectedText) -> tuple[SelectedText, ...]:
    """All places in commands with the same text, including the given one."""
    if not piece.is_command:
        return (piece,)
    pattern = re.compile(_BOUNDARY_BEFORE + re.escape(piece.text) + _BOUNDARY_BEHIND)
    found: list[SelectedText] = []
    for scalar, filler in _commands(job):
        if piece.text not in scalar.text:
            continue
        places, templates = mapped(job.text, scalar), _templates(scalar.text)
        for match in pattern.finditer(scalar.text):
            span = places.span(*match.span())
            if "\n" not in job.text[span.start : span.end] and not any_overlaps(templates, Span(*match.span())):
                found.append(SelectedText(span, piece.text, piece.name, filler, is_command=True))
    return tuple(found)


def _commands(job: Job) -> Iterator[tuple[Scalar, Filler]]:
    """The commands with templates, each once, although several task roles may share them."""
    found: dict[Scalar, Filler] = {}
    for role in job.task_roles:
        found |= dict.fromkeys(job.command_parts(role), Filler.SERVER)
    for definition in job.prerequisites:
        if definition.extended_plugin == "cmd":
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
    text = mapped(job.text, scalar)
    if chosen == scalar.span and not scalar.is_block:
        return Span(0, len(scalar.text))
    # The line end that a block adds is not in the file.
    places = [text.place(index) for index in range(len(scalar.text.rstrip()))]
    starts = [index for index, place in enumerate(places) if place.start == chosen.start]
    ends = [index for index, place in enumerate(places) if place.end == chosen.end]
    return Span(starts[0], ends[-1] + 1) if starts and ends and starts[0] <= ends[-1] else None


def _at_cursor(job: Job, scalar: Scalar, offset: int, is_command: bool) -> Span | None:
    """The value at the cursor: in a command an option's, an assignment's or a number; else the whole text."""
    if not is_command:
        return Span(0, len(scalar.text)) if not scalar.is_block else None
    index = mapped(job.text, scalar).index(offset)
    if index is None:
        return None
    for command in read_script(scalar.text).commands:
        for before, word in pairwise(command.words):
            if not word.span.touches(index) or not word.is_literal:
                continue
            written = scalar.text[word.span.start : word.span.end]
            if assigned := _ASSIGNED.fullmatch(written):
                value = Span(word.span.start + assigned.start(2), word.span.end)
                return _bare(scalar.text, value) if value.touches(index) else None
            is_value = _OPTION.fullmatch(before.text) and not written.startswith("-")
            return _bare(scalar.text, word.span) if is_value or _TYPED_NUMBER.fullmatch(written) else None
    return None


def _bare(text: str, span: Span) -> Span | None:
    """A word without the quotes around it; None for one with other quotes in it."""
    written = text[span.start : span.end]
    if len(written) > 2 and written[0] == written[-1] and written[0] in "'\"":
        span, written = Span(span.start + 1, span.end - 1), written[1:-1]
    return None if any(character in written for character in "'\"\\$`") else span


def _templates(text: str) -> list[Span]:
    """The places of `<% %>`."""
    return apart(tag.span for tag in (*tags(text)[0], *tags_without_dollar(text))) if "<%" in text else []


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
