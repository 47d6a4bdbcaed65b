"""To open a file runs nothing and sends nothing: what the server does with the configuration of a folder, and when."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Marketplace, alone, item, items, marketplace
from server_client import Client, codes, connected

from pai_lsp.catalog.loading import Surroundings, load_catalog
from pai_lsp.catalog.setup import CatalogSetup, DirectorySource
from pai_lsp.catalog.store import SourceState
from pai_lsp.lsp.trust import Trust, refuses, trust_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOB = """\
protocolVersion: 2
type: job
name: train
taskRoles: {worker: {prerequisites: ["marketplace://name/mnist", nothing]}}
"""
COMPOSE = 'version: "3"\nservices: {}\n'
UNKNOWN = "unknown-prerequisite"
NOT_ASKED = "marketplace-not-asked"
in_a_loop = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("CLOUD_SECRET", "s3cr3t")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir()
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[Marketplace]:
    """Somebody's folder: its configuration runs a command and sends an environment variable."""
    with marketplace(items(item(1, "mnist"))) as found:
        command = [sys.executable, "-c", "open('ran', 'w').close(); print('t0ken')"]
        sources = [{"url": found.url, "token_command": command}, {"url": found.url, "token_env": "CLOUD_SECRET"}]
        (folder / ".pai-lsp.yaml").write_text(json.dumps({"marketplace": {"sources": sources}}))
        yield found


def at(folder: Path, *trusted: Any) -> dict[str, Any]:
    """A client that has opened a folder, and grants trust at most once."""
    options = {"initializationOptions": {"trusted": trusted[0]}} if trusted else {}
    return {"workspaceFolders": [{"uri": folder.as_uri(), "name": "jobs"}], **options}


def opened(client: Client, folder: Path, text: str = JOB, name: str = "job.pai.yaml") -> str:
    uri = (folder / name).as_uri()
    client.open(text, uri=uri)
    return uri


async def until_status(client: Client, state: str) -> None:
    await client.next(lambda one: one.get("method") == "pai-lsp/marketplaceStatus" and one["params"]["state"] == state)


async def refresh(client: Client) -> Any:
    return await client.ask("workspace/executeCommand", command="pai-lsp.marketplace.refresh", arguments=[])


def messages(client: Client) -> list[tuple[str, str]]:
    """The messages for the user, with the way in which they are shown."""
    return [
        (one["method"], one["params"]["message"])
        for one in client.received
        if one.get("method") in {"window/showMessage", "window/logMessage"}
    ]


@in_a_loop
@pytest.mark.parametrize(
    "trusted",
    [(), (False,), (None,), ("yes",), (1,), ({"jobs": True},), ([],), (["~/other", "jobs", "~/job", True, ""],)],
    ids=str,
)
async def test_an_untrusted_folder_runs_and_sends_nothing(
    folder: Path, server: Marketplace, trusted: tuple[Any, ...]
) -> None:
    async with connected(**at(folder, *trusted)) as client:
        opened(client, folder, COMPOSE, "docker-compose.yml")
        uri = opened(client, folder)
        await until_status(client, "untrusted")
        assert codes(await client.published(uri)) >= {UNKNOWN, NOT_ASKED}, "the job itself is checked"
        assert (await refresh(client))["state"] == "untrusted"
        client.send(client.notification("workspace/didChangeConfiguration", settings=None))
        await client.settle()
        assert server.requests == []
        assert not (folder / "ran").exists()


@in_a_loop
@pytest.mark.parametrize("trusted", [True, ["~/other", "~/jobs"], ["~"]], ids=str)
async def test_a_trusted_folder_is_asked(folder: Path, server: Marketplace, trusted: Any) -> None:
    async with connected(**at(folder, trusted)) as client:
        opened(client, folder)
        await until_status(client, "ready")
        tokens = [one.headers["authorization"] for one in server.requests]
        assert tokens == ["Bearer t0ken", "Bearer s3cr3t"]
        assert (folder / "ran").exists()
        assert messages(client) == []


@in_a_loop
async def test_the_user_learns_once_that_servers_are_not_asked(folder: Path, server: Marketplace) -> None:
    async with connected(**at(folder)) as client:
        for number in range(3):
            await client.published(opened(client, folder, name=f"{number}.pai.yaml"))
        await until_status(client, "untrusted")
        await refresh(client)
        # An editor that does not know the status shows a message.
        expected = (
            f"the marketplace of '{folder}' is not asked, because the folder is not trusted; "
            "see https://pai-lsp.readthedocs.io/editors/#trust"
        )
        await client.settle()
        assert messages(client) == [("window/showMessage", expected)]
    # A client that refuses all trust shows its own message, and keeps ours in its log.
    async with connected(**at(folder, False)) as client:
        await client.published(opened(client, folder))
        await client.next(lambda one: one.get("method") == "window/logMessage" and "not trusted" in str(one))
        await client.settle()
        assert messages(client) == []
    assert server.requests == []


@in_a_loop
async def test_trust_that_is_given_and_taken_later(folder: Path, server: Marketplace) -> None:
    async with connected(**at(folder)) as client:
        uri = opened(client, folder)
        await until_status(client, "untrusted")
        assert NOT_ASKED in codes(await client.published(uri))
        client.send(client.notification("pai-lsp/workspaceTrust", trusted=[str(folder)]))
        await until_status(client, "ready")
        asked = len(server.requests)
        assert asked == 2
        client.send(client.notification("pai-lsp/workspaceTrust", trusted="anything"))
        await until_status(client, "untrusted")
        await refresh(client)
        assert len(server.requests) == asked


