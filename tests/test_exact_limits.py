"""Each limit holds exactly: what is as long or as deep as it may be is read, and one more is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pai_lsp.assistant.job_answers import cut_text
from pai_lsp.catalog.definition_text import first_line
from pai_lsp.catalog.remote_sources import read_items
from pai_lsp.cluster.task_environment import known_environment
from pai_lsp.document import Document
from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_arithmetic import value_of
from pai_lsp.embedded.shell_expansions import arithmetic_end
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.embedded.template import tags
from pai_lsp.expansion.released_run import RuntimeStopError, after_runtime
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.documentation import definition_documentation
from pai_lsp.ide.formatting import formatted
from pai_lsp.ide.hints_and_lenses import inlay_hints
from pai_lsp.ide.outline import outline
from pai_lsp.ide.prerequisite_graph import dot, prerequisite_graph
from pai_lsp.lsp.marketplace_reports import _listed
from pai_lsp.mpijob.manifest import plain_value
from pai_lsp.platform.programs import program_of
from pai_lsp.platform.tables import as_name
from pai_lsp.source.text import Span
from pai_lsp.web.fetching import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.embedded.command_lines import CommandLine

MANIFEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: main, image: mpi, command: [python, a.py]}]}}}
"""


def is_read(script: str) -> bool:
    return read_script(script).is_complete


def ends(levels: int) -> bool:
    """Whether a failure ends the script, so many braces deep."""
    tree = structure(read_script("{ " * levels + "false; " + "}; " * levels))
    return tree.ends_script(tree.calls["false"][0])


def is_good(metadata: str) -> bool:
    text = MANIFEST.replace("metadata: {name: train}", f"metadata: {{{metadata}}}")
    return not [one for one in Document(text).diagnostics if one.code == "mpijob-refused"]


def container_is_named(name: str) -> bool:
    found = Document(MANIFEST.replace("name: main", f"name: {name}")).diagnostics
    return not [one for one in found if one.code == "mpijob-container-name"]


def is_rendered(sections: int) -> bool:
    try:
        after_runtime("<%# a %>" * sections, {"token": "s"}, shows_secrets=False)
    except RuntimeStopError:
        return False
    return True


def job(more: str, commands: str = "echo", instances: int = 1) -> Document:
    role = f"instances: {instances}\n    commands:\n      - '{commands}'"
    return Document(f"protocolVersion: 2\ntype: job\nname: a\n{more}\ntaskRoles:\n  w:\n    {role}\n")


def hints(document: Document) -> list[str]:
    return [one.label for one in inlay_hints(document, Span(0, len(document.text)))]


def offered(document: Document, before: str) -> list[str]:
    return [one.label for one in complete(document, document.text.index(before) + len(before))]


def parameters(value: object) -> Document:
    return job(f"parameters: {{p: {json.dumps(value)}}}", "echo <% $parameters.p %>")


def is_member(levels: int) -> bool:
    value: object = "x"
    for _ in range(levels):
        value = {"a": value}
    return f"$parameters.p{'.a' * levels}" in offered(parameters(value), "<% $parameters.p")


def has_all_commands(count: int) -> bool:
    commands = ", ".join(f"echo {number}" for number in range(count))
    callbacks = f"callbacks: [{{event: taskStarts, commands: [{commands}]}}]"
    (definition,) = job(f"prerequisites: [{{name: a, type: script, {callbacks}}}]").job.definitions
    return "…" not in definition_documentation(definition)


def detail(value: str) -> str:
    document = job(f"parameters: {{p: {value}}}")
    return next(one for one in outline(document) if one.name == "parameters").children[0].detail


def line_of(text: str) -> CommandLine:
    return command_lines(read_script(text)).all[0]


def graph(name: str) -> str:
    return dot(prerequisite_graph(job(f"prerequisites: [{{name: {name}, type: script}}]").job))


