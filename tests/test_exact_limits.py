"""Each limit holds exactly: what is as long or as deep as it may be is read, and one more is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pai_lsp.catalog.definition_text import first_line
from pai_lsp.catalog.remote_sources import read_items
from pai_lsp.document import Document
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_arithmetic import value_of
from pai_lsp.embedded.shell_expansions import arithmetic_end
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.embedded.template import tags
from pai_lsp.expansion.released_run import RuntimeStopError, after_runtime
from pai_lsp.mpijob.manifest import plain_value
from pai_lsp.web.fetching import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

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
