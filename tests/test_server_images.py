"""The images of open jobs: asked on request and on save, never by opening a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopback import alone, marketplace
from server_client import URI, connected
from test_images_asked import INDEX, OWN, job, registry, secure, without_account
from test_server_jobs import result

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))


async def test_images_are_checked_on_request() -> None:
    with marketplace(registry(INDEX)) as server:
        text = job(server.url, "team/image:v2")
        async with connected(initializationOptions={"openpai": {"shellcheck": "off"}}) as client:
            client.open(text)
            await client.published(URI)
            assert server.requests == []
            (found,) = await result(client, "checkImages", URI)
            assert (found["role"], found["answer"]) == ("worker", "refused")
            assert "gum" not in str(found)
            while not (errors := [one for one in await client.published(URI) if one["severity"] == 1]):
                pass  # where ShellCheck is installed, its answer publishes once more
            assert [one["code"] for one in errors] == ["image-not-found"]
            client.open("services: {web: {image: nginx}}\n", uri="file:///jobs/compose.yaml")
            assert await result(client, "checkImages", "file:///jobs/compose.yaml") is None
            assert await result(client, "checkImages", "file:///jobs/never-opened.pai.yaml") is None


async def test_images_are_checked_on_save_if_the_settings_say_so() -> None:
    with marketplace(registry(None)) as server:
        text = job(server.url)
        async with connected() as client:
            client.open(text)
            await client.published(URI)
            client.send(client.notification("textDocument/didSave", textDocument={"uri": URI}))
            await result(client, "status", URI)
            assert server.requests == []
        section = {"images": {"checkOnSave": True}, "shellcheck": "off"}
        async with connected(initializationOptions={"openpai": section}) as client:
            client.open(text)
            await client.published(URI)
            client.send(client.notification("textDocument/didSave", textDocument={"uri": URI}))
            shown = await client.published(URI)
            assert "image-not-found" in [one["code"] for one in shown]


async def test_nothing_is_asked_where_trust_is_refused() -> None:
    with marketplace(registry(None)) as server:
        options = {"trusted": False, "openpai": {"images": {"checkOnSave": True}}}
        async with connected(initializationOptions=options) as client:
            client.open(job(server.url))
            await client.published(URI)
            client.send(client.notification("textDocument/didSave", textDocument={"uri": URI}))
            await result(client, "status", URI)
            command = {"command": "pai-lsp.checkImages", "arguments": [URI]}
            assert "not trusted" in (await client.ask_in_vain("workspace/executeCommand", **command))["message"]
        assert server.requests == []


async def test_the_editor_keeps_accounts_at_registries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with secure(registry(INDEX, account_of=OWN), monkeypatch, tmp_path / "job") as server:
        host = server.url.removeprefix("https://")
        async with connected(initializationOptions={"registryAccounts": True}) as client:
            client.open(without_account(server.url))
            await client.published(URI)
            for answer, part in (
                ({"name": "ann", "password": "glue"}, "has no account; add"),
                (None, "requires an account, and the job has none"),
                ({"name": "ann", "password": None}, "requires an account, and the job has none"),
                ({"password": "glue"}, "requires an account, and the job has none"),
            ):
                question = client.question("workspace/executeCommand", command="pai-lsp.checkImages", arguments=[URI])
                client.send(question)
                asked = await client.next(lambda message: message.get("method") == "pai-lsp/registryAccount")
                assert asked["params"] == {"registry": host}
                client.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
                found = await client.answer(question)
                assert part in str(found)
                assert "glue" not in str(found)
