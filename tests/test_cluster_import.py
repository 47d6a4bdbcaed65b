"""Profiles made from the administrator's files."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from pai_lsp.cli.main import main
from pai_lsp.cluster.profile import ProfileError
from pai_lsp.cluster.profile_import import profile_of_files

if TYPE_CHECKING:
    from pathlib import Path

HIVED = """\
physicalCluster:
  skuTypes:
    K80: {gpu: 1, cpu: 4, memory: 8192Mi}
  cellTypes:
    K80-NODE: {childCellType: K80, childCellNumber: 4, isNodeLevel: true}
    K80-POOL: {childCellType: K80-NODE, childCellNumber: 2}
  physicalCells:
    - cellType: K80-POOL
      cellChildren:
        - cellAddress: secret-host-1
        - {cellAddress: secret-host-2, pinnedCellId: last}
virtualClusters:
  default:
    virtualCells: [{cellType: K80-POOL.K80-NODE, cellNumber: 1}]
  team:
    pinnedCells: [{pinnedCellId: last}]
"""

SERVICES = f"""\
cluster:
  common: {{cluster-id: pai}}
rest-server:
  schedule-port-start: 20000
  default-pai-admin-password: hunter2
hivedscheduler:
  config: |
{"".join(f"    {line}" for line in HIVED.splitlines(keepends=True))}
authentication:
  OIDC: false
  group-manager:
    group-data-source: basic
    admin-group:
      groupname: admingroup
      externalName: ""
      extension: {{acls: {{virtualClusters: [], admin: true}}}}
    default-group:
      groupname: default
      externalName: ""
      extension: {{acls: {{virtualClusters: [default], admin: false, storageConfigs: [data, home]}}}}
    grouplist:
      - groupname: vision
        extension: {{acls: {{virtualClusters: [team, closed-last-year], storageConfigs: [images]}}}}
      - groupname: forexample
        externalName: ""
