"""The server with marketplaces: what documents find, when requests are sent, and what the client receives."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from loopback import Marketplace, alone, answering, held, item, items, marketplace, never
from server_client import CAPABILITIES, TIMEOUT, Client, codes, connected, place

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.lsp import marketplaces
from pai_lsp.project.trust import TrustAnswers
from pai_lsp.source.text import ColumnUnit, LineIndex, Span, TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parent.parent / "examples"
UNKNOWN = "unknown-marketplace-item"
NOT_ASKED = "marketplace-not-asked"
MNIST = "marketplace://name/mnist"
JOB = f"""\
protocolVersion: 2
type: job
name: train
taskRoles:
  worker:
    prerequisites: ["{MNIST}"]
"""
PROGRESS: dict[str, Any] = {**CAPABILITIES, "window": {**CAPABILITIES["window"], "workDoneProgress": True}}
in_a_loop = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the user's; and here the user trusts every configuration, see test_trust.py."""
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.setattr(TrustAnswers, "about", lambda *_: True)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def server(workspace: Path) -> Iterator[Marketplace]:
    with marketplace(items(item(1, "mnist"))) as found:
        (workspace / ".pai-lsp.yaml").write_text(f"marketplace: {{sources: [{{url: '{found.url}'}}]}}\n")
        yield found


def in_workspace(folder: Path, **more: Any) -> dict[str, Any]:
    """A client that has opened a folder."""
    return {"workspaceFolders": [{"uri": folder.as_uri(), "name": "work"}], **more}


async def status(client: Client, state: str) -> str:
    """The note of the next status that is this one."""
    message = await client.next(
        lambda one: one.get("method") == "pai-lsp/marketplaceStatus" and one["params"]["state"] == state
    )
    note = message["params"]["note"]
    assert isinstance(note, str)
    return note


async def until_code(client: Client, uri: str, code: str, *, is_there: bool) -> list[dict[str, Any]]:
    """The next diagnostics of a document that have a code, or have it no more."""
    while True:
        diagnostics = await client.published(uri)
        if (code in codes(diagnostics)) is is_there:
            return diagnostics


async def command(client: Client, name: str, *arguments: Any) -> Any:
    return await client.ask("workspace/executeCommand", command=f"pai-lsp.marketplace.{name}", arguments=[*arguments])


def open_job(client: Client, folder: Path, text: str = JOB) -> str:
    uri = (folder / "job.pai.yaml").as_uri()
    client.open(text, uri=uri)
    return uri


