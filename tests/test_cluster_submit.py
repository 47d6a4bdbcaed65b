"""`pai-lsp submit` against a rest-server on this machine, as good or as bad as a cluster can be."""

from __future__ import annotations

import json
import ssl
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from budgets import some
from loopback import Reaction, Request, answering, half, limits_for, marketplace, never
from test_cluster_fit import cluster
from test_cluster_pull import configured, home

from pai_lsp.cli.main import main
from pai_lsp.cluster import rest_server
from pai_lsp.document import Document
from pai_lsp.web import fetching

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pai_lsp.web.fetching import FetchFailure, HttpAnswer, Limits

__all__ = ["home"]

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "ubuntu:22.04"}
  - {name: prepare, type: script, callbacks: [{event: taskStarts, commands: [echo ready]}]}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    prerequisites: [prepare]
    commands: ["login <% $secrets.word %>"]
    resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1024}
secrets: {word: paper-and-glue}
"""


def server_with(post: Reaction, *, keeps: bool = True) -> Reaction:
    """Accepts the user's token, has the jobs that were sent (if `keeps`), and answers a POST as `post` does."""
    sent: list[bytes] = []

    def react(request: Request) -> None:
        if request.headers.get("authorization") != "Bearer t0ken":
            request.send(401, b"{}")
        elif request.method == "POST":
            if keeps:
                sent.append(request.body)
            post(request)
        elif request.path == "/api/v2/tokens/check":
            request.send(200, b'{"username": "ann"}')
        elif request.path == "/api/v2/jobs/ann~train":
            request.send(200 if sent else 404, b'{"code": "NoJobError"}')
        else:
            request.send(404, b"{}")

    return react


def left_soon(monkeypatch: pytest.MonkeyPatch, is_never_answered: Callable[[str, str], bool]) -> None:
    """Make the client give up soon where the server never answers a request: given its method and address."""
    exchange = fetching.exchange

    def hurried(method: str, url: str, *rest: Any, limits: Limits, **options: Any) -> HttpAnswer | FetchFailure:
        limits = limits_for(never) if is_never_answered(method, url) else limits
        return exchange(method, url, *rest, limits=limits, **options)

    monkeypatch.setattr(rest_server, "exchange", hurried)


def error(status: int, code: str, message: str) -> Reaction:
    return answering(status, json.dumps({"code": code, "message": message}).encode(), Content_Type="application/json")


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "train.pai.yaml"
    path.write_text(JOB, encoding="utf-8")
    return str(path)


