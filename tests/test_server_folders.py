"""A check of a whole folder: findings in files that are not open, and what happens to them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD
from server_client import Client, codes, connected
from test_server_jobs import result

from pai_lsp.lsp import folder_checks

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

ROLE = """\
taskRoles:
  worker: {instances: 1, dockerImage: image, resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}, commands: [echo]}
"""
GOOD = HEAD + ROLE
TYPO = GOOD.replace("instances: 1,", "instances: 1, prerequisites: [nothing],")
COMPOSE = "services: {web: {image: nginx}}\n"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_checks, "PAUSE", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "good.pai.yaml": GOOD,
        "typo.pai.yaml": TYPO,
        "jobs/plain.yaml": TYPO,
        "jobs/compose.yaml": COMPOSE,
        "generated/left-out.pai.yaml": TYPO,
        "ignored/by-git.pai.yaml": TYPO,
        ".gitignore": "ignored/\n",
        ".pai-lsp.yaml": "exclude: [generated/]\n",
    }
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def opened(folder: Path, **more: Any) -> Any:
    return connected(workspaceFolders=[{"uri": folder.as_uri(), "name": "jobs"}], **more)


def event(path: Path, kind: int) -> dict[str, Any]:
    return {"method": "workspace/didChangeWatchedFiles", "params": {"changes": [{"uri": path.as_uri(), "type": kind}]}}


async def shown(client: Client, path: Path) -> set[str]:
    return codes(await client.published(path.as_uri()))


CREATED, CHANGED, DELETED = 1, 2, 3
UNKNOWN = {"unknown-prerequisite"}


async def test_the_files_of_the_command_line_are_checked(folder: Path) -> None:
    async with opened(folder) as client:
        assert await result(client, "checkFolder") == {"files": 3, "errors": 2, "warnings": 0}
        published = [one["params"] for one in client.received if one.get("method") == "textDocument/publishDiagnostics"]
        found = {one["uri"]: codes(one["diagnostics"]) for one in published}
        assert found == {(folder / name).as_uri(): UNKNOWN for name in ("typo.pai.yaml", "jobs/plain.yaml")}
        assert await result(client, "checkFolder", (folder / "jobs").as_uri()) == {
            "files": 1,
            "errors": 1,
            "warnings": 0,
        }
        asked = [one for one in client.received if one.get("method") == "client/registerCapability"]
        assert sum("**/*.{yaml,yml}" in str(one) for one in asked) == 1


async def test_progress_is_reported(folder: Path) -> None:
    async with opened(folder) as client:
        await result(client, "checkFolder", folder.as_uri(), "token-1")
        steps = [one["params"] for one in client.received if one.get("method") == "$/progress"]
        assert [one["token"] for one in steps] == ["token-1"] * 4
        assert [one["value"]["percentage"] for one in steps] == [0, 25, 50, 75]


async def test_an_open_file_has_its_own_findings_and_gets_those_of_the_disk_when_it_is_closed(folder: Path) -> None:
    path = folder / "typo.pai.yaml"
    async with opened(folder) as client:
        await result(client, "checkFolder")
        assert await shown(client, path) == UNKNOWN
        client.open(GOOD, uri=path.as_uri())
        assert await shown(client, path) == set()
        assert await result(client, "checkFolder") == {"files": 3, "errors": 1, "warnings": 0}
        client.send(client.notification("textDocument/didClose", textDocument={"uri": path.as_uri()}))
        assert await shown(client, path) == UNKNOWN


async def test_changed_new_and_deleted_files_are_followed(folder: Path) -> None:
    path, new = folder / "typo.pai.yaml", folder / "jobs/new.pai.yaml"
    async with opened(folder) as client:
        await result(client, "checkFolder")
        assert await shown(client, path) == UNKNOWN
        path.write_text(GOOD)
        client.send(event(path, CHANGED))
        assert await shown(client, path) == set()
        path.write_text(TYPO)
        client.send(event(path, CHANGED))
        assert await shown(client, path) == UNKNOWN
        path.unlink()
        client.send(event(path, DELETED))
        assert await shown(client, path) == set()
        new.write_text(TYPO)
        client.send(event(new, CREATED))
        assert await shown(client, new) == UNKNOWN


async def test_other_settings_count_for_closed_files_too(folder: Path) -> None:
    path, configuration = folder / "typo.pai.yaml", folder / ".pai-lsp.yaml"
    async with opened(folder) as client:
        await result(client, "checkFolder")
        assert await shown(client, path) == UNKNOWN
        configuration.write_text("rules: {unknown-prerequisite: off}\n")
        client.send(event(configuration, CHANGED))
        assert await shown(client, path) == set()
        configuration.write_text("exclude: [jobs/]\nrule: {}\n")
        client.send(event(configuration, CHANGED))
        assert await shown(client, path) == UNKNOWN
        assert await shown(client, folder / "jobs/plain.yaml") == UNKNOWN
        assert await shown(client, folder / "jobs/plain.yaml") == set()
        assert await shown(client, configuration) == {"invalid-configuration"}


async def test_the_findings_of_closed_files_are_cleared_on_request(folder: Path) -> None:
    path, other = folder / "typo.pai.yaml", folder / "jobs/plain.yaml"
    async with opened(folder) as client:
        await result(client, "checkFolder")
        assert await shown(client, path) == UNKNOWN
        assert await shown(client, other) == UNKNOWN
        client.open(TYPO, uri=path.as_uri())
        assert await shown(client, path) == UNKNOWN
        assert await result(client, "clearFolders") is None
        assert await shown(client, other) == set()
        client.send(client.notification("textDocument/didClose", textDocument={"uri": path.as_uri()}))
        assert await shown(client, path) == set()


async def test_a_file_that_cannot_be_read_is_reported(folder: Path) -> None:
    path = folder / "latin.pai.yaml"
    path.write_bytes(b"name: f\xfcnf\n")
    async with opened(folder) as client:
        assert (await result(client, "checkFolder"))["errors"] == 3
        assert await shown(client, path) == {"unreadable-file"}


async def test_a_check_can_be_cancelled(folder: Path) -> None:
    async with opened(folder) as client:
        question = client.question("workspace/executeCommand", command="pai-lsp.checkFolder", arguments=[])
        client.send(question, {"method": "$/cancelRequest", "params": {"id": question["id"]}})
        assert "error" in await client.answer(question)
        assert await result(client, "checkFolder") == {"files": 3, "errors": 2, "warnings": 0}


@pytest.mark.parametrize("arguments", [["file:///no/such/folder"], [3], [None, []]])
async def test_wrong_arguments_are_refused(folder: Path, arguments: list[Any]) -> None:
    async with opened(folder) as client:
        command = {"command": "pai-lsp.checkFolder", "arguments": arguments}
        assert (await client.ask_in_vain("workspace/executeCommand", **command))["code"] == -32602
