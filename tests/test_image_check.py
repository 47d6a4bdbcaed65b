"""The runtime's check of an image: what it asks, and what it makes of the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pai_lsp.cluster.image_check import (
    CouldNotAskError,
    RegistryAccount,
    ask_registry,
    asked_registry,
    image_verdict,
)
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.platform.platforms import platform_named
from pai_lsp.web.access_token import keeps_secrets
from pai_lsp.web.fetching import HttpAnswer

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
    """Answers from a list of requests with what came back, each used once, in order; `asked` has what was sent."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[object, ...]] = []

    def __call__(self, method: str, url: str, *more: object, accept: str = "") -> HttpAnswer:
        """The recorded answer; see `ask_registry`."""
        self.asked.append((method, url, *more, "named" if "oci" in accept and "manifest" in accept else accept))
        for number, one in enumerate(self._answers):
            if (one.get("method"), one.get("url")) == (method, url):
                del self._answers[number]
                if "error" in one:
                    raise CouldNotAskError(str(one["error"]))
                headers = {name.lower(): value for name, value in one.get("headers", {}).items()}
                return HttpAnswer(one["status"], headers, json.dumps(one.get("body")).encode())
        raise CouldNotAskError("no answer is recorded")


OWN = "https://r.example.com/v2/"
OF_OWN = "r.example.com/team/image:v1"
MANIFEST = f"{OWN}team/image/manifests/v1"
HTML = {"Content-Type": "text/html; charset=utf-8"}


def challenge(text: str) -> dict[str, str]:
    return {"Www-Authenticate": text}


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
    (OF_OWN, [head(OWN, 399), head(MANIFEST, 399), head(MANIFEST, 299)], False, "there"),
    (OF_OWN, [head(OWN, 400)], False, "could not ask"),
    (OF_OWN, [head(OWN, 200), head(MANIFEST, 400)], False, "could not ask"),
    (OF_OWN, [head(OWN, 200), head(MANIFEST, 200), head(MANIFEST, 300)], False, "could not ask"),
    (OF_OWN, [head(OWN, 200), head(MANIFEST, 200), head(MANIFEST, 200, HTML)], False, "could not ask"),
    (OF_OWN, [head(OWN, 200), head(MANIFEST, 404), head(MANIFEST, 200, HTML)], False, "not there"),
    (OF_OWN, [head(OWN, 401), head(MANIFEST, 401, challenge("Bearer x"))], False, "could not ask"),
    (OF_OWN, [head(OWN, 401), head(MANIFEST, 401, challenge("Bearer x=y")), head(MANIFEST, 401)], True, "not there"),
    (OF_OWN, [head(OWN, 401), head(MANIFEST, 401, challenge("Digest x")), head(MANIFEST, 200)], False, "there"),
    (OF_OWN, [head(OWN, 401), head(MANIFEST, 401, BEARER), token({"access_token": "t"}, 399)], False, "could not ask"),
    (OF_OWN, [head(OWN, 401), head(MANIFEST, 401, BEARER), token({"access_token": "t"}, 400)], False, "could not ask"),
]


EXPLANATIONS = [
    (
        "the registry has the image in OCI format only, which the platform's check does not ask "
        "for; build it with oci-mediatypes=false"
    ),
    "the registry has the image",
    "the registry has the image",
    "the registry has the image",
    "the registry does not have the image, or requires an account for it, and the job has none",
    "the registry answers 429; the platform's check accepts the image",
    "the platform does not accept the name 'team/Image:v1'; use lower case and no digest",
    "the platform does not accept the name 'team/image@sha256:0'; use lower case and no digest",
    "the registry could not be asked: no answer is recorded",
    "the registry answers 503 and is not checked",
    "the registry does not have the image; the platform's check accepts it, and the job would wait forever",
    "the registry answers 403; the platform's check accepts the image",
    "the registry requires a login, but does not describe how",
    "the registry has the image",
    "the token service's answer is not understood; the platform's check accepts the image",
    "the registry requires an account, and the job has none; add 'auth' to the image",
    "the registry has the image",
    "the registry answers 400 and is not checked",
    "the registry answers 400; the platform's check accepts the image",
    "the registry answers 300; the platform's check accepts the image",
    "the registry answers with a page; the platform's check accepts the image",
    "the registry does not have the image; the platform's check accepts it, and the job would wait forever",
    "the registry's challenge is not understood; the platform's check accepts the image",
    "the registry does not have the image, or requires an account for it, and the job has none",
    "the registry has the image",
    "the registry could not be asked: no answer is recorded",
    "the token service's answer is not understood; the platform's check accepts the image",
]


@pytest.mark.parametrize(
    ("case", "explanation"),
    list(zip(CASES, EXPLANATIONS, strict=True)),
    ids=[f"{one[0]} {len(one[1])}" for one in CASES],
)
def test_verdicts(case: tuple[str, list[dict[str, Any]], bool, str], explanation: str) -> None:
    image, answers, is_refused, presence = case
    found = image_verdict(Document(job(image)).job, "worker", RecordedRegistry(answers))
    assert (found.is_refused, found.presence.value, found.explanation) == (is_refused, presence, explanation)