def test_a_job_is_expanded_and_sent_once(home: Path, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with marketplace(server_with(answering(202, b"{}"))) as server:
        configured(home, f"{server.url}/")
        assert main(["submit", "--cluster", "lab", "--yes", job]) == 0
        (sent,) = [request for request in server.requests if request.method == "POST"]
    assert (sent.path, sent.headers["content-type"]) == ("/api/v2/jobs", "text/yaml")
    text = sent.body.decode()
    assert "plugin: com.microsoft.pai.runtimeplugin.cmd" in text
    assert "paper-and-glue" in text
    assert not [one for one in Document(text).diagnostics if one.severity == 1]
    shown = capsys.readouterr()
    assert shown.out == f"{server.url}/job-detail.html?username=ann&jobName=train\n"
    assert (
        shown.err
        == f"""\
job       train
cluster   lab ({server.url}) as 'ann', virtual cluster default
role      worker: 2 tasks, each with gpu 1, cpu 1, memoryMB 1024
secrets   1, sent with the job
not checked for the cluster's SKUs and rights: run pai-lsp cluster pull lab first
"""
    )
    assert not any(word in shown.out + shown.err for word in ("paper-and-glue", "t0ken"))


@pytest.mark.parametrize(
    ("reaction", "keeps", "status", "part"),
    some(
        [
            (error(400, "InvalidProtocolError", "bad job"), False, 1, "refuses the job (400): bad job"),
            (
                error(401, "UnauthorizedUserError", "Guest is not allowed"),
                False,
                1,
                "requires a valid access token (401): 'Guest is",
            ),
            (error(403, "ForbiddenUserError", "User ann is not allowed"), False, 1, "denied (403): 'User ann is not"),
            (error(404, "NoStorageError", "Storage x is not found."), False, 1, "refuses the job (404): Storage x"),
            (answering(404, b"<html>"), False, 1, "no rest-server at"),
            (error(409, "ConflictJobError", "exists"), False, 1, "a job named 'train' already exists"),
            (answering(413, b""), False, 1, "does not accept a request of this size (413)"),
            (
                answering(302, b"", Location="https://other.example.com/"),
                False,
                1,
                "another host, 'other.example.com', is not",
            ),
            (answering(302, b"", Location="/login"), False, 1, "a redirect to '/login' is not followed"),
            (answering(407, b""), False, 1, "the proxy requires a user name and a password (407)"),
            (answering(429, b"", Retry_After="7"), False, 1, "for now (429); try again in 7 seconds"),
            (answering(200, b"<html>Sign in</html>"), False, 1, "the answer is not that of a rest-server"),
            (answering(202, b"x" * 2_000_000), True, 0, "the cluster has the job"),
            (error(500, "UnknownError", "secret paper-and-glue"), False, 1, "the server failed (500): 'secret ***'"),
            (answering(503, b""), True, 0, "the cluster has the job"),
            (half, True, 0, "the cluster has the job"),
            (never, False, 1, "was not submitted: the server did not answer in time"),
            (never, True, 0, "the cluster has the job"),
        ]
    ),
)
def test_faults(
    reaction: Reaction,
    keeps: bool,
    status: int,
    part: str,
    home: Path,
    job: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left_soon(monkeypatch, lambda method, _: method == "POST" and reaction is never)
    with marketplace(server_with(reaction, keeps=keeps)) as server:
        configured(home, server.url)
        assert main(["submit", "--cluster", "lab", "--yes", job]) == status
        assert sum(request.method == "POST" for request in server.requests) == 1
    shown = capsys.readouterr()
    assert part in shown.err
    assert "paper-and-glue" not in shown.err


def test_nothing_goes_to_a_server_that_is_not_trusted_or_in_the_open(
    home: Path, job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with marketplace(server_with(answering(202, b"{}"))) as open_server:
        leads = answering(307, b"", Location=f"{open_server.url}/api/v2/jobs")
        with marketplace(leads, context) as server:
            configured(home, server.url)
            assert main(["submit", "--cluster", "lab", "--yes", job]) == 1
            assert "nothing was sent: the certificate is not trusted" in capsys.readouterr().err
            assert server.requests == []
            authority.cert_pem.write_to_path(str(home / "ca.pem"))
            monkeypatch.setenv("SSL_CERT_FILE", str(home / "ca.pem"))
            assert main(["submit", "--cluster", "lab", "--yes", job]) == 1
            assert "is not followed" in capsys.readouterr().err
        assert open_server.requests == []


@pytest.mark.slow
def test_a_cluster_that_says_nothing_at_all(
    home: Path, job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left_soon(monkeypatch, lambda _, url: "tokens" not in url)
    knows_user = server_with(never)
    with marketplace(lambda request: (knows_user if "tokens" in request.path else never)(request)) as server:
        configured(home, server.url)
        assert main(["submit", "--cluster", "lab", "--yes", job]) == 3
    assert "not known whether the job was submitted" in capsys.readouterr().err
    configured(home, server.url)
    assert main(["submit", "--cluster", "lab", "--yes", job]) == 1
    assert "nothing was sent: connection refused" in capsys.readouterr().err


def test_nothing_is_sent(home: Path, tmp_path: Path, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with marketplace(server_with(answering(202, b"{}"))) as server:
        configured(home, server.url)

        def is_refused(text: str, *options: str, part: str) -> bool:
            path = tmp_path / "other.pai.yaml"
            path.write_text(text, encoding="utf-8")
            status = main(["submit", "--cluster", "lab", *options, str(path)])
            return status > 0 and part in capsys.readouterr().err

        assert is_refused(JOB, part="nothing was sent; give --yes\n")
        assert is_refused(JOB.replace("dockerImage: image", "dockerImage: imagee"), "--yes", part="has errors")
        assert is_refused(JOB.replace("[prepare]", "[nothing]"), "--yes", part="cannot be expanded")
        (home / "clusters").mkdir()
        (home / "clusters" / "lab.json").write_text(json.dumps(cluster().document), encoding="utf-8")
        large = JOB.replace("gpu: 1", "gpu: 5").replace("instances: 2", "instances: 1")
        assert is_refused(large, "--yes", part="job-does-not-fit")
        assert not [request for request in server.requests if request.method == "POST"]
    assert main(["submit", "--cluster", "other", "--yes", job]) == 2
    assert "known clusters: lab" in capsys.readouterr().err


def test_a_token_in_the_key_store_of_the_system(
    home: Path, job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: dict[tuple[str, str], str] = {}
    fake = SimpleNamespace(
        get_password=lambda service, name: stored.get((service, name)),
        set_password=lambda service, name, text: stored.update({(service, name): text}),
    )
    with marketplace(server_with(answering(202, b"{}"))) as server:
        text = f"lab: {{url: '{server.url}', user: ann, token_keyring: true}}\n"
        (home / "clusters.yaml").write_text(text, encoding="utf-8")
        monkeypatch.setitem(sys.modules, "keyring", None)
        assert main(["submit", "--cluster", "lab", "--yes", job]) == 2
        assert "pipx inject pai-lsp keyring" in capsys.readouterr().err
        monkeypatch.setitem(sys.modules, "keyring", fake)
        assert main(["submit", "--cluster", "lab", "--yes", job]) == 2
        assert "pai-lsp cluster login lab" in capsys.readouterr().err
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False, readline=lambda: "\n"))
        assert main(["cluster", "login", "lab"]) == 2
        assert capsys.readouterr().err == "pai-lsp cluster login: no token was given\n"
        assert main(["cluster", "login", "lob"]) == 2
        assert capsys.readouterr().err == "pai-lsp cluster login: no cluster is named 'lob'; known clusters: lab\n"
        (home / "clusters.yaml").write_text(text.replace("true", "false"), encoding="utf-8")
        assert main(["cluster", "login", "lab"]) == 2
        step = f"write 'token_keyring: true' into {home / 'clusters.yaml'} first"
        assert capsys.readouterr().err == f"pai-lsp cluster login: 'lab': {step}\n"
        (home / "clusters.yaml").write_text(text, encoding="utf-8")

        def broken(*_: str) -> str:
            raise RuntimeError("a secret")

        monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=broken, set_password=broken))
        assert main(["submit", "--cluster", "lab", "--yes", job]) == 2
        cannot = "the system's key store cannot be {} (RuntimeError)\n"
        assert capsys.readouterr().err == f"pai-lsp submit: {cannot.format('read')}"
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False, readline=lambda: "t0ken\n"))
        assert main(["cluster", "login", "lab"]) == 3
        assert capsys.readouterr().err == f"pai-lsp cluster login: {cannot.format('written')}"
        monkeypatch.setitem(sys.modules, "keyring", fake)
        assert main(["cluster", "login", "lab"]) == 0
        assert stored == {("pai-lsp", "lab"): "t0ken"}
        assert main(["submit", "--cluster", "lab", "--yes", job]) == 0
    assert "t0ken" not in "".join(capsys.readouterr())
