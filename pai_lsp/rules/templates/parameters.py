"""Rules about the job's parameters: how their values arrive in a command, and whether they are used.

Also shared code of rules about inserted values: descriptions of a value, and the names that templates use.
"""

from __future__ import annotations

import math
import re

from pai_lsp.findings.diagnostic import (
    Consequence,
    DiagnosticTag,
    Finding,
    Fixes,
    Related,
    Severity,
    Stage,
    later,
    rule,
)
from pai_lsp.findings.fixes import fix_of, quote_fix
from pai_lsp.job.definition import key_name_span
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.rules.templates.template_fixes import may_hold_brackets, quote_insertions
from pai_lsp.source.edits import remove_entry
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle, Sequence, plain_value
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import Binary, Date, server_text
from pai_lsp.source.text import Span, TextEdit, one_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer
    from pai_lsp.source.nodes import Entry, Node


_NAME = lazy_pattern(r"[\w-]+")


@rule(Severity.WARNING, stage=Stage.SERVER)
def parameter_text_changes(job: Job) -> Iterator[Finding]:
    """YAML reinterprets an unquoted value, and a command receives different characters.

    The rest-server reads `3.10` as the number 3.1, `0123` as octal, `12:30` as 750 and `2020-01-02` as a date, and
    inserts the JavaScript form of that value into the command. Numbers with more than 15 digits lose the last ones.
    Quotes keep the characters. Only values that a template uses are checked.
    Sources: js-yaml 3.13, lib/js-yaml/type/*.js; rest-server, middlewares/v2/protocol.js, render.

        parameters:
          python: 3.10
          #       ^^^^ warning
        taskRoles:
          worker:
            commands:
              - conda install python=<% $parameters.python %>

    Good:

        parameters:
          python: "3.10"
        taskRoles:
          worker:
            commands:
              - conda install python=<% $parameters.python %>
    """
    uses: dict[Node | None, list[TemplateAnswer]] = {}
    for answer in _inserted(job):
        if _changes(answer):
            uses.setdefault(answer.node, []).append(answer)
    for node, answers in uses.items():
        if not isinstance(node, Scalar):
            continue
        related = tuple(Related(answer.use.span, "inserted here") for answer in answers[:3])
        if any(answer.root == "$secrets" for answer in answers):
            message = "this secret is not read as a string, so a command receives different characters; quote it"
            yield Finding(node.span, message, fix_of("Quote it", quote_insertions, node), related)
        else:
            text = one_line(server_text(node.value))
            message = f"'{one_line(node.text)}' is read as {kind_of_value(node.value)}, so a command receives '{text}'"
            yield Finding(node.span, message, quote_fix(node), related)


def _inserted(job: Job) -> Iterator[TemplateAnswer]:
    """What the rest-server and, for secrets, the runtime insert into commands and `auth`."""
    return (answer for answer in job.answers_with(PathOutcome.FOUND) if not answer.in_plugin)


def _changes(answer: TemplateAnswer) -> bool:
    node = answer.node
    if not isinstance(node, Scalar) or node.style is not ScalarStyle.PLAIN or node.tag is not None or node.is_string:
        return False
    if answer.root == "$secrets" and answer.roles and isinstance(node.value, (bool, Date)):
        return node.text not in {"True", "False"}  # the only forms that Python writes
    if isinstance(node.runtime_value, ValueError):
        return False  # unreadable_value reports it
    return server_text(node.value) != node.text


@rule(Severity.WARNING, stage=Stage.SERVER)
def parameter_not_scalar(job: Job) -> Iterator[Finding]:
    """A template inserts a whole list or mapping into a command.

    The rest-server writes a mapping as `[object Object]` and a list as its items separated by commas; the runtime
    writes a list in a secret in Python syntax. A list of one value is written like the value itself and is not
    reported.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/user_command_renderer.py.

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/train.tgz", "https://example.com/test.tgz"]
        taskRoles:
          worker:
            data: mnist
            commands:
              - wget <% $data.uri %>
              #         ^^^^^^^^^ warning

    Good:

        prerequisites:
          - name: mnist
            type: data
            uri: ["https://example.com/train.tgz", "https://example.com/test.tgz"]
        taskRoles:
          worker:
            data: mnist
            commands:
              - wget <% $data.uri[0] %> <% $data.uri[1] %>
    """
    for answer in _inserted(job):
        node = answer.node
        if node is None or isinstance(node, Scalar) or (answer.field_value is not None and len(answer.steps) == 0):
            continue
        is_secret = answer.root == "$secrets"
        is_one_value = isinstance(node, Sequence) and len(node.items) == 1 and isinstance(node.items[0], Scalar)
        if is_one_value and not is_secret:
            continue
        kind = "a mapping" if isinstance(node, Mapping) else "a list"
        gets = "its Python syntax" if is_secret else f"'{one_line(server_text(plain_value(node)))}'"
        message = f"'{answer.use.tag.content}' is {kind}; the command receives {gets}"
        related = (Related(node.span, "its value"),) if answer.root in {"$parameters", "$secrets"} else ()
        yield Finding(answer.use.content_span, message, first_item_fix(job, answer), related)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED)
