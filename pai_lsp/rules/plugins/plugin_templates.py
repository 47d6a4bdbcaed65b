"""Rules about values that the runtime inserts into callbacks and plugin parameters, where a bad value is fatal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import fix_of, quote_fix
from pai_lsp.job.plugin_parameters import runtime_round_trip
from pai_lsp.job.template_answers import Outcome
from pai_lsp.rules.templates.parameters import first_item_fix, kind_of_value
from pai_lsp.rules.templates.template_fixes import quote_insertions
from pai_lsp.source.nodes import Scalar, ScalarStyle, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer

# Only these characters can end a quoted string.
_BREAKING = frozenset("'\"\\\n")


@rule(Severity.ERROR)
def non_string_parameter_in_plugin(job: Job) -> Iterator[Finding]:
    """Template in a callback or plugin parameter with a value that is not a string.

    The runtime concatenates strings in Python, which fails for a number, a date, a boolean, a list or a mapping: the
    task dies before it starts. `yes`, `no`, `on` and `off` are booleans here. In commands, which the rest-server fills,
    all of them work.
    Source: openpai-runtime, src/init.d/initializer.py, replace_ref.

        parameters:
          port: 8080
        prerequisites:
          - name: serve
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - serve --port <% $parameters.port %>
                  #                 ^^^^^^^^^^^^^^^^ error
        taskRoles:
          worker:
            prerequisites: [serve]

    Good:

        parameters:
          port: "8080"
        prerequisites:
          - name: serve
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - serve --port <% $parameters.port %>
        taskRoles:
          worker:
            prerequisites: [serve]
    """
    for answer in _inserted_by_runtime(job):
        node = answer.node
        if node is None:
            continue
        is_secret = answer.root == "$secrets"
        if isinstance(node, Scalar):
            value = node.value if is_secret else node.runtime_value
            if isinstance(value, (str, ValueError)):
                continue
            kind = kind_of_value(value) if isinstance(value, (bool, int, float)) else "a date"
            fixes = _quote_fixes(node, is_secret=is_secret)
        else:
            kind = "a list" if isinstance(node, Sequence) else "a mapping"
            fixes = first_item_fix(job, answer)
        related = () if is_secret else (Related(node.span, f"the runtime reads {kind}"),)
        consequence = "but the runtime only inserts strings; the task dies before it starts"
        message = f"'{answer.use.tag.content}' is {kind}, {consequence}"
        yield Finding(answer.use.content_span, message, fixes, related)


def _quote_fixes(node: Scalar, *, is_secret: bool) -> tuple[Fix, ...]:
    if is_secret:
        return fix_of("Quote the secret", quote_insertions(node), safe=True)
    return (quote_fix(node, "Quote the value"),) if node.style is ScalarStyle.PLAIN and node.tag is None else ()


@rule(Severity.ERROR)
def value_breaks_plugin_parameter(job: Job) -> Iterator[Finding]:
    """Inserted value that breaks the quoting of a callback or plugin parameter.

    The runtime inserts values into the Python syntax of the parameters, `{'commands': ['echo …']}`, and parses the
    result as YAML. A `'` in the value ends the string; in a string that itself contains `'`, a `"` or a backslash does.
    The rest is not valid YAML, and the task dies before it starts.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins and replace_ref.

        parameters:
          title: it's mine
        prerequisites:
          - name: hello
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - echo <% $parameters.title %>
                  #         ^^^^^^^^^^^^^^^^^ error
        taskRoles:
          worker:
            prerequisites: [hello]

    Good:

        parameters:
          title: mine
        prerequisites:
          - name: hello
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - echo <% $parameters.title %>
        taskRoles:
          worker:
            prerequisites: [hello]
    """
    for answer in _inserted_by_runtime(job):
        node = answer.node
        if not isinstance(node, Scalar):
            continue
        value = node.value if answer.root == "$secrets" else node.runtime_value
        if isinstance(value, str) and not _BREAKING.isdisjoint(value) and _breaks(answer, value):
            related = () if answer.root == "$secrets" else (Related(node.span, "the value"),)
            message = "a quote in the value ends the string that it is inserted into, so the task dies before it starts"
            yield Finding(answer.use.content_span, message, related=related)


def _inserted_by_runtime(job: Job) -> Iterator[TemplateAnswer]:
    return (answer for answer in job.answers_with(Outcome.FOUND) if answer.in_plugin)


def _breaks(answer: TemplateAnswer, value: str) -> bool:
    """Whether the runtime can parse the string, but not with the value inserted."""
    text = answer.use.text.text if answer.use.text else ""
    span = answer.use.tag.span
    tag = text[span.start : span.end]
    if isinstance(runtime_round_trip([text], lambda written: written), ValueError):
        return False
    return isinstance(runtime_round_trip([text], lambda written: written.replace(tag, value)), ValueError)


RULES = (non_string_parameter_in_plugin, value_breaks_plugin_parameter)
