"""Completion and rename as different clients get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD
from marks import read_cursor
from server_client import URI, Client, connected

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

JOB = (
    HEAD
    + """\
  - {type: script, name: prepare, description: "**All** of it", plugin: com.microsoft.pai.runtimeplugin.cmd}
parameters: {rate: 0.1}
taskRoles:
  worker:
    dockerImage: image
"""
)
AS_IS, SNIPPET, PLAIN = 1, 2, 1


def client_with(item: dict[str, Any] | None = None, **completion: Any) -> dict[str, Any]:
    return {"textDocument": {"completion": {"completionItem": item or {}, **completion}}}


def place_of(text: str, offset: int) -> dict[str, int]:
    return {"line": text.count("\n", 0, offset), "character": offset - text.rfind("\n", 0, offset) - 1}


async def offered(client: Client, text: str, label: str, version: int = 1) -> dict[str, Any]:
    """The item of that label at the `$0` of a text."""
    plain, offset = read_cursor(text)
    client.open(plain, version=version)
    position = place_of(plain, offset)
    found = await client.ask("textDocument/completion", textDocument={"uri": URI}, position=position)
    assert [one["sortText"] for one in found["items"]] == sorted(one["sortText"] for one in found["items"])
    item = next(one for one in found["items"] if one["label"] == label)
    assert isinstance(item, dict)
    return item


async def test_a_client_that_takes_text_only() -> None:
    async with connected(capabilities=client_with()) as client:
        item = await offered(client, f"{JOB}    resou$0", "resourcePerInstance")
        assert item["textEdit"]["newText"] == "resourcePerInstance:\n      cpu: 4\n      memoryMB: 8192\n      gpu: 1"
        assert not {"insertTextFormat", "insertTextMode", "data"} & set(item)
        assert item["documentation"]["kind"] == "plaintext"


async def test_a_client_that_takes_snippets_as_they_are() -> None:
    can = {"snippetSupport": True, "insertTextModeSupport": {"valueSet": [1, 2]}, "documentationFormat": ["markdown"]}
    async with connected(capabilities=client_with(can)) as client:
        item = await offered(client, f"{JOB}    resou$0", "resourcePerInstance")
        written = "resourcePerInstance:\n      cpu: ${1:4}\n      memoryMB: ${2:8192}\n      gpu: ${3:1}"
        assert item["textEdit"]["newText"] == written
        assert (item["insertTextFormat"], item["insertTextMode"]) == (SNIPPET, AS_IS)
        assert item["documentation"]["kind"] == "markdown"
        assert "**" in item["documentation"]["value"]
        name = await offered(client, JOB.replace("dockerImage: image", "dockerImage: $0"), "image", 2)
        assert name["insertTextFormat"] == PLAIN


async def test_a_client_that_indents_snippets_itself() -> None:
    async with connected(capabilities=client_with({"snippetSupport": True})) as client:
        item = await offered(client, f"{JOB}    resou$0", "resourcePerInstance")
        # It puts the four blanks of the line in front of each of these.
        written = "resourcePerInstance:\n  cpu: ${1:4}\n  memoryMB: ${2:8192}\n  gpu: ${3:1}"
        assert item["textEdit"]["newText"] == written
        assert "insertTextMode" not in item


async def test_lines_end_as_in_the_document() -> None:
    async with connected(capabilities=client_with()) as client:
        item = await offered(client, f"{JOB}    resou$0".replace("\n", "\r\n"), "resourcePerInstance")
        assert item["textEdit"]["newText"].count("\r\n") == item["textEdit"]["newText"].count("\n") == 3


async def test_a_word_in_the_middle_of_another_one() -> None:
    text = JOB.replace("dockerImage: image", "dockerImage: im$0age")
    async with connected(capabilities=client_with({"insertReplaceSupport": True})) as client:
        edit = (await offered(client, text, "image"))["textEdit"]
        assert edit["newText"] == "image"
        assert edit["insert"]["end"]["character"] + len("age") == edit["replace"]["end"]["character"]
        assert edit["insert"]["start"] == edit["replace"]["start"]
        # A key with its value never stays in front of the rest of the word.
        key = await offered(client, JOB.replace("dockerImage: image", "docker$0Image"), "dockerImage", 2)
        assert set(key["textEdit"]) == {"range", "newText"}
    async with connected(capabilities=client_with()) as client:
        edit = (await offered(client, text, "image"))["textEdit"]
        assert edit["range"]["end"]["character"] - edit["range"]["start"]["character"] == len("image")


@pytest.mark.parametrize(
    ("typed", "label", "filtered"),
    [
        ("commands: ['echo $pa$0']", "<% $parameters.rate %>", "$parameters.rate %>"),
        ("commands: ['echo <% $par$0']", "$parameters.rate", "$parameters.rat"),
        ("dockerImage: $0", "image", "imag"),
        ("dockerImage: im$0", "image", "imag"),
        ("dockerImage: IM$0", "image", "image"),
        ("PREREQ$0", "prerequisites", "prerequisites"),
        ("$0", "prerequisites", None),
        ("docker$0", "prerequisites", "prerequisites"),
    ],
)
async def test_what_is_compared_with_what_is_typed(typed: str, label: str, filtered: str | None) -> None:
    async with connected(capabilities=client_with()) as client:
        assert (await offered(client, f"{JOB}    {typed}", label)).get("filterText") == filtered


async def test_kinds_that_the_client_does_not_know() -> None:
    text = JOB.replace("cmd}", "cmd, callbacks: [{event: $0}]}")
    async with connected(capabilities=client_with()) as client:
        assert (await offered(client, text, "taskStarts"))["kind"] == 12
    async with connected(capabilities=client_with(completionItemKind={"valueSet": [12, 23]})) as client:
        assert (await offered(client, text, "taskStarts"))["kind"] == 23


async def test_documentation_that_is_asked_for_later() -> None:
    can = {"resolveSupport": {"properties": ["documentation"]}, "documentationFormat": ["markdown"]}
    async with connected(capabilities=client_with(can)) as client:
        text = JOB.replace("dockerImage: image", "prerequisites: [$0]")
        item = await offered(client, text, "prepare")
        assert "documentation" not in item
        # More is typed before the client asks.
        line = text.replace("$0", "").splitlines().index("    prerequisites: []")
        start = {"line": line, "character": len("    prerequisites: [")}
        client.change({"range": {"start": start, "end": start}, "text": "prep"}, version=2)
        resolved = await client.ask("completionItem/resolve", **item)
        assert resolved["documentation"]["kind"] == "markdown"
        assert "**All** of it" in resolved["documentation"]["value"]
        assert resolved["textEdit"] == item["textEdit"]


@pytest.mark.parametrize("kept", [None, 3, {}, {"uri": URI}, {"uri": URI, "line": -1, "character": "x"}, {"uri": "a"}])
async def test_an_item_that_nobody_offered_is_left_as_it_is(kept: Any) -> None:
    async with connected(capabilities=client_with()) as client:
        client.open(JOB)
        assert (await client.ask("completionItem/resolve", label="prepare", data=kept))["label"] == "prepare"


@pytest.mark.parametrize("line", ["dockerImage: ", "commands: ['echo $"])
async def test_the_client_asks_again_when_more_is_typed(line: str) -> None:
    async with connected(capabilities=client_with()) as client:
        text = JOB.replace("dockerImage: image", line)
        client.open(text)
        position = place_of(text, len(text) - 1)
        found = await client.ask("textDocument/completion", textDocument={"uri": URI}, position=position)
        assert found["isIncomplete"] is True
        assert found["items"]


@pytest.mark.parametrize(
    ("can", "expected"),
    [
        ({"tagSupport": {"valueSet": [1]}}, {"tags": [1]}),
        ({}, {}),
    ],
)
async def test_an_old_key_is_struck_through(can: dict[str, Any], expected: dict[str, Any]) -> None:
    async with connected(capabilities=client_with(can)) as client:
        text = f"{JOB}extras:\n  $0\n"
        item = await offered(client, text, "tensorBoard")
        assert {key: item[key] for key in ("tags",) if key in item} == expected
        assert "tags" not in await offered(client, text, "submitFrom")


async def test_edits_elsewhere_come_along() -> None:
    async with connected(capabilities=client_with()) as client:
        item = await offered(client, "name: train\r\ntaskRoles:\r\n  $0\r\n", "task role")
        (above,) = item["additionalTextEdits"]
        assert above["range"] == {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}
        assert above["newText"].startswith("prerequisites:\r\n  - type: dockerimage\r\n")
        plain = await offered(client, f"{JOB}    resou$0", "resourcePerInstance", 2)
        assert "additionalTextEdits" not in plain


async def test_a_rename_that_is_refused_says_why() -> None:
    async with connected() as client:
        client.open(JOB)
        position = place_of(JOB, JOB.index("worker:") + 1)
        error = await client.ask_in_vain(
            "textDocument/rename", textDocument={"uri": URI}, position=position, newName="My_Role"
        )
        assert error["code"] == -32803
        assert error["message"].startswith("'My_Role' cannot name this task role: the runtime looks for")


@pytest.mark.parametrize("versions", [True, False])
async def test_a_rename_changes_the_version_that_it_was_asked_in(*, versions: bool) -> None:
    capabilities = {"workspace": {"workspaceEdit": {"documentChanges": versions}}}
    async with connected(capabilities=capabilities) as client:
        client.open(JOB, version=7)
        position = place_of(JOB, JOB.index("image, uri") + 1)
        found = await client.ask("textDocument/rename", textDocument={"uri": URI}, position=position, newName="torch")
        if versions:
            assert found["documentChanges"][0]["textDocument"] == {"uri": URI, "version": 7}
            edits = found["documentChanges"][0]["edits"]
        else:
            edits = found["changes"][URI]
        assert [edit["newText"] for edit in edits] == ["torch", "torch"]


async def test_a_document_is_formatted_in_whole_lines() -> None:
    async with connected() as client:
        client.open("name: 漢字\ntaskRoles:\n    worker:\n        instances:  1\n")
        options = {"tabSize": 2, "insertSpaces": True}
        edits = await client.ask("textDocument/formatting", textDocument={"uri": URI}, options=options)
        assert [(edit["range"]["start"]["line"], edit["newText"]) for edit in edits] == [
            (2, "  worker:\n    instances: 1\n")
        ]


async def test_a_word_that_is_not_a_name_is_not_renamed_for_a_reason() -> None:
    async with connected() as client:
        client.open(JOB)
        error = await client.ask_in_vain(
            "textDocument/prepareRename", textDocument={"uri": URI}, position=place_of(JOB, 0)
        )
        assert error["message"].startswith("only names that a job defines can be renamed")


@pytest.mark.parametrize(("can", "expected"), [({"prepareSupport": True}, {"prepareProvider": True}), ({}, True)])
async def test_preparing_a_rename_is_offered_to_those_who_know_it(can: dict[str, Any], expected: Any) -> None:
    client = Client()
    result = await client.ask(
        "initialize", processId=None, rootUri=None, capabilities={"textDocument": {"rename": can}}
    )
    assert result["capabilities"]["renameProvider"] == expected
    await client.ask("shutdown")
    client.send({"method": "exit"})
    assert await client.serving == 0


async def test_definition_and_hover_lead_into_the_catalog(tmp_path: Path) -> None:
    (tmp_path / "marketplace").mkdir()
    file = tmp_path / "marketplace" / "mnist.yaml"
    file.write_text("# 漢字😀\n- {漢😀: 1, name: mnist, type: data, description: digits}\n", encoding="utf-8")
    job = JOB.replace("dockerImage: image", "prerequisites: ['marketplace://name/mnist']")
    folders = [{"uri": tmp_path.as_uri(), "name": "work"}]
    capabilities = {"textDocument": {"definition": {"linkSupport": True}, "publishDiagnostics": {}}}
    async with connected(capabilities=capabilities, workspaceFolders=folders) as client:
        uri = (tmp_path / "job.pai.yaml").as_uri()
        client.open(job, uri=uri)
        await client.published(uri)
        position = place_of(job, job.index("name/mnist"))
        (found,) = await client.ask("textDocument/definition", textDocument={"uri": uri}, position=position)
        assert found["targetUri"] == file.as_uri()
        assert found["targetSelectionRange"]["start"] == {"line": 1, "character": len("- {漢😀: 1, name: ") + 1}
        assert found["originSelectionRange"]["start"]["line"] == position["line"]
        hover = await client.ask("textDocument/hover", textDocument={"uri": uri}, position=position)
        assert "digits" in hover["contents"]["value"]
        prepared = await client.ask(
            "textDocument/prepareCallHierarchy",
            textDocument={"uri": uri},
            position=place_of(job, job.index("worker:") + 1),
        )
        calls = await client.ask("callHierarchy/outgoingCalls", item=prepared[0])
        assert [(call["to"]["name"], call["to"]["uri"]) for call in calls] == [("mnist", file.as_uri())]
        assert await client.ask("callHierarchy/outgoingCalls", item=calls[0]["to"]) == []
        assert [
            one["from"]["name"] for one in await client.ask("callHierarchy/incomingCalls", item=calls[0]["to"])
        ] == ["worker"]
