"""Rules about the syntax and the root of `<% … %>`: what the rest-server fails on or drops, and where it fills tags.

template_names.py checks the names after a root. `faults` finds templates that make the rest-server respond with status
500, or leave bash a half marker, and their fixes.
"""

from __future__ import annotations

from pai_lsp.embedded.server_rendering import failing_names
from pai_lsp.embedded.template import CLOSING, OPENING, ROOTS, TagKind, TemplateFault, tags
from pai_lsp.findings.diagnostic import Consequence, Finding, Fix, Fixes, Order, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.job.template_answers import ROLE_FIELDS, PathOutcome
from pai_lsp.job.template_uses import COMMAND_PLACES, TemplatePlace, place_at
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import callback_scripts
from pai_lsp.rules.templates.template_fixes import (
    add_field_fix,
    consequence,
    inlined,
    meant_root,
    secret_instead,
    text_at,
    unresolved,
)
from pai_lsp.source.content import MappedText, mapped, trimmed
from pai_lsp.source.nodes import Scalar, walk
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, listed, nearest
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.template import TemplateTag
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.template_answers import TemplateAnswer
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.job.variable_places import ScriptPlace
    from pai_lsp.source.nodes import Node

_SERVER_PLACES = frozenset({TemplatePlace.COMMANDS, TemplatePlace.AUTH})
# Keys for people to read, or filled by `pai-lsp expand`.
_FREE_KEYS = {"description", "contributor", "summary", "title", "require", "template_variables", "plugin_params"}


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER)
def template_syntax(job: Job) -> Iterator[Finding]:
    """A template in commands or in an image's `auth` has invalid syntax.

    The rest-server parses commands as a mustache template with the delimiters `<%` and `%>`. An unclosed `<%`, as in
    `printf "<%s>"`, an unclosed section, and `<%=` make it refuse the whole job with status 500. All commands of a
    role, including those of the default deployment, are parsed as one text. A string that is only `toString`,
    `constructor` or another property of JavaScript objects fails as well. A `<%` that is only closed by the end of the
    next template turns everything in between into one unknown name. In the parameters of a plugin, the runtime reads
    from `<% $` to the next `%>`, also over several commands, and fails on that name. An extra `%>`, here or in a
    callback, is a redirection without a file name in bash: a syntax error.
    Sources: rest-server, middlewares/v2/protocol.js, render; mustache.js 2.3.2, parseTemplate and Writer.parse;
    openpai-runtime, src/init.d/initializer.py, replace_ref; the bash reference manual, "Redirections".

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
    failing = failing_names(job.platform.mustache)
    for role in job.task_roles:
        parts = job.command_parts(role)
        if len(parts) == 1 and (name := parts[0].text.strip()) in failing:
            yield Finding(trimmed(mapped(job.text, parts[0])).span(0, len(name)), _prototype_message(name))
        if role.name in job.command_templates:
            yield from _faults(*job.command_templates[role.name])
    for definition in job.prerequisites:
        for scalar in walk(definition.node.get("auth")) if definition.type == "dockerimage" else ():
            if isinstance(scalar, Scalar):
                if scalar.text in failing:
                    yield Finding(scalar.span, _prototype_message(scalar.text))
                if OPENING in scalar.text:
                    yield from _faults(mapped(job.text, scalar), *tags(scalar.text))
    for place in (*job.role_scripts, *callback_scripts(job, command_lists(job.uses_of_plugin("cmd"), CLOSING))):
        yield from _left_over(place)
    for definition in job.definitions:
        if definition.extended_plugin is not None:
            yield from _closed_elsewhere(job, [entry.value for entry in definition.parameters])
    for plugin in job.plugins:
        yield from _closed_elsewhere(job, [plugin.parameters])


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.SERVER)
def template_tag_dropped(job: Job) -> Iterator[Finding]:
    """The rest-server silently removes a template from a command.

    The rest-server parses mustache but only fills `<% name %>`: it removes `<%& name %>`, `<%{ name }%>`, comments,
    partials, and whole sections with their content. In a job with secrets, the runtime then removes every remaining
    template except those of `$secrets`.
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
            yield Finding(use.span, f"the rest-server removes the section '{tag.content}' with its content")
            continue
        fixes: Fixes = ()
        if tag.kind in {TagKind.UNESCAPED, TagKind.UNESCAPED_BRACES}:
            fixes = change_fix(use.span, f"<% {tag.content} %>", safe=True)
        yield Finding(use.span, "the rest-server removes this template; it only fills '<% name %>'", fixes)
    for answer in job.template_answers if job.secrets else ():
        if answer.outcome is PathOutcome.UNKNOWN_ROOT and not answer.in_plugin and not meant_root(job, answer):
            message = (
                f"'{answer.root}' is not a template root; in a job with secrets, the runtime removes this template"
            )
            yield Finding(answer.use.span, message)


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.SERVER)
def template_not_rendered_here(job: Job) -> Iterator[Finding]:
    """A template is in a place where templates are not filled in.

    Templates are only filled in commands, in an image's `auth` (only secrets) and in the parameters of runtime plugins.
    In an image's `uri`, storages, names, resources and the values of parameters, the text is used as it is written.
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
        keys, scalar = text_at(job, use.span.start)
        place = place_at(job, use.span.start)
        is_free = root not in ROOTS or not _FREE_KEYS.isdisjoint(keys) or place in COMMAND_PLACES
        if is_free or (root == "$secrets" and _reaches_commands(job, use, keys)):
            continue
        key = next((name for name in reversed(keys) if name), "")
        where = f"in '{key}'" if key else "here"
        message = f"templates are not filled {where}; the text is used as it is"
        yield Finding(use.span, message, inlined(job, use, scalar))


def _reaches_commands(job: Job, use: TemplateUse, keys: tuple[str, ...]) -> bool:
    """Whether the text can be inserted into a command, where the runtime fills the secrets in it."""
    if keys[:1] == ("parameters",):
        # The runtime inserts a parameter into a plugin's text once and does not fill templates in it.
        users = (answer for answer in job.template_answers if answer.root == "$parameters" and len(answer.steps) > 1)
        return not any(answer.in_plugin and answer.steps[1].name in keys[1:2] for answer in users)
    others = (one.node.span for one in job.prerequisites if one.type != "dockerimage")
    return keys[:1] == ("prerequisites",) and any(span.overlaps(use.span) for span in others)


# The beginning of an intended template: root, path, and possibly half a closing delimiter.
_MEANT = lazy_pattern(r"<%[ \t]*(?P<root>\$?[A-Za-z]+)(?:\.[\w-]+|\[\d+\])*(?P<end>[ \t]*[%>])?")
# The content of a template without its opening delimiter.
_UNOPENED = lazy_pattern(r"\$(?:parameters|secrets|data|script|output)[\w.\[\]-]*\Z")


def _closed_elsewhere(job: Job, parameters: list[Node | None]) -> Iterator[Finding]:
    """Tags in a plugin's parameters that are closed in another text than they are opened in."""
    opened: tuple[Scalar, int] | None = None
    for scalar in (one for node in parameters for one in walk(node)):
        if not isinstance(scalar, Scalar):
            continue
        closed = scalar.text.find(CLOSING)
        if opened is not None and closed >= 0:
            text, at = mapped(job.text, opened[0]), opened[1]
            span = text.span(at, at + len(OPENING))
            message = f"this '{OPENING}' is not closed; the runtime reads on to the next '{CLOSING}', and the task dies"
            fixes = _close_fix(text, at, len(text.text))
            yield Finding(span, f"{message} before it starts", fixes, consequence=Consequence.DIES)
            opened = None
        last = next((match.start() for match in reversed([*_FILLED.finditer(scalar.text)])), None)
        if opened is None and last is not None and CLOSING not in scalar.text[last:]:
            opened = scalar, last