REFUSES = [head(OWN, 401), head(MANIFEST, 401, BEARER), token({}, 401)]
BASIC = {"Www-Authenticate": 'Basic realm="r"'}
WHY = "the registry requires an account, and the job has none; add 'auth' to the image"
NOT_USED = f"{WHY}; your own account could not be used: "
CAN_READ = "your own account can read the image, but the job has no account; add 'auth' to the image"
ASKED = "the registry does not have the image; your own account was asked as well"
ACCEPTS = "; the platform's check accepts the image"
DIGEST = f"sha256:{'e' * 32}"
BLOB = f"blobs/{DIGEST}"


@pytest.mark.parametrize(
    ("account", "answers", "presence", "explanation"),
    [
        ("name", [head(MANIFEST, 404)], "not there", ASKED),
        ("name", [head(MANIFEST, 200)], "could not ask", CAN_READ),
        ("name", [head(MANIFEST, 403)], "could not ask", f"{WHY}; your own account may not read it either"),
        ("name", [head(MANIFEST, 500)], "could not ask", f"{NOT_USED}the registry answers 500{ACCEPTS}"),
        (
            "name",
            [head(MANIFEST, 200, {"Content-Type": "text/html"})],
            "could not ask",
            f"{NOT_USED}the registry answers with a page{ACCEPTS}",
        ),
        ("name", [head(MANIFEST, 401, BASIC), head(MANIFEST, 200)], "could not ask", CAN_READ),
        (
            "token",
            [head(MANIFEST, 401, BASIC)],
            "could not ask",
            f"{NOT_USED}the registry does not describe how to log in",
        ),
        ("name", [head(MANIFEST, 401)], "could not ask", f"{NOT_USED}the registry does not describe how to log in"),
        (
            "name",
            [head(MANIFEST, 401, {"Www-Authenticate": "Bearer x"})],
            "could not ask",
            f"{NOT_USED}the registry does not describe how to log in",
        ),
        (
            "name",
            [head(MANIFEST, 401, BEARER), token({}, 400)],
            "could not ask",
            f"{NOT_USED}the registry does not accept it",
        ),
        (
            "name",
            [head(MANIFEST, 401, BEARER), token({})],
            "could not ask",
            f"{NOT_USED}the token service's answer is not understood",
        ),
        (
            "name",
            [head(MANIFEST, 401, BEARER), token({"token": "t"}, 500)],
            "could not ask",
            f"{NOT_USED}the token service's answer is not understood",
        ),
        (
            "name",
            [head(MANIFEST, 401, BEARER), token({"token": "t"}), head(MANIFEST, 401)],
            "could not ask",
            f"{WHY}; your own account may not read it either",
        ),
        ("name", [], "could not ask", f"{NOT_USED}no answer is recorded"),
        ("none", [], "could not ask", WHY),
    ],
)
def test_what_your_own_account_says(
    account: str, answers: list[dict[str, Any]], presence: str, explanation: str
) -> None:
    known = {"name": RegistryAccount("ann", "glue"), "token": RegistryAccount("", "", "long-token")}
    registry = RecordedRegistry([*REFUSES, *answers])
    found = image_verdict(
        Document(job("r.example.com/team/image:v1")).job, "worker", registry, lambda _: known.get(account)
    )
    assert (found.is_refused, found.presence.value, found.explanation) == (True, presence, explanation)


MANIFESTS = {"manifests": [
    {"platform": {"os": "linux", "architecture": "arm64"}, "digest": f"sha256:{'a' * 32}"},
    {"platform": {"os": "windows", "architecture": "amd64"}, "digest": f"sha256:{'b' * 32}"},
    {"platform": {"os": "linux", "architecture": "amd64"}, "digest": f"sha256:{'c' * 32}"},
    {"platform": {"os": "linux", "architecture": "amd64"}, "digest": f"sha256:{'d' * 32}"},
]}  # fmt: skip


def get(place: str, body: object, status: int = 200, **headers: str) -> dict[str, Any]:
    return {"method": "GET", "url": f"{OWN}team/image/{place}", "status": status, "body": body, "headers": headers}


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (
            [
                get("manifests/v1", {"config": {"digest": DIGEST}}),
                get(BLOB, {"architecture": "amd64", "config": {"User": "ann"}}),
            ],
            (("amd64",), "ann"),
        ),
        (
            [
                get("manifests/v1", MANIFESTS),
                get(f"manifests/sha256:{'c' * 32}", {"config": {"digest": DIGEST}}),
                get(BLOB, {}),
            ],
            (("arm64", "amd64"), ""),
        ),
        (
            [
                get("manifests/v1", {"manifests": MANIFESTS["manifests"][:1]}),
                get(f"manifests/sha256:{'a' * 32}", {"config": {"digest": DIGEST}}),
                get(BLOB, None, 307, Location=f"{OWN}team/image/x"),
                get("x", {}),
            ],
            (("arm64",), ""),
        ),
        ([get("manifests/v1", {"manifests": []})], None),
        ([get("manifests/v1", {"config": {"digest": "sha256:e"}})], None),
        ([get("manifests/v1", {"config": {"digest": DIGEST}}), get(BLOB, {}, 404)], None),
        ([get("manifests/v1", [])], None),
    ],
)
def test_how_an_image_runs(answers: list[dict[str, Any]], found: tuple[tuple[str, ...], str] | None) -> None:
    registry = RecordedRegistry([head(OWN, 200), head(MANIFEST, 200), head(MANIFEST, 200), *answers])
    verdict = image_verdict(Document(job("r.example.com/team/image:v1")).job, "worker", registry)
    assert (verdict.presence.value, verdict.explanation) == ("there", "the registry has the image")
    read = verdict.configuration
    assert (None if read is None else (read.architectures, read.user)) == found


