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
from pai_lsp.cluster.cluster_access import ClusterAccess
from pai_lsp.cluster.rest_server import ClusterConnection, ClusterError
from pai_lsp.cluster.submission import NotSubmittedError, Submission, UnknownOutcomeError
from pai_lsp.document import Document
from pai_lsp.source.frozen import replace
from pai_lsp.web import fetching
from pai_lsp.web.access_token import AccessToken
from pai_lsp.web.fetching import FetchFailure, HttpAnswer

if TYPE_CHECKING:
    from pathlib import Path

    from pai_lsp.web.fetching import Limits

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
) -> None:
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
    def hurried(method: str, url: str, *rest: Any, limits: Limits, **options: Any) -> HttpAnswer | FetchFailure:
        limits = limits if "tokens" in url else limits_for(never)
        return fetching.exchange(method, url, *rest, limits=limits, **options)

    monkeypatch.setattr(rest_server, "exchange", hurried)
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


TOKEN = "t0ken"  # noqa: S105 - of a test
LAB = ClusterAccess("https://lab.example.com/rest-server")
API = "https://lab.example.com/rest-server/api/v2"


def said(status: int, body: str = "{}", **headers: str) -> HttpAnswer:
    return HttpAnswer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode())


def refused(status: int, code: str = "", message: str = "") -> HttpAnswer:
    return said(status, json.dumps({"code": code, "message": message}))


def answering_in_turn(
    *answers: HttpAnswer | FetchFailure, access: ClusterAccess = LAB, token: str = TOKEN
) -> tuple[ClusterConnection, list[tuple[Any, ...]]]:
    """A cluster that gives one answer after the other, and what it was asked."""
    left, asked = list(answers), []

    def send(method: str, url: str, headers: dict[str, str], **options: Any) -> HttpAnswer | FetchFailure:
        asked.append((method, url, headers, options.get("body", b""), options["limits"].size))
        return left.pop(0)

    return ClusterConnection("lab", access, AccessToken(token), send), asked


