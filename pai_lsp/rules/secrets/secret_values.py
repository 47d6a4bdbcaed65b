"""Rules about secrets: values that should be secrets, masked and unused ones, and how a task reads them.

The runtime reads secrets as the rest-server writes them, and inserts them as HTML. `moved_to_secrets` is the fix for a
plain-text password, token or key; an editor offers it for any text.
"""

from __future__ import annotations

from pai_lsp.embedded.template import ESCAPED_CHARACTERS, tags
from pai_lsp.findings.diagnostic import Consequence, Finding, Fix, Fixes, Order, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.job.definition import key_name_span, name_span
from pai_lsp.job.secret_forms import words_of
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.job.template_uses import TemplatePlace, place_at
from pai_lsp.platform.secrets_section import is_line_start, masked_span, runtime_secret
from pai_lsp.rules.templates.parameters import removable, unused_entries, used_names
from pai_lsp.rules.templates.template_fixes import text_at
from pai_lsp.source.comments import comments, comments_within
from pai_lsp.source.edits import add_to_section, cut_entry, keeping_comments, line_end, line_span, remove_entry
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle, value_at, walk
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import quoted, written_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.clear_secrets import ClearSecret
    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer
    from pai_lsp.source.nodes import Entry

# The path of the secrets in the container; a script that reads them there needs no template.
_SECRETS_FILE = "/secrets"
# Source: webportal, src/app/job-submission, constants.js, SECRET_PATTERN.
_PORTAL_PATTERN = lazy_pattern(r"<% \$secrets\.[a-zA-Z_][a-zA-Z0-9_]* %>")
_PORTAL_NAME = lazy_pattern(r"\$secrets\.[a-zA-Z_][a-zA-Z0-9_]*")
_MASK = lazy_pattern(r"\*{3,}")


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.STYLE)
def secret_in_clear(job: Job) -> Iterator[Finding]:
    """A password, token or key is written outside `secrets`, where others can read it.

    Others can read the stored job; the rest-server masks only the section `secrets`. The rule looks for a registry's
    password, for values of keys, variables, options and headers such as `password`, `token` or `API_KEY`, and for
    well-known forms of tokens. Placeholders and examples of documentation are not reported. Put the value into
    `secrets`, and use it as `<% $secrets.name %>` in commands, callbacks and an image's `auth`.
    Sources: openpai-protocol, schemas/v2/schema.yaml ("If a password is needed, it should be referenced as a secret");
    rest-server, src/utils/protocolSecret.js.

        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: reader
              password: not-a-real-one
              #         ^^^^^^^^^^^^^^ warning
              registryuri: registry.example.com

    Good:

        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: reader
              password: <% $secrets.docker_password %>
              registryuri: registry.example.com
        secrets:
          docker_password: not-a-real-one
    """
    masked = masked_span(job.text) if job.clear_secrets else Span(0, 0)
    for found in job.clear_secrets:
        if not len(masked) or not masked.overlaps(found.span):
            message = f"this looks like {found.kind}; everyone who sees the job can read it, so move it to 'secrets'"
            yield Finding(found.span, message, fixes_of(job, found))


@rule(Severity.INFORMATION, stage=Stage.SERVER, about=("auth",))
def docker_password_not_secret_pattern(job: Job) -> Iterator[Finding]:
    """The portal does not recognize the form of a registry password.

    When a job is imported or copied, the portal only recognizes the account of an image as `<% $secrets.name %>`, with
    one space on each side and a name of letters, digits and `_`. Any other spelling works on the cluster, but the
    portal loses the account.
    Source: webportal, src/app/job-submission, constants.js, SECRET_PATTERN.

        secrets:
          docker: not-a-real-one
        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: reader
              password: <%$secrets.docker%>
              #         ^^^^^^^^^^^^^^^^^^^ information
              registryuri: registry.example.com

    Good:

        secrets:
          docker: not-a-real-one
        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: reader
              password: <% $secrets.docker %>
              registryuri: registry.example.com
    """
    for definition in job.prerequisites:
        auth = definition.node.get("auth") if definition.type == "dockerimage" else None
        password = value_at(auth, "password")
        if not isinstance(password, Scalar) or "$secrets" not in password.text or "<%" not in password.text:
            continue
        if _PORTAL_PATTERN.match(password.text):
            continue
        found, _ = tags(password.text)
        fixes: Fixes = ()
        is_whole = len(found) == 1 and len(found[0].span) == len(password.text.strip())
        if is_whole and _PORTAL_NAME.fullmatch(found[0].content) and not password.is_block:
            fixes = change_fix(name_span(password), f"<% {found[0].content} %>", safe=True)
        yield Finding(name_span(password), "the portal only recognizes the password as '<% $secrets.name %>'", fixes)


