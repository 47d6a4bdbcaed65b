"""A marketplace server as a source: good and bad answers, each with the state and the words it gives."""

from __future__ import annotations

import gzip
import json
import os
import ssl
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from budgets import some
from loopback import (
    PROTOCOL,
    Marketplace,
    Reaction,
    Request,
    alone,
    answering,
    dripping,
    endless,
    half,
    item,
    items,
    limits_for,
    marketplace,
    never,
)

from pai_lsp.catalog import definition_text, remote_sources
from pai_lsp.catalog.loading import load_catalog, refreshed_catalog
from pai_lsp.catalog.remote_sources import NoItemsError, read_items
from pai_lsp.catalog.setup import CatalogSetup, ServerSource, SourceState
from pai_lsp.catalog.store import Surroundings
from pai_lsp.job.lookup import LookupState
from pai_lsp.web import fetching
from pai_lsp.web.fetching import FetchFailure, Limits, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.catalog.catalog import Catalog

TOKEN = "s3cr3t-t0ken"  # noqa: S105 - a made-up token
SMALL = Limits(size=20_000)
MNIST = "marketplace://name/mnist"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.setenv("PAI_TOKEN", TOKEN)


@pytest.fixture(scope="module")
def running() -> Iterator[Marketplace]:
    with marketplace(never) as found:
        yield found


@pytest.fixture
def server(running: Marketplace) -> Marketplace:
    running.reaction = items(item(1, "mnist"), item(2, "cifar"))
    running.requests.clear()
    return running


def setup(server: Marketplace | str, **more: object) -> CatalogSetup:
    url = server if isinstance(server, str) else server.url
    return CatalogSetup(sources=(ServerSource(url, **more),))  # type: ignore[arg-type]  # a test's shorthand


def refreshed(setup: CatalogSetup, limits: Limits = SMALL, *, is_trusted: bool = True) -> Catalog:
    surroundings = Surroundings(limits=limits, is_trusted=is_trusted)
    return refreshed_catalog(load_catalog(setup, surroundings), surroundings)


def known(setup: CatalogSetup) -> Catalog:
    return load_catalog(setup, Surroundings())


def everything_kept() -> str:
    folder = Path(os.environ["XDG_CACHE_HOME"])
    return "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file())


def test_prerequisites_are_found_in_all_three_ways(server: Marketplace) -> None:
    catalog = refreshed(setup(server))
    first = item(1, "mnist")["id"]
    for reference in (MNIST, "marketplace://data/mnist", f"marketplace://prerequisites/itemId/{first}"):
        answer = catalog.find(reference)
        assert answer.state is LookupState.FOUND, reference
        assert [one.name for one in answer.definitions] == ["mnist"]
        assert answer.path == f"{server.url}/items/{first}"
    assert catalog.find("marketplace://script/mnist").state is LookupState.ABSENT
    assert catalog.find("marketplace://name/mnits").state is LookupState.ABSENT
    assert catalog.names()[:2] == ("marketplace://name/cifar", MNIST)
    assert catalog.suggestions("other", 9) == ()
    offer = catalog.suggestions("mni", 5)[0]
    assert (offer.reference, offer.type, offer.summary, offer.variables) == (
        MNIST,
        "data",
        "All of mnist",
        ("dataPath",),
    )


def test_definitions_are_offered_by_the_title_of_their_item(server: Marketplace) -> None:
    one = PROTOCOL.format(name="mnist").replace(
        "prerequisites:\n", "prerequisites:\n  - {type: dockerimage, name: pytorch, uri: example/pytorch}\n"
    )
    two = PROTOCOL.format(name="left").replace("prerequisites:\n", "prerequisites:\n  - {type: data, name: right}\n")
    both = item(3, "Both sides", protocol=two)
    server.reaction = items(item(1, "Team digits", protocol=one), item(2, "cifar"), both)
    catalog = refreshed(setup(server))
    assert [one.reference for one in catalog.suggestions("TEAM", 9)] == [MNIST]
    assert [one.reference for one in catalog.suggestions("sides", 9)] == [
        f"marketplace://prerequisites/itemId/{both['id']}"
    ]


