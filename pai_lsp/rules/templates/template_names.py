"""Rules about the names after the root of a `<% … %>`: each must lead to a value, for every role that uses it."""

from __future__ import annotations

from pai_lsp.embedded.server_rendering import CallFailedError, looked_up
from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Order, Related, Severity, Stage, rule
from pai_lsp.findings.fixes import all_of, change_fix, fix_of, near_name_fixes
from pai_lsp.job.definition import key_name_span
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.rules.templates.template_fixes import (
    add_name_fix,
    consequence,
    definition_place,
    may_hold_brackets,
    unresolved,
)
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, entry_at, plain_value, scalar_text
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, known_names, plural
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer

_BLANK_INDEX = lazy_pattern(r"\[\s*([0-9]+)\s*\]")
_QUOTED_INDEX = lazy_pattern(r"""\[\s*(["'])([\w -]+)\1\s*\]""")


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.UNDEFINED.value,), spreads=True)
def undefined_parameter(job: Job) -> Iterator[Finding]:
    """A template uses an undefined parameter.

    In a command the rest-server keeps the template text, and bash reads `<%` as a redirection: the task fails with a
    syntax error, or reads a file named `%`. In a job with secrets the template becomes an empty string. In a callback
    or a plugin's parameter, the task dies before it starts. A template cannot refer to a key with a dot.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/initializer.py, replace_ref.

        parameters:
          learning_rate: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <% $parameters.learning_rat %>
              #                                     ^^^^^^^^^^^^ error

    Good:

        parameters:
          learning_rate: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <% $parameters.learning_rate %>
    """
    yield from _undefined(job, "$parameters", "parameters", tuple(job.parameters))


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.UNDEFINED.value,), spreads=True)
def undefined_secret(job: Job) -> Iterator[Finding]:
    """A template uses an undefined secret.

    The consequence is the same as for an undefined parameter. In an image's `auth`, the template text is sent to the
    registry as the password.
    Sources: rest-server, middlewares/v2/protocol.js, protocolRender; openpai-runtime, user_command_renderer.py and
    initializer.py, replace_ref.

        secrets:
          token: not-a-real-one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.tokn %>
              #                           ^^^^ error

    Good:

        secrets:
          token: not-a-real-one
        taskRoles:
          worker:
            commands:
              - login --token <% $secrets.token %>
    """
    yield from _undefined(job, "$secrets", "secrets", tuple(job.secrets))


def _undefined(job: Job, root: str, section: str, names: tuple[str, ...]) -> Iterator[Finding]:
    known = known_names(names)
    for answer in job.answers_with(PathOutcome.UNDEFINED):
        if answer.root != root:
            continue
        happens, name = consequence(job, answer), answer.name
        if (fixes := bracket_fixes(answer)) is not None:
            yield unresolved(answer, f"'{name}' is read as one name, so {happens}", fixes)
        else:
            message = f"{section.removesuffix('s')} '{name}' is not defined; {happens}{did_you_mean(name, known)}"
            adding = add_name_fix(job, section, name)
            yield unresolved(answer, message, all_of(near_name_fixes(answer.span, name, known), adding))


