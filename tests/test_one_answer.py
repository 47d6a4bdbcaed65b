"""One answer to one question: what an editor shows is what the cluster does, and codes name rules that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pai_lsp import document
from pai_lsp.cluster.protocol_stage import is_accepted
from pai_lsp.document import Document
from pai_lsp.embedded.server_rendering import rendered
from pai_lsp.embedded.shell import read_script
from pai_lsp.expansion import effective
from pai_lsp.findings.diagnostic import Consequence, Rule, Settings, Severity, Stage
from pai_lsp.ide.known_values import template_text
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.platform.programs import launchers, runs_launcher
from pai_lsp.platform.structure_errors import StructureError
from pai_lsp.rules import RULES, all_codes, known, rules_about_clusters
from pai_lsp.rules.structure.job_shape import placeholders
from pai_lsp.source.nodes import plain_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.findings.diagnostic import Finding
    from pai_lsp.job.job import Job

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


@pytest.mark.parametrize("path", PATHS)
def test_what_the_rules_find_is_what_the_server_fills_in(path: str) -> None:
    job = Document(f"{PARAMETERS}taskRoles: {{worker: {{commands: ['echo <% $parameters.{path} %>']}}}}\n").job
    (answer,) = job.template_answers
    (use,) = job.template_uses
    is_filled = template_text(job, use) is not None
    reaches_function = path in {"text.trim", "constructor.name"}  # which the rules report, whatever it is filled with
    assert (answer.outcome is PathOutcome.FOUND) == (is_filled and not reaches_function)


# What the server refuses after it has read the job: where it makes HiveD's request, and where it stores the job.
LATER = {"instances-missing", *(rule.code for rule in RULES if rule.code.startswith("hived-"))}
JOBS = [path for path in sorted(Path(__file__).parent.glob("rules/*.yaml")) if "platform-" not in path.name]


@pytest.mark.parametrize("path", JOBS, ids=[path.stem for path in JOBS])
def test_what_the_rules_call_refused_is_what_fit_calls_refused(path: Path) -> None:
    read = Document(path.read_text(encoding="utf-8"))
    if not read.job.task_roles or read.is_mpijob or read.job.once(placeholders):
        return
    found = [one for one in read.diagnostics if one.consequence is Consequence.REFUSED]
    codes = {one.code for one in found if known(one.code).stage is Stage.SERVER} - LATER
    assert is_accepted(read.job) == (not codes), codes


def texts_like_codes(module: str) -> set[str]:
    text = (PACKAGE / module).read_text(encoding="utf-8")
    return set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text))


def test_the_stages_of_a_cluster_name_the_rules_about_clusters() -> None:
    """Each but the one about jobs that wait for ever, which is no refusal."""
    stages = ("protocol_stage", "hived_stage", "job_stage", "fit")
    named = set[str]().union(*(texts_like_codes(f"cluster/{stage}.py") for stage in stages))
    assert {rule.code for rule in rules_about_clusters()} - {"job-does-not-fit"} <= named


def test_what_the_expansion_reports_has_a_rule() -> None:
    codes = texts_like_codes("expansion/effective.py")
    assert len(codes & set(all_codes())) > 10
    about_names = re.compile(r"(?:unknown|undeclared|unresolved|unfilled|cannot|broken)-")
    assert {code for code in codes if about_names.match(code)} <= set(all_codes())


def test_every_kind_of_a_structure_error_is_a_rule() -> None:
    text = (PACKAGE / "platform" / "structure_errors.py").read_text(encoding="utf-8")
    kinds = set(re.findall(rf'{StructureError.__name__}\("([a-z0-9-]+)"', text))
    assert len(kinds) > 3
    assert kinds <= {rule.code for rule in RULES}


@pytest.mark.parametrize("name", sorted(launchers()))
@pytest.mark.parametrize(
    "line", ["{} python train.py", "timeout 5 {} -np 2 a.out", "cd /x && /usr/bin/{} a.out", "! {} a"]
)
def test_every_launcher_is_one_wherever_it_runs(name: str, line: str) -> None:
    assert runs_launcher([read_script(line.format(name))])
    assert not runs_launcher([read_script(f"echo {name}; ls {name}")])


MANIFEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: launcher
              image: mpi:1
              command: COMMAND
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: worker, image: "mpi:1"}]}}
"""
LAUNCHES = (
    "mpirun --allow-run-as-root -np 2 python train.py",
    "mpirun -np 2 python train.py",
    "mpirun --allow-run-as-root -np 9 python train.py",
    "mpirun --allow-run-as-root --oversubscrib -np 2 python train.py",
    "mpirun --allow-run-as-root -np 2 -H node-7:1 python train.py",
    "mpirun --allow-run-as-root --hostfile /etc/hosts.txt -np 2 python train.py",
    "horovodrun -np 2 -H train-worker-0:1,train-worker-9:1 python train.py",
    "timeout 60 mpirun --allow-run-as-root -np nine python train.py",
)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_words_of_a_manifest_mean_the_same_as_in_a_shell(launch: str) -> None:
    words, shell = (str(one).replace("'", '"') for one in (shlex.split(launch), ["bash", "-c", launch]))
    found = [
        [(one.code, one.message) for one in Document(MANIFEST.replace("COMMAND", one)).diagnostics]
        for one in (words, shell)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("comment", ["", "# pai-lsp: ignore-file[broken]\n"], ids=["heeded", "ignored"])
@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_rule_that_fails_silences_no_other(monkeypatch: pytest.MonkeyPatch, comment: str, *, is_on: bool) -> None:
    def failing(job: Job) -> Iterator[Finding]:
        yield from ()
        raise ValueError(job.text)

    broken = Rule("broken", Severity.ERROR, failing, "Never mind.")
    text = f"{comment}protocolVersion: 2\nname: a\ntype: job\ntaskRoles: {{w: {{commands: [ls], secret: hunter2}}}}\n"
    settings = Settings() if is_on else Settings(severities={"broken": None})
    expected = {one.code for one in Document(text).diagnostics}
    monkeypatch.setattr(document, "RULES", (broken, *RULES))
    faults: list[str] = []
    found = document.check(Document(text, settings), lambda rule, _: faults.append(rule.code))
    assert {one.code for one in found} - {"unused-ignore", "unknown-ignore"} == expected - {
        "unused-ignore",
        "unknown-ignore",
    }
    assert set(faults) <= {"broken"}