def test_docker_images_are_found_and_not_suggested(server: Marketplace) -> None:
    both = PROTOCOL.format(name="mnist").replace(
        "prerequisites:\n", "prerequisites:\n  - {type: dockerimage, name: pytorch, uri: example/pytorch}\n"
    )
    server.reaction = items(item(1, "mnist", protocol=both))
    catalog = refreshed(setup(server))
    assert catalog.find("marketplace://name/pytorch").state is LookupState.FOUND
    assert "marketplace://dockerimage/pytorch" in catalog.names()
    assert [one.reference for one in catalog.suggestions("", 9)] == [MNIST]
    assert catalog.suggestions("marketplace://dockerimage/", 9) == ()


def test_items_of_type_template_begin_new_jobs(server: Marketplace) -> None:
    training = PROTOCOL.format(name="mnist").replace("taskRoles: {}", "taskRoles: {worker: {commands: [echo run]}}")
    flow = '{"protocolVersion": 2, "secrets": {"password": "hunter2"}, "taskRoles": {}}'
    server.reaction = items(
        item(1, "mnist"),
        item(2, "training", type="template", summary="Trains.\nAnd more.", protocol=training),
        item(3, "flow", type="template", protocol=flow),
        item(4, "broken", type="template", protocol="a: ["),
        item(5, "without", type="template", protocol="name: a\nsecrets: {} # none\ntaskRoles: {}\n"),
    )
    for catalog in (refreshed(setup(server)), known(setup(server))):
        template, without = catalog.job_templates()
        assert without.text == "name: a\nsecrets: {}\ntaskRoles: {}\n"
        assert (template.name, template.summary) == ("The training dataset", "Trains.")
        assert template.text == training.replace("  password: hunter2\n  # an older one: hunter1\n", '  password: ""\n')
    assert "hunter" not in everything_kept()


def test_nobody_is_asked_but_by_a_refresh(server: Marketplace) -> None:
    catalog = known(setup(server))
    assert catalog.find(MNIST).state is LookupState.UNKNOWN
    assert "refresh" in catalog.find(MNIST).note
    assert server.requests == []


def test_what_was_asked_is_kept_and_asked_with_its_etag(server: Marketplace) -> None:
    refreshed(setup(server))
    assert known(setup(server)).find(MNIST).state is LookupState.FOUND
    again = refreshed(setup(server))
    assert again.state is SourceState.READY
    assert again.find(MNIST).state is LookupState.FOUND
    assert [request.headers.get("if-none-match") for request in server.requests] == [None, 'W/"1"']
    server.reaction = items(item(2, "cifar"), etag='W/"2"')
    assert refreshed(setup(server)).find(MNIST).state is LookupState.ABSENT


def test_only_changed_items_are_read_again(server: Marketplace) -> None:
    refreshed(setup(server))
    pauses: list[int] = []
    server.reaction = items(item(1, "mnist"), item(2, "cifar"), item(3, "new"), etag='W/"3"')
    surroundings = Surroundings(limits=SMALL, pause=lambda: pauses.append(1))
    catalog = refreshed_catalog(load_catalog(setup(server), surroundings), surroundings)
    assert catalog.find("marketplace://name/new").state is LookupState.FOUND
    assert len(pauses) == 1


def test_secrets_of_items_are_not_kept(server: Marketplace) -> None:
    catalog = refreshed(setup(server))
    path = catalog.find(MNIST).path
    assert path is not None
    text = catalog.text(path)
    assert text is not None
    assert text.startswith("prerequisites:\n  - name: mnist\n")
    kept = everything_kept()
    assert "mnist" in kept
    assert "hunter" not in kept + repr(catalog) + text


@pytest.mark.skipif(sys.platform == "win32", reason="other rights")
def test_only_the_user_can_read_what_is_kept(server: Marketplace) -> None:
    refreshed(setup(server))
    files = [file for file in Path(os.environ["XDG_CACHE_HOME"]).rglob("*") if file.is_file()]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600]
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700