@rule(Severity.ERROR, stage=Stage.SERVER, order=Order.SYNTAX, about=("secrets",))
def masked_secrets(job: Job) -> Iterator[Finding]:
    """The secrets of a copied job are masked.

    The stored job has `secrets: "******"` instead of the values. The rest-server refuses this, because secrets must be
    a mapping. Enter every value again.
    Sources: rest-server, src/utils/protocolSecret.js; config/v2/protocol.js.

        secrets: "******"
        #        ^^^^^^^^ error
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>

    Good:

        secrets:
          token: not-a-real-one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>
    """
    entry = job.section("secrets")
    if entry is not None and isinstance(entry.value, Scalar) and _MASK.fullmatch(entry.value.text):
        message = "these secrets were masked when the job was copied; enter their values again"
        yield Finding(entry.value.span, message, _refill_fixes(job, entry.value))


@later
def _refill_fixes(job: Job, value: Scalar) -> Fixes:
    names = sorted(name for name in used_names(job, "$secrets") or () if "." not in name)
    root = job.root
    if root is None or root.is_flow or not is_line_start(job.text, root.span.start):
        return ()
    if names:
        colon = job.text.rindex(":", 0, value.span.start) + 1
        lines = "".join(f"{line_end(job.text)}  {written_key(name)}: ''" for name in names)
        return fix_of("Add the secrets that the job uses", TextEdit, Span(colon, value.span.end), lines)
    entry = root.own("secrets")
    return fix_of("Remove 'secrets'", remove_entry, job.text, root, entry) if entry else ()


@rule(Severity.HINT, stage=Stage.SERVER, about=("secrets",))
def unused_secret(job: Job) -> Iterator[Finding]:
    """Nothing uses a secret.

    Secrets are not set as environment variables. A command that reads `/usr/local/pai/secrets/secrets.yaml` counts as
    using all of them.
    Sources: rest-server, src/models/v2/job/k8s.js; openpai-runtime, src/init.d/user_command_renderer.py.

        secrets:
          old_token: not-a-real-one
          #^^^^^^^^ hint
          token: not-a-real-one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>

    Good:

        secrets:
          token: not-a-real-one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>
    """
    if _SECRETS_FILE not in job.text:
        yield from unused_entries(job, "secrets")


@later
def fixes_of(job: Job, secret: ClearSecret) -> Fixes:
    """Move a plain-text secret into the section `secrets`."""
    return moved_to_secrets(job, secret.entry) if secret.entry else _text_fixes(job, secret.span)


@later
def moved_to_secrets(job: Job, entry: Entry) -> Fixes:
    """Move a whole value: a parameter becomes a secret of the same name, any other value refers to a new secret."""
    value = entry.value
    if not isinstance(value, Scalar) or value.is_block or "\n" in job.text[value.span.start : value.span.end]:
        return ()
    written = job.text[value.span.start : value.span.end]
    if value.style is ScalarStyle.PLAIN and (not value.is_string or value.tag is not None):
        written = quoted(value.text)
    if job.parameters.get(entry.name) is entry:
        return _parameter_fixes(job, entry, written)
    keys, _ = text_at(job, entry.key.span.start)
    if place_at(job, entry.value.span.start) is TemplatePlace.LITERAL:
        return ()
    name = "docker_password" if "auth" in keys else "_".join(words_of(entry.name))
    return _as_secret(job, name, written, value.span)


def _as_secret(job: Job, wanted: str, written: str, span: Span) -> Fixes:
    """Add a secret with a value as it is written, and refer to it."""
    name = free_name(wanted, job.secrets)
    edit = add_to_section(job.text, job.root, "secrets", f"{written_key(name)}: {written}")
    return (Fix(f"Move to the secret '{name}'", (edit, TextEdit(span, f"<% $secrets.{name} %>"))),) if edit else ()


def _parameter_fixes(job: Job, entry: Entry, written: str) -> Fixes:
    section = job.mapping("parameters")
    if section is None or entry not in section.entries or entry.name in job.secrets or "." in entry.name:
        return ()
    whole = job.root.own("parameters") if job.root else None
    moved: tuple[TextEdit, ...]
    if whole and len(section.entries) == 1 and job.section("secrets") is None:
        # The section would become empty: rename it instead.
        moved = (TextEdit(key_name_span(whole), "secrets"), TextEdit(entry.value.span, written))
    elif not (moved := _moved_with_comment(job, section, entry, written)):
        return ()
    roots = {
        TextEdit(use.text.span(steps[0].span.start, steps[0].span.end), "$secrets")
        for use in job.template_uses
        if len(steps := use.tag.server_steps) > 1
        if (steps[0].name, steps[1].name) == ("$parameters", entry.name)
    }
    return (Fix(f"Move to the secret '{entry.name}'", (*moved, *sorted(roots))),)


def _moved_with_comment(job: Job, section: Mapping, entry: Entry, written: str) -> tuple[TextEdit, ...]:
    """Move a parameter to the end of the secrets, with its comment if every secret has a line of its own."""
    secrets = job.mapping("secrets")
    comment_after = ""
    if not section.is_flow and not (secrets and secrets.is_flow):
        scalars = [node for node in (entry.key, entry.value) if isinstance(node, Scalar)]
        found = comments_within(job.text, line_span(job.text, entry.key.span), scalars)
        comment_after = "".join(f"  {comment.text}" for comment in found)
    edit = add_to_section(job.text, job.root, "secrets", f"{written_key(entry.name)}: {written}{comment_after}")
    gone = removable(job, section, entry, "parameters")
    removal = cut_entry(job.text, *gone) if edit and gone else ()
    return keeping_comments(job.text, (edit, *removal), comments(job.syntax)) if edit and removal else ()


