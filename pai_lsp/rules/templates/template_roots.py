"""Rules about the root of a `<% … %>`: one of five, and defined for the place and the task role."""

from __future__ import annotations

from pai_lsp.embedded.template import ROOTS
from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.job.template_answers import ROLE_FIELDS, PathOutcome
from pai_lsp.rules.templates.template_fixes import add_field_fix, consequence, listed, meant_root, secret_instead
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import Span, TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.template_answers import TemplateAnswer

# Spaces that both readers treat as part of a name, which is surely not intended.
_SPACES = lazy_pattern(r"\s+(?=[.\[])|(?<=\.)\s+|^\s+")


@rule(Severity.ERROR)
def unknown_template_root(job: Job) -> Iterator[Finding]:
    """Unknown template root.

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
        root, meant = answer.root, meant_root(job, answer)
        span, content = answer.step_span(0), answer.use.content_span
        happens = consequence(job, answer) if root.startswith("$") or not answer.in_plugin else "it is kept unchanged"
        if root.strip() in ROOTS:
            path = _SPACES.sub("", answer.use.tag.content)
            fixes = _change(job, content, path, "Remove the space")
            yield Finding(content, f"remove the space around '.' or '['; otherwise {happens}", fixes)
        elif root == "this":
            message = f"'this' is only defined inside a prerequisite, so {happens}"
            yield Finding(span, message)
        elif meant:
            message = f"'{root}' is not a template root, so {happens}; did you mean '{meant}'?"
            yield Finding(span, message, _change(job, span, meant, f"Change to '{meant}'"))
        elif root.startswith("$"):
            yield Finding(span, f"'{root}' is not a template root, so {happens}{did_you_mean(root, ROOTS)}")


def _change(job: Job, span: Span, text: str, title: str) -> tuple[Fix, ...]:
    """Replace a span on one line; a template may begin in one command and end in the next."""
    if "\n" in job.text[span.start : span.end]:
        return ()
    return (Fix(title, (TextEdit(span, text),), safe=True),)


@rule(Severity.ERROR)
def template_root_without_field(job: Job) -> Iterator[Finding]:
    """`$data`, `$script` or `$output` in a task role without that field.

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
        have = "has" if len(roles) == 1 else "have"
        who = f"task role{'s' if len(roles) > 1 else ''} {listed([role.name for role in roles])}"
        message = f"{who} {have} no '{field}', so {consequence(job, answer)}"
        if any(_lists_type(job, role, field) for role in roles):
            message += "; the list 'prerequisites' does not count"
        related = tuple(Related(role.name_span, f"the task role '{role.name}'") for role in roles)
        yield Finding(span, message, add_field_fix(job, field, roles), related)


def _lists_type(job: Job, role: TaskRole, kind: str) -> bool:
    definitions = (job.definitions_by_name.get(reference.name) for reference in role.prerequisites)
    return any(definition is not None and definition.type == kind for definition in definitions)


@rule(Severity.ERROR)
def parameter_in_docker_auth(job: Job) -> Iterator[Finding]:
    """An image's `auth` uses something other than `$secrets`.

    The rest-server fills only secrets there. It keeps anything else unchanged, so the template text is sent to the
    registry as the password.
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


RULES = (unknown_template_root, template_root_without_field, parameter_in_docker_auth)
