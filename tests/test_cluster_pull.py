"""Profiles made from the answers of a cluster's REST API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from budgets import some
from loopback import FAULTS, answering, marketplace

from pai_lsp.cli.main import main
from pai_lsp.cluster.cluster_access import ClusterAccess, cluster_access, only_cluster
from pai_lsp.cluster.profile import ProfileError

if TYPE_CHECKING:
    from pathlib import Path

    from loopback import Request

SMALL, LARGE = {"gpu": 1, "cpu": 5, "memory": 56334}, {"gpu": 1, "cpu": 8, "memory": 80000}
ANSWERS: dict[str, Any] = {
    "/api/v2/tokens/check": {"username": "ann", "application": False},
    "/api/v2/info": {"version": "1.8.1"},
    "/api/v2/cluster/sku-types": {"K80": SMALL, "V100": LARGE},
    "/api/v2/cluster/sku-types?vc=default": {"K80": SMALL, "V100": LARGE},
    "/api/v2/cluster/sku-types?vc=prod": {"V100": LARGE},
    "/api/v2/virtual-clusters": {
        "default": {"resourcesTotal": {"cpu": 104, "memory": 1090672, "gpu": 16}},
        "prod": {"resourcesTotal": {"cpu": 32, "memory": 320000, "gpu": 4}},
    },
    "/api/v2/storages": {
        "storages": [{"name": "data", "share": True, "default": True, "data": {"key": "account-key"}}]
    },
    "/api/v2/users/ann": {
        "email": "ann@example.com",
        "admin": False,
        "virtualCluster": ["default"],
        "storageConfig": ["data"],
        "extension": {"sshKeys": ["ssh-rsa key"], "quota": {"maxGpusPerJob": 8}},
    },
}


def react(request: Request) -> None:
    if request.headers.get("authorization") != "Bearer t0ken":
        request.send(401, b"{}")
    elif request.path in ANSWERS:
        request.send(200, json.dumps(ANSWERS[request.path]).encode(), Content_Type="application/json")
    else:
        request.send(404, b"{}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    monkeypatch.setenv("PAI_TOKEN", "t0ken")
    (tmp_path / "pai-lsp").mkdir()
    return tmp_path / "pai-lsp"


def configured(home: Path, url: str) -> None:
    text = f"lab: {{url: '{url}', portal: '{url}', user: ann, token_env: PAI_TOKEN}}\n"
    (home / "clusters.yaml").write_text(text, encoding="utf-8")


CPU = {"gpu": 0, "cpu": 4, "memory": 8000}


@pytest.mark.parametrize(
    ("types", "total", "skus"),
    [
        ({}, {"cpu": 0, "memory": 0, "gpu": 0}, {}),
        # 3 × K80, 2 × V100 and 5 × CPU.
        (
            {"K80": SMALL, "V100": LARGE, "CPU": CPU},
            {"cpu": 51, "memory": 369002, "gpu": 5},
            {"K80": 3, "V100": 2, "CPU": 5},
        ),
        ({"K80": SMALL, "twin": SMALL}, {"cpu": 10, "memory": 112668, "gpu": 2}, None),
        ({"K80": SMALL}, {"cpu": 10, "memory": 112668, "gpu": 3}, None),
        ({"K80": SMALL}, {"cpu": 10**400, "memory": 0, "gpu": 0}, None),
    ],
)
def test_the_skus_of_a_virtual_cluster_follow_from_its_totals(
    types: dict[str, Any],
    total: dict[str, float],
    skus: dict[str, int] | None,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ANSWERS, "/api/v2/cluster/sku-types", {"K80": SMALL, "V100": LARGE, "CPU": CPU, "twin": SMALL})
    monkeypatch.setitem(ANSWERS, "/api/v2/cluster/sku-types?vc=prod", types)
    monkeypatch.setitem(ANSWERS, "/api/v2/virtual-clusters", {"prod": {"resourcesTotal": total}})
    with marketplace(react) as server:
        configured(home, server.url)
        assert main(["cluster", "pull", "lab"]) == 0
    found = json.loads((home / "clusters" / "lab.json").read_text(encoding="utf-8"))["virtualClusters"]
    assert found["prod"] == ({} if skus is None else {"skus": skus})


def test_a_profile_from_the_api(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with marketplace(react) as server:
        configured(home, server.url)
        assert main(["cluster", "pull", "lab"]) == 0
        assert {request.path for request in server.requests} == set(ANSWERS)
    text = (home / "clusters" / "lab.json").read_text(encoding="utf-8")
    found = json.loads(text)
    assert found["virtualClusters"] == {"default": {"skus": {"K80": 8, "V100": 8}}, "prod": {"skus": {"V100": 4}}}
    assert found["user"] == {
        "admin": False,
        "virtualClusters": ["default"],
        "storages": ["data"],
        "defaultStorages": ["data"],
        "quota": {"maxGpusPerJob": 8},
    }
    assert not any(word in text for word in ("account-key", "ann", "ssh-rsa", "t0ken", server.url))
    capsys.readouterr()


@pytest.mark.parametrize(
    ("status", "body", "part"),
    [(403, b"", "access is denied"), (200, b"<p>", "not that of a rest-server"), (500, b"", "failed (500)")],
)
def test_no_profile_is_written_after_a_failure(
    status: int, body: bytes, part: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with marketplace(answering(status, body)) as server:
        configured(home, server.url)
        assert main(["cluster", "pull", "lab"]) == 2
    assert part in capsys.readouterr().err
    assert not (home / "clusters").exists()


@pytest.mark.parametrize("fault", some(FAULTS))
def test_no_fault_of_the_network_is_an_answer(fault: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither at once nor after some good answers."""
    for after in (0, 2):
        asked: list[str] = []

        def react_some(request: Request, asked: list[str] = asked, after: int = after) -> None:
            asked.append(request.path)
            (react if len(asked) <= after else FAULTS[fault])(request)

        with marketplace(react_some) as server:
            configured(home, server.url)
            assert main(["cluster", "pull", "lab"]) == 2
        shown = capsys.readouterr()
        assert shown.err.startswith("pai-lsp cluster pull: "), shown.err
        assert "bug" not in shown.err
        assert "\x1b" not in shown.err
        assert not (home / "clusters").exists()