def test_the_token_is_sent_and_never_shown(server: Marketplace) -> None:
    server.reaction = items(item(1, "mnist"), token=TOKEN)
    command = (sys.executable, "-c", f"print('{TOKEN}')")
    for source in (setup(server, token_env="PAI_TOKEN"), setup(server, token_command=command)):  # noqa: S106 - a variable
        assert refreshed(source, Limits()).find(MNIST).state is LookupState.FOUND
    server.reaction = answering(401, f"the token {TOKEN} is bad".encode())
    failed = refreshed(setup(server, token_env="PAI_TOKEN"))  # noqa: S106 - the name of a variable
    assert failed.doubts == (
        f"{server.url}: the server requires a valid access token (401): 'the token *** is bad'; last updated just now",
    )
    assert TOKEN not in everything_kept()


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"token_env": "NO_SUCH"}, "the environment variable 'NO_SUCH' is empty; set it to the access token"),
        ({"token_env": "PAI BAD"}, "'PAI BAD' is not a name that a variable of the environment can have"),
        ({"token_env": "PAI_BAD"}, "the value of the environment variable 'PAI_BAD' is not a valid token"),
        (
            {"token_command": ("no-such-command",)},
            "the token command 'no-such-command' cannot be run: no such file or directory",
        ),
        (
            {"token_command": (sys.executable, "-c", "import sys; print('s3cr3t'); sys.exit(3)")},
            f"the token command '{sys.executable}' failed with status 3",
        ),
        (
            {"token_command": (sys.executable, "-c", "print('two\\nlines')")},
            f"the output of the token command '{sys.executable}' is not a valid token",
        ),
    ],
)
def test_a_token_that_is_not_available(
    server: Marketplace, monkeypatch: pytest.MonkeyPatch, more: dict[str, object], note: str
) -> None:
    monkeypatch.setenv("PAI_BAD", "two words")
    assert refreshed(setup(server, **more)).doubts == (f"{server.url}: {note}",)
    assert server.requests == []


