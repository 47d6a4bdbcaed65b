"""Rules about secrets in a task: the runtime reads them as the rest-server writes them, and inserts them as HTML."""

from __future__ import annotations

from pai_lsp.embedded.template import ESCAPED_CHARACTERS
from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.job.definition import key_name_span
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.platform.secrets_section import runtime_secrets
from pai_lsp.source.nodes import Scalar, walk
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer

_MAYBE_UNREADABLE = lazy_pattern(r"=|\._[0-9_]*(?:[eE][-+][0-9]+)?|[-+]?0[bx]_+")
_NUMBER_STARTS = frozenset("+.0123456789")


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
        if isinstance(node, Scalar) and isinstance(node.value, str) and not ESCAPED_CHARACTERS.isdisjoint(node.value):
            where = "the image check logs in" if answer.use.place is TemplatePlace.AUTH else "the command runs"
            message = (
                f"this secret contains & < > \" or ', which are escaped as HTML: {where} with different characters"
            )
            yield Finding(answer.use.content_span, message, related=_secret_place(job, answer))


def _secret_place(job: Job, answer: TemplateAnswer) -> tuple[Related, ...]:
    entry = job.secrets.get(str(answer.steps[1].name)) if len(answer.steps) > 1 else None
    return (Related(key_name_span(entry), "the secret"),) if entry else ()


@rule(Severity.ERROR)
def unreadable_secret(job: Job) -> Iterator[Finding]:
    """Secret that the runtime cannot read.

    The rest-server writes the secrets as YAML for the runtime, without quotes around `=` and `._`, which the runtime's
    YAML parser cannot read: every task dies before it starts, even if nothing uses the secret. Quotes in the job file
    do not help; use another secret.
    Source: js-yaml 3.13, lib/js-yaml/dumper.js, writeScalar; PyYAML, resolver.py and constructor.py.

        secrets:
          separator: "="
          #          ^^^ error

    Good:

        secrets:
          separator: ":"
    """
    for scalar in walk(job.mapping("secrets")):
        if isinstance(scalar, Scalar) and _MAYBE_UNREADABLE.fullmatch(scalar.text) and scalar.is_string:
            try:
                runtime_secrets(scalar.text)
            except ValueError:
                message = "the runtime cannot read this secret as the rest-server writes it; every task dies"
                yield Finding(scalar.span, message)


@rule(Severity.WARNING)
def secret_read_as_number(job: Job) -> Iterator[Finding]:
    """Secret that the runtime reads as a number.

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
    answers = (one for one in job.answers_with(PathOutcome.FOUND) if one.root == "$secrets" and not one.in_plugin)
    nodes = dict.fromkeys(answer.node for answer in answers if answer.roles)
    for node in nodes:
        if isinstance(node, Scalar) and node.is_string and node.text[:1] in _NUMBER_STARTS:
            try:
                value = runtime_secrets(node.text)
            except ValueError:
                continue
            if not isinstance(value, str):
                message = "the runtime reads this secret as a number, so a command receives different characters"
                yield Finding(node.span, message)


RULES = (secret_html_escaped, unreadable_secret, secret_read_as_number)
