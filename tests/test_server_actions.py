"""Quick fixes, ignoring, explaining and fixing all, as an editor asks for them and applies them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from loopback import alone
from lsprotocol import converters
from lsprotocol import types as lsp
from server_client import CAPABILITIES, URI, Client, codes, connected, place

from pai_lsp.ide.refactorings.refactoring import line_edits
from pai_lsp.lsp.convert import changed_text
from pai_lsp.source.text import ColumnUnit, LineIndex, apply_edits

JOB = """\
protocolVersion: 2
name: "😀"
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "example/train:1.0"}
  - {name: justecho, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [justecho_wrong]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hello]
"""
IN_NAME = (10, 22)
in_a_loop = pytest.mark.asyncio
Action = dict[str, Any]


async def actions(client: Client, start: tuple[int, int], end: tuple[int, int] | None = None, **context: Any) -> Any:
    return await client.ask(
        "textDocument/codeAction",
        textDocument={"uri": URI},
        range=place(start, end),
        context={"diagnostics": [], **context},
    )


def titled(found: list[Action], title: str) -> Action:
    return next(action for action in found if action["title"] == title)


def applied(text: str, edit: Action) -> str:
    """The text after a workspace edit, done as a client does it."""
    (document,) = edit["documentChanges"]
    assert document["textDocument"] == {"uri": URI, "version": 1}
    edits = [converters.get_converter().structure(edit, lsp.TextEdit) for edit in document["edits"]]
    changes = [lsp.TextDocumentContentChangePartial(edit.range, edit.new_text) for edit in edits]
    return changed_text(LineIndex(text), reversed(changes), ColumnUnit.UTF16)


@in_a_loop
async def test_a_quick_fix() -> None:
    async with connected() as client:
        client.open(JOB)
        published = await client.published(version=1)
        fix = titled(await actions(client, IN_NAME), "Change to 'justecho'")
        assert fix["kind"] == "quickfix"
        assert fix["isPreferred"] is True
        assert fix["diagnostics"] == [one for one in published if one["code"] == "unknown-prerequisite"]
        assert applied(JOB, fix["edit"]) == JOB.replace("justecho_wrong", "justecho")


@in_a_loop
async def test_no_actions_where_nothing_is_wrong() -> None:
    async with connected() as client:
        client.open(JOB.replace("justecho_wrong", "justecho"))
        assert await actions(client, IN_NAME) is None


@in_a_loop
async def test_ignoring_a_finding() -> None:
    async with connected() as client:
        client.open(JOB)
        ignoring = titled(await actions(client, IN_NAME), "Ignore 'unknown-prerequisite' on this line")
        assert "isPreferred" not in ignoring
        text = applied(JOB, ignoring["edit"])
        assert "    prerequisites: [justecho_wrong]  # pai-lsp: ignore[unknown-prerequisite]\n" in text
        client.change({"text": text}, version=2)
        found = codes(await client.published(version=2))
        assert found.isdisjoint({"unknown-prerequisite", "unused-ignore"})


@in_a_loop
async def test_reading_about_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(monkeypatch, str(tmp_path))
    shown: list[Path] = []
    async with connected() as client:
        client.open(JOB)
        reading = titled(await actions(client, IN_NAME), "Read about 'unknown-prerequisite'")
        command = reading["command"]
        await client.ask("workspace/executeCommand", command=command["command"], arguments=command["arguments"])
        message = await client.next(lambda message: message.get("method") == "window/showDocument")
        shown.append(Path(url2pathname(urlsplit(message["params"]["uri"]).path)))
    assert shown[0].name == "unknown-prerequisite.md"
    assert shown[0].read_text(encoding="utf-8").startswith("# unknown-prerequisite\n")


@in_a_loop
@pytest.mark.parametrize("only", ["source", "source.fixAll", "source.fixAll.pai-lsp"])
async def test_fixing_all(only: str) -> None:
    text = JOB.replace("name: justecho,", "name: justecho, nmae: x,").replace("dockerImage: image", "dockerImage: imag")
    async with connected() as client:
        client.open(text)
        (action,) = await actions(client, (0, 0), only=[only])
        assert action["kind"] == "source.fixAll.pai-lsp"
        fixed = applied(text, action["edit"])
        assert "prerequisites: [justecho]" in fixed
        assert "dockerImage: image\n" in fixed
        assert fixed.splitlines()[0] == text.splitlines()[0]


@in_a_loop
async def test_fixing_all_is_offered_when_somebody_asks() -> None:
    async with connected() as client:
        client.open(JOB)
        kinds = {"source.fixAll.pai-lsp", "quickfix"}
        assert {one["kind"] for one in await actions(client, IN_NAME, triggerKind=1)} == kinds
        assert {one["kind"] for one in await actions(client, IN_NAME)} == kinds
        assert {one["kind"] for one in await actions(client, IN_NAME, triggerKind=2)} == {"quickfix"}
        assert {one["kind"] for one in await actions(client, IN_NAME, only=["quickfix"])} == {"quickfix"}
        assert await actions(client, IN_NAME, only=["refactor", "source.organizeImports", "quick"]) is None
        client.change({"text": JOB.replace("justecho_wrong", "justecho")}, version=2)
        assert await actions(client, (0, 0), only=["source.fixAll"]) is None


@in_a_loop
async def test_no_room_for_a_comment_is_said() -> None:
    text = JOB.replace("[justecho_wrong]", '["justecho_\n      wrong"]')
    async with connected() as client:
        client.open(text)
        found = titled(await actions(client, IN_NAME), "Ignore 'unknown-prerequisite' on this line")
        assert found["disabled"] == {"reason": "a comment here would become part of the text"}
        assert "edit" not in found
    literals: Action = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    async with connected(capabilities={"textDocument": {"codeAction": literals}}) as client:
        client.open(text)
        titles = [one["title"] for one in await actions(client, IN_NAME)]
        shown = [title for title in titles if title.startswith(("Ignore", "Read"))]
        assert shown == ["Ignore 'unknown-prerequisite' in this file"]


@in_a_loop
@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("pai-lsp.explain", ["unknown-prerequisit"], "did you mean 'unknown-prerequisite'?"),
        ("pai-lsp.explain", None, "no rule has the code ''"),
        ("pai-lsp.openRule", [{"a": 1}], "no rule"),
        ("pai-lsp.unheardOf", [], "no command is named 'pai-lsp.unheardOf'"),
    ],
)
async def test_wrong_commands(command: str, arguments: Any, message: str) -> None:
    async with connected() as client:
        error = await client.ask_in_vain("workspace/executeCommand", command=command, arguments=arguments)
        assert error["code"] == -32602
        assert message in error["message"]


@in_a_loop
async def test_explaining_a_rule() -> None:
    async with connected() as client:
        page = await client.ask("workspace/executeCommand", command="pai-lsp.explain", arguments=["unused-ignore"])
        title, severity, first, *_ = page.split("\n\n")
        assert (title, severity) == ("# unused-ignore", "*hint*")
        assert first == "An ignore comment silences nothing."
        assert "```yaml\n# pai-lsp: ignore[unknown-key] was needed once\n" in page
        assert page.count("```") % 2 == 0


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("a\nb\nc\n", "a\nb\nc\n", 0),
        ("a\nb\nc\n", "a\nx\nc\n", 1),
        ("a\nb\nc\n", "a\nc\n", 1),
        ("a\nb\nc", "x\nb\nc\nd", 2),
        ("", "a", 1),
        ("a\r\nb\u2028c\rd", "a\r\nB\u2028c\rD", 2),
    ],
)
def test_line_edits(before: str, after: str, count: int) -> None:
    edits = line_edits(before, after)
    assert len(edits) == count
    assert apply_edits(before, edits) == after


REFACTORING = {"valueSet": ["quickfix", "refactor"]}
RESOLVING: Action = {
    **CAPABILITIES,
    "textDocument": {
        **CAPABILITIES["textDocument"],
        "codeAction": {
            **CAPABILITIES["textDocument"]["codeAction"],
            "codeActionLiteralSupport": {"codeActionKind": REFACTORING},
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
}
TRAINING = JOB.replace("justecho_wrong", "justecho").replace("echo hello", "'echo \"😀\"', train --lr 0.01")
IN_OPTION = (12, 40)


@in_a_loop
async def test_a_refactoring_is_made_when_the_client_asks_for_it() -> None:
    async with connected(capabilities=RESOLVING) as client:
        client.open(TRAINING)
        found = await actions(client, IN_OPTION, only=["refactor.extract"])
        action = titled(found, "Move to the parameter 'lr'")
        assert action["kind"] == "refactor.extract"
        assert "edit" not in action
        resolved = await client.ask("codeAction/resolve", **action)
        text = applied(TRAINING, resolved["edit"])
        assert "    commands: ['echo \"😀\"', train --lr <% $parameters.lr %>]\n" in text
        assert text.endswith("parameters:\n  lr: 0.01\n")


@in_a_loop
async def test_a_refactoring_of_a_text_that_has_changed_is_not_made() -> None:
    async with connected(capabilities=RESOLVING) as client:
        client.open(TRAINING)
        (action,) = await actions(client, IN_OPTION, only=["refactor.extract"])
        client.change({"text": "# now\n" + TRAINING}, version=2)
        error = await client.ask_in_vain("codeAction/resolve", **action)
        assert error["code"] == lsp.LSPErrorCodes.ContentModified.value


@in_a_loop
async def test_a_client_that_can_not_ask_later_gets_the_edit_at_once() -> None:
    async with connected() as client:
        client.open(TRAINING)
        (action,) = await actions(client, IN_OPTION, only=["refactor"])
        assert "lr: 0.01" in applied(TRAINING, action["edit"])


@in_a_loop
async def test_a_refactoring_that_can_not_be_done_says_why() -> None:
    async with connected() as client:
        client.open(TRAINING)
        found = await actions(client, (12, 28), (12, 43), only=["refactor.extract"])
        reason = "only the first commands can run before the others"
        assert titled(found, "Extract into a prerequisite 'setup'")["disabled"] == {"reason": reason}
        assert await actions(client, (12, 28), (12, 43), only=["refactor.inline"]) is None


@in_a_loop
async def test_a_former_job_can_be_converted_and_other_files_can_not() -> None:
    former = 'jobName: "😀"\nimage: "example/train:1.0"\ntaskRoles: [{name: worker, taskNumber: 1, command: ls}]\n'
    async with connected() as client:
        client.open(former, uri="file:///jobs/old.yaml")
        where = {
            "textDocument": {"uri": "file:///jobs/old.yaml"},
            "range": place((0, 0)),
            "context": {"diagnostics": []},
        }
        (action,) = await client.ask("textDocument/codeAction", **where)
        assert action["title"] == "Convert to protocol version 2"
        client.open("image: a\nservices: []\n", uri="file:///jobs/compose.yaml")
        where["textDocument"]["uri"] = "file:///jobs/compose.yaml"
        assert await client.ask("textDocument/codeAction", **where) is None


EXTENDED = JOB.replace("plugin: com.microsoft.pai.runtimeplugin.cmd", "callbacks: []").replace("_wrong", "")
EXPAND, REPLACE = "Expand the job for submission", "Replace the job with the expanded one"
CREATING = CAPABILITIES | {
    "workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}, "applyEdit": True}
}


@in_a_loop
async def test_an_expanded_job_is_written_beside_its_source() -> None:
    async with connected(capabilities=CREATING) as client:
        client.open(EXTENDED)
        found = await actions(client, (0, 0), only=["refactor.rewrite"])
        created, written = titled(found, EXPAND)["edit"]["documentChanges"]
        assert created == {
            "kind": "create",
            "uri": URI.replace(".pai.yaml", ".expanded.pai.yaml"),
            "options": {"ignoreIfExists": True},
        }
        assert written["textDocument"]["uri"] == created["uri"]
        (edit,) = written["edits"]
        assert edit["newText"] == applied(EXTENDED, titled(found, REPLACE)["edit"])
        client.open(EXTENDED, uri="untitled:job")
        where = {"textDocument": {"uri": "untitled:job"}, "range": place((0, 0)), "context": {"diagnostics": []}}
        titles = [one["title"] for one in await client.ask("textDocument/codeAction", **where)]
        assert REPLACE in titles
        assert EXPAND not in titles


@in_a_loop
async def test_a_client_can_open_the_expanded_job_itself() -> None:
    async with connected(initializationOptions={"commands": ["openpai.expand"]}) as client:
        client.open(EXTENDED)
        action = titled(await actions(client, (0, 0), only=["refactor.rewrite"]), EXPAND)
        assert action["command"] == {"title": EXPAND, "command": "pai-lsp.expand", "arguments": [URI]}
        client.change({"text": EXTENDED.replace("[justecho]", "[justecho, nothing]")}, version=2)
        found = await actions(client, (0, 0), only=["refactor.rewrite"])
        reasons = {one["title"]: one["disabled"]["reason"] for one in found if one["title"] in {EXPAND, REPLACE}}
        assert reasons == dict.fromkeys((EXPAND, REPLACE), "no prerequisite is named 'nothing'")


@in_a_loop
async def test_a_client_that_cannot_create_files_only_replaces() -> None:
    async with connected() as client:
        client.open(EXTENDED)
        found = await actions(client, (0, 0), only=["refactor.rewrite"])
        assert [one["title"] for one in found if one["title"] in {EXPAND, REPLACE}] == [REPLACE]
