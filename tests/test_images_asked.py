"""`check --images` with a registry on this machine."""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest
import trustme
from budgets import some
from loopback import FAULTS, Marketplace, Reaction, Request, alone, answering, limits_for, marketplace, never

from pai_lsp.cli.main import main
from pai_lsp.cluster import image_check
from pai_lsp.cluster.image_check import (
    CouldNotAskError,
    ImageConfiguration,
    ImageVerdict,
    Presence,
    RegistryAccount,
    ask_registry,
    docker_account,
)
from pai_lsp.document import Document
from pai_lsp.project import image_answers
from pai_lsp.project.image_answers import ImageAnswers, image_diagnostics
from pai_lsp.source.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIGEST = "sha256:" + "0" * 63
CONFIGURATION = {"architecture": "amd64", "config": {"User": "root:0", "Entrypoint": ["/start", "--fast"]}}
INDEX = {
    "manifests": [
        {"digest": f"{DIGEST}1", "platform": {"os": "linux", "architecture": "arm64"}},
        {"digest": f"{DIGEST}2", "platform": {"os": "linux", "architecture": "amd64"}},
        {"digest": f"{DIGEST}3", "platform": {"os": "unknown", "architecture": "unknown"}},
    ]
}
MANIFEST = {"config": {"digest": f"{DIGEST}1"}}
ASKED = {"image-not-found", "image-not-asked", "image-architecture", "image-user"}
BASIC = "Basic " + base64.b64encode(b"bob:gum").decode()
OWN = "Basic " + base64.b64encode(b"ann:glue").decode()


def registry(
    manifest: Any, configuration: Any = CONFIGURATION, *, moves: bool = False, account_of: str = BASIC
) -> Reaction:
    """A registry with the image team/image:v1, which wants a token, as the distribution registry does."""

    def react(request: Request) -> None:
        def answer(value: Any) -> None:
            request.send(200, json.dumps(value).encode(), Content_Type="application/json")

        here = request.server.url
        path, account = request.path.partition("?")[0], request.headers.get("authorization", "")
        blob = path.removeprefix("/v2/team/image/blobs/")
        if path == "/token" and request.method == "POST":
            form = dict(parse_qsl(request.body.decode()))
            is_known = (form["grant_type"], form["refresh_token"]) == ("refresh_token", "long-token")
            answer({"access_token": "t"}) if is_known else request.send(401, b"")
        elif path == "/token":
            if account == account_of:
                answer({"access_token": "t"})
            else:
                request.send(401, b"")
        elif path == "/elsewhere":
            if account:
                request.send(400, b"two accounts")
            else:
                answer(configuration)
        elif account != "Bearer t":
            challenge = f'Bearer realm="{here}/token",service="registry",scope="repository:team/image:pull"'
            request.send(401, b"", Www_Authenticate=challenge)
        elif path == "/v2/team/image/manifests/v1" and manifest is not None:
            answer(manifest)
        elif path.startswith("/v2/team/image/manifests/sha256:"):
            answer({"config": {"digest": f"{DIGEST}{path[-1]}"}})
        elif blob != path and moves:
            request.send(307, b"", Location=f"{here}/elsewhere")
        elif blob != path:
            answer(configuration)
        else:
            request.send(404, b"{}")

    return react