def parameter_key_with_dot(job: Job) -> Iterator[Finding]:
    """The name of a parameter has a dot, so no template can refer to it.

    A dot separates names: `<% $parameters.model.lr %>` looks up `lr` in a parameter `model`.
    Sources: rest-server, middlewares/v2/protocol.js, render; openpai-runtime, src/init.d/initializer.py, replace_ref.

        parameters:
          model.lr: "0.1"
          #^^^^^^^ warning

    Good:

        parameters:
          model_lr: "0.1"
        taskRoles:
          worker:
            commands:
              - python train.py --lr <% $parameters.model_lr %>
    """
    for name, entry in job.parameters.items():
        if "." not in name:
            continue
        meant = name.replace(".", "_")
        from pai_lsp.job.symbols import Symbol, SymbolKind, rename_symbol  # noqa: PLC0415 - only for a fix

        symbol = Symbol(SymbolKind.PARAMETER, name)
        fixes = () if meant in job.parameters else fix_of(f"Rename to '{meant}'", rename_symbol, job, symbol, meant)
        message = "a dot separates names in a template, so no template can refer to this parameter"
        yield Finding(key_name_span(entry), message, fixes)


@rule(Severity.HINT, stage=Stage.SERVER)
def unused_parameter(job: Job) -> Iterator[Finding]:
    """Nothing uses a parameter.

    A parameter that no `<% $parameters.… %>` refers to has no effect: parameters are not set as environment variables.
    Sources: rest-server, middlewares/v2/protocol.js, protocolRender; openpai-runtime, initializer.py, replace_ref.

        parameters:
          epochs: "10"
          lr: "0.1"
          #^ hint
        taskRoles:
          worker:
            commands:
              - python train.py --epochs <% $parameters.epochs %>

    Good:

        parameters:
          epochs: "10"
        taskRoles:
          worker:
            commands:
              - python train.py --epochs <% $parameters.epochs %>
    """
    entry = job.section("jobType")
    kind = entry.value.text if entry and isinstance(entry.value, Scalar) else ""
    yield from unused_entries(job, "parameters", frozenset(job.platform.required_parameters.get(kind, ())))


def kind_of_value(value: object) -> str:
    """A description of a scalar's value."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Date):
        return "a date"
    if isinstance(value, Binary):
        return "binary data"
    if isinstance(value, float) and math.isfinite(value) and abs(value) > 2**53:
        return "a number too long to keep its digits"
    return "a number" if isinstance(value, (int, float)) else "a string"


@later
def first_item_fix(job: Job, answer: TemplateAnswer) -> Fixes:
    """Insert the first item of a list instead of the list."""
    is_list = isinstance(answer.node, Sequence) and len(answer.node.items) > 0
    if not is_list or not may_hold_brackets(job, answer.use.span.start):
        return ()
    end = answer.use.content_span.end
    return fix_of("Use the first item", TextEdit, Span(end, end), "[0]")


def unused_entries(job: Job, section: str, needed: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """The parameters or secrets that no template in the file refers to, not even one in a comment.

    needed: names that the job must have whether it refers to them or not.
    """
    mapping = job.mapping(section)
    if mapping is None or not mapping.entries:
        return
    # A name counts in a comment and in an invalid template too.
    written = needed.union(re.findall(rf"{section}\.([\w-]+)", job.text))
    if (used := used_names(job, f"${section}")) is None:
        return
    for entry in mapping.entries:
        name = entry.name
        if name in written or "." in name or entry.is_merge or not isinstance(entry.key, Scalar):
            continue
        if name in used or (not _NAME.fullmatch(name) and f"{section}.{name}" in job.text):
            continue
        gone = removable(job, mapping, entry, section)
        fixes = fix_of(f"Remove '{name}'", remove_entry, job.text, *gone) if gone else ()
        message = f"no template uses the {section[:-1]} '{name}'"
        yield Finding(key_name_span(entry), message, fixes, tags=(DiagnosticTag.UNNECESSARY,))


def used_names(job: Job, root: str) -> frozenset[str] | None:
    """The names after a root in all templates of the file; None if the whole root is used."""
    found: set[str] = set()
    for tag in {use.tag.content: use.tag for use in job.template_uses}.values():
        for steps in (tag.server_steps, tag.runtime_steps):
            if steps[0].name == root:
                if len(steps) == 1:
                    return None
                found.add(str(steps[1].name))
                found.add(".".join(str(step.name) for step in steps[1:]))
    return frozenset(found)


def removable(job: Job, mapping: Mapping, entry: Entry, section: str) -> tuple[Mapping, Entry] | None:
    """What to remove with a parameter or secret: the entry, or the whole section if it is the last entry."""
    if len(mapping.entries) > 1:
        return mapping, entry
    whole = job.root.own(section) if job.root else None
    return (job.root, whole) if job.root and whole else None
