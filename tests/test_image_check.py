"""The runtime's check of an image: what it asks, and what it makes of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pai_lsp.cluster.image_check import CouldNotAskError, NetworkRegistry, RegistryAccount, Reply, image_verdict
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.platform.platforms import platform_named
from pai_lsp.web.access_token import keeps_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

HUB = "https://index.docker.io/v2/"
TOKENS = "https://auth.example.com/token"
BEARER = {"Www-Authenticate": f'Bearer realm="{TOKENS}",service="registry",scope="pull"'}


def job(uri: str, auth: str = "", secrets: str = "") -> str:
    return f"""\
protocolVersion: 2
name: train
type: job
{secrets}
prerequisites:
  - {{name: image, type: dockerimage, uri: "{uri}"{auth}}}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{gpu: 0, cpu: 1, memoryMB: 512}}
    commands: [echo hi]
"""


def head(url: str, status: int, headers: dict[str, str] | None = None) -> dict[str, Any]:
    return {"method": "HEAD", "url": url, "status": status, "headers": headers or {}}


def token(body: dict[str, str], status: int = 200) -> dict[str, Any]:
    return {"method": "GET", "url": TOKENS, "status": status, "body": body}


def hub(status: int, repository: str = "team/image", tag: str = "v1") -> list[dict[str, Any]]:
    manifest = f"{HUB}{repository}/manifests/{tag}"
    return [head(HUB, 401), head(manifest, 401, BEARER), token({"access_token": "t"}), head(manifest, status)]


class RecordedRegistry:
    """Answers from a list of requests with what came back, each used once, in order."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self._answers = list(answers)

    def ask(
        self, method: str, url: str, authorization: str | None, parameters: Mapping[str, str], accept: str = "*/*"
    ) -> Reply:
        """The recorded answer; see `Registry`."""
        del authorization, parameters, accept
        for number, one in enumerate(self._answers):
            if (one.get("method"), one.get("url")) == (method, url):
                del self._answers[number]
                if "error" in one:
                    raise CouldNotAskError(str(one["error"]))
                return Reply(one["status"], one.get("headers", {}), one.get("body"))
        raise CouldNotAskError("no answer is recorded")


OWN = "https://r.example.com/v2/"
MANIFEST = f"{OWN}team/image/manifests/v1"
CASES = [
    # image, answers, refused, presence
    ("team/image:v1", [*hub(404), head(f"{HUB}team/image/manifests/v1", 200)], True, "there"),
    ("r.example.com/team/image:v1", [head(OWN, 200), head(MANIFEST, 404), head(MANIFEST, 200)], False, "there"),
    ("team/image:v1", hub(200), False, "there"),
    ("ubuntu", hub(200, "library/ubuntu", "latest"), False, "there"),
    ("team/image:v1", hub(401), True, "not there"),
    ("team/image:v1", hub(429), False, "could not ask"),
    ("team/Image:v1", [], True, "could not ask"),
    ("team/image@sha256:0", [], True, "could not ask"),
    ("r.example.com/team/image:v1", [], False, "could not ask"),
    ("r.example.com/team/image:v1", [head(OWN, 503)], False, "could not ask"),
    ("r.example.com/team/image:v1", [head(OWN, 200), head(MANIFEST, 404)], False, "not there"),
    ("r.example.com/team/image:v1", [head(OWN, 200), head(MANIFEST, 403)], False, "could not ask"),
    ("r.example.com/team/image:v1", [head(OWN, 200), head(MANIFEST, 401)], True, "could not ask"),
    ("r.example.com/team/image:v1", [head(OWN, 200), head(MANIFEST, 200), head(MANIFEST, 200)], False, "there"),
    (
        "r.example.com/team/image:v1",
        [head(OWN, 401), head(MANIFEST, 401, BEARER), token({"token": "only"})],
        False,
        "could not ask",
    ),
    (
        "r.example.com/team/image:v1",
        [head(OWN, 401), head(MANIFEST, 401, BEARER), token({}, 401)],
        True,
        "could not ask",
    ),
]


@pytest.mark.parametrize(("image", "answers", "is_refused", "presence"), CASES)
def test_verdicts(image: str, answers: list[dict[str, Any]], is_refused: bool, presence: str) -> None:
    found = image_verdict(Document(job(image)).job, "worker", RecordedRegistry(answers))
    assert (found.is_refused, found.presence.value) == (is_refused, presence)