def job(url: str, image: str = "team/image:v1") -> str:
    host = url.partition("//")[2]
    return f"""\
protocolVersion: 2
name: train
type: job
secrets: {{word: gum}}
prerequisites:
  - name: image
    type: dockerimage
    uri: "{host}/{image}"
    auth: {{username: bob, password: <% $secrets.word %>, registryuri: "{url}"}}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{gpu: 0, cpu: 1, memoryMB: 512}}
    commands: [echo hi]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    alone(monkeypatch, str(tmp_path / "cache"))
    return tmp_path / "train.pai.yaml"


@pytest.mark.parametrize("moves", [False, True])
def test_the_configuration_of_an_image(place: Path, capsys: pytest.CaptureFixture[str], moves: bool) -> None:
    with marketplace(registry(INDEX, {"config": {"User": "app"}}, moves=moves)) as server:
        place.write_text(job(server.url), encoding="utf-8")
        found = explanation(place, capsys)
    assert found == "image-user: the user of the image is 'app', so tasks fail; add 'USER root' to its Dockerfile"


@pytest.mark.parametrize(
    ("reaction", "image", "code", "status"),
    [
        (registry(INDEX), "team/image:v1", None, 0),
        (registry(INDEX), "team/image:v2", "image-not-found", 1),
        (registry(INDEX), "Team/image:v1", "image-not-found", 1),
        (
            registry({"config": {"digest": f"{DIGEST}1"}}, {"architecture": "arm64"}),
            "team/image:v1",
            "image-architecture",
            1,
        ),
        (registry({"schemaVersion": 1}), "team/image:v1", None, 0),
        (registry({"manifests": []}), "team/image:v1", None, 0),
        (answering(503), "team/image:v1", "image-not-asked", 0),
        (never, "team/image:v1", "image-not-asked", 0),
    ],
)
def test_findings(
    reaction: Reaction,
    image: str,
    code: str | None,
    status: int,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(image_check, "LIMITS", limits_for(reaction))
    with marketplace(reaction) as server:
        place.write_text(job(server.url, image), encoding="utf-8")
        assert main(["check", "--images", "--format", "json", str(place)]) == status
    text = capsys.readouterr().out
    codes = [one["code"] for one in json.loads(text)["diagnostics"] if one["code"] in ASKED]
    assert codes == ([code] if code else [])
    assert "gum" not in text


def test_nothing_is_asked_without_the_option(place: Path) -> None:
    with marketplace(registry(INDEX)) as server:
        place.write_text(job(server.url), encoding="utf-8")
        assert main(["check", str(place)]) == 0
        assert server.requests == []


@pytest.mark.slow
def test_an_answer_is_kept_for_a_day(place: Path) -> None:
    now = [1000.0]
    answers = ImageAnswers(ask_registry, place.parent / "answers", lambda: now[0])
    with marketplace(registry(INDEX)) as server:
        document = Document(job(server.url))
        assert image_diagnostics(document, answers) == ()
        asked = len(server.requests)
        assert image_diagnostics(document, answers) == ()
        assert len(server.requests) == asked
        now[0] += 90_000.0
        assert image_diagnostics(document, answers) == ()
        assert len(server.requests) == 2 * asked
        server.reaction = answering(503)
        now[0] += 90_000.0
        (found,) = image_diagnostics(document, answers)
        assert found.code == "image-not-asked"
        assert found.message.endswith("; 1 day ago, the answer was 'there'")
        server.reaction = registry(None)
        (found,) = image_diagnostics(document, answers)
        assert found.code == "image-not-found"
    assert not any(b"gum" in file.read_bytes() for file in (place.parent / "answers").iterdir())


def test_what_is_kept_of_an_answer(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: list[ImageVerdict] = []
    now = [1000.0]
    monkeypatch.setattr(image_answers, "image_verdict", lambda *_: verdicts.pop())
    folder = place.parent / "answers"
    answers, known = ImageAnswers(ask_registry, folder, lambda: now[0]), Document(job("http://a.example")).job
    there = ImageVerdict("a", False, Presence.THERE, "yes", ImageConfiguration(("amd64", "arm64"), "app"))
    for first in (there, replace(there, configuration=None)):
        now[0] += 200_000.0
        verdicts.append(first)
        assert answers.verdict(known, "worker") == first
        for later in (0.0, 86_399.0):
            now[0] += later
            assert answers.verdict(known, "worker") == first
            now[0] -= later
        for later in (86_400.0, -1.0):
            now[0] += later
            verdicts.append(first)
            assert answers.verdict(known, "worker") == first
            assert verdicts == [], "it is asked again"
    unknown = replace(there, presence=Presence.UNKNOWN, explanation="no answer")
    (file,) = folder.iterdir()
    for presence in (Presence.ABSENT, Presence.THERE):
        now[0] += 86_400.0
        verdicts += [unknown, replace(there, presence=presence)]
        assert answers.verdict(known, "worker").presence is presence
        now[0] += 90_000.0
        kept = answers.verdict(known, "worker").explanation
        assert kept == f"no answer; 1 day ago, the answer was '{presence.value}'"
        for refused in (unknown, replace(unknown, is_refused=True)):
            written = file.read_bytes()
            verdicts.append(refused)
            is_damaged = not refused.is_refused
            file.write_bytes(written.replace(b'{"2"', b'{"1"') if is_damaged else written)
            assert answers.verdict(known, "worker") == refused
            file.write_bytes(written)
    if os.name != "nt":
        assert [oct(path.stat().st_mode)[-3:] for path in (folder, file)] == ["700", "600"]
    verdicts += [there, unknown]
    file.write_bytes(b"[")
    assert answers.verdict(known, "worker") == unknown
    assert answers.verdict(known, "worker") == there


@contextmanager
def secure(reaction: Reaction, monkeypatch: pytest.MonkeyPatch, place: Path) -> Iterator[Marketplace]:
    """A registry over TLS, whose certificate is trusted."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(place.parent / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(place.parent / "ca.pem"))
    with marketplace(reaction, context) as server:
        yield server