# What begins a tag for the runtime.
_FILLED = lazy_pattern(r"<%[ \t]*\$")


def _left_over(place: ScriptPlace) -> Iterator[Finding]:
    """Closing delimiters without an opening one where bash reads the `>`; in quotes and comments they are harmless."""
    text = place.script.text
    for sign in place.script.open_redirections:
        start, end = sign.end - len(CLOSING), sign.end
        if text[max(start, 0) : end] != CLOSING:
            continue
        before = text[:start].rstrip(" \t")
        span, removed = place.span(Span(start, end)), place.span(Span(len(before), end))
        fixes: Fixes = ()
        if len(removed) == end - len(before) and not _UNOPENED.search(before):
            fixes = fix_of(f"Remove '{CLOSING}'", TextEdit, removed, "", safe=before.endswith(CLOSING))
        message = f"'{CLOSING}' without '{OPENING}': bash reads '>' as a redirection without a file name"
        yield Finding(span, message, fixes, consequence=Consequence.FAILS)


def _prototype_message(name: str) -> str:
    return f"the rest-server refuses the job with status 500 if a string is only '{name}'"


def _faults(text: MappedText, found: tuple[TemplateTag, ...], fault: TemplateFault | None) -> Iterator[Finding]:
    for tag in found:
        inner = text.text.find(OPENING, tag.span.start + len(OPENING), tag.span.end)
        if inner >= 0 and tag.kind is TagKind.NAME:
            span = Span(tag.span.start, tag.span.start + len(OPENING))
            message = f"this '{OPENING}' is only closed by the '{CLOSING}' of the next template"
            fixes = _close_fix(text, span.start, inner)
            yield Finding(text.span(span.start, span.end), message, fixes, consequence=Consequence.FAILS)
    if fault is not None:
        written = text.text[fault.span.start : fault.span.end].rstrip()
        span = text.span(fault.span.start, fault.span.start + len(written))
        message = f"{fault.message}; the rest-server refuses the job with status 500"
        yield Finding(span, message, _fixes(text, fault, written))