def test_an_untrusted_workspace_asks_nobody_and_runs_nothing(server: Marketplace, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = (sys.executable, "-c", f"open({str(trace)!r}, 'w')")
    source = setup(server, token_command=command)
    catalog = refreshed(source, is_trusted=False)
    assert catalog.state is SourceState.UNTRUSTED
    assert catalog.find(MNIST).state is LookupState.UNKNOWN
    assert "not trusted" in catalog.find(MNIST).note
    assert server.requests == []
    assert not trace.exists()
    # What is known from before counts.
    refreshed(setup(server))
    catalog = refreshed(setup(server), is_trusted=False)
    assert catalog.find(MNIST).state is LookupState.FOUND
    assert catalog.find("marketplace://name/other").state is LookupState.UNKNOWN
    assert len(server.requests) == 1


NOT_FOLLOWED = "is not followed; if that is a login page, the request needs a token"
FAULTS: dict[str, tuple[Reaction, str]] = {
    "silent": (never, "the server did not answer in time"),
    "dripping": (dripping, "the server did not answer in time"),
    "half": (half, "the connection was lost"),
    "endless": (endless, "the answer is larger than 20,000 bytes"),
    "401": (
        answering(401, b"Authentication token is missing or invalid"),
        "the server requires a valid access token (401): 'Authentication token is missing or invalid'",
    ),
    "403": (
        answering(403, b"The access to the item ID is forbidden"),
        "access is denied (403): 'The access to the item ID is forbidden'",
    ),
    "404": (answering(404, b"Result not found"), "there is nothing at this address (404): 'Result not found'"),
    "500": (answering(500, b"Database error"), "the server failed (500): 'Database error'"),
    "gateway": (answering(502, b"<html><h1>Bad Gateway</h1></html>"), "the server failed (502)"),
    "long": (answering(500, b"no " * 1000), f"the server failed (500): '{('no ' * 40)}'"),
    "teapot": (answering(418), "unexpected answer of the server (418)"),
    "no JSON": (answering(200, b"[{"), "the answer is not JSON; check the server's address"),
    "deep": (answering(200, b"[" * 15_000), "the answer is not JSON; check the server's address"),
    "no list": (answering(200, b'{"items": []}'), "the answer is not a list of items; check the server's address"),
    "bad packing": (
        answering(200, b"no gzip", Content_Encoding="gzip"),
        "the answer cannot be decompressed",
    ),
    "bomb": (
        answering(200, gzip.compress(b" " * 1_000_000), Content_Encoding="gzip"),
        "the answer is larger than 20,000 bytes",
    ),
    "elsewhere": (
        answering(302, Location="http://example.com/items"),
        f"a redirect to another host, 'example.com', {NOT_FOLLOWED}",
    ),
    "another port": (
        answering(302, Location="http://127.0.0.1:1/items"),
        f"a redirect to another host, '127.0.0.1', {NOT_FOLLOWED}",
    ),
    "odd scheme": (
        answering(301, Location="file:///etc/passwd"),
        f"a redirect to another host, '', {NOT_FOLLOWED}",
    ),
    "login page": (
        answering(200, b"<p>Please log in", Content_Type="text/html; charset=utf-8"),
        "the answer is a web page, perhaps a login page, instead of JSON; check the address and the access token",
    ),
    "login page without a type": (
        answering(200, b"\n<!DOCTYPE html><title>Log in</title>"),
        "the answer is a web page, perhaps a login page, instead of JSON; check the address and the access token",
    ),
    "407": (answering(407), "the proxy requires a user name and a password (407); set them in HTTPS_PROXY"),
    "429": (answering(429), "the server refuses further requests for now (429); try again later"),
    "429 with a time": (
        answering(429, Retry_After="60"),
        "the server refuses further requests for now (429); try again in 60 seconds",
    ),
    "429 with a date": (
        answering(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
        "the server refuses further requests for now (429); try again later",
    ),
    "round": (answering(307, Location="/items"), "too many redirects"),
}


@pytest.mark.parametrize("fault", some(FAULTS))
def test_faults(server: Marketplace, fault: str) -> None:
    reaction, note = FAULTS[fault]
    source = setup(server)
    server.reaction = reaction
    limits = limits_for(reaction, SMALL.size)
    catalog = refreshed(source, limits)
    assert catalog.state is SourceState.UNREACHABLE
    assert catalog.doubts == (f"{server.url}: {note}",)
    assert catalog.find(MNIST).state is LookupState.UNKNOWN
    # With a catalog from before, that is used on.
    server.reaction = items(item(1, "mnist"))
    assert refreshed(source).state is SourceState.READY
    server.reaction = reaction
    catalog = refreshed(source, limits)
    assert catalog.state is SourceState.STALE
    assert catalog.doubts == (f"{server.url}: {note}; last updated just now",)
    assert catalog.find(MNIST).state is LookupState.FOUND
    assert catalog.find("marketplace://name/other").state is LookupState.UNKNOWN


def test_nobody_there() -> None:
    with marketplace(never) as server:
        url = server.url
    assert refreshed(setup(url)).doubts == (f"{url}: connection refused",)


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("http://127.0.0.1:99999", "this is not a valid web address"),
        ("http://[::1", "this is not a valid web address"),
        ("http://", "this is not a valid web address"),
    ],
)
def test_odd_addresses(url: str, note: str) -> None:
    assert refreshed(setup(url)).doubts == (f"{url}: {note}",)


def test_a_redirect_on_the_same_host_is_followed(server: Marketplace) -> None:
    good = items(item(1, "mnist"))

    def react(request: Request) -> None:
        if request.path == "/items":
            request.send(301, b"", Location="/api/items")
        else:
            good(request)

    server.reaction = react
    assert refreshed(setup(server)).find(MNIST).state is LookupState.FOUND