LOST, UNSENT = FetchFailure("the connection was lost"), FetchFailure("connection refused", was_sent=False)
SILENT = FetchFailure("the server did not answer in time")
ABSENT = refused(404, "NoJobError", "no such job")
NOT = "the job was not submitted: "
UNKNOWN = "it is not known whether the job was submitted: "
LOOK = "; look for the job in the portal before you submit it again"
THERE, NOT_YET = ", but the cluster has the job", f", and the cluster does not have the job yet{LOOK}"


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([ABSENT, said(202)], ""),
        ([ABSENT, said(299)], ""),
        ([said(200)], "nothing was sent: a job named 'train' already exists; give the job another name"),
        ([refused(500), said(202)], ""),
        ([ABSENT, UNSENT], f"{NOT}connection refused"),
        ([ABSENT, LOST, ABSENT], f"{UNKNOWN}the connection was lost{NOT_YET}"),
        ([ABSENT, LOST, said(200)], f"the connection was lost{THERE}"),
        ([ABSENT, LOST, LOST], f"{UNKNOWN}the connection was lost{LOOK}"),
        ([ABSENT, SILENT, ABSENT], f"{UNKNOWN}the server did not answer in time{NOT_YET}"),
        ([ABSENT, SILENT, said(200)], f"the server did not answer in time{THERE}"),
        ([ABSENT, said(502, ""), ABSENT], f"{UNKNOWN}the server failed (502){NOT_YET}"),
        ([ABSENT, said(504, ""), ABSENT], f"{UNKNOWN}the server failed (504){NOT_YET}"),
        ([ABSENT, said(503, ""), ABSENT], f"{NOT}the server failed (503)"),
        ([ABSENT, said(504, ""), said(504, "")], f"{UNKNOWN}the server failed (504){LOOK}"),
        ([ABSENT, said(200, "<html>"), said(200)], f"the answer is not that of a rest-server{THERE}"),
        ([ABSENT, said(500, "paper-and-glue"), said(200)], f"the server failed (500): '***'{THERE}"),
        ([ABSENT, refused(499, "A", "paper-and-glue")], f"{NOT}the cluster refuses the job (499): ***"),
        ([ABSENT, refused(400, "A", "b" * 501)], f"{NOT}the cluster refuses the job (400): {'b' * 500}"),
        ([ABSENT, refused(400, "A")], f"{NOT}the cluster refuses the job (400)"),
        ([ABSENT, refused(400, "", "b")], f"{NOT}unexpected answer of the server (400): 'b'"),
        ([ABSENT, refused(409, "A", "b")], f"{NOT}a job named 'train' already exists; give the job another name"),
        ([ABSENT, refused(403, "A", "b")], f"{NOT}access is denied (403): 'b'"),
        ([ABSENT, refused(413, "A", "b")], f"{NOT}the server does not accept a request of this size (413): 'b'"),
        (
            [ABSENT, refused(401, "A", "b")],
            f"{NOT}the server requires a valid access token (401): 'b'; the token may have expired or be revoked",
        ),
        (
            [ABSENT, said(404, "<html>")],
            f"{NOT}no rest-server at '{LAB.url}' (404); check 'url' in your file of clusters",
        ),
        (
            [ABSENT, said(302, location="/login")],
            f"{NOT}a redirect to '/login' is not followed; if that is a login page, the request needs a token",
        ),
    ],
)
def test_what_became_of_the_job(answers: list[HttpAnswer | FetchFailure], outcome: str) -> None:
    job = Document(JOB).job
    connection, asked = answering_in_turn(*answers)
    submission = Submission(job, job, connection, "ann")
    try:
        kind, found = None, submission.send()
    except (NotSubmittedError, UnknownOutcomeError) as error:
        kind, found = type(error), str(error)
    assert found == outcome
    assert (kind is UnknownOutcomeError) == outcome.startswith("it is not known")
    token = {"Authorization": "Bearer t0ken"}
    there = ("GET", f"{API}/jobs/ann~train", {"Accept": "application/json", **token}, b"", 16 * 1024 * 1024)
    post = {"Accept": "application/json", "Content-Type": "text/yaml", **token}
    sent = ("POST", f"{API}/jobs", post, job.text.encode(), 16 * 1024 * 1024)
    assert asked == [there, sent, there][: len(answers)]


def test_what_is_sent_where() -> None:
    job = Document(
        JOB.replace("gpu: 1, cpu: 1", "gpu: 1").replace("name: train", "name: train-paper-and-glue")
        + "defaults: {virtualCluster: paper-and-glue}\n"
    ).job
    connection, _ = answering_in_turn(access=replace(LAB, portal="https://portal.example.com"))
    written = Document(JOB).job
    submission = Submission(written, job, connection, "ann b")
    assert list(submission.summary()) == [
        "job       train-***",
        f"cluster   lab ({LAB.url}) as 'ann b', virtual cluster ***",
        "role      worker: 2 tasks, each with gpu 1, cpu ?, memoryMB 1024",
        "secrets   1, sent with the job",
    ]
    assert submission.page == "https://portal.example.com/job-detail.html?username=ann%20b&jobName=train-paper-and-glue"
    bare = Submission(
        written, Document("type: job\n").job, answering_in_turn(access=replace(LAB, url="https://a"))[0], "a"
    )
    assert (bare.name, bare.page) == ("", None)
    assert list(bare.summary()) == ["job       ", "cluster   lab (https://a) as 'a', virtual cluster default"]


# The claims {"username": "ann"}, without padding.
JWT = "a.eyJ1c2VybmFtZSI6ICJhbm4ifQ.b"


