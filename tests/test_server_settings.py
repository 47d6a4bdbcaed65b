"""Settings from the editor and from `.pai-lsp.yaml`, and what happens when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from server_client import Client, codes, connected

from pai_lsp.findings.diagnostic import Severity
from pai_lsp.lsp import session, workspace_settings
from pai_lsp.lsp.workspace_settings import section_configuration, section_in
from pai_lsp.project.projects import FileSettings, Projects

if TYPE_CHECKING:
    from pathlib import Path

JOB = "protocolVersion: 2\ntype: job\nname: train\ntaskRoles: {worker: {prerequisites: [nothing]}}\n"
CODE = "unknown-prerequisite"
OFF = {"rules": {CODE: "off"}}
WARNING = {"rules": {CODE: "warning"}}
in_a_loop = pytest.mark.asyncio


def answering(*sections: Any) -> dict[str, Any]:
    """A client that answers with these sections, one after the other and then with the last one."""
    left = list(sections)

    def answer(parameters: Any) -> list[Any]:
        section = left.pop(0) if len(left) > 1 else left[0]
        return [section for _ in parameters["items"]]

    return {"workspace/configuration": answer}


def severity(diagnostics: list[dict[str, Any]]) -> int | None:
    return next((one["severity"] for one in diagnostics if one["code"] == CODE), None)


async def open_in(client: Client, folder: Path, name: str = "job.pai.yaml") -> str:
    uri = (folder / name).as_uri()
    client.open(JOB, uri=uri)
    return uri


@in_a_loop
async def test_the_first_check_waits_for_the_settings(tmp_path: Path) -> None:
    async with connected(answers=answering(OFF)) as client:
        uri = await open_in(client, tmp_path)
        assert CODE not in codes(await client.published(uri))
        await client.settle()
        assert not [one for one in client.received if one.get("method") == "textDocument/publishDiagnostics"]


@in_a_loop
async def test_a_client_that_does_not_tell_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_settings, "PATIENCE", 0.01)
    client = Client()
    del client.answers["workspace/configuration"]
    capabilities = {"workspace": {"configuration": True}}
    await client.ask("initialize", processId=None, rootUri=None, capabilities=capabilities)
    client.send(client.notification("initialized"))
    uri = await open_in(client, tmp_path)
    assert severity(await client.published(uri)) == Severity.ERROR
    # The answer comes late, and counts all the same.
    question = await client.next(lambda message: message.get("method") == "workspace/configuration")
    client.send({"id": question["id"], "result": [OFF]})
    assert CODE not in codes(await client.published(uri))


@in_a_loop
async def test_a_client_that_refuses_to_tell(tmp_path: Path) -> None:
    client = Client()
    del client.answers["workspace/configuration"]
    capabilities = {"workspace": {"configuration": True}}
    options = {"openpai": WARNING}
    await client.ask(
        "initialize", processId=None, rootUri=None, capabilities=capabilities, initializationOptions=options
    )
    client.send(client.notification("initialized"))
    question = await client.next(lambda message: message.get("method") == "workspace/configuration")
    client.send({"id": question["id"], "error": {"code": -32601, "message": "unheard of"}})
    uri = await open_in(client, tmp_path)
    assert severity(await client.published(uri)) == Severity.WARNING


@in_a_loop
async def test_a_client_that_answers_less_than_it_is_asked(tmp_path: Path) -> None:
    answers = {"workspace/configuration": lambda _: [OFF]}
    folders = [{"uri": tmp_path.as_uri(), "name": "jobs"}]
    async with connected(answers=answers, workspaceFolders=folders) as client:
        uri = await open_in(client, tmp_path)
        assert CODE not in codes(await client.published(uri))


@in_a_loop
async def test_settings_that_are_asked_for_again(tmp_path: Path) -> None:
    async with connected(answers=answering(WARNING, OFF)) as client:
        uri = await open_in(client, tmp_path)
        assert severity(await client.published(uri)) == Severity.WARNING
        client.send(client.notification("workspace/didChangeConfiguration", settings=None))
        assert CODE not in codes(await client.published(uri))


@in_a_loop
async def test_settings_that_are_pushed(tmp_path: Path) -> None:
    async with connected(capabilities={}, initializationOptions=WARNING) as client:
        uri = await open_in(client, tmp_path)
        assert severity(await client.published(uri)) == Severity.WARNING
        client.send(client.notification("workspace/didChangeConfiguration", settings={"openpai": OFF}))
        assert CODE not in codes(await client.published(uri))
        client.send(client.notification("workspace/didChangeConfiguration", settings=None))
        await client.settle()


@in_a_loop
async def test_each_folder_has_its_own_settings(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "ab"
    folders = [{"uri": folder.as_uri(), "name": folder.name} for folder in (one, two)]

    def answer(parameters: Any) -> list[Any]:
        scopes = {None: None, one.as_uri(): OFF, two.as_uri(): WARNING}
        return [scopes[item.get("scopeUri")] for item in parameters["items"]]

    async with connected(answers={"workspace/configuration": answer}, workspaceFolders=folders) as client:
        assert severity(await client.published(await open_in(client, one))) is None
        assert severity(await client.published(await open_in(client, two))) == Severity.WARNING
        assert severity(await client.published(await open_in(client, tmp_path))) == Severity.ERROR
        event = {"added": [], "removed": [folders[0]]}
        client.send(client.notification("workspace/didChangeWorkspaceFolders", event=event))
        assert severity(await client.published((one / "job.pai.yaml").as_uri())) == Severity.ERROR


@in_a_loop
async def test_a_configuration_file_that_changes(tmp_path: Path) -> None:
    file = tmp_path / ".pai-lsp.yaml"
    folder = tmp_path / "jobs"
    folder.mkdir()
    workspace = [{"uri": tmp_path.as_uri(), "name": "work"}]
    async with connected(answers=answering(OFF), workspaceFolders=workspace) as client:
        file.write_text("rules: {unknown-prerequisite: warning}\n")
        uri = await open_in(client, folder)
        assert severity(await client.published(uri)) == Severity.WARNING, "the file has the last word"
        file.write_text("rules: {unknown-prerequisite: information}\n")
        event = {"uri": file.as_uri(), "type": 2}
        client.send(client.notification("workspace/didChangeWatchedFiles", changes=[event]))
        assert severity(await client.published(uri)) == Severity.INFORMATION
        file.write_text("exclude: [jobs/]\n")
        client.send(client.notification("textDocument/didSave", textDocument={"uri": file.as_uri()}))
        assert await client.published(uri) == []
        file.unlink()
        client.send(client.notification("textDocument/didClose", textDocument={"uri": uri}))
        assert severity(await client.published(await open_in(client, folder))) is None


@in_a_loop
async def test_a_puller_that_cannot_be_told_is_not_asked(tmp_path: Path) -> None:
    async with connected(capabilities={"textDocument": {"diagnostic": {}}}) as client:
        uri = await open_in(client, tmp_path)
        client.send(client.notification("workspace/didChangeConfiguration", settings=OFF))
        found: Any = Severity.ERROR
        while found is not None:  # until the settings count
            found = severity((await client.ask("textDocument/diagnostic", textDocument={"uri": uri}))["items"])
        assert not [one for one in client.received if one.get("method") == "workspace/diagnostic/refresh"]


@in_a_loop
async def test_a_puller_is_told_to_pull_again(tmp_path: Path) -> None:
    pulling = {
        "textDocument": {"diagnostic": {}},
        "workspace": {"diagnostics": {"refreshSupport": True}},
    }
    answers = {"workspace/diagnostic/refresh": lambda _: None}
    async with connected(capabilities=pulling, answers=answers) as client:
        uri = await open_in(client, tmp_path)
        report = await client.ask("textDocument/diagnostic", textDocument={"uri": uri})
        assert severity(report["items"]) == Severity.ERROR
        client.send(client.notification("workspace/didChangeConfiguration", settings=OFF))
        await client.next(lambda message: message.get("method") == "workspace/diagnostic/refresh")
        report = await client.ask("textDocument/diagnostic", textDocument={"uri": uri})
        assert severity(report["items"]) is None


@in_a_loop
async def test_faults_in_the_settings_are_told(tmp_path: Path) -> None:
    section = {"rules": {CODE: "eror"}, "trace": {"server": "off"}}
    async with connected(answers=answering(section)) as client:
        await open_in(client, tmp_path)
        message = await client.next(lambda message: message.get("method") == "window/logMessage")
        assert message["params"]["type"] == 2
        assert "not the string 'eror'; did you mean 'error'?" in message["params"]["message"]
        await client.settle()
        assert not [one for one in client.received if one.get("method") == "window/logMessage"], "and nothing else"


@pytest.mark.parametrize("section", [None, [], "off", 3, {}, {"rules": None}, {"trace": "off"}])
def test_sections_that_say_nothing(section: Any) -> None:
    configuration = section_configuration(section)
    assert (configuration.settings.severities, configuration.diagnostics) == ({}, ())


def test_a_section_may_come_under_its_name() -> None:
    assert section_in({"openpai": OFF}) == OFF
    assert section_in(OFF) == OFF
    assert section_in(None) is None


@pytest.mark.parametrize("event", ["edit", "save"])
@in_a_loop
async def test_changes_by_other_programs_in_a_client_that_does_not_watch_files(
    event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LOOK_AGAIN", -1.0)
    (tmp_path / ".git").mkdir()
    uri = (tmp_path / "job.pai.yaml").as_uri()
    async with connected(capabilities={}) as client:
        version = 1

        async def after(change: str) -> set[str]:
            """The codes after a file was changed, and the user has done something in the job."""
            nonlocal version
            if change:
                (tmp_path / ".pai-lsp.yaml").write_text(change, encoding="utf-8")
            version += 1
            if event == "save":
                client.send(client.notification("textDocument/didSave", textDocument={"uri": uri}))
            else:
                client.change({"text": JOB}, version=version, uri=uri)
            return set(codes(await client.published(uri)))

        client.open(JOB, uri=uri)
        assert CODE in codes(await client.published(uri))
        assert CODE not in await after(f"rules: {{{CODE}: off}}\n")
        assert CODE in await after(f"rules: {{{CODE}: warning}}\n")
        (tmp_path / ".pai-lsp.yaml").unlink()
        assert CODE in await after("")


@in_a_loop
async def test_a_mistake_in_a_configuration_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / ".pai-lsp.yaml"
    file.write_text("exclude: []\nrules: {image-latest-tag: of}\n", encoding="utf-8")
    async with connected() as client:
        for number in range(3):
            uri = (tmp_path / f"{number}.pai.yaml").as_uri()
            client.open(JOB, uri=uri)
            assert CODE in codes(await client.published(uri))
        await client.settle()
        shown = [one["params"]["message"] for one in client.received if one.get("method") == "window/showMessage"]
        assert len(shown) == 1
        assert shown[0].startswith(f"{file}:2: ")
        assert shown[0].endswith("; the rest of the file applies")


@in_a_loop
async def test_an_edit_looks_for_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They change with files, the client's settings and trust, and then for all open documents at once."""
    async with connected(answers=answering(WARNING)) as client:
        uri = await open_in(client, tmp_path)
        assert severity(await client.published(uri)) == Severity.WARNING
        await client.settle()
        asked: list[str] = []

        def settings_of(_: Projects, path: str) -> FileSettings:
            asked.append(path)
            return FileSettings()

        monkeypatch.setattr(Projects, "settings_of", settings_of)
        client.change({"text": f"{JOB}# more\n"}, version=2, uri=uri)
        assert severity(await client.published(uri, version=2)) == Severity.WARNING
        assert asked == []
