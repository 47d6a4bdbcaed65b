"""`check --cluster`: findings that need the facts of a cluster, at their places."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from job_text import ON_CLUSTER
from marks import as_marks, read_marks
from test_cluster_fit import USER, cluster

from pai_lsp.cli.main import main
from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.profile import read_profile
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings, Severity
from pai_lsp.project.config_reader import parse_configuration
from pai_lsp.rules import rules_about_clusters
from pai_lsp.rules.cluster_rules import cluster_findings
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from pathlib import Path

    from pai_lsp.cluster.profile import Profile

HEAD = f"{ON_CLUSTER}taskRoles:\n  worker:\n"
ROLE = """\
    dockerImage: image
    commands: [echo]
    instances: 1
    resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1024}
"""
LTP = cluster(
    platform="ltp",
    rules={"imageRegex": "^debian"},
    user=USER | {"quota": {"maxGpusPerJob": 0, "expiration": "2999-01-01"}},
)

NO_INSTANCES = ROLE.replace("    instances: 1\n", "")
HIVED = "extras:\n  hivedScheduler: {taskRoles: {}}\n"
BARE = '{"profileVersion": 1, "name": "k", "platform": "openpai", "scheduler": "%s"}'

CASES: list[tuple[Profile, str]] = [
    (cluster(), f"{HEAD}{ROLE}"),
    (
        cluster(),
        f"""{HEAD}{ROLE}defaults:
  virtualCluster: defualt
  #               ^^^^^^^ warning[virtual-cluster-not-allowed]
""",
    ),
    (
        cluster(),
        f"""{HEAD}{ROLE}extras:
  storages: [{{name: dta}}]
  #                 ^^^ warning[storage-not-found]: no storage is named 'dta'; did you mean 'data'?
  hivedScheduler:
    taskRoles:
      worker:
        skuType: K8O
        #        ^^^ error[sku-type-unknown]: the cluster has no SKU type 'K8O'; did you mean 'K80'?
""",
    ),
    (
        cluster(),
        HEAD + """\
    dockerImage: image
    commands: [echo]
    instances: 9
    #          ^ warning[sku-quota-exceeded]
    resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1024}
""",
    ),
    (
        cluster(),
        HEAD + """\
    dockerImage: image
    commands: [echo]
    instances: 1
    resourcePerInstance: {gpu: 5, cpu: 1, memoryMB: 1024}
    #^^^^^^^^^^^^^^^^^^ error[job-does-not-fit]