@later
def _fixes(text: MappedText, fault: TemplateFault, written: str) -> Fixes:
    start = fault.span.start
    span = text.span(start, start + len(written))
    if written == f"{OPENING}=":
        return change_fix(span, OPENING, safe=True)
    if written == OPENING:
        return _close_fix(text, start, len(text.text))
    is_whole = written.endswith(CLOSING) and "\n" not in written and len(written) == len(span)
    if is_whole and CLOSING not in text.text[start + len(written) :]:
        return (Fix("Remove the template", (TextEdit(span, ""),)),)
    return ()


@later
def _close_fix(text: MappedText, start: int, end: int) -> Fixes:
    """Close a template after its path, if it begins like one."""
    match = _MEANT.match(text.text, start, end)
    if match is None or not (match["root"] in ROOTS or (match["root"][0] == "$" and nearest(match["root"], ROOTS))):
        return ()
    at = match.start("end") if match["end"] else match.end()
    end = text.place(at - 1).end
    place = text.span(at, match.end()) if match["end"] else Span(end, end)
    return (Fix(f"Close the template with '{CLOSING}'", (TextEdit(place, f" {CLOSING}"),), safe=not match["end"]),)


# Spaces that both readers treat as part of a name, which is surely not intended.
_SPACES = lazy_pattern(r"\s+(?=[.\[])|(?<=\.)\s+|^\s+")


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.UNKNOWN_ROOT.value,))
def unknown_template_root(job: Job) -> Iterator[Finding]:
    """A template begins with a name that does not exist.

    A template must begin with `$parameters`, `$secrets`, `$data`, `$script` or `$output`. In commands any other
    template is kept unchanged, and bash fails on it; in a job with secrets it becomes empty. In a plugin parameter, an
    unknown root kills the runtime, and a template without `$` is kept. `this` belongs to prerequisites of the extended
    protocol and is not defined in a command.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/initializer.py, replace_ref.

        parameters:
          lr: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <% $params.lr %>
              #                         ^^^^^^^ error

    Good:

        parameters:
          lr: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <% $parameters.lr %>
    """
    for answer in job.answers_with(PathOutcome.UNKNOWN_ROOT):
        dies = Consequence.DIES if answer.in_plugin and answer.root.startswith("$") else None
        root, meant = answer.root, meant_root(job, answer)
        span, content = answer.step_span(0), answer.use.content_span
        happens = consequence(job, answer) if root.startswith("$") or not answer.in_plugin else "it is kept unchanged"
        if root.strip() in ROOTS:
            fixes = _change(job, content, _SPACES.sub("", answer.use.tag.content), "Remove the space")
            message = f"remove the space around '.' or '['; otherwise {happens}"
            yield Finding(content, message, fixes, consequence=dies)
        elif root == "this":
            yield Finding(span, f"'this' is only defined inside a prerequisite, so {happens}")
        elif meant:
            message = f"'{root}' is not a template root, so {happens}; did you mean '{meant}'?"
            yield Finding(span, message, _change(job, span, meant, f"Change to '{meant}'"), consequence=dies)
        elif root.startswith("$"):
            message = f"'{root}' is not a template root, so {happens}{did_you_mean(root, ROOTS)}"
            yield Finding(span, message, consequence=dies)


