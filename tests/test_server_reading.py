"""What clients get to see beside and around a job, as far as they can show it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD
from server_client import CAPABILITIES, URI, Client, connected, place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

JOB = (
    HEAD
    + """\
  - {type: script, name: prepare, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}
  - {type: script, name: follow, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}
parameters: {rate: 0.1}
taskRoles:
  worker:
    dockerImage: image
    prerequisites: [prepare, follow]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
    commands:
      - |
        echo <% $parameters.rate %> ${HOME:-
        x}
"""
)
DOCUMENT = {"uri": URI}
EVERYTHING = place((0, 0), (99, 0))


async def hints(client: Client) -> list[str]:
    found = await client.ask("textDocument/inlayHint", textDocument=DOCUMENT, range=EVERYTHING)
    return [one["label"] for one in found]


def answering(sections: list[Any]) -> dict[str, Any]:
    """A client that answers with these sections, one after the other."""

    def answer(parameters: Any) -> list[Any]:
        section = sections.pop(0)
        return [section for _ in parameters["items"]]

    refreshed = dict.fromkeys(("workspace/inlayHint/refresh", "workspace/codeLens/refresh"), lambda _: None)
    return {"workspace/configuration": answer, **refreshed}


async def test_hints_are_placed_beside_what_they_tell_of() -> None:
    async with connected() as client:
        client.open(JOB)
        found = await client.ask("textDocument/inlayHint", textDocument=DOCUMENT, range=EVERYTHING)
        assert [(one["label"], one["paddingLeft"], one["paddingRight"]) for one in found] == [
            ("1 task: 1 GPU, 1 CPU, 1 GiB", True, False),
            ("1.", False, True),
            ("2.", False, True),
            ("= 0.1", True, False),
        ]
        assert found[2]["tooltip"] == "1. prepare\n2. follow"


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("templateValues", ["1 task: 1 GPU, 1 CPU, 1 GiB", "1.", "2."]),
        ("runOrder", ["1 task: 1 GPU, 1 CPU, 1 GiB", "= 0.1"]),
        ("resources", ["1.", "2.", "= 0.1"]),
    ],
)
async def test_each_kind_of_hint_can_be_switched_off(name: str, left: list[str]) -> None:
    options = {"openpai": {"inlayHints": {name: False}}}
    async with connected(capabilities={}, initializationOptions=options) as client:
        client.open(JOB)
        assert await hints(client) == left


async def test_hints_and_lenses_are_asked_for_again_when_settings_change() -> None:
    hidden = {"runOrder": False, "resources": False, "templateValues": 0}
    sections = [None, {"inlayHints": hidden, "codeLens": {"references": False}}]
    refresh = {"refreshSupport": True}
    workspace = {**CAPABILITIES["workspace"], "inlayHint": refresh, "codeLens": refresh}
    async with connected(capabilities={**CAPABILITIES, "workspace": workspace}, answers=answering(sections)) as client:
        client.open(JOB)
        await client.published()
        assert len(await hints(client)) == 4
        client.send(client.notification("workspace/didChangeConfiguration", settings=None))
        await client.next(lambda message: message.get("method") == "workspace/inlayHint/refresh")
        await client.next(lambda message: message.get("method") == "workspace/codeLens/refresh")
        assert await hints(client) == ["= 0.1"]
        lenses = await client.ask("textDocument/codeLens", textDocument=DOCUMENT)
        assert {one["command"]["title"].lstrip("0123456789 ") for one in lenses} <= {
            "image of 1 task",
            "runs on 1 task",
        }
        assert lenses


async def test_a_file_that_is_no_job_any_more_has_no_hints() -> None:
    async with connected() as client:
        client.open(JOB, uri="file:///work/job.yaml")
        client.change({"text": "a: 1\n"}, version=2, uri="file:///work/job.yaml")
        asked = {"textDocument": {"uri": "file:///work/job.yaml"}, "range": EVERYTHING}
        assert await client.ask("textDocument/inlayHint", **asked) is None


async def test_lenses_of_a_client_with_commands() -> None:
    options = {"commands": ["openpai.preview", "editor.action.showReferences", 3]}
    async with connected(initializationOptions=options) as client:
        client.open(JOB)
        found = [one["command"] for one in await client.ask("textDocument/codeLens", textDocument=DOCUMENT)]
        (preview,) = [one for one in found if one["title"] == "preview what runs"]
        assert (preview["command"], preview["arguments"]) == ("openpai.preview", [URI, "worker"])
        uses = next(one for one in found if one["title"] == "1 reference")
        assert uses["command"] == "editor.action.showReferences"
        assert uses["arguments"] == [
            URI,
            {"line": 4, "character": 5},
            [{"uri": URI, "range": place((10, 17), (10, 22))}],
        ]


async def test_lenses_of_a_client_without_commands_only_say_something() -> None:
    async with connected() as client:
        client.open(JOB)
        found = [one["command"] for one in await client.ask("textDocument/codeLens", textDocument=DOCUMENT)]
        assert {one["command"] for one in found} == {""}
        assert "preview what runs" not in {one["title"] for one in found}
        assert "runs on 1 task" in {one["title"] for one in found}


async def test_an_outline_is_nested_where_that_is_known() -> None:
    capabilities = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
    async with connected(capabilities=capabilities) as client:
        client.open(JOB)
        nested = await client.ask("textDocument/documentSymbol", textDocument=DOCUMENT)
        roles = next(one for one in nested if one["name"] == "taskRoles")
        assert [(one["name"], one["detail"]) for one in roles["children"]] == [("worker", "1 task, 1 GPU")]
    async with connected(capabilities={}) as client:
        client.open(JOB)
        flat = await client.ask("textDocument/documentSymbol", textDocument=DOCUMENT)
        assert ("worker", "taskRoles") in {(one["name"], one.get("containerName")) for one in flat}


async def test_no_more_folds_than_wanted() -> None:
    capabilities = {"textDocument": {"foldingRange": {"rangeLimit": 2}}}
    async with connected(capabilities=capabilities) as client:
        client.open("# a\n# b\n" + JOB)
        assert await client.ask("textDocument/foldingRange", textDocument=DOCUMENT) == [
            {"startLine": 0, "startCharacter": 3, "endLine": 1, "endCharacter": 3, "kind": "comment"},
            {"startLine": 5, "startCharacter": 14, "endLine": 8, "endCharacter": 92},
        ]


async def test_a_token_of_two_lines() -> None:
    async with connected() as client:
        client.open(JOB)
        data = (await client.ask("textDocument/semanticTokens/full", textDocument=DOCUMENT))["data"]
        numbers = [data[at : at + 5] for at in range(0, len(data), 5)]
        variable = 9
        assert [number[2] for number in numbers if number[3] == variable] == [8, 10]


async def test_the_legend_names_what_the_numbers_mean() -> None:
    client = Client()
    result = await client.ask("initialize", processId=None, rootUri=None, capabilities={})
    provider = result["capabilities"]["semanticTokensProvider"]
    assert provider["legend"]["tokenTypes"][9] == "variable"
    assert (provider["full"], provider["range"]) == (True, True)
    await client.ask("shutdown")
    client.send({"method": "exit"})
    assert await client.serving == 0


async def test_a_link_has_words() -> None:
    async with connected() as client:
        client.open(JOB)
        (found,) = await client.ask("textDocument/documentLink", textDocument=DOCUMENT)
        assert found["tooltip"] == "Open the image on Docker Hub"


async def test_definitions_for_clients_that_know_no_links() -> None:
    async with connected(capabilities={}) as client:
        client.open(JOB)
        position = {"line": 10, "character": 18}
        (found,) = await client.ask("textDocument/definition", textDocument=DOCUMENT, position=position)
        assert found == {"uri": URI, "range": place((4, 30), (4, 35))}


async def names(client: Client, query: str) -> list[tuple[str, str]]:
    found = await client.ask("workspace/symbol", query=query)
    return [(one["containerName"], one["name"]) for one in found]


async def test_names_in_all_jobs_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "below" / ".hidden").mkdir(parents=True)
    (tmp_path / "below" / "one.yaml").write_text(JOB.replace("worker", "漢字one"), encoding="utf-8")
    (tmp_path / "below" / ".hidden" / "two.yaml").write_text(JOB.replace("worker", "two"))
    (tmp_path / "three.pai.yaml").write_text("taskRoles: {three: {}}\nsecrets: {token: very-secret}\n")
    (tmp_path / "compose.yaml").write_text("taskRoles: {none: {}}\n")
    (tmp_path / "broken.pai.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "endless.pai.yaml").symlink_to("/dev/zero")
    folders = [{"uri": tmp_path.as_uri(), "name": "work"}]
    async with connected(workspaceFolders=folders) as client:
        assert await names(client, "WRK") == []
        assert await names(client, "ne") == [("one.yaml", "漢字one")]
        assert await names(client, "tkn") == [("three.pai.yaml", "token")]
        assert ("one.yaml", "prepare") in await names(client, "")
        (found,) = await client.ask("workspace/symbol", query="漢字")
        assert found["location"] == {
            "uri": (tmp_path / "below" / "one.yaml").as_uri(),
            "range": place((9, 2), (9, 7)),
        }
        # A file that has changed is read again.
        changed = tmp_path / "three.pai.yaml"
        changed.write_text("taskRoles: {threes: {}}\n")
        os.utime(changed, ns=(1, 1))
        assert await names(client, "three") == [("three.pai.yaml", "threes")]
        # Open files are searched as they are in the editor.
        client.open("taskRoles: {edited: {}}\n", uri=changed.as_uri())
        assert await names(client, "three") == []
        assert await names(client, "edited") == [("three.pai.yaml", "edited")]
        changed.unlink()
        (tmp_path / "below" / "one.yaml").unlink()
        assert await names(client, "ne") == []


async def test_a_workspace_is_not_searched_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pai_lsp.lsp import workspace  # noqa: PLC0415 - the server loads them when it is asked

    for number in range(10):
        (tmp_path / f"{number}.pai.yaml").write_text(f"taskRoles: {{role{number}: {{}}}}\n")
    folders = [{"uri": tmp_path.as_uri(), "name": "work"}]
    async with connected(workspaceFolders=folders) as client:
        assert len(await names(client, "role")) == 10
        with monkeypatch.context() as patch:
            patch.setattr(workspace, "MOST_FILES", 4)
            assert len(await names(client, "role")) == 4
        with monkeypatch.context() as patch:
            patch.setattr(workspace, "LONGEST_LOOK", -1)
            assert await names(client, "role") == []
        with monkeypatch.context() as patch:
            patch.setattr(workspace, "MOST_SYMBOLS", 3)
            assert len(await names(client, "role")) == 3
        with monkeypatch.context() as patch:
            patch.setattr(workspace, "MOST_BYTES", 10)
            os.utime(tmp_path / "0.pai.yaml", ns=(1, 1))
            assert len(await names(client, "role")) == 9


def word(range_: dict[str, Any]) -> str:
    """The line, counted from 0, and the text of a range within it."""
    start, end = range_["start"], range_["end"]
    assert start["line"] == end["line"]
    return f"{start['line']} {JOB.splitlines()[start['line']][start['character'] : end['character']]}"


PREPARE = {"line": 11, "character": 22}
KINDS = {None: "", 2: " read", 3: " written"}


@pytest.mark.parametrize(
    ("method", "more", "expected"),
    [
        ("references", {"context": {"includeDeclaration": True}}, ["5 prepare", "11 prepare"]),
        ("references", {"context": {"includeDeclaration": False}}, ["11 prepare"]),
        ("documentHighlight", {}, ["5 prepare written", "11 prepare read"]),
        ("definition", {}, ["5 prepare"]),
        ("prepareRename", {}, ["11 prepare"]),
        ("hover", {}, ["11 prepare"]),
    ],
)
async def test_the_places_of_a_name(method: str, more: dict[str, Any], expected: list[str]) -> None:
    async with connected() as client:
        client.open(JOB)
        found = await client.ask(f"textDocument/{method}", textDocument=DOCUMENT, position=PREPARE, **more)
        answers = found if isinstance(found, list) else [found]
        assert [word(one["range"]) + KINDS[one.get("kind")] for one in answers] == expected
        start = {"line": 0, "character": 0}
        if method not in {"prepareRename", "hover"}:
            nothing = await client.ask(f"textDocument/{method}", textDocument=DOCUMENT, position=start, **more)
            assert nothing is None


async def test_a_selection_grows_from_each_position() -> None:
    async with connected() as client:
        client.open(JOB)
        at = [PREPARE, {"line": 1, "character": 1}]
        found = await client.ask("textDocument/selectionRange", textDocument=DOCUMENT, positions=at)
        grown = [found[0], found[0]["parent"], found[0]["parent"]["parent"]]
        assert [word(one["range"]) for one in grown] == [
            "11 prepare",
            "11 [prepare, follow]",
            "11 prerequisites: [prepare, follow]",
        ]
        assert word(found[1]["range"]) == "1 name"


async def test_the_tokens_of_a_range_are_those_of_the_document_there() -> None:
    async with connected() as client:
        client.open(JOB)
        line = place((11, 0), (12, 0))
        some = await client.ask("textDocument/semanticTokens/range", textDocument=DOCUMENT, range=line)
        assert some["data"] == [11, 20, 7, 0, 0, 0, 9, 6, 0, 0]