""",
    ),
    (
        cluster(),
        HEAD + ROLE + "defaults: {virtualCluster: mixed}\n",
    ),
]  # fmt: skip


def found_in(text: str, profile: Profile) -> list[Any]:
    return [
        d
        for d in Document(text, Settings(cluster=profile)).diagnostics
        if d.code in {rule.code for rule in rules_about_clusters()}
    ]


@pytest.mark.parametrize(("profile", "example"), CASES[:-1])
def test_findings_are_the_marks(profile: Profile, example: str) -> None:
    text, marks = read_marks(example)
    assert as_marks(text, found_in(text, profile), with_messages=marks) == marks


def test_a_limit_of_ltp_and_a_resource_that_a_sku_lacks() -> None:
    codes = [one.code for one in found_in(HEAD + ROLE, LTP)]
    assert codes == ["image-not-allowed", "cluster-limit"]
    profile, text = CASES[-1]
    assert [one.code for one in found_in(text, profile)] == ["sku-without-resource"]


def test_a_near_name_is_offered() -> None:
    text = f"{HEAD}{ROLE}defaults: {{virtualCluster: defualt}}\n"
    (finding,) = found_in(text, cluster())
    assert "virtualCluster: default}" in apply_edits(text, finding.fixes[0].edits)


def test_old_facts_say_their_age() -> None:
    profile = cluster(source={"kind": "files", "takenAt": "2026-01-01T00:00:00Z"})
    job = Document(f"{HEAD}{ROLE}defaults: {{virtualCluster: x}}\n").job
    now = datetime(2026, 3, 2, tzinfo=timezone.utc)
    messages = [finding.message for _, finding in cluster_findings(job, profile, now)]
    assert [message.endswith("(facts of lab are 60 days old)") for message in messages] == [True]
    large = Document(HEAD + ROLE.replace("gpu: 1", "gpu: 5")).job
    for age, severity in ((60, Severity.WARNING), (3, None)):
        then = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(days=age)
        assert [finding.severity for _, finding in cluster_findings(large, profile, then)] == [severity]


def test_a_job_that_is_refused_anyway_is_not_measured() -> None:
    assert found_in(HEAD + ROLE.replace("gpu: 1, ", ""), cluster()) == []


def test_the_configuration_names_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lab.json").write_text(json.dumps(cluster().document), encoding="utf-8")
    (tmp_path / ".pai-lsp.yaml").write_text("cluster: lab.json\n", encoding="utf-8")
    job = tmp_path / "job.pai.yaml"
    job.write_text(HEAD + ROLE.replace("gpu: 1", "gpu: 5"), encoding="utf-8")
    assert main(["check", str(job)]) == 1
    assert "job-does-not-fit" in capsys.readouterr().out
    assert main(["fit", str(job)]) == 1
    assert "'lab' accepts the job, but it can never start" in capsys.readouterr().out
    (tmp_path / ".pai-lsp.yaml").unlink()
    assert main(["fit", str(job)]) == 2
    assert "give --cluster NAME, or write 'cluster: NAME' into .pai-lsp.yaml" in capsys.readouterr().err
    for name in ("other.json", "9" * 300):
        (tmp_path / ".pai-lsp.yaml").write_text(f"cluster: '{name}'\n", encoding="utf-8")
        assert main(["check", str(job)]) == 1
        output = capsys.readouterr().out
        assert "invalid-configuration" in output
        assert main(["fit", str(job)]) == 2
        assert "give --cluster" not in capsys.readouterr().err, "the reason alone"
        assert "no such file" in output or "no file" in output
    (tmp_path / ".pai-lsp.yaml").write_text("cluster: of-a-colleague\n", encoding="utf-8")
    assert main(["check", str(job)]) == 1
    assert main(["fit", str(job)]) == 2
    assert "no file and no profile is named 'of-a-colleague' (profiles: " in capsys.readouterr().out


def test_the_own_configuration_of_a_user_names_any_file_of_this_machine(tmp_path: Path) -> None:
    own, elsewhere = tmp_path / "own", tmp_path / "elsewhere.json"
    own.mkdir()
    elsewhere.write_text(json.dumps(cluster().document), encoding="utf-8")
    for name in (str(elsewhere), "../elsewhere.json"):
        text = json.dumps({"cluster": name})
        found = parse_configuration(text, folder=str(own), is_users=True)
        assert found.settings.cluster is not None
        assert not found.diagnostics
        assert parse_configuration(text, folder=str(own)).settings.cluster is None
    found = parse_configuration('cluster: "//server/share/lab.json"', folder=str(own), is_users=True)
    assert "is outside the project" in found.diagnostics[0].message


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, job = tmp_path / "lab.json", tmp_path / "job.pai.yaml"
    profile.write_text(json.dumps(cluster().document), encoding="utf-8")
    job.write_text(HEAD + ROLE.replace("gpu: 1", "gpu: 5"), encoding="utf-8")
    assert main(["check", str(job)]) == 0
    assert main(["check", "--cluster", str(profile), str(job)]) == 1
    assert "job-does-not-fit" in capsys.readouterr().out
    assert main(["check", "--cluster", str(profile), "--ignore", "job-does-not-fit", str(job)]) == 0
    assert main(["check", "--cluster", "no-such-cluster", str(job)]) == 2


@pytest.mark.parametrize(
    ("scheduler", "codes"),
    [("default", {"instances-missing"}), ("hived", {"hived-wrong-type", "instances-missing"})],
)
def test_without_hived_its_refusals_do_not_matter(scheduler: str, codes: set[str]) -> None:
    settings = Settings(cluster=read_profile(BARE % scheduler))
    document = Document(f"{HEAD}{NO_INSTANCES}{HIVED}", settings)
    assert {one.code for one in document.diagnostics if one.severity == 1} == codes
    misspelled = HIVED.replace("taskRoles: {}", "taskRoles: {worker: {skuTyp: K80}}")
    found = {one.code for one in Document(f"{HEAD}{ROLE}{misspelled}", settings).diagnostics}
    assert ("hived-key-misspelled" in found) == (scheduler == "hived")


@pytest.mark.parametrize("roles", ["{worker: {skuType: V100}}", "[{}]"])
def test_a_profile_without_skus_refuses_none(roles: str) -> None:
    text = f"{HEAD}{ROLE}extras:\n  hivedScheduler: {{taskRoles: {roles}}}\n"
    assert not list(cluster_findings(Document(text).job, read_profile(BARE % "hived")))


@pytest.mark.parametrize(
    ("roles", "refused"),
    [
        ("[{}]", ["Taskrole 0 does not exist."]),
        ("no", ["Taskrole 0 does not exist.", "Taskrole 1 does not exist."]),
        ("''", []),
        ("5", []),
        ("true", []),
    ],
)
def test_what_javascript_finds_in_task_roles_of_hived(roles: str, refused: list[str]) -> None:
    """As in the rest-server's hived.js, which takes any value and asks for its keys."""
    found = fit(Document(f"{HEAD}{ROLE}extras:\n  hivedScheduler: {{taskRoles: {roles}}}\n").job, cluster())
    assert [one.message for one in found.refusals] == refused