@in_a_loop
async def test_what_the_editors_settings_name_needs_trust_in_the_whole_workspace(
    tmp_path: Path, folder: Path, server: Marketplace
) -> None:
    (folder / ".pai-lsp.yaml").unlink()
    section = {"marketplace": {"sources": [{"url": server.url, "token_env": "CLOUD_SECRET"}]}}
    two = [{"uri": one.as_uri(), "name": one.name} for one in (folder, tmp_path / "other")]
    for trusted, is_asked in (([str(folder)], False), (["~/jobs", "~/other"], True)):
        options = {"trusted": trusted, **section}
        async with connected(capabilities={}, workspaceFolders=two, initializationOptions=options) as client:
            opened(client, folder)
            await until_status(client, "ready" if is_asked else "untrusted")
            assert bool(server.requests) is is_asked


@in_a_loop
async def test_a_link_leads_out_of_what_is_trusted(tmp_path: Path, folder: Path, server: Marketplace) -> None:
    workspace = tmp_path / "mine"
    workspace.mkdir()
    (workspace / "link").symlink_to(folder, target_is_directory=True)
    async with connected(**at(workspace, [str(workspace)])) as client:
        opened(client, workspace / "link")
        await until_status(client, "untrusted")
        assert server.requests == []


@in_a_loop
async def test_a_configuration_above_the_workspace_is_not_trusted_with_it(folder: Path, server: Marketplace) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    configuration = json.loads((folder / ".pai-lsp.yaml").read_text()) | {"rules": {UNKNOWN: "off"}}
    (folder / ".pai-lsp.yaml").write_text(json.dumps(configuration))
    async with connected(**at(folder / "a", True)) as client:
        assert UNKNOWN not in codes(await client.published(opened(client, inner))), "its rules apply"
        assert (await refresh(client))["state"] == "untrusted"
    assert server.requests == []
    async with connected(**at(folder / "a", [str(folder)])) as client:
        opened(client, inner)
        assert (await refresh(client))["state"] == "ready"
    assert server.requests


@in_a_loop
async def test_everything_that_is_open_is_trusted(folder: Path, server: Marketplace) -> None:
    (folder.parent / "workspace").mkdir()
    async with connected(**at(folder.parent / "workspace", True)) as client:
        opened(client, folder)
        assert (await refresh(client))["state"] == "ready"
    assert server.requests


@in_a_loop
async def test_a_file_outside_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    (tmp_path / ".pai-lsp.yaml").write_text(f"rules: {{{UNKNOWN}: off}}\n")
    async with connected() as client:
        (tmp_path / "jobs").mkdir()
        assert UNKNOWN not in codes(await client.published(opened(client, tmp_path / "jobs")))
        assert UNKNOWN not in codes(await client.published(opened(client, tmp_path)))
    async with connected() as client:
        (tmp_path / "jobs" / ".git").mkdir()
        assert UNKNOWN in codes(await client.published(opened(client, tmp_path / "jobs")))


@in_a_loop
async def test_a_folder_of_a_user_that_there_is_not(folder: Path) -> None:
    file = folder / ".pai-lsp.yaml"
    file.write_text("marketplace: {sources: [{directory: ~no-such-user/marketplace}]}\n")
    async with connected(**at(folder)) as client:
        uri = opened(client, folder)
        assert codes(await client.published(uri)) >= {UNKNOWN, NOT_ASKED}
        client.open(file.read_text(), uri=file.as_uri())
        (finding,) = await client.published(file.as_uri())
        assert finding["message"].startswith("'~no-such-user' is not a home folder on this machine")


@in_a_loop
@pytest.mark.parametrize("part", ["pai_lsp.catalog.setup.catalog_setup", "pai_lsp.catalog.loading.load_catalog"])
async def test_a_marketplace_that_fails_takes_nothing_else_along(
    folder: Path, server: Marketplace, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a text that may quote a file")

    monkeypatch.setattr(part, fail)
    async with connected(**at(folder, True)) as client:
        uris = [opened(client, folder, name=f"{number}.pai.yaml") for number in range(3)]
        for uri in uris:
            assert UNKNOWN in codes(await client.published(uri))
        await client.settle()
        ((how, message),) = messages(client)
        assert how == "window/showMessage"
        assert message.startswith("the marketplace cannot be read: RuntimeError in ")
        assert "quote" not in message
        assert server.requests == []


def test_a_folder_on_another_machine_is_asked_too() -> None:
    setup = CatalogSetup("/jobs", (DirectorySource("//host.invalid/share"), DirectorySource(r"\\host.invalid\share")))
    catalog = load_catalog(setup, Surroundings(is_trusted=False))
    assert [shelf.state for shelf in catalog.sources] == [SourceState.UNTRUSTED] * 2


def test_what_a_client_says(tmp_path: Path) -> None:
    inner, beside = str(tmp_path / "jobs" / "a"), str(tmp_path / "jobs2")
    trust = trust_in(["~/jobs"])
    assert trust.covers([inner])
    assert trust.covers([str(tmp_path / "jobs")])
    assert not trust.covers([beside])
    assert not trust.covers([inner, beside])
    assert not trust.covers([str(tmp_path / "jobs" / ".." / "jobs2")])
    assert not trust.covers([])
    assert trust_in(True).covers([])
    assert trust_in("~/jobs") == trust_in(None) == Trust()
    assert not Trust(is_everything=True, is_refused=True).covers([inner])
    assert [refuses(section) for section in ({"trusted": False}, {"trusted": 0}, {}, None)] == [True, *[False] * 3]
