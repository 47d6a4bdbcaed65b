"""One answer to one question: what an editor shows is what the cluster does, and codes name rules that exist."""

from __future__ import annotations

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
    unfilled = template.replace("[", ".").replace("]", "")
    assert rendered(f"[{template}]", values) == f"[{unfilled if shown is None else shown}]"


def texts_like_codes(module: str) -> set[str]:
    text = (PACKAGE / module).read_text(encoding="utf-8")
    return set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text))


def test_the_stages_of_a_cluster_name_the_rules_about_clusters() -> None:
    """Each but the one about jobs that wait for ever, which is no refusal."""
    stages = ("protocol_stage", "hived_stage", "job_stage", "fit")
    named = set[str]().union(*(texts_like_codes(f"cluster/{stage}.py") for stage in stages))
    assert {rule.code for rule in CLUSTER_RULES} - {"job-does-not-fit"} <= named


def test_what_the_expansion_reports_has_a_rule() -> None:
    codes = texts_like_codes("expansion/effective.py")
    assert len(codes & set(BY_CODE)) > 10
    about_names = re.compile(r"(?:unknown|undeclared|unresolved|unfilled|cannot|broken)-")
    assert {code for code in codes if about_names.match(code)} <= set(BY_CODE)


def test_every_kind_of_a_structure_error_is_a_rule() -> None:
    text = (PACKAGE / "platform" / "structure_errors.py").read_text(encoding="utf-8")
    kinds = set(re.findall(rf'{StructureError.__name__}\("([a-z0-9-]+)"', text))
    assert len(kinds) > 3
    assert kinds <= {rule.code for rule in RULES}