@pytest.mark.parametrize("amount", [".inf", "1e400", "1" + "0" * 400])
def test_an_endless_amount_is_refused_as_the_server_does(amount: str) -> None:
    text = f"{HEAD}{ROLE}".replace("memoryMB: 1024", f"memoryMB: {amount}")
    (refusal,) = fit(Document(text).job, cluster()).refusals
    assert refusal.message.startswith("Job requests Infinity SKUs, exceeds maximum ")
    assert refusal.explanation.startswith("the job requests Infinity SKUs: 1 × Infinity (worker); virtual cluster ")


def test_a_task_role_with_the_name_of_a_key_is_still_one() -> None:
    refusal = fit(Document(f"{HEAD}{ROLE}  ports: text\n").job, cluster()).refusals[0]
    assert (refusal.stage, refusal.path) == ("protocol", ("taskRoles", "ports"))


@pytest.mark.parametrize(("name", "asked"), [("[dta]", "dta"), ("[.inf]", "Infinity"), ("{a: b}", "[object Object]")])
def test_the_name_of_a_storage_is_any_value(name: str, asked: str) -> None:
    """As JavaScript's `in` makes a text of it."""
    found = fit(Document(f"{HEAD}{ROLE}extras: {{storages: [{{name: {name}}}]}}\n").job, cluster())
    assert [one.message for one in found.refusals] == [f"Storage {asked} is not found."]


def test_jobs_for_a_cluster_are_for_its_platform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, job = tmp_path / "lab.json", tmp_path / "train.pai.yaml"
    profile.write_text((BARE % "unknown").replace("openpai", "ltp"), encoding="utf-8")
    job.write_text(f"jobType: training\n{HEAD}{ROLE}", encoding="utf-8")
    assert main(["check", "--cluster", str(profile), str(job)]) == 0
    assert main(["fit", "--cluster", str(profile), str(job)]) == 0
    assert main(["check", str(job)]) == 1
    capsys.readouterr()


@pytest.mark.parametrize("name", ["../lab.json", "{outside}/lab.json", "linked.json", r"\\host.invalid\share\lab.json"])
def test_a_configuration_reads_no_profile_outside_the_project(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (tmp_path / "lab.json").write_text(json.dumps(cluster().document), encoding="utf-8")
    (folder / "linked.json").symlink_to(tmp_path / "lab.json")
    text = json.dumps({"cluster": name.format(outside=tmp_path)})
    (folder / ".pai-lsp.yaml").write_text(text, encoding="utf-8")
    assert main(["check", "--format", "concise", str(folder / ".pai-lsp.yaml")]) == 1
    found = capsys.readouterr().out
    assert "outside the project" in found or "no such file" in found