class Listening(RecordedRegistry):
    """Keeps the accounts that it is sent."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        super().__init__(answers)
        self.accounts: list[str | None] = []

    def ask(self, method: str, url: str, authorization: str | None, parameters: Any, accept: str = "") -> Any:
        self.accounts.append(authorization)
        return super().ask(method, url, authorization, parameters, accept)


ACCOUNT = ', auth: {username: bob, password: "<% $secrets.word %>", registryuri: r.example.com}'


@pytest.mark.parametrize(
    ("auth", "secrets", "account"),
    [
        (ACCOUNT, "secrets: {word: p1}", "Basic Ym9iOnAx"),
        (ACCOUNT, "secrets: {word: p&1}", "Basic Ym9iOnAmYW1wOzE="),
        (ACCOUNT, "", None),
        (ACCOUNT.replace("word", "wrod"), "secrets: {word: p1}", None),
    ],
)
def test_the_account_is_used_only_with_secrets(auth: str, secrets: str, account: str | None) -> None:
    registry = Listening([head(OWN, 200), head(MANIFEST, 200), head(MANIFEST, 200)])
    image_verdict(Document(job("r.example.com/team/image:v1", auth, secrets)).job, "worker", registry)
    # The check asks twice without it; the last question is for the configuration.
    assert registry.accounts == [None, None, account, account]


def test_a_missing_image_at_a_registry_that_takes_the_account_itself_is_refused() -> None:
    answers = [head(OWN, 401), head(MANIFEST, 401, {"Www-Authenticate": 'Basic realm="r"'}), head(MANIFEST, 404)]
    text = job("r.example.com/team/image:v1", ACCOUNT, "secrets: {word: p1}")
    found = image_verdict(Document(text).job, "worker", RecordedRegistry(answers))
    assert (found.is_refused, found.presence.value) == (True, "not there")


def test_an_account_without_a_registry_ends_the_check() -> None:
    text = job("team/image:v1", ", auth: {username: bob, password: p}", "secrets: {a: b}")
    assert image_verdict(Document(text).job, "worker", RecordedRegistry([])).is_refused


def test_ltp_does_not_ask_its_own_registries() -> None:
    settings = Settings(platform=platform_named("ltp"))
    read = Document(job("x.azurecr.io/team/image:v1"), settings).job
    assert image_verdict(read, "worker", RecordedRegistry([])).explanation.startswith("LTP does not ask")
    upper = Document(job("x.azurecr.io/Team/image:v1"), settings).job
    assert image_verdict(upper, "worker", RecordedRegistry([])).is_refused


def test_only_safe_addresses_are_asked() -> None:
    assert keeps_secrets("https://r.example.com/v2/")
    assert keeps_secrets("http://127.0.0.1:5000/v2/")
    assert not keeps_secrets("http://r.example.com/v2/")
    assert not keeps_secrets("ftp://r.example.com")
    text = job(
        "r.example.com/team/image:v1", ACCOUNT.replace("r.example.com", "http://r.example.com"), "secrets: {word: p}"
    )
    found = image_verdict(Document(text).job, "worker", NetworkRegistry())
    assert found.explanation == "the registry could not be asked: only https is used, except on this machine"


def test_a_registry_that_the_platform_does_not_ask() -> None:
    registry = "https://team.azurecr.io/v2/image/manifests/v1"
    service = "https://team.azurecr.io/oauth2/token"
    challenge = {
        "Www-Authenticate": f'Bearer realm="{service}",service="team.azurecr.io",scope="repository:image:pull"'
    }
    login = [
        head(registry, 401, challenge),
        {"method": "POST", "url": service, "status": 200, "body": {"access_token": "t"}},
    ]
    settings = Settings(platform=platform_named("ltp"))
    document = Document(job("team.azurecr.io/image:v1"), settings=settings)
    for status, presence in ((200, "there"), (404, "not there"), (403, "could not ask"), (500, "could not ask")):
        found = image_verdict(
            document.job,
            "worker",
            RecordedRegistry([*login, head(registry, status)]),
            {"team.azurecr.io": RegistryAccount("", "", "long")}.get,
        )
        assert (found.is_refused, found.presence.value) == (False, presence)
