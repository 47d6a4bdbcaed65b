"""`check --images` and `image-check` with a registry on this machine."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Reaction, Request, alone, answering, marketplace, never

from pai_lsp.cli.main import main
from pai_lsp.cluster import registry_access
from pai_lsp.cluster.registry_access import NetworkRegistry
from pai_lsp.document import Document
from pai_lsp.project.image_answers import ImageAnswers, image_diagnostics

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "sha256:" + "0" * 63
CONFIGURATION = {"architecture": "amd64", "config": {"User": "app", "Entrypoint": ["/start", "--fast"]}}
INDEX = {
    "manifests": [
        {"digest": f"{DIGEST}1", "platform": {"os": "linux", "architecture": "arm64"}},
        {"digest": f"{DIGEST}2", "platform": {"os": "linux", "architecture": "amd64"}},
        {"digest": f"{DIGEST}3", "platform": {"os": "unknown", "architecture": "unknown"}},
    ]
}
MANIFEST = {"config": {"digest": f"{DIGEST}1"}}
ASKED = {"image-not-found", "image-not-asked", "image-architecture"}
BASIC = "Basic " + base64.b64encode(b"bob:gum").decode()


def registry(manifest: Any, configuration: Any = CONFIGURATION, *, moves: bool = False) -> Reaction:
    """A registry with the image team/image:v1, which wants a token, as the distribution registry does."""

    def react(request: Request) -> None:
        def answer(value: Any) -> None:
            request.send(200, json.dumps(value).encode(), Content_Type="application/json")

        here = f"http://{request.headers['host']}"
        path, account = request.path.partition("?")[0], request.headers.get("authorization", "")
        blob = path.removeprefix("/v2/team/image/blobs/")
        if path == "/token":
            if account == BASIC:
                answer({"access_token": "t"})
            else:
                request.send(401, b"")
        elif path == "/elsewhere":
            if account:
                request.send(400, b"two accounts")
            else:
                answer(configuration)
        elif account != "Bearer t":
            request.send(401, b"", Www_Authenticate=f'Bearer realm="{here}/token",service="registry"')
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
    host = url.removeprefix("http://")
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
    with marketplace(registry(INDEX, moves=moves)) as server:
        place.write_text(job(server.url), encoding="utf-8")
        assert main(["image-check", "--format", "json", "--role", "worker", str(place)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["presence"] == "there"
        assert found["configuration"] == {
            "architectures": ["arm64", "amd64"],
            "user": "app",
            "entrypoint": ["/start", "--fast"],
        }
        assert main(["image-check", str(place)]) == 0
        shown = capsys.readouterr().out
    assert shown.splitlines()[1:] == [
        "  for arm64, amd64",
        "  names the user 'app'",
        "  its entry point is not run: /start --fast",
    ]
    assert "gum" not in shown


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
    monkeypatch.setattr(registry_access, "SECONDS", 0.3)
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
    answers = ImageAnswers(NetworkRegistry(), place.parent / "answers", lambda: now[0])
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
        assert found.message.endswith("; 1 day ago, it was there")
        server.reaction = registry(None)
        (found,) = image_diagnostics(document, answers)
        assert found.code == "image-not-found"
    assert not any(b"gum" in file.read_bytes() for file in (place.parent / "answers").iterdir())
