"""Rules about `<% … %>` as such: what stops the rest-server, what it drops, and which roots work where.

What the names behind a root must be is the matter of pai_lsp/rules/template_names.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.fixes import change_fix
from pai_lsp.rules.template_fixes import inlined, meant_root, text_at
from pai_lsp.rules.template_syntax_faults import faults
from pai_lsp.template import ROOTS, TagKind
from pai_lsp.template_lookup import Outcome
from pai_lsp.template_uses import COMMAND_PLACES, TemplatePlace, place_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.template_uses import TemplateUse

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


RULES = (
    template_syntax,
    template_tag_dropped,
    template_not_rendered_here,
)
