"""Rules about secrets: values that should be secrets, how secrets arrive in commands, and unused ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.embedded.template import tags
from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.job.definition import key_name_span, name_span
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.platform.masking import is_line_start, masked_span
from pai_lsp.rules.secrets.move_to_secret import fixes_of
from pai_lsp.rules.templates.parameters import unused_entries, used_names
from pai_lsp.source.edits import line_end, remove_entry
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import written_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer

# The path of the secrets in the container; a script that reads them there needs no template.
_SECRETS_FILE = "/secrets"
_HTML = frozenset("&<>\"'")
# Source: webportal, src/app/job-submission, constants.js, SECRET_PATTERN.
_PORTAL_PATTERN = re.compile(r"<% \$secrets\.[a-zA-Z_][a-zA-Z0-9_]* %>")
_PORTAL_NAME = re.compile(r"\$secrets\.[a-zA-Z_][a-zA-Z0-9_]*")
_MASK = re.compile(r"\*{3,}")


@rule(Severity.WARNING)
def secret_in_clear(job: Job) -> Iterator[Finding]:
    """Plain-text password, token or key outside `secrets`.

    Others can read the stored job; the rest-server masks only the section `secrets`. The rule looks for a registry's
    password, for values of keys such as `password`, `token` or `apiKey`, and for well-known token formats. Put the
    value into `secrets`, and use it as `<% $secrets.name %>` in commands, callbacks and an image's `auth`.
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
    masked = masked_span(job.text)
    for found in job.clear_secrets:
        if len(masked) and masked.overlaps(found.span):
            continue
        message = f"this looks like {found.kind}; everyone who sees the job can read it, so move it to 'secrets'"
        yield Finding(found.span, message, fixes_of(job, found))


@rule(Severity.WARNING)
def secret_html_escaped(job: Job) -> Iterator[Finding]:
    """Secret with `&`, `<`, `>`, `"` or `'` that is changed in a command or a login.

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
    for answer in job.answers_with(PathOutcome.FOUND):
        if answer.in_plugin or answer.root != "$secrets":
            continue
        node = answer.node
        if isinstance(node, Scalar) and isinstance(node.value, str) and not _HTML.isdisjoint(node.value):
            where = "the image check logs in" if answer.use.place is TemplatePlace.AUTH else "the command runs"
            message = (
                f"this secret contains & < > \" or ', which are escaped as HTML: {where} with different characters"
            )
            yield Finding(answer.use.content_span, message, related=_secret_place(job, answer))


def _secret_place(job: Job, answer: TemplateAnswer) -> tuple[Related, ...]:
    entry = job.secrets.get(str(answer.steps[1].name)) if len(answer.steps) > 1 else None
    return (Related(key_name_span(entry), "the secret"),) if entry else ()


@rule(Severity.INFORMATION)
def docker_password_not_secret_pattern(job: Job) -> Iterator[Finding]:
    """Registry password in a form that the portal does not recognize.

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
        password = auth.get("password") if isinstance(auth, Mapping) else None
        if not isinstance(password, Scalar) or "$secrets" not in password.text or "<%" not in password.text:
            continue
        if _PORTAL_PATTERN.match(password.text):
            continue
        found, _ = tags(password.text)
        fixes: tuple[Fix, ...] = ()
        is_whole = len(found) == 1 and len(found[0].span) == len(password.text.strip())
        if is_whole and _PORTAL_NAME.fullmatch(found[0].content) and not password.is_block:
            fixes = (change_fix(name_span(password), f"<% {found[0].content} %>", safe=True),)
        yield Finding(name_span(password), "the portal only recognizes the password as '<% $secrets.name %>'", fixes)


@rule(Severity.ERROR)
def masked_secrets(job: Job) -> Iterator[Finding]:
    """Masked secrets of a copied job.

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


def _refill_fixes(job: Job, value: Scalar) -> tuple[Fix, ...]:
    names = sorted(name for name in used_names(job, "$secrets") or () if "." not in name)
    root = job.root
    if root is None or root.is_flow or not is_line_start(job.text, root.span.start):
        return ()
    if names:
        colon = job.text.rindex(":", 0, value.span.start) + 1
        lines = "".join(f"{line_end(job.text)}  {written_key(name)}: ''" for name in names)
        return (Fix("Add the secrets that the job uses", (TextEdit(Span(colon, value.span.end), lines),)),)
    entry = root.own("secrets")
    return fix_of("Remove 'secrets'", remove_entry(job.text, root, entry)) if entry else ()


@rule(Severity.HINT)
def unused_secret(job: Job) -> Iterator[Finding]:
    """Unused secret.

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


RULES = (secret_in_clear, secret_html_escaped, docker_password_not_secret_pattern, masked_secrets, unused_secret)