@later
def _change(job: Job, span: Span, text: str, title: str) -> Fixes:
    """Replace a span on one line; a template may begin in one command and end in the next."""
    is_line = "\n" not in job.text[span.start : span.end]
    return (Fix(title, (TextEdit(span, text),), safe=True),) if is_line else ()


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.NO_FIELD.value,), spreads=True)
def template_root_without_field(job: Job) -> Iterator[Finding]:
    """A task role uses `$data`, `$script` or `$output`, but does not have that field.

    Each of them refers to the prerequisite in the role's field `data`, `script` or `output`; a prerequisite in the
    role's list `prerequisites` does not count. In commands the template is kept unchanged and bash fails on it; in a
    job with secrets it becomes empty. In a callback, every role that runs the prerequisite needs the field; otherwise
    its tasks die before they start.
    Sources: rest-server, middlewares/v2/protocol.js, protocolRender; openpai-runtime, initializer.py, replace_ref.

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/mnist.tgz"]
        taskRoles:
          worker:
            commands:
              - wget <% $data.uri[0] %>
              #         ^^^^^ error

    Good:

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/mnist.tgz"]
        taskRoles:
          worker:
            data: mnist
            commands:
              - wget <% $data.uri[0] %>
    """
    roles_of: dict[Span, dict[str, TaskRole]] = {}
    first: dict[Span, TemplateAnswer] = {}
    for answer in job.answers_with(PathOutcome.NO_FIELD):
        span = answer.step_span(0)
        first.setdefault(span, answer)
        roles_of.setdefault(span, {}).update((role.name, role) for role in answer.roles)
    for span, answer in first.items():
        roles = tuple(roles_of[span].values())
        field = ROLE_FIELDS[answer.root]
        who = f"task role{'s' if len(roles) > 1 else ''} {listed(role.name for role in roles)}"
        have = "has" if len(roles) == 1 else "have"
        message = f"{who} {have} no '{field}', so {consequence(job, answer)}"
        if any(_lists_type(job, role, field) for role in roles):
            message += "; the list 'prerequisites' does not count"
        related = tuple(Related(role.name_span, f"the task role '{role.name}'") for role in roles)
        yield unresolved(answer, message, add_field_fix(job, field, roles), related, span)


def _lists_type(job: Job, role: TaskRole, kind: str) -> bool:
    definitions = (job.definitions_by_name.get(reference.name) for reference in role.prerequisites)
    return any(definition is not None and definition.type == kind for definition in definitions)


_NOT_FILLED = (PathOutcome.ROOT_NOT_FILLED.value,)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.RUNTIME, about=_NOT_FILLED, consequence=Consequence.FAILS)
def parameter_in_docker_auth(job: Job) -> Iterator[Finding]:
    """An image's `auth` uses something other than `$secrets`.

    The rest-server fills only secrets there. It keeps anything else unchanged, so the template text is sent to the
    registry as the user or the password, which most registries refuse.
    Source: rest-server, middlewares/v2/protocol.js, protocolRender.

        parameters:
          user: reader
        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: <% $parameters.user %>
              #            ^^^^^^^^^^^ error

    Good:

        secrets:
          user: reader
        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: <% $secrets.user %>
    """
    for answer in job.answers_with(PathOutcome.ROOT_NOT_FILLED):
        message = f"only '$secrets' is filled in 'auth', so {consequence(job, answer)}"
        yield Finding(answer.step_span(0), message, secret_instead(job, answer))
