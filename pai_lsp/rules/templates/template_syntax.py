"""Rules about `<% … %>` as such: what stops the rest-server, what it drops, and which roots work where.

What the names behind a root must be is the matter of pai_lsp/rules/templates/template_names.py.

Where a job's templates make the rest-server answer 500, or leave bash half a mark, and how to fix them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.embedded.server_rendering import OBJECT_PROTOTYPE_NAMES
from pai_lsp.embedded.template import CLOSING, OPENING, ROOTS, TagKind, TemplateFault, tags
from pai_lsp.findings.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.findings.fixes import change_fix
from pai_lsp.job.template_answers import Outcome
from pai_lsp.job.template_uses import COMMAND_PLACES, TemplatePlace, place_at
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import callback_scripts, role_scripts
from pai_lsp.rules.templates.template_fixes import inlined, meant_root, text_at
from pai_lsp.source.content import MappedText, mapped, trimmed
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, walk
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.template import Tag
    from pai_lsp.job.job import Job
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.job.variable_places import ScriptPlace


_SERVER_PLACES = frozenset({TemplatePlace.COMMANDS, TemplatePlace.AUTH})
# Keys whose text is for people, or filled by `pai-lsp expand` before anybody else reads it.
_FREE_KEYS = frozenset(
    {"description", "contributor", "summary", "title", "require", "template_variables", "plugin_params"}
)


@rule(Severity.ERROR)
def template_syntax(job: Job) -> Iterator[Finding]:
    """Something in a role's commands, or in an image's `auth`, is no template that the rest-server can read.

    Commands are a mustache template with the marks `<%` and `%>`, whatever was meant. A `<%` that is never closed, as
    in `printf "<%s>"`, a section that is not closed and `<%=` make the rest-server answer 500 to the whole job. All
    commands of a role are one text, those of the default deployment included. A text that is nothing but `toString`,
    `constructor` or another name of JavaScript's objects fails as well. A `<%` that is closed only by the end of the
    next tag takes everything between into one name, which nobody knows. A `%>` that is left over, here or in a
    callback, is a redirection without a file name to bash, which ends there with a syntax error.
    Sources: rest-server, middlewares/v2/protocol.js, render; mustache.js 2.3.2, parseTemplate and Writer.parse; the
    bash reference manual, "Redirections".

        taskRoles:
          worker:
            commands:
              - hostname %>
              #          ^^ error
              - printf "<%s>" "$HOSTNAME"
              #         ^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - hostname
              - printf "<""%s>" "$HOSTNAME"
    """
    for fault in faults(job):
        yield Finding(fault.span, fault.message, fault.fixes)


@rule(Severity.WARNING)
def template_tag_dropped(job: Job) -> Iterator[Finding]:
    """A tag is removed from a command without a word, because only `<% name %>` is ever filled.

    The rest-server reads mustache but writes only text and names: `<%& name %>`, `<%{ name }%>`, comments, partials and
    whole sections with all that is in them vanish. In a job with secrets the runtime drops what the rest-server
    left: every tag but those of `$secrets` becomes empty.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/user_command_renderer.py.

        parameters:
          lr: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <%& $parameters.lr %>
              #                      ^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        parameters:
          lr: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <% $parameters.lr %>
    """
    for use in job.template_uses:
        tag = use.tag
        if use.place not in _SERVER_PLACES or tag.in_section or tag.kind in {TagKind.NAME, TagKind.END}:
            continue
        if tag.kind in {TagKind.SECTION, TagKind.INVERTED}:
            yield Finding(use.span, f"the rest-server drops the section '{tag.content}' with all that is in it")
            continue
        fixes: tuple[Fix, ...] = ()
        if tag.kind in {TagKind.UNESCAPED, TagKind.UNESCAPED_BRACES}:
            written = f"<% {tag.content} %>"
            fixes = (change_fix(use.span, written, safe=True),)
        yield Finding(use.span, "the rest-server drops this tag: it fills only '<% name %>'", fixes)
    if job.secrets:
        for answer in job.template_answers:
            if answer.outcome is Outcome.UNKNOWN_ROOT and not answer.in_plugin and not meant_root(job, answer):
                message = f"a job with secrets loses this tag: the runtime knows no '{answer.root}'"
                yield Finding(answer.use.span, message)


@rule(Severity.WARNING)
def template_not_rendered_here(job: Job) -> Iterator[Finding]:
    """A tag stands where nobody fills it, so that its text is taken as it is.

    Only commands, an image's `auth` (secrets alone) and the parameters of runtime plugins are templates. An image's
    `uri`, storages, names, resources and the values of parameters are not.
    Sources: rest-server, middlewares/v2/protocol.js, protocolRender; openpai-runtime, initializer.py, init_plugins.

        parameters:
          version: "1.2"
        prerequisites:
          - name: image
            type: dockerimage
            uri: example/train:<% $parameters.version %>
            #                  ^^^^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        prerequisites:
          - name: image
            type: dockerimage
            uri: example/train:1.2
    """
    for use in job.template_uses:
        if use.place is not TemplatePlace.LITERAL or use.tag.kind is not TagKind.NAME:
            continue
        root = str(use.tag.server_steps[0].name)
        if root not in ROOTS:
            continue
        keys, scalar = text_at(job, use.span.start)
        if (
            not _FREE_KEYS.isdisjoint(keys)
            or place_at(job, use.span.start) in COMMAND_PLACES
            or (root == "$secrets" and _reaches_commands(job, use, keys))
        ):
            continue
        key = next((name for name in reversed(keys) if name), "")
        where = f"in '{key}'" if key else "here"
        yield Finding(use.span, f"templates are not filled {where}; the text stays as it is", inlined(job, use, scalar))


def _reaches_commands(job: Job, use: TemplateUse, keys: tuple[str, ...]) -> bool:
    """Whether the text can be inserted into a command, where the runtime fills the secrets in it."""
    if keys[:1] == ("parameters",):
        # The runtime inserts a parameter into a plugin's text once and fills nothing in it.
        users = (answer for answer in job.template_answers if answer.root == "$parameters" and len(answer.steps) > 1)
        return not any(answer.in_plugin and answer.steps[1].name in keys[1:2] for answer in users)
    if keys[:1] != ("prerequisites",):
        return False
    return any(
        definition.type != "dockerimage" and definition.node.span.overlaps(use.span) for definition in job.prerequisites
    )


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
    for place in (*role_scripts(job), *callback_scripts(job, command_lists(job.uses_of_plugin("cmd"), CLOSING))):
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


RULES = (
    template_syntax,
    template_tag_dropped,
    template_not_rendered_here,
)
