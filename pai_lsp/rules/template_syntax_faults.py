"""Where a job's templates make the rest-server answer 500, or leave bash half a mark, and how to fix them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.content import MappedText, mapped, trimmed
from pai_lsp.diagnostic import Fix
from pai_lsp.expand.javascript import OBJECT_PROTOTYPE_NAMES
from pai_lsp.fixes import change_fix
from pai_lsp.frozen import dataclass
from pai_lsp.nodes import Scalar, walk
from pai_lsp.rules.command_places import cmd_uses, command_lists
from pai_lsp.rules.variable_places import callback_scripts, role_scripts
from pai_lsp.spelling import nearest
from pai_lsp.template import CLOSING, OPENING, ROOTS, TagKind, TemplateFault, tags
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.rules.variable_places import ScriptPlace
    from pai_lsp.template import Tag

# A tag that its author meant: the root and the path, and the half of a closing mark that may follow.
_MEANT = re.compile(r"<%[ \t]*(?P<root>\$?[A-Za-z]+)(?:\.[\w-]+|\[\d+\])*(?P<end>[ \t]*[%>])?")
# What may be the inside of a tag that lost its opening mark.
_UNOPENED = re.compile(r"\$(?:parameters|secrets|data|script|output)[\w.\[\]-]*\Z")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault on the author's own characters."""

    span: Span
    message: str
    fixes: tuple[Fix, ...] = ()


def faults(job: Job) -> Iterator[Fault]:
    """Every fault in the texts that the rest-server fills: each role's commands, and the images' `auth`."""
    for role in job.task_roles:
        parts = job.command_parts(role)
        if len(parts) == 1 and (name := parts[0].text.strip()) in OBJECT_PROTOTYPE_NAMES:
            text = trimmed(mapped(job.text, parts[0]))
            yield Fault(text.span(0, len(name)), _prototype_message(name))
        if role.name in job.command_templates:
            yield from _faults(*job.command_templates[role.name])
    for definition in job.prerequisites:
        if definition.type != "dockerimage":
            continue
        for scalar in walk(definition.node.get("auth")):
            if isinstance(scalar, Scalar):
                if scalar.text in OBJECT_PROTOTYPE_NAMES:
                    yield Fault(scalar.span, _prototype_message(scalar.text))
                if OPENING in scalar.text:
                    yield from _faults(mapped(job.text, scalar), *tags(scalar.text))
    for place in (*role_scripts(job), *callback_scripts(job, command_lists(cmd_uses(job), CLOSING))):
        yield from _left_over(place)


def _left_over(place: ScriptPlace) -> Iterator[Fault]:
    """A closing mark that nothing opens, where bash reads its `>`; in quotes and comments it does no harm."""
    text = place.script.text
    for sign in place.script.open_redirections:
        start, end = sign.end - len(CLOSING), sign.end
        if text[max(start, 0) : end] != CLOSING:
            continue
        before = text[:start].rstrip(" \t")
        span, removed = place.span(Span(start, end)), place.span(Span(len(before), end))
        fixes: tuple[Fix, ...] = ()
        if len(removed) == end - len(before) and not _UNOPENED.search(before):
            fixes = (Fix(f"Remove '{CLOSING}'", (TextEdit(removed, ""),), safe=before.endswith(CLOSING)),)
        message = f"'{CLOSING}' without '{OPENING}': bash takes '>' for a redirection and finds no file name after it"
        yield Fault(span, message, fixes)


def _prototype_message(name: str) -> str:
    return f"a text that is nothing but '{name}' makes the rest-server answer 500"


def _faults(text: MappedText, found: tuple[Tag, ...], fault: TemplateFault | None) -> Iterator[Fault]:
    for tag in found:
        inner = text.text.find(OPENING, tag.span.start + len(OPENING), tag.span.end)
        if inner >= 0 and tag.kind is TagKind.NAME:
            span = Span(tag.span.start, tag.span.start + len(OPENING))
            message = f"this '{OPENING}' is closed only by the '{CLOSING}' of the next tag"
            yield Fault(text.span(span.start, span.end), message, _close_fix(text, span.start, inner))
    if fault is not None:
        written = text.text[fault.span.start : fault.span.end].rstrip()
        span = text.span(fault.span.start, fault.span.start + len(written))
        yield Fault(span, f"{fault.message}: the rest-server answers 500", _fixes(text, fault, written))


def _fixes(text: MappedText, fault: TemplateFault, written: str) -> tuple[Fix, ...]:
    start = fault.span.start
    span = text.span(start, start + len(written))
    if written == f"{OPENING}=":
        return (change_fix(span, OPENING, safe=True),)
    if written == OPENING:
        return _close_fix(text, start, len(text.text))
    is_whole = written.endswith(CLOSING) and "\n" not in written and len(written) == len(span)
    if is_whole and CLOSING not in text.text[start + len(written) :]:
        return (Fix("Remove the tag", (TextEdit(span, ""),)),)
    return ()


def _close_fix(text: MappedText, start: int, end: int) -> tuple[Fix, ...]:
    """Close a tag behind its path, where it begins like one."""
    match = _MEANT.match(text.text, start, end)
    if match is None or not (match["root"] in ROOTS or (match["root"][0] == "$" and nearest(match["root"], ROOTS))):
        return ()
    at = match.start("end") if match["end"] else match.end()
    place = text.span(at, match.end()) if match["end"] else Span(text.ends[at - 1], text.ends[at - 1])
    return (Fix(f"Close the tag with '{CLOSING}'", (TextEdit(place, f" {CLOSING}"),), safe=not match["end"]),)