def without_account(url: str) -> str:
    return re.sub("    auth: .*\n", "", job(url))


def docker(place: Path, **keys: Any) -> None:
    """Write docker's configuration of the user."""
    folder = place.parent / "cache" / ".docker"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(keys), encoding="utf-8")


def helper(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a credential helper."""
    (folder / "programs").mkdir(exist_ok=True)
    program = folder / "programs" / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "programs"), prepend=os.pathsep)


def explanation(place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The code and the message of the finding about the image."""
    main(["check", "--images", "--format", "json", str(place)])
    shown = "".join(capsys.readouterr())
    assert not [word for word in ("gum", "glue", "long-token", OWN.split()[1]) if word in shown]
    (found,) = (one for one in json.loads(shown)["diagnostics"] if one["code"] in ASKED)
    return f"{found['code']}: {found['message']}"


YOURS = "image-not-found: your own account can read the image, but the job "


def test_the_account_in_the_configuration_of_docker(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with secure(registry(INDEX, account_of=OWN), monkeypatch, place) as server:
        host = server.url.removeprefix("https://")
        place.write_text(without_account(server.url), encoding="utf-8")
        refused = explanation(place, capsys)
        assert "your own account" not in refused
        docker(place, auths={f"https://{host}/v1/": {"auth": OWN.split()[1]}})
        assert explanation(place, capsys) == f"{YOURS}has no account; add 'auth' to the image"
        place.write_text(job(server.url), encoding="utf-8")
        assert explanation(place, capsys) == f"{YOURS}has an account that may not read it"
        docker(place, auths={host: {"username": "ann", "password": "wrong"}})
        assert explanation(place, capsys).endswith(
            "; your own account could not be used: the registry does not accept it"
        )
        docker(place, auths={host: {"auth": "", "identitytoken": "long-token"}})
        assert explanation(place, capsys) == f"{YOURS}has an account that may not read it"
        server.reaction = registry(None, account_of=OWN)
        assert (
            explanation(place, capsys)
            == "image-not-found: the registry does not have the image; your own account was asked as well"
        )
        docker(place, auths={"other.example.com": {"auth": OWN.split()[1]}})
        server.requests.clear()
        explanation(place, capsys)
        assert not [one for one in server.requests if one.headers.get("authorization") == OWN]


def test_a_credential_helper_that_docker_is_configured_with(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with secure(registry(INDEX, account_of=OWN), monkeypatch, place) as server:
        host = server.url.removeprefix("https://")
        place.write_text(without_account(server.url), encoding="utf-8")
        docker(place, credsStore="keys", credHelpers={host: "own", "other.example.com": "never"})
        assert "'docker-credential-own' is not installed" in explanation(place, capsys)
        answers = {
            f'read host; [ "$host" = {host} ] && echo \'{{"Username": "ann", "Secret": "glue"}}\'': YOURS,
            'echo \'{"Username": "<token>", "Secret": "long-token"}\'': YOURS,
            "echo credentials not found in native keychain; exit 1": "image-not-found: ",
            "echo glue; exit 1": "'docker-credential-own' failed with status 1",
            "echo glue": "the answer of the credential helper 'docker-credential-own' is not understood",
        }
        helper(place.parent, "keys", "echo credentials not found in native keychain; exit 1", monkeypatch)
        for script, part in answers.items():
            helper(place.parent, "own", script, monkeypatch)
            assert part in explanation(place, capsys)


def test_accounts_of_docker_hub_and_broken_configurations(place: Path) -> None:
    environment = {"HOME": str(place.parent / "cache")}
    assert docker_account("index.docker.io", environment) is None
    docker(place, auths={"https://index.docker.io/v1/": {"auth": OWN.split()[1]}})
    assert docker_account("index.docker.io", environment) == RegistryAccount("ann", "glue")
    assert docker_account("index.docker.io.example.com", environment) is None
    assert "glue" not in repr(docker_account("index.docker.io", environment))
    for entry in ({"auth": "!"}, {"auth": base64.b64encode(b"ann:").decode()}, {"username": "ann"}, {}, 5):
        docker(place, auths={"r.example.com": entry})
        assert docker_account("r.example.com", environment) is None
    for keys in ({"credsStore": "../../evil"}, {"credHelpers": {"r.example.com": "a b"}}):
        docker(place, **keys)
        with pytest.raises(CouldNotAskError, match="is not installed"):
            docker_account("r.example.com", environment)
    (place.parent / "cache" / ".docker" / "config.json").write_text("[", encoding="utf-8")
    with pytest.raises(CouldNotAskError, match="not a JSON object"):
        docker_account("r.example.com", environment)


def test_accounts_of_podman_come_after_those_of_docker(tmp_path: Path) -> None:
    def account(name: str) -> dict[str, str]:
        return {"auth": base64.b64encode(f"{name}:glue".encode()).decode()}

    def write(path: str, auths: dict[str, Any]) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(json.dumps({"auths": auths}), encoding="utf-8")

    environment = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    write(".config/containers/auth.json", {"r.example.com": account("kept")})
    assert docker_account("r.example.com", environment) == RegistryAccount("kept", "glue")
    write("run/containers/auth.json", {"r.example.com/part": account("part"), "r.example.com": account("session")})
    assert docker_account("r.example.com", environment) == RegistryAccount("session", "glue")
    write("run/containers/auth.json", {"r.example.com/part": account("part")})
    assert docker_account("r.example.com", environment) == RegistryAccount("part", "glue")
    write(".docker/config.json", {"other.example.com": account("other")})
    assert docker_account("r.example.com", environment) == RegistryAccount("part", "glue")
    write(".docker/config.json", {"r.example.com": account("docker")})
    assert docker_account("r.example.com", environment) == RegistryAccount("docker", "glue")
    write("settings/containers/auth.json", {"r.example.com": account("moved")})
    elsewhere = {"HOME": str(tmp_path / "no"), "XDG_CONFIG_HOME": str(tmp_path / "settings")}
    assert docker_account("r.example.com", elsewhere) == RegistryAccount("moved", "glue")


@pytest.mark.parametrize("fault", some(FAULTS, 1))
def test_no_fault_of_the_network_is_an_image_that_is_not_there(
    fault: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with marketplace(FAULTS[fault]) as server:
        place.write_text(job(server.url), encoding="utf-8")
        assert main(["check", "--images", str(place)]) == 0
    shown = "".join(capsys.readouterr())
    assert "image-not-found" not in shown
    assert "bug" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("fault", ["cut", "403", "418", "429", "500", "a web page", "another port", "in a cycle"])
def test_a_registry_that_could_not_be_asked(fault: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with marketplace(FAULTS[fault]) as server:
        place.write_text(job(server.url), encoding="utf-8")
        assert explanation(place, capsys).startswith("image-not-asked: ")
        assert main(["check", "--images", str(place)]) == 0  # not hidden, although it is below the threshold
        assert "information[image-not-asked]" in capsys.readouterr().out
