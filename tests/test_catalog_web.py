"""Single web addresses in references: only of hosts that are listed, and only when somebody refreshes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback import Marketplace, Request, alone, answering, limits_for, marketplace, never

from pai_lsp.catalog.loading import load_catalog, refreshed_catalog, uses_of
from pai_lsp.catalog.remote_sources import page_path, why_not_asked
from pai_lsp.catalog.setup import CatalogSetup, SourceState
from pai_lsp.catalog.store import Surroundings
from pai_lsp.document import Document
from pai_lsp.job.lookup import LookupState
from pai_lsp.web.fetching import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.catalog.catalog import Catalog

TEXT = b"- {name: mnist, type: data, require: ['URL/tools.yaml']}\n- {name: second, type: data}\n"
TOOLS = b"protocolVersion: 2\ntype: job\nprerequisites: [{name: tools, type: script}]\ntaskRoles: {}\n"
SMALL = Limits(size=20_000)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))


@pytest.fixture
def server() -> Iterator[Marketplace]:
    def react(request: Request) -> None:
        if request.path.startswith("/mnist.yaml"):
            request.send(200, TEXT.replace(b"URL", request.server.url.encode()))
        elif request.path == "/tools.yaml":
            request.send(200, TOOLS)
        else:
            request.send(404, b"nothing")

    with marketplace(react) as found:
        yield found


def setup(*hosts: str) -> CatalogSetup:
    return CatalogSetup(folder="/project", allowed_hosts=frozenset(hosts))


def refreshed(setup: CatalogSetup, *addresses: str, is_trusted: bool = True, limits: Limits = SMALL) -> Catalog:
    surroundings = Surroundings(limits=limits, is_trusted=is_trusted)
    return refreshed_catalog(load_catalog(setup, surroundings), surroundings, lambda _: addresses)


def test_an_allowed_host_is_asked(server: Marketplace) -> None:
    address = f"{server.url}/mnist.yaml"
    before = load_catalog(setup("127.0.0.1"), Surroundings())
    assert before.find(address).note == "not loaded yet; run 'pai-lsp marketplace refresh'"
    assert server.requests == []
    answer = refreshed(setup("127.0.0.1"), address).find(address)
    assert answer.state is LookupState.FOUND
    assert [one.name for one in answer.definitions] == ["mnist", "second"]
    assert answer.path == address
    kept = load_catalog(setup("127.0.0.1"), Surroundings())
    assert kept.find(address).state is LookupState.FOUND
    assert kept.find(address).note == "updated just now"
    assert kept.state is SourceState.READY
    assert refreshed(setup("127.0.0.1"), address).find(address).state is LookupState.FOUND
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("address", "hosts", "is_allowed"),
    [
        ("https://example.com/x.yaml", {"example.com"}, True),
        ("https://EXAMPLE.com/x.yaml", {"Example.COM"}, True),
        ("http://example.com:8080/x", {"example.com"}, True),
        ("http://example.com:8080/x", {"example.com:8080"}, True),
        ("https://example.com/x", {"example.com:443"}, True),
        ("http://[::1]:80/x", {"::1"}, True),
        ("http://[::1]:81/x", {"[::1]:81"}, True),
        ("http://example.com:8081/x", {"example.com:8080"}, False),
        ("https://evil.example.com/x", {"example.com"}, False),
        ("https://example.com.evil/x", {"example.com"}, False),
        ("https://example.com@evil/x", {"example.com"}, False),
        ("https://user:secret@example.com/x", {"example.com"}, False),
        ("https://evil/x#example.com", {"example.com"}, False),
        ("https:///x", {""}, False),
        ("http://example.com:99999/x", {"example.com"}, False),
    ],
)
def test_which_hosts_are_allowed(address: str, hosts: set[str], *, is_allowed: bool) -> None:
    reason = why_not_asked(address, hosts)
    assert (reason == "") is is_allowed, reason
    assert "secret" not in reason


def test_nobody_else_is_asked(server: Marketplace) -> None:
    address = f"{server.url}/mnist.yaml"
    catalog = refreshed(setup("example.com"), address)
    assert server.requests == []
    assert catalog.find(address).state is LookupState.UNKNOWN
    assert "add the host '127.0.0.1' to 'allowed_hosts'" in catalog.find(address).note
    assert refreshed(setup("127.0.0.1"), address, is_trusted=False).find(address).state is LookupState.UNKNOWN
    assert server.requests == []


def test_nothing_is_there(server: Marketplace) -> None:
    address = f"{server.url}/nothing.yaml"
    for catalog in (refreshed(setup("127.0.0.1"), address), load_catalog(setup("127.0.0.1"), Surroundings())):
        assert catalog.find(address).state is LookupState.ABSENT


def test_a_failed_request_keeps_the_last_answer(server: Marketplace) -> None:
    address = f"{server.url}/mnist.yaml"
    refreshed(setup("127.0.0.1"), address)
    for reaction in (never, answering(500, b"broken"), answering(200, b"\xff\xfe")):
        server.reaction = reaction
        catalog = refreshed(setup("127.0.0.1"), address, limits=limits_for(reaction, SMALL.size))
        assert catalog.find(address).state is LookupState.FOUND
        assert catalog.state is SourceState.STALE
        assert catalog.doubts[0].endswith("last updated just now")
        assert load_catalog(catalog.setup, Surroundings(), catalog).state is SourceState.STALE
    other = f"{server.url}/other.yaml"
    unknown = refreshed(setup("127.0.0.1"), other).find(other)
    assert (unknown.state, unknown.note) == (LookupState.UNKNOWN, "the file is not UTF-8")


def test_what_holds_no_definition(server: Marketplace) -> None:
    server.reaction = answering(200, b"<html>: [")
    address = f"{server.url}/page"
    assert refreshed(setup("127.0.0.1"), address).find(address).state is LookupState.UNKNOWN
    server.reaction = answering(200, b"just: text\n")
    answer = refreshed(setup("127.0.0.1"), address).find(address)
    assert (answer.state, answer.note) == (LookupState.ABSENT, "the file at this address has no definition")


def test_what_a_page_requires_is_asked_too(server: Marketplace) -> None:
    text = f"taskRoles: {{worker: {{prerequisites: ['{server.url}/mnist.yaml']}}}}\n"
    job = Document(text).job

    def addresses(catalog: Catalog) -> Iterable[str]:
        uses = uses_of([job], catalog)
        return [*uses.found, *uses.missing]

    surroundings = Surroundings(limits=SMALL)
    catalog = refreshed_catalog(load_catalog(setup("127.0.0.1"), surroundings), surroundings, addresses)
    assert [request.path for request in server.requests] == ["/mnist.yaml", "/tools.yaml"]
    assert catalog.find(f"{server.url}/tools.yaml").definitions[0].name == "tools"


def test_a_query_is_neither_shown_nor_stored(server: Marketplace) -> None:
    address = f"{server.url}/mnist.yaml?key=s3cr3t"
    answer = refreshed(setup("127.0.0.1"), address).find(address)
    assert answer.state is LookupState.FOUND
    assert answer.path == page_path(address)
    assert "s3cr3t" not in page_path(address)
    assert page_path(address) != page_path(address + "x")
    folder = Path(os.environ["XDG_CACHE_HOME"])
    kept = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file())
    assert "mnist" in kept
    assert "s3cr3t" not in kept