def test_the_token_is_not_sent_without_encryption(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configured(home, "http://pai.example.com")
    assert main(["cluster", "pull", "lab"]) == 2
    assert "only over https" in capsys.readouterr().err


KEYS = "allow_http, ca_file, platform, portal, token_command, token_env, token_keyring, url, user"


def test_only_the_users_own_file_names_clusters(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "pull", "lab"]) == 2
    assert str(home / "clusters.yaml") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("other: {url: https://a}", "no cluster is named 'lab'; known clusters: other"),
        ("lab: {url: ftp://a}", "'lab': 'url' must be an address with http:// or https://, without a user name"),
        ("lab: {url: https://me@a}", "'lab': 'url' must be an address with http:// or https://, without a user name"),
        (
            "lab: {url: https://a, token: secret}",
            f"'lab': unknown key 'token'; the keys are {KEYS}",
        ),
        ("lab: {url: https://a, platform: x}", "'lab': 'platform' must be 'openpai' or 'ltp'"),
        ("lab: {url: https://a, platform: [ltp]}", "'lab': 'platform' must be a string"),
        ("lab: {url: 'https://[a'}", "'lab': 'url' must be an address with http:// or https://, without a user name"),
        (
            "lab: {url: 'https://a:port'}",
            "'lab': 'url' must be an address with http:// or https://, without a user name",
        ),
        ("lab: {url: {https: a}}", "'lab': 'url' must be a string"),
        ("lab: {user: me}", "'lab': 'url' must be an address with http:// or https://, without a user name"),
        ("lab: {url: https://a, token_command: pass}", "'lab': 'token_command' must be a list"),
        ("lab: {url: https://a, allow_http: 1}", "'lab': 'allow_http' must be true or false"),
        ("lab: [", "the '[' is never closed; expected ']'"),
        (
            "lab: {url: https://a, portal: b}",
            "'lab': 'portal' must be an address with http:// or https://, without a user name",
        ),
        (
            "lab: {url: https://a, token_env: A, token_keyring: true}",
            "'lab': the token comes from 'token_env' or from 'token_keyring', not from both",
        ),
        ("lab: 5", "no cluster is named 'lab'; known clusters: lab"),
        ("", "no cluster is named 'lab'; known clusters: none"),
        ("[]", "no cluster is named 'lab'; known clusters: none"),
        (
            "lab: {url: https://a, portal: ''}",
            "'lab': 'portal' must be an address with http:// or https://, without a user name",
        ),
        ("lab: {url: https://a, user: 5}", "'lab': 'user' must be a string"),
        (
            "lab: {url: https://a, b: 1, a: 2}",
            f"'lab': unknown key 'a'; the keys are {KEYS}",
        ),
        ("a: {}\nb: {}\n", "no cluster is named 'lab'; known clusters: a, b"),
        (
            "lab: {url: https://a, token_env: A, token_command: [b]}",
            "'lab': the token comes from 'token_env' or from 'token_command', not from both",
        ),
    ],
)
def test_what_is_wrong_in_the_file(text: str, message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        cluster_access(text, "lab")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "access", "site", "page"),
    [
        ("{url: http://a}", ClusterAccess("http://a"), None, None),
        (
            "{url: https://a/rest-server/, token_env: '', token_keyring: true, user: ~}",
            ClusterAccess("https://a/rest-server", token_env="", token_keyring=True),
            "https://a",
            "https://a/job-detail.html?username=b%2Fc&jobName=d%20e",
        ),
        (
            "{url: https://a/, portal: http://b//, platform: ltp, allow_http: true, token_command: [c, 1]}",
            ClusterAccess("https://a", platform="ltp", portal="http://b", allow_http=True, token_command=("c", "1")),
            "http://b",
            "http://b/job-detail.html?username=b%2Fc&jobName=d%20e",
        ),
    ],
)
def test_how_a_cluster_is_reached(text: str, access: ClusterAccess, site: str | None, page: str | None) -> None:
    found = cluster_access(f"lab: {text}", "lab")
    assert (found, found.site, found.page_of("b/c", "d e")) == (access, site, page)
    assert found.address("x?y") == f"{access.url}/api/v2/x?y"


def test_the_only_cluster(home: Path) -> None:
    for text, name in (("lab: {}\n", "lab"), ("5: {}\n", "5"), ("a: {}\nb: {}\n", None), ("[a]\n", None), ("", None)):
        (home / "clusters.yaml").write_text(text, encoding="utf-8")
        assert only_cluster() == name
    (home / "clusters.yaml").unlink()
    assert only_cluster() is None