def test_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with marketplace(items(item(1, "mnist")), context) as server:
        failed = refreshed(setup(server), Limits())
        assert failed.state is SourceState.UNREACHABLE
        assert failed.doubts[0].startswith(f"{server.url}: the certificate is not trusted: ")
        assert failed.doubts[0].endswith("; set SSL_CERT_FILE to the file of your CA")
        file = tmp_path / "ca.pem"
        authority.cert_pem.write_to_path(str(file))
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        assert refreshed(setup(server), Limits()).find(MNIST).state is LookupState.FOUND
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
        assert "check the variables HTTPS_PROXY" in refreshed(setup(server), Limits()).doubts[0]


def test_certificates_are_read_once(server: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = ssl.create_default_context, list[str]()

    def counted(*, cafile: str) -> ssl.SSLContext:
        made.append(cafile)
        return real(cafile=cafile)

    monkeypatch.setattr(ssl, "create_default_context", counted)
    fetching._public_certificates.cache_clear()
    assert [refreshed(setup(server)).state for _ in range(2)] == [SourceState.READY] * 2
    assert len(made) == 1


def test_a_proxy_from_the_environment_is_used(server: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    outcome = fetch("http://marketplace.example/items", accept="application/json", limits=SMALL)
    assert not isinstance(outcome, FetchFailure)
    assert [request.path for request in server.requests] == ["http://marketplace.example/items"]
    for proxy, note in (
        (
            "http://me:pw@127.0.0.1:1",
            "through the proxy '127.0.0.1:1': connection refused; check HTTPS_PROXY and NO_PROXY",
        ),
        ("nonsense://x", "the request cannot be made (ValueError); check the variables HTTPS_PROXY, HTTP_PROXY, "),
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        failure = fetch("http://marketplace.example/items", accept="*/*", limits=SMALL)
        assert isinstance(failure, FetchFailure)
        assert failure.note.startswith(note)
        assert not failure.was_sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "note"),
    [
        (b"[" + b",".join([b"{}"] * 20_001) + b"]", "the answer has more than 20,000 items"),
        (b"[" + b",".join([b"{}"] * 1_000_001) + b"]", "the answer has more than 2,000,000 values"),
        (b'["' + b'","' * 1_000_000, "the answer has more than 2,000,000 values"),
        (b'["' + b'\\"' * 2_000_000, "the answer is not JSON; check the server's address"),
    ],
    ids=["items", "values", "texts", "an open text"],
)
def test_the_number_of_items_has_a_limit_too(body: bytes, note: str) -> None:
    with pytest.raises(NoItemsError) as error:
        read_items(body, "https://pai.example.com")
    assert str(error.value) == note


@pytest.mark.parametrize(
    ("limit", "most", "body", "note"),
    [
        ("MOST_TOKENS", 4, b"[{},{}]", ""),
        ("MOST_TOKENS", 4, b'[{"a":1},{}]', "the answer has more than 4 values"),
        ("MOST_ITEMS", 2, b"[{},{}]", ""),
        ("MOST_ITEMS", 2, b"[{},{},{}]", "the answer has more than 2 items"),
        ("MOST_ITEMS", 2, b'{"a": []}', "the answer is not a list of items; check the server's address"),
    ],
)
def test_the_last_answer_before_a_limit(
    limit: str, most: int, body: bytes, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> str:
        try:
            read_items(body, "https://pai.example.com")
        except NoItemsError as error:
            return str(error)
        return ""

    monkeypatch.setattr(remote_sources, limit, most)
    assert refused() == note


def test_unreadable_items_are_skipped(server: Marketplace) -> None:
    odd = [
        item(1, "mnist"),
        item(2, "broken", protocol="type: job\nsecrets: {password: hunter2}\nprerequisites: [{"),
        item(3, "nothing", protocol=None),
        item(4, "several", protocol="prerequisites: []\n---\nsecrets: {password: hunter2}\n"),
        item(5, "rejected", status="rejected"),
        item(6, "odd", protocol="[]", name="two\nlines", summary=7),
        item(
            7,
            "json",
            protocol=json.dumps({"secrets": {"p": "hunter2"}, "prerequisites": [{"name": "j", "type": "data"}]}),
        ),
        item(8, "outer", protocol="prerequisites: *all\n"),
    ]
    server.reaction = lambda request: request.send(200, json.dumps([*odd, 7]).encode())
    catalog = refreshed(setup(server))
    assert catalog.names()[:2] == ("marketplace://name/j", MNIST)
    assert catalog.sources[0].skipped == (
        "item 'The broken dataset' has no readable job",
        "item 'The nothing dataset' has no readable job",
        "item 'The several dataset' has no readable job",
        "item 'twolines' has no readable job",
        "item 'The outer dataset' has no readable job",
        "entries of the answer that are not items: 1",
    )
    absent = catalog.find("marketplace://name/broken")
    assert (absent.state, absent.note) == (LookupState.ABSENT, f"{catalog.sources[0].skipped[0]}, and 5 more")
    assert "hunter" not in everything_kept()


def test_of_two_items_with_one_name_the_older_counts(server: Marketplace) -> None:
    newer = item(2, "mnist", createdAt="2022-01-01T00:00:00.000Z")
    server.reaction = items(newer, item(9, "mnist"))
    assert refreshed(setup(server)).find(MNIST).path == f"{server.url}/items/{item(9, 'mnist')['id']}"


def test_old_knowledge_does_not_say_that_something_is_not_there(server: Marketplace) -> None:
    refreshed(setup(server))
    (file,) = (file for file in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.jsonl"))
    days_ago = time.time() - 3 * 24 * 3600 - 60
    os.utime(file, (days_ago, days_ago))
    catalog = known(setup(server))
    assert catalog.find(MNIST).note == "updated 3 days ago"
    missing = catalog.find("marketplace://name/other")
    assert (missing.state, missing.note) == (LookupState.UNKNOWN, f"{server.url}: updated 3 days ago")


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"mnist", b"MNIST"), (b"[", b"{"), (b"\n", b""), (b"", b"\n"), (b"", b"\xff"), (b"\n", b"\r\n")],
)
def test_a_damaged_cache_is_ignored(server: Marketplace, before: bytes, after: bytes) -> None:
    refreshed(setup(server))
    (file,) = (file for file in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.jsonl"))
    assert known(setup(server)).find(MNIST).state is LookupState.FOUND
    file.write_bytes(file.read_bytes().replace(before, after, 1))
    assert known(setup(server)).find(MNIST).state is LookupState.UNKNOWN
    assert refreshed(setup(server)).find(MNIST).state is LookupState.FOUND


@pytest.mark.parametrize("size", [0, 1, 64, 200])
def test_a_part_of_a_cache_is_ignored(server: Marketplace, size: int) -> None:
    refreshed(setup(server))
    (file,) = (file for file in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.jsonl"))
    file.write_bytes(file.read_bytes()[:size])
    assert known(setup(server)).find(MNIST).state is LookupState.UNKNOWN


def test_a_cache_with_other_headers_than_the_text_has(server: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as of_another_version:
        of_another_version.setattr(definition_text, "is_definition", lambda _: True)
        refreshed(setup(server))
    assert known(setup(server)).find(MNIST).definitions[0].name == "mnist"


def test_without_a_place_to_keep_it(server: Marketplace, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    catalog = refreshed(setup(server))
    assert catalog.find(MNIST).state is LookupState.FOUND
    assert "the answer cannot be saved in the cache: " in catalog.sources[0].note


@pytest.mark.parametrize("host", ["a.example", "127.0.0.1.example", "localhost.example"])
def test_a_token_is_sent_only_over_https_or_to_this_machine(host: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = (sys.executable, "-c", f"open({str(trace)!r}, 'w')")
    url = f"http://{host}/api"
    for source in (setup(url, token_env="PAI_TOKEN"), setup(url, token_command=command)):  # noqa: S106 - a variable
        assert refreshed(source).doubts == (f"{url}: a token is sent only over https; '{url}' begins with 'http://'",)
    assert not trace.exists()
