"""One answer to one question: what an editor shows is what the cluster does, and codes name rules that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pai_lsp.document import Document
from pai_lsp.embedded.server_rendering import rendered
from pai_lsp.expansion import effective
from pai_lsp.ide.known_values import template_text
from pai_lsp.platform.structure_errors import StructureError
from pai_lsp.rules import BY_CODE, CLUSTER_RULES, RULES
from pai_lsp.source.nodes import plain_value

PACKAGE = Path(effective.__file__).parents[1]
PARAMETERS = """\
parameters:
  text: "a😀"
  list: [1, two, 0x10]
  number: 3.10
  map: {key: value, none: null}
  date: 2020-01-02
"""
PATHS = (
    "text", "text.length", "text[0]", "text.1", "list", "list[1]", "list.length", "list[2]", "list[7]", "number", "map",
    "map.key", "map.none", "map.length", "date", "absent", "text.trim", "constructor.name",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_hover_shows_what_the_server_writes(path: str) -> None:
    template = f"<% $parameters.{path} %>"
    role = "taskRoles: {worker: {commands: ['echo %s']}}\n"
    job = Document(PARAMETERS + role % template).job
    (use,) = job.template_uses
    values = {"$parameters": plain_value(job.mapping("parameters"))}
    shown = template_text(job, use)
    assert (
        rendered(f"[{template}]", values)
        == f"[{template.replace('[', '.').replace(']', '') if shown is None else shown}]"
    )


def codes_in(module: str, function: str) -> set[str]:
    """The texts in calls of a function that look like codes of rules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            texts = (
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )
            found.update(text for text in texts if re.fullmatch(r"[a-z]+(-[a-z]+)+", text))
    return found


def test_the_stages_of_a_cluster_name_the_rules_about_clusters() -> None:
    """And each of those rules is named, but the one about jobs that wait for ever."""
    stages = ("protocol_stage", "hived_stage", "job_stage", "fit")
    named = set[str]().union(*(codes_in(f"cluster/{stage}.py", "Refusal") for stage in stages))
    assert {rule.code for rule in CLUSTER_RULES} - {"job-does-not-fit"} <= named <= set(BY_CODE)


def test_what_the_expansion_reports_has_a_rule() -> None:
    text = (PACKAGE / "expansion" / "effective.py").read_text(encoding="utf-8")
    codes = set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text))
    assert len(codes & set(BY_CODE)) > 10
    assert {
        code for code in codes if re.search(r"^(unknown|undeclared|unresolved|unfilled|cannot|broken)-", code)
    } <= set(BY_CODE)


def test_every_kind_of_a_structure_error_is_a_rule() -> None:
    text = (PACKAGE / "platform" / "structure_errors.py").read_text(encoding="utf-8")
    kinds = set(re.findall(rf'{StructureError.__name__}\("([a-z0-9-]+)"', text))
    assert len(kinds) > 3
    assert kinds <= {rule.code for rule in RULES}