LIMITS: dict[str, tuple[int, Callable[[int], bool]]] = {
    "substitutions in each other": (40, lambda n: is_read("$(" * n + "ls" + ")" * n)),
    "parameters in each other": (40, lambda n: is_read("echo " + "${A:-" * n + "}" * n)),
    "an index before what bash refuses": (198, lambda n: bool(read_script(f"${{A[{'1' * n}].}}").bad_substitutions)),
    "an index that is never closed": (198, lambda n: not is_read(f"A[{'1' * n}=2")),
    "brackets in arithmetic": (8, lambda n: arithmetic_end(f"{'(' * n}A{')' * n}))", 0, 99) > 0),
    "braces around a failure": (59, ends),
    "characters of arithmetic": (60, lambda n: value_of("1+" * (n // 2 - 1) + "1" * (2 + n % 2), {}) is not None),
    "digits of an index": (400, lambda n: tags(f"<% $data.uri[{'1' * n}] %>")[0][0].steps[-1].name == int("1" * n)),
    "sections in each other": (300, is_rendered),
    "digits of a number": (400, lambda n: plain_value("0b" + "0" * (n - 3) + "1")[0] == "integer"),
    "a label's value": (63, lambda n: is_good(f"name: a, labels: {{a: {'x' * n}}}")),
    "a label's name": (63, lambda n: is_good(f"name: a, labels: {{{'x' * n}: a}}")),
    "a label's domain": (253, lambda n: is_good(f"name: a, labels: {{{'x' * n}/a: a}}")),
    "a namespace": (63, lambda n: is_good(f"name: a, namespace: {'x' * n}")),
    "a name with its pod": (54, lambda n: is_good(f"name: {'x' * n}")),
    "the name of a container": (63, lambda n: container_is_named("x" * n)),
    "the first line of a description": (200, lambda n: first_line("x" * n) == "x" * n),
    "what is quoted of an answer": (120, lambda n: HttpAnswer(400, {}, b"x" * n).refusal.endswith(f"{'x' * n}'")),
    "a value beside a template": (40, lambda n: f"= {'x' * n}" in hints(parameters("x" * n))),
    "a value in the outline": (60, lambda n: detail("x" * n) == "x" * n),
    "a name in a graph": (48, lambda n: f'label="{"x" * n}\\n' in graph("x" * n)),
    "a name beside a node": (200, lambda n: f'tooltip="{"x" * n}\\n' in graph("x" * n)),
    "commands in a hover": (12, has_all_commands),
    "spaces of an indentation": (8, lambda n: formatted(parameters(1), n) != formatted(parameters(1), n - 1)),
    "members below each other": (3, is_member),
    "items of a list": (
        20,
        lambda n: f"$parameters.p[{n - 1}]" in offered(parameters(["x"] * 30), "<% $parameters.p"),
    ),
    "tasks of a variable": (8, lambda n: f"PAI_HOST_IP_w_{n - 1}" in offered(job("", "echo $PAI_HO", 9), "$PAI_HO")),
    "hosts of a launcher": (16, lambda n: len(offered(job("", "mpirun -H ", n), "-H ")) == 1),
    "lines of a short answer": (100, lambda n: cut_text("a\n" * n, {})[1] == 0),
    "lines of a full answer": (5_000, lambda n: cut_text("a\n" * n, {"full": True})[1] == 0),
    "what a configuration wants": (1_000, lambda n: _listed(["x" * n]) == "x" * n),
    "tasks that are listed": (200, lambda n: "PAI_TASK_ROLE_INSTANCES" in known_environment(job("", "a", n).job, None)),
    "the stem of a name": (249, lambda n: as_name("x" * n, "") == "x" * n),
    "options before a subcommand": (2, lambda n: program_of(line_of(f"pip {'-q ' * n}install a")) is not None),
    "seconds to wait": (6, lambda n: HttpAnswer(429, {"retry-after": "1" * n}).refusal.endswith("seconds")),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_holds_exactly(name: str) -> None:
    most, holds = LIMITS[name]
    assert (holds(most), holds(most + 1)) == (True, False)


def test_as_many_other_openings_are_named_as_a_finding_shows() -> None:
    problem = syntax_problem(read_script("if a; then " * 25))
    assert problem is not None
    assert len(problem.related) == 20


def test_the_name_of_an_item_is_cut() -> None:
    body = b'[{"id": "1", "name": "%s", "protocol": "["}]' % (b"x" * 90)
    assert read_items(body, "https://market.example")[1] == (f"item '{'x' * 80}' has no readable job",)