"""


def imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str, status: int = 0
) -> dict[str, object]:
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    arguments = ["cluster", "import", str(tmp_path / "file.yaml"), "--name", "lab", "--output", "-", *options]
    assert main(arguments) == status
    output = capsys.readouterr()
    found: dict[str, object] = json.loads(output.out) if output.out else {"error": output.err}
    return found


def test_the_whole_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = imported(tmp_path, capsys, SERVICES, "--group", "default")
    assert found["scheduler"] == "hived"
    assert found["virtualClusters"] == {"default": {"skus": {"K80": 4}}, "team": {"skus": {"K80": 4}}}
    assert found["skuTypes"] == {"K80": {"gpu": 1, "cpu": 4, "memory": 8192}}
    assert found["ports"] == {"start": 20000, "end": 40000}
    assert found["user"] == {
        "admin": False,
        "virtualClusters": ["default"],
        "storages": ["data", "home"],
        "defaultStorages": ["data"],
    }
    assert not any(word in json.dumps(found) for word in ("secret-host", "hunter2"))


def test_an_administrator_gets_the_virtual_clusters_of_the_scheduler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = imported(tmp_path, capsys, SERVICES, "--group", "admingroup")
    assert found["user"]["virtualClusters"] == ["default", "team"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("old", "new", "groups", "virtual_clusters", "storages"),
    [
        # With basic authentication, everybody is in the default group, and each virtual cluster has a group.
        ("", "", ["vision"], ["team", "default"], ["images", "data", "home"]),
        ("", "", ["team"], ["team", "default"], ["data", "home"]),
        # With OpenID Connect, neither holds.
        ("OIDC: false", "OIDC: true", ["vision"], ["team"], ["images"]),
        ("OIDC: false", "OIDC: true", ["forexample"], [], []),
    ],
)
def test_the_groups_that_the_server_makes(
    old: str, new: str, groups: list[str], virtual_clusters: list[str], storages: list[str]
) -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    user = profile_of_files([("a.yaml", SERVICES.replace(old, new))], "lab", None, groups, now)["user"]
    assert (user["virtualClusters"], user["storages"]) == (virtual_clusters, storages)


def test_a_file_without_groups_has_those_of_the_platform() -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    for text in ("rest-server: {}\n", "authentication: {OIDC: false}\n"):
        for group, is_admin in (("default", False), ("admingroup", True)):
            user = profile_of_files([("a.yaml", text)], "lab", None, [group], now)["user"]
            assert user["admin"] is is_admin
            assert user["virtualClusters"] == ["default"]


def test_the_scheduler_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "user" not in imported(tmp_path, capsys, HIVED)


def test_a_cluster_without_hived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = imported(tmp_path, capsys, "rest-server: {image-regex: ^a}\n")
    assert (found["scheduler"], found["platform"], found["rules"]) == ("default", "ltp", {"imageRegex": "^a"})


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        ("a: 1\n", (), "neither 'hivedscheduler.yaml' nor"),
        ("a: [\n", (), "file.yaml"),
        (SERVICES, ("--group", "x"), "no group is named 'x'; known groups: admingroup, default, vision, team"),
        (SERVICES, ("--group", "forexample"), "no group is named 'forexample'"),
        (
            "rest-server: {}\ngroup-manager: {grouplist: [{groupname: vision}]}\n",
            ("--group", "vision"),
            "reads 'group-manager' only below 'authentication'",
        ),
        (
            "authentication: {group-manager: {default-group: {groupname: [a]}, admin-group: {groupname: b}}}\n",
            ("--group", "a"),
            "no group is named 'a'; known groups: b",
        ),
        (HIVED.replace("childCellNumber: 4, ", ""), (), "not complete: 'cellTypes.K80-NODE': 'childCellNumber' is"),
        (HIVED.replace("- cellType: K80-P", "- cellType: [1] #"), (), "'physicalCells.0.cellType': [1] is not of type"),
        (HIVED.replace("cellNumber: 1", "cellNumber: some"), (), "'some' is not of type 'integer'"),
        (HIVED.replace("[{pinnedCellId: last}]", "[last]"), (), "'pinnedCellId' is a required property"),
    ],
)
def test_what_cannot_be_imported(
    text: str, options: tuple[str, ...], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert part in str(imported(tmp_path, capsys, text, *options, status=2)["error"])


def test_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    (tmp_path / "hived.yaml").write_text(HIVED, encoding="utf-8")
    assert main(["cluster", "import", str(tmp_path / "hived.yaml"), "--name", "lab"]) == 0
    capsys.readouterr()
    assert main(["cluster", "list"]) == 0
    assert capsys.readouterr().out.startswith("lab  openpai, virtual clusters: default, team, from 2")
    assert main(["cluster", "import", str(tmp_path / "hived.yaml"), "--name", "../lab"]) == 2
    name = "'../lab' cannot be a cluster's name; use letters, digits, '.', '_' and '-'"
    assert capsys.readouterr().err == f"pai-lsp cluster import: {name}\n"
    (tmp_path / "pai-lsp" / "clusters" / "lab.json").write_bytes(b"\xff")
    assert main(["cluster", "list"]) == 0
    assert capsys.readouterr().out == "lab  cannot be read\n"
    (tmp_path / "pai-lsp" / "clusters" / "lab.json").unlink()
    assert main(["cluster", "list"]) == 0
    assert (
        capsys.readouterr().out
        == f"""\
There is no profile in {tmp_path / "pai-lsp" / "clusters"}. To create one:

  from the administrator's files
    pai-lsp cluster import services-configuration.yaml --name lab --group default

  from your account: write the cluster's address into {tmp_path / "pai-lsp" / "clusters.yaml"}
    lab:
      url: https://pai.example.com/rest-server
      user: your-name
      token_env: PAI_TOKEN
  and run
    pai-lsp cluster pull lab
"""
    )


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\ndata:\n  hivedscheduler.yaml: |\n"


def test_what_kubectl_prints_and_what_cannot_be_imported() -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def imported(text: str, *groups: str) -> dict[str, Any]:
        return profile_of_files([("a.yaml", text)], "lab", None, groups, now)

    indented = CONFIG_MAP + "".join(f"    {line}\n" for line in HIVED.splitlines())
    assert imported(indented) == imported(HIVED)
    for text, groups, part in (
        (CONFIG_MAP + "    x: 1\n", (), "no configuration of HiveD"),
        (HIVED.replace("skuTypes", "gpuTypes"), (), "now reads 'skuTypes'"),
        (HIVED, ("default",), "only 'services-configuration.yaml' has groups: leave --group out"),
    ):
        with pytest.raises(ProfileError, match=part):
            imported(text, *groups)