@pytest.mark.parametrize(
    ("answer", "token", "user"),
    [
        (said(200, '{"username": "bob"}'), JWT, "bob"),
        (refused(404, "NoApiError"), JWT, "ann"),
        (refused(404, "NoApiError"), "t0ken", "the token does not say whose it is; get one from the portal"),
        (refused(404, "NoApiError"), f"{JWT}.c", "the token does not say whose it is; get one from the portal"),
        (refused(404, "NoApiError"), "a.ä.b", "the token does not say whose it is; get one from the portal"),
        (said(200, '{"username": 5}'), JWT, "the token does not say whose it is; get one from the portal"),
        (said(200, "5"), JWT, f"the answer of '{LAB.url}' is not that of a rest-server"),
        (said(201, "{}"), JWT, "unexpected answer of the server (201): '{}'"),
        (refused(500, "A", f"for {JWT}"), JWT, "the server failed (500): 'for ***'"),
        (LOST, JWT, "the connection was lost"),
    ],
)
def test_whose_token_it_is(answer: HttpAnswer | FetchFailure, token: str, user: str) -> None:
    try:
        found = answering_in_turn(answer, token=token)[0].user()
    except ClusterError as error:
        found = str(error)
    assert found == user


MEGABYTE = 1024 * 1024
OPEN = ClusterAccess("http://lab:9186", allow_http=True, portal="http://lab")


@pytest.mark.parametrize(
    ("access", "uri", "answer", "url", "found"),
    [
        (
            LAB,
            "/log/a?k=1",
            said(206, "ab", content_range="bytes 7-8/9"),
            "https://lab.example.com/log/a?k=1",
            (b"ab", 7),
        ),
        (LAB, "log", said(206, "ab"), "https://lab.example.com/log", (b"ab", None)),
        (LAB, "https://logs/a", said(200, "ab", content_range="bytes 7-8/9"), "https://logs/a", (b"ab", 0)),
        (LAB, "log", said(416, "x", content_range="bytes */9"), "https://lab.example.com/log", (b"", 9)),
        (LAB, "log", said(416, "x"), "https://lab.example.com/log", (b"", None)),
        (LAB, "log", said(403, "no"), "https://lab.example.com/log", ("access is denied (403): 'no'", 403)),
        (LAB, "log", LOST, "https://lab.example.com/log", ("the connection was lost", None)),
        (LAB, "http://logs/a", None, "", ("the log is at 'logs' over http, where others can read it", 403)),
        (LAB, "http://[", None, "", ("the address of the log that the cluster gave is not valid", 404)),
        (OPEN, "log", said(200, "ab"), "http://lab/log", (b"ab", 0)),
        (OPEN, "http://logs/a", None, "", ("the log is at 'logs' over http, where others can read it", 403)),
        (
            replace(LAB, url="https://lab:9186"),
            "/log",
            None,
            "",
            (
                "logs are below the portal, whose address is not known; add 'portal' to 'lab' in your file of clusters",
                404,
            ),
        ),
        (replace(LAB, url="https://lab:9186"), "https://logs/a", said(200, ""), "https://logs/a", (b"", 0)),
    ],
)
def test_a_part_of_a_log(
    access: ClusterAccess,
    uri: str,
    answer: HttpAnswer | FetchFailure | None,
    url: str,
    found: tuple[bytes | str, int | None],
) -> None:
    connection, asked = answering_in_turn(*([answer] if answer else []), access=access)
    try:
        piece: tuple[bytes | str, int | None] = connection.log_piece(uri, "5-")
    except ClusterError as error:
        piece = (str(error), error.status)
    assert piece == found
    assert asked == ([("GET", url, {"Range": "bytes=5-"}, b"", MEGABYTE)] if answer else [])


@pytest.mark.parametrize(
    ("status", "passes"), [(None, True), (401, False), (429, True), (430, False), (499, False), (500, True)]
)
def test_what_may_succeed_later(status: int | None, passes: bool) -> None:
    assert ClusterError("", status).is_passing is passes