def edited(text: str, edit: dict[str, Any], uri: str) -> str:
    """A text after a workspace edit."""
    (change,) = edit["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    lines = LineIndex(text)

    def offset(position: dict[str, int]) -> int:
        return lines.offset(position["line"], position["character"], ColumnUnit.UTF16)

    edits = [
        TextEdit(Span(offset(one["range"]["start"]), offset(one["range"]["end"])), one["newText"])
        for one in change["edits"]
    ]
    return apply_edits(text, edits)


@in_a_loop
async def test_templates_of_a_marketplace_begin_new_jobs(workspace: Path, server: Marketplace) -> None:
    server.reaction = items(item(1, "mnist"), item(2, "training", type="template", summary="Trains."))
    async with connected(**in_workspace(workspace)) as client:
        open_job(client, workspace)
        await status(client, "ready")
        offered = await client.ask("workspace/executeCommand", command="pai-lsp.templates", arguments=[])
    assert (offered[-1]["name"], offered[-1]["description"]) == ("The training dataset", "Trains.")
    assert 'password: ""' in offered[-1]["text"]
    assert "hunter" not in str(offered)


@in_a_loop
async def test_a_folder_is_known_from_the_first_check_on(workspace: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    (workspace / "jobs").mkdir()
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace / "jobs")
        diagnostics = await client.published(uri)
        assert not codes(diagnostics) & {UNKNOWN, NOT_ASKED}
        assert await status(client, "ready") == "6 definitions"
        other = open_job(client, workspace, JOB.replace("mnist", "mnits"))
        (unknown,) = (one for one in await client.published(other) if one["code"] == UNKNOWN)
        assert unknown["message"] == f"the marketplace has no 'marketplace://name/mnits'; did you mean '{MNIST}'?"


@in_a_loop
async def test_a_folder_that_changes(workspace: Path) -> None:
    folder = workspace / "marketplace"
    shutil.copytree(EXAMPLES / "marketplace", folder)
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        assert UNKNOWN not in codes(await client.published(uri))
        watching = await client.next(lambda one: "marketplace" in str(one.get("params", {}).get("registrations", "")))
        watchers = watching["params"]["registrations"][0]["registerOptions"]["watchers"]
        assert [one["globPattern"] for one in watchers] == ["**/marketplace/**/*.{yaml,yml}", "**/.pai-lsp.lock"]
        mnist = folder / "mnist.yaml"
        text = mnist.read_text()
        mnist.unlink()
        event = {"uri": mnist.as_uri(), "type": 3}
        client.send(client.notification("workspace/didChangeWatchedFiles", changes=[event]))
        await until_code(client, uri, UNKNOWN, is_there=True)
        mnist.write_text(text)
        client.send(client.notification("textDocument/didSave", textDocument={"uri": mnist.as_uri()}))
        await until_code(client, uri, UNKNOWN, is_there=False)


@in_a_loop
@pytest.mark.parametrize("key", ["rootUri", "rootPath"])
async def test_a_client_without_workspace_folders_sends_its_root(workspace: Path, key: str) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    (workspace / "jobs").mkdir()
    roots: dict[str, Any] = {"rootUri": workspace.as_uri(), "rootPath": str(workspace)}
    async with connected(**{"rootUri": None, key: roots[key]}) as client:
        uri = open_job(client, workspace / "jobs")
        assert not codes(await client.published(uri)) & {UNKNOWN, NOT_ASKED}


@in_a_loop
async def test_paths_are_relative_to_the_workspace(workspace: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    (workspace / "jobs").mkdir()
    text = JOB.replace(f'["{MNIST}"]', "[mine]\n    commands: [ls]")
    required = f"{{name: '{MNIST}', template_variables: {{dataPath: /data}}}}"
    text += f"extras: {{reference_prerequisites: [{{name: mine, require: [{required}]}}]}}\n"
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace / "jobs", text)
        await client.published(uri)
        preview = await client.ask("workspace/executeCommand", command="pai-lsp.preview", arguments=[uri, "worker"])
        assert f"# --- before the commands: 'mnist' ({MNIST} in marketplace/mnist.yaml) ---\n" in preview["text"]
        graph = await client.ask("workspace/executeCommand", command="pai-lsp.graph", arguments=[uri])
        assert "marketplace/mnist.yaml" in graph["mermaid"]
        assert str(workspace) not in preview["text"] + graph["mermaid"] + graph["dot"]


@in_a_loop
async def test_what_is_written_counts_before_it_is_saved(workspace: Path) -> None:
    folder = workspace / "marketplace"
    shutil.copytree(EXAMPLES / "marketplace", folder)
    file = folder / "mnist.yaml"
    text = file.read_text(encoding="utf-8")
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        assert UNKNOWN not in codes(await client.published(uri))
        client.open(text, uri=file.as_uri())
        client.change({"text": text.replace("name: mnist\n", "name: digits\n")}, version=2, uri=file.as_uri())
        await until_code(client, uri, UNKNOWN, is_there=True)
        # Lines above it move the definition; places in the file on the disk are no longer used.
        client.change({"text": f"# one\n# two\n{text}"}, version=3, uri=file.as_uri())
        await until_code(client, uri, UNKNOWN, is_there=False)
        (found,) = await client.ask(
            "textDocument/definition", textDocument={"uri": uri}, position=place((5, 30))["start"]
        )
        assert (found["uri"], found["range"]["start"]["line"]) == (file.as_uri(), 2)
        # A half-written text keeps its readable definitions; a new file that is not yet on the disk counts too.
        client.change({"text": f"{text}callbacks: ["}, version=4, uri=file.as_uri())
        new = folder / "more" / "new.yaml"
        client.open("name: fresh\ntype: data\n", uri=new.as_uri())
        client.change({"text": JOB.replace("mnist", "fresh")}, version=2, uri=uri)
        await until_code(client, uri, UNKNOWN, is_there=False)
        client.change({"text": JOB}, version=3, uri=uri)
        assert UNKNOWN not in codes(await client.published(uri, version=3))
        client.change({"text": "name: other\ntype: data\n"}, version=5, uri=file.as_uri())
        await until_code(client, uri, UNKNOWN, is_there=True)
        client.send(client.notification("textDocument/didClose", textDocument={"uri": file.as_uri()}))
        await until_code(client, uri, UNKNOWN, is_there=False)


@in_a_loop
async def test_definitions_of_one_file_find_each_other_before_it_is_saved(workspace: Path) -> None:
    (workspace / "marketplace").mkdir()
    (workspace / "marketplace" / "old.yaml").write_text("{name: old, type: data}\n")
    file = workspace / "marketplace" / "new.yaml"
    text = "- {name: a, type: data, require: ['marketplace://name/b']}\n- {name: b, type: data}\n"
    async with connected(**in_workspace(workspace)) as client:
        client.open(text, uri=file.as_uri())
        await until_code(client, file.as_uri(), UNKNOWN, is_there=False)
        client.change({"text": text.replace("name: b", "name: c")}, version=2, uri=file.as_uri())
        await until_code(client, file.as_uri(), UNKNOWN, is_there=True)


@in_a_loop
async def test_a_lock_in_a_merge_conflict(workspace: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    lock = workspace / ".pai-lsp.lock"
    lock.write_text('{\n "version": 1,\n<<<<<<< HEAD\n "definitions": {}\n=======\n "definitions": {}\n>>>>>>> x\n}\n')
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        broken = [one for one in await client.published(uri) if one["code"] == "broken-lock-file"]
        assert [one["message"].partition(";")[0] for one in broken] == [
            "'.pai-lsp.lock' is ignored because it is broken"
        ]
        lock.unlink()
        event = {"uri": lock.as_uri(), "type": 3}
        client.send(client.notification("workspace/didChangeWatchedFiles", changes=[event]))
        await until_code(client, uri, "broken-lock-file", is_there=False)


@in_a_loop
async def test_the_lock_file_is_listed_as_it_is_on_the_disk(workspace: Path) -> None:
    """A client reports a changed file late, or never; the user has just run `marketplace lock` in a terminal."""
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        (workspace / "job.pai.yaml").write_text(JOB)
        await client.published(uri)
        assert await command(client, "locked", uri) is None
        assert await command(client, "locked") is None
        lock = ("marketplace", "lock", "--folder", str(workspace), str(workspace))
        assert main(lock) == 0
        answer = await command(client, "locked", uri)
        assert answer["folder"] == str(workspace)
        states = {one["reference"]: one["state"] for one in answer["entries"]}
        assert states[MNIST] == ""
        file = workspace / "marketplace" / "mnist.yaml"
        file.write_text(file.read_text().replace("mkdir -p", "mkdir"))
        answer = await command(client, "locked", uri)
        states = {one["reference"]: one["state"] for one in answer["entries"]}
        assert states[MNIST] == "changed"
        assert states["marketplace://name/install_wget"] == ""


@in_a_loop
async def test_a_definition_file_has_the_full_treatment(workspace: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    file = workspace / "marketplace" / "mnist.yaml"
    async with connected(**in_workspace(workspace)) as client:
        text = file.read_text().replace("name/install_wget", "name/install_wgte")
        client.open(text, uri=file.as_uri())
        assert codes(await client.published(file.as_uri())) == {UNKNOWN}
        end = text.index("name/install_wgte") + len("name/install")
        line, column = text.count("\n", 0, end), end - text.rfind("\n", 0, end) - 1
        found = await client.ask(
            "textDocument/completion", textDocument={"uri": file.as_uri()}, position=place((line, column))["start"]
        )
        assert "marketplace://name/install_wget" in {one["label"] for one in found["items"]}
        # Other people's YAML in the folder is left alone.
        other = workspace / "marketplace" / "action.yml"
        client.open("name: Build\nruns: {using: node}\n", uri=other.as_uri())
        await client.settle()
        assert not [one for one in client.received if one.get("params", {}).get("uri") == other.as_uri()]


@in_a_loop
async def test_a_server_is_asked_in_the_background(workspace: Path, server: Marketplace) -> None:
    answers = {"window/workDoneProgress/create": lambda _: None}
    released = threading.Event()
    server.reaction = held(server.reaction, released)
    async with connected(capabilities=PROGRESS, answers=answers, **in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        assert NOT_ASKED in codes(await client.published(uri))
        released.set()
        diagnostics = await until_code(client, uri, NOT_ASKED, is_there=False)
        assert UNKNOWN not in codes(diagnostics)
        assert await status(client, "ready") == "1 definition"
        await client.next(lambda one: one.get("params", {}).get("value", {}).get("kind") == "end")
        kinds = [one["params"]["value"]["kind"] for one in client.received if one.get("method") == "$/progress"]
        assert kinds == ["begin", "report"]
        asked = len(server.requests)
        for version in range(2, 6):
            client.change({"text": JOB.replace("mnist", f"other{version}")}, version=version, uri=uri)
        await client.published(uri, version=5)
        assert len(server.requests) == asked == 1, "nothing is asked because of what is typed"


@in_a_loop
async def test_a_client_that_refuses_progress_gets_none(workspace: Path, server: Marketplace) -> None:
    async with connected(capabilities=PROGRESS, **in_workspace(workspace)) as client:
        open_job(client, workspace)
        created = await client.next(lambda one: one.get("method") == "window/workDoneProgress/create")
        client.send({"id": created["id"], "error": {"code": -32601, "message": "not here"}})
        assert await status(client, "ready") == "1 definition"
        assert len(server.requests) == 1
        assert not [one for one in client.received if one.get("method") == "$/progress"]


@in_a_loop
async def test_the_definition_of_an_item_is_a_file_to_look_at(workspace: Path, server: Marketplace) -> None:
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        await until_code(client, uri, NOT_ASKED, is_there=False)
        (found,) = await client.ask(
            "textDocument/definition", textDocument={"uri": uri}, position=place((5, 30))["start"]
        )
        file = Path(url2pathname(urlsplit(found["uri"]).path))
        text = file.read_text(encoding="utf-8")  # noqa: ASYNC240 - a small file
        assert text == await command(client, "text", f"{server.url}/items/{item(1, 'mnist')['id']}")
        start = found["range"]["start"]
        assert text.splitlines()[start["line"]][start["character"] :] == "mnist"
        assert file.stat().st_mode & 0o777 == 0o400  # noqa: ASYNC240 - as above
        assert file.parent.stat().st_mode & 0o777 == 0o700
        again = await client.ask("textDocument/definition", textDocument={"uri": uri}, position=place((5, 30))["start"])
        assert again == [found]


@in_a_loop
async def test_a_client_that_opens_no_progress(
    workspace: Path, server: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pai_lsp.lsp.marketplace_reports._PATIENCE", 0.01)
    async with connected(capabilities=PROGRESS, **in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        await until_code(client, uri, NOT_ASKED, is_there=False)
        assert len(server.requests) == 1


@in_a_loop
async def test_typing_does_not_wait_for_a_silent_server(workspace: Path, server: Marketplace) -> None:
    server.reaction = never
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        assert NOT_ASKED in codes(await client.published(uri))
        await asyncio.to_thread(server.asked.wait, TIMEOUT)
        for version in range(2, 12):
            client.change({"text": f"{JOB}#{'x' * version}\n"}, version=version, uri=uri)
            diagnostics = await asyncio.wait_for(client.published(uri, version=version), TIMEOUT)
            assert NOT_ASKED in codes(diagnostics)
        assert not server.ended.is_set()


@in_a_loop
async def test_a_server_that_fails_is_reported(workspace: Path, server: Marketplace) -> None:
    server.reaction = answering(500, b"Database error")
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        note = f"{server.url}: the server failed (500): 'Database error'"
        assert await status(client, "unreachable") == f"{server.url}: not loaded yet; run 'pai-lsp marketplace refresh'"
        assert await status(client, "unreachable") == note
        await client.next(lambda one: "Database error" in str(one.get("params", {}).get("diagnostics", "")))
        server.reaction = items(item(1, "mnist"))
        assert await command(client, "refresh") == {"state": "ready", "note": "1 definition"}
        await until_code(client, uri, NOT_ASKED, is_there=False)
        server.reaction = answering(403, b"no")
        stale = {"state": "stale", "note": f"{server.url}: access is denied (403): 'no'; last updated just now"}
        assert await command(client, "refresh") == stale
        # What came to light stays known when files are looked at again.
        event = {"uri": (workspace / ".pai-lsp.yaml").as_uri(), "type": 2}
        client.send(client.notification("workspace/didChangeWatchedFiles", changes=[event]))
        await client.settle()
        notified = [one for one in client.received if one.get("method") == "pai-lsp/marketplaceStatus"]
        assert [one["params"]["state"] for one in notified] == ["ready", "stale"]


@in_a_loop
async def test_what_is_known_well_is_not_asked_again(workspace: Path, server: Marketplace) -> None:
    for expected in (1, 1):
        async with connected(**in_workspace(workspace)) as client:
            uri = open_job(client, workspace)
            await status(client, "ready")
            await until_code(client, uri, NOT_ASKED, is_there=False)
            assert len(server.requests) == expected


@in_a_loop
async def test_it_is_asked_again_when_it_is_old(
    workspace: Path, server: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marketplaces, "ASK_AGAIN", 0.01)
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace)
        await until_code(client, uri, NOT_ASKED, is_there=False)
        server.reaction = items(etag='"2"')
        await until_code(client, uri, UNKNOWN, is_there=True)


@in_a_loop
async def test_the_marketplace_is_listed(workspace: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    async with connected(**in_workspace(workspace)) as client:
        assert await command(client, "list") == []
        uri = open_job(client, workspace)
        await client.published(uri)
        listed = await command(client, "list")
        assert await command(client, "list", uri) == listed
        assert [one["name"] for one in listed][-1] == "mnist"
        assert listed[-1] == {
            "reference": MNIST,
            "name": "mnist",
            "title": "",
            "type": "data",
            "summary": "Handwritten digits, 70000 grey images of 28 x 28 pixels",
            "variables": ["dataPath"],
        }
        text = await command(client, "text", str(workspace / "marketplace" / "mnist.yaml"))
        assert text.startswith("name: mnist\n")
        assert await command(client, "text", "/etc/passwd") is None


@in_a_loop
async def test_a_definition_is_inserted(workspace: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", workspace / "marketplace")
    text = "# 😀\ntype: job\nprotocolVersion: 2\ntaskRoles:\n  a: {commands: [x]}\n  b:\n    commands: [y]\n"
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace, text)
        await client.published(uri)
        position = place((6, 8))["start"]
        edit = await command(client, "insert", uri, position, MNIST, {"dataPath": "/data", "other": "dropped"})
        after = edited(text, edit, uri)
        assert after == (
            f"{text.rstrip()}\n    prerequisites: [mnist]\n\nextras:\n  reference_prerequisites:\n    - name: mnist\n"
            f"      require:\n        - name: {MNIST}\n          template_variables:\n            dataPath: /data\n"
        )
        assert Document(after).job.task_roles_by_name["b"].prerequisites[0].name == "mnist"
        again = await command(client, "insert", uri, place((0, 0))["start"], "marketplace://name/install_wget", None)
        assert "{commands: [x], prerequisites: [install_wget]}" in edited(text, again, uri)
        assert await command(client, "insert", "file:///nowhere", position, MNIST, {}) is None
        for wrong in ([uri], [uri, position, 7], [uri, "here", MNIST], [uri, position, MNIST, []]):
            error = await client.ask_in_vain(
                "workspace/executeCommand", command="pai-lsp.marketplace.insert", arguments=wrong
            )
            assert "expects" in error["message"]
        error = await client.ask_in_vain(
            "workspace/executeCommand",
            command="pai-lsp.marketplace.insert",
            arguments=[uri, position, "marketplace://name/nothing"],
        )
        assert error["message"] == "'marketplace://name/nothing' cannot be inserted, not there"


@in_a_loop
async def test_a_large_marketplace_is_offered_in_parts(workspace: Path) -> None:
    folder = workspace / "marketplace"
    folder.mkdir()
    (folder / "all.yaml").write_text("".join(f"- {{name: set_{number:04}, type: data}}\n" for number in range(3000)))
    text = JOB.replace(f'["{MNIST}"]', "[SET]")
    async with connected(**in_workspace(workspace)) as client:
        uri = open_job(client, workspace, text)
        await status(client, "ready")

        async def offered(version: int, typed: str) -> dict[str, Any]:
            client.change({"text": text.replace("SET", typed)}, version=version, uri=uri)
            position = place((5, 20 + len(typed)))["start"]
            found = await client.ask("textDocument/completion", textDocument={"uri": uri}, position=position)
            assert isinstance(found, dict)
            return found

        some = await offered(2, "set")
        assert some["isIncomplete"] is True
        assert len(some["items"]) == 50
        few = await offered(3, "set_299")
        assert [one["label"] for one in few["items"]] == [f"marketplace://name/set_299{number}" for number in range(10)]