def _text_fixes(job: Job, span: Span) -> Fixes:
    """Move a part of a string, if templates are filled there."""
    _, scalar = text_at(job, span.start)
    token = job.text[span.start : span.end]
    is_simple = {"\n", "\\", "'"}.isdisjoint(token)
    if scalar is None or not is_simple or place_at(job, span.start) is TemplatePlace.LITERAL:
        return ()
    return _as_secret(job, "token", quoted(token), span)


_MAYBE_UNREADABLE = lazy_pattern(r"=|\._[0-9_]*(?:[eE][-+][0-9]+)?|[-+]?0[bx]_+")
_NUMBER_STARTS = frozenset("+.0123456789")


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("secrets",))
def secret_html_escaped(job: Job) -> Iterator[Finding]:
    """A secret with `&`, `<`, `>`, `"` or `'` is changed in a command or a login.

    The runtime fills secrets with a template engine for HTML: `&` becomes `&amp;`, `'` becomes `&#x27;`. The same
    happens to a registry's password when the runtime looks up the image, which then fails. Secrets in callbacks and
    plugin parameters are not changed; a command can also read `/usr/local/pai/secrets/secrets.yaml`.
    Source: openpai-runtime, src/common/utils.py, render_string_with_secrets (pystache 0.5.4).

        secrets:
          token: not&a&real&one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>
              #                  ^^^^^^^^^^^^^^ warning

    Good:

        secrets:
          token: not-a-real-one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>
    """
    for answer in _inserted_secrets(job):
        node = answer.node
        if isinstance(node, Scalar) and isinstance(node.value, str) and not ESCAPED_CHARACTERS.isdisjoint(node.value):
            where = "the image check logs in" if answer.use.place is TemplatePlace.AUTH else "the command runs"
            message = (
                f"this secret contains & < > \" or ', which are escaped as HTML: {where} with different characters"
            )
            entry = job.secrets.get(str(answer.steps[1].name)) if len(answer.steps) > 1 else None
            related = (Related(key_name_span(entry), "the secret"),) if entry else ()
            yield Finding(answer.use.content_span, message, related=related)


def _inserted_secrets(job: Job) -> Iterator[TemplateAnswer]:
    """What the runtime inserts into commands and `auth`."""
    return (one for one in job.answers_with(PathOutcome.FOUND) if one.root == "$secrets" and not one.in_plugin)


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("secrets",))
def unreadable_secret(job: Job) -> Iterator[Finding]:
    """The runtime cannot read a secret.

    The rest-server of OpenPAI writes the secrets as YAML for the runtime, without quotes around `=` and `._`, which the
    runtime's YAML parser cannot read: every task dies before it starts, even if nothing uses the secret. Quotes in the
    job file do not help; use another secret. LTP has newer libraries, which read these two.
    Source: js-yaml 3.13, lib/js-yaml/dumper.js, writeScalar; PyYAML, resolver.py and constructor.py.

        secrets:
          separator: "="
          #          ^^^ error

    Good:

        secrets:
          separator: ":"
    """
    nodes = tuple(walk(job.mapping("secrets")))
    # PyYAML reads `=` as a key; other keys are read as values are.
    keys = {entry.key for node in nodes if isinstance(node, Mapping) for entry in node.entries if entry.name == "="}
    for scalar in nodes:
        if not isinstance(scalar, Scalar) or scalar in keys or not scalar.is_string:
            continue
        if _MAYBE_UNREADABLE.fullmatch(scalar.text) and isinstance(runtime_secret(scalar), ValueError):
            message = "the runtime cannot read this secret as the rest-server writes it; every task dies"
            yield Finding(scalar.span, message)


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("secrets",))
def secret_read_as_number(job: Job) -> Iterator[Finding]:
    """The runtime reads a secret as a number.

    The rest-server writes the secrets as YAML for the runtime, without quotes around strings such as `1234_`, which the
    runtime's YAML parser reads as numbers: a command receives `1234`. Quotes in the job file do not help; use another
    secret.
    Source: js-yaml 3.13, lib/js-yaml/dumper.js, writeScalar; PyYAML, resolver.py.

        secrets:
          pin: "1234_"
          #    ^^^^^^^ warning
        taskRoles:
          worker:
            commands:
              - login --pin <% $secrets.pin %>

    Good:

        secrets:
          pin: "1234-"
        taskRoles:
          worker:
            commands:
              - login --pin <% $secrets.pin %>
    """
    for node in dict.fromkeys(answer.node for answer in _inserted_secrets(job) if answer.roles):
        if not isinstance(node, Scalar) or not node.is_string or node.text[:1] not in _NUMBER_STARTS:
            continue
        if not isinstance(runtime_secret(node), (str, ValueError)):
            message = "the runtime reads this secret as a number, so a command receives different characters"
            yield Finding(node.span, message)