class Listening(RecordedRegistry):
    """Keeps the accounts that it is sent."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        super().__init__(answers)
        self.accounts: list[str | None] = []

    def __call__(self, method: str, url: str, *more: Any, accept: str = "") -> HttpAnswer:
        self.accounts.append(more[0] if more else None)
        return super().__call__(method, url, *more, accept=accept)


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


@pytest.mark.parametrize(
    ("old", "new", "explanation"),
    [
        (
            "dockerImage: image",
            "dockerImage: other",
            "0 prerequisites are named 'other'; the image check needs exactly one",
        ),
        (
            "taskRoles:",
            "  - {name: image, type: script}\ntaskRoles:",
            "2 prerequisites are named 'image'; the image check needs exactly one",
        ),
        ("dockerImage: image", "shell: image", "the image check fails on the job"),
        ('"r.example.com/team/image:v1"', "5", "the image check fails on the job"),
        ("username: bob, ", "", "the registry could not be asked: no answer is recorded"),
        (", registryuri: r.example.com", "", "'auth' has no 'registryuri', and the image check fails without it"),
    ],
)
def test_what_the_check_reads_of_the_job(old: str, new: str, explanation: str) -> None:
    text = job(OF_OWN, ACCOUNT, "secrets: {word: p1}")
    assert old in text
    changed = Document(text.replace(old, new)).job
    assert image_verdict(changed, "worker", RecordedRegistry([])).explanation == explanation
    assert asked_registry(changed, "worker") == ("r.example.com" if "could not be asked" in explanation else None)


@pytest.mark.parametrize(
    ("registry", "asked"),
    [
        ("r.example.com/v1/", OWN),
        (" http://r.example.com/v2", "http://r.example.com/v2/"),
        ("https://r.example.com/a/", "https://r.example.com/a/v2/"),
    ],
)
def test_the_address_that_the_account_names(registry: str, asked: str) -> None:
    text = job(OF_OWN, ACCOUNT.replace("r.example.com", registry), "secrets: {word: p1}")
    sent = RecordedRegistry([])
    image_verdict(Document(text).job, "worker", sent)
    assert sent.asked == [("HEAD", asked, "")]


def test_the_account_of_another_registry_is_not_used_at_docker_hub() -> None:
    sent = RecordedRegistry([head(HUB, 200), head(f"{HUB}team/image/manifests/v1", 200)])
    image_verdict(Document(job("team/image:v1", ACCOUNT, "secrets: {word: p1}")).job, "worker", sent)
    assert sent.asked[2] == ("HEAD", f"{HUB}team/image/manifests/v1", None, "")


SENT = {"service": "registry", "scope": "pull"}
GRANT = {**SENT, "grant_type": "refresh_token", "client_id": "pai-lsp", "refresh_token": "long-token"}


@pytest.mark.parametrize(
    ("account", "answers", "asked"),
    [
        ("name", [head(MANIFEST, 401, BASIC), head(MANIFEST, 200)], ["Basic YW5uOmdsdWU="]),
        (
            "name",
            [head(MANIFEST, 401, BEARER), token({"token": "t"}), head(MANIFEST, 200)],
            [("GET", TOKENS, "Basic YW5uOmdsdWU=", SENT), "Bearer t"],
        ),
        (
            "token",
            [
                head(MANIFEST, 401, BEARER),
                {**token({"access_token": "a", "token": "t"}), "method": "POST"},
                head(MANIFEST, 200),
            ],
            [("POST", TOKENS, None, GRANT), "Bearer a"],
        ),
    ],
)
def test_what_is_sent_with_your_own_account(
    account: str, answers: list[dict[str, Any]], asked: list[str | tuple[object, ...]]
) -> None:
    known = {"name": RegistryAccount("ann", "glue"), "token": RegistryAccount("", "", "long-token")}
    registry = RecordedRegistry([*REFUSES, *answers])
    image_verdict(Document(job(OF_OWN)).job, "worker", registry, lambda _: known[account])
    own = [(*one, "") if isinstance(one, tuple) else ("HEAD", MANIFEST, one, "named") for one in asked]
    assert registry.asked == [
        ("HEAD", OWN, ""),
        ("HEAD", MANIFEST, ""),
        ("GET", TOKENS, None, SENT, ""),
        ("HEAD", MANIFEST, "named"),
        *own,
    ]


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
    found = image_verdict(Document(text).job, "worker", ask_registry)
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