def bracket_fixes(answer: TemplateAnswer) -> Fixes | None:
    """The fix for brackets that are read as part of the name; None without brackets."""
    if "[" not in answer.name:
        return None
    meant = _QUOTED_INDEX.sub(r".\2", _BLANK_INDEX.sub(r"[\1]", answer.name))
    return () if meant == answer.name else change_fix(answer.span, meant, safe=True)


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.NO_MEMBER.value,), spreads=True)
def undefined_template_member(job: Job) -> Iterator[Finding]:
    """A template uses an undefined key of a prerequisite or value.

    `$data`, `$script` and `$output` refer to a whole prerequisite: `name`, `type`, `uri` and every other key that it
    has. The consequence is the same as for an undefined parameter. In a command, the rest-server calls a method of
    JavaScript such as `toFixed`; if the call fails, it refuses the job with status 500.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/initializer.py, replace_ref.

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/mnist.tgz"]
        taskRoles:
          worker:
            data: mnist
            commands:
              - wget <% $data.url %>
              #               ^^^ error

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
    for answer in job.answers_with(PathOutcome.NO_MEMBER):
        if _call_fails(job, answer):
            found = _missing_member(answer, "the rest-server refuses the job with status 500")
            yield replace(found, consequence=Consequence.REFUSED)
        else:
            yield _missing_member(answer, consequence(job, answer))


def _missing_member(answer: TemplateAnswer, happens: str) -> Finding:
    path, name, container = answer.path_above, answer.name, answer.container
    if (fixes := bracket_fixes(answer)) is not None:
        return unresolved(answer, f"'{name}' is read as one name, so {happens}", fixes)
    if isinstance(container, Mapping):
        keys = tuple(entry.name for entry in container.effective_entries())
        message = f"'{path}' has no '{name}', so {happens}{did_you_mean(name, keys)}"
        return unresolved(answer, message, near_name_fixes(answer.span, name, keys), definition_place(answer))
    kind = "a list with numbered items" if isinstance(container, Sequence) else "a single value"
    message = f"'{path}' is {kind} and has no '{name}', so {happens}"
    return unresolved(answer, message, related=definition_place(answer))


def _call_fails(job: Job, answer: TemplateAnswer) -> bool:
    """Whether the name is a method of the value, and mustache's call of it throws."""
    if answer.in_plugin or answer.step < len(answer.use.tag.steps) - 1:
        return False
    try:
        looked_up(f"value.{answer.name}", {"value": plain_value(answer.container)}, job.platform.mustache)
    except CallFailedError:
        return True
    return False


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.OUT_OF_RANGE.value,))
def template_index_out_of_range(job: Job) -> Iterator[Finding]:
    """A template uses an index outside of a list.

    The first item is `[0]`. The consequence is the same as for an undefined parameter.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/initializer.py, replace_ref.

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/mnist.tgz"]
        taskRoles:
          worker:
            data: mnist
            commands:
              - wget <% $data.uri[1] %>
              #                   ^ error

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
    for answer in job.answers_with(PathOutcome.OUT_OF_RANGE):
        container = answer.container
        is_list = isinstance(container, Sequence)
        count = len(container.items) if isinstance(container, Sequence) else len(scalar_text(container))
        last = f", {'the last is ' if count > 1 else ''}[{count - 1}]" if count else ""
        things = f"{plural(count, 'item' if is_list else 'character')}{last}"
        message = f"'{answer.path_above}' has {things}, so {consequence(job, answer)}"
        fixes = change_fix(answer.span, "0") if count == 1 else ()
        yield unresolved(answer, message, fixes, definition_place(answer))


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.RUNTIME, about=(PathOutcome.DOTTED_INDEX.value,))
def dotted_index_in_plugin(job: Job) -> Iterator[Finding]:
    """A template in a callback or plugin parameter has an index after a dot.

    In commands, `uri.0` and `uri[0]` mean the same. The runtime, which fills plugin parameters, looks up `.0` as a key
    of the list and dies.
    Source: openpai-runtime, src/init.d/initializer.py, replace_ref.

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/mnist.tgz"]
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - wget <% $data.uri.0 %>
                  #                   ^ error
        taskRoles:
          worker:
            data: mnist
            prerequisites: [mnist]

    Good:

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/mnist.tgz"]
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - wget <% $data.uri[0] %>
        taskRoles:
          worker:
            data: mnist
            prerequisites: [mnist]
    """
    for answer in job.answers_with(PathOutcome.DOTTED_INDEX):
        span = answer.span
        with_dot = Span(span.start - 1, span.end)
        fixes = change_fix(with_dot, f"[{answer.name}]", safe=True) if may_hold_brackets(job, span.start) else ()
        message = f"the runtime does not accept '.{answer.name}' here, so the task dies before it starts"
        yield Finding(span, f"{message}; write '[{answer.name}]'", fixes)


@rule(Severity.ERROR, order=Order.NAMES, about=(PathOutcome.NULL.value,))
def null_parameter(job: Job) -> Iterator[Finding]:
    """A command uses a parameter, secret or key without a value.

    The rest-server treats a parameter without a value as undefined and keeps the template text. A secret without a
    value becomes the word `None`. Write an empty string as `''`.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/user_command_renderer.py.

        parameters:
          options:
        taskRoles:
          worker:
            commands:
              - python train.py <% $parameters.options %>
              #                                ^^^^^^^ error

    Good:

        parameters:
          options: ''
        taskRoles:
          worker:
            commands:
              - python train.py <% $parameters.options %>
    """
    for answer in job.answers_with(PathOutcome.NULL):
        if answer.in_plugin:
            continue
        is_secret = answer.root == "$secrets" and bool(answer.roles)
        happens = "the command receives 'None'" if is_secret else consequence(job, answer)
        entry, message = entry_at(answer.container, answer.name), f"'{answer.name}' has no value, so {happens}"
        if entry is None or not isinstance(entry.value, Scalar):
            yield Finding(answer.span, message)
        else:
            related = (Related(key_name_span(entry), f"'{answer.name}' has no value"),)
            # The span of a missing value is directly after its colon.
            written = "''" if len(entry.value.span) else " ''"
            fixes = fix_of("Write an empty string", TextEdit, entry.value.span, written)
            yield Finding(answer.span, message, fixes, related)
