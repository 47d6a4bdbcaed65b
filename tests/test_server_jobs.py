"""The server's commands about whole jobs: previews, graphs, expanded jobs and templates; no secret in any of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD
from server_client import URI, Client, connected, place

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hover import hover

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

JOB = (
    HEAD
    + """\
  - name: prepare
    type: script
    callbacks:
      - {event: taskStarts, commands: [echo ready, login <% $secrets.token %> <% $parameters.apiPassword %>]}
      - {event: taskFails, commands: [echo failed]}
parameters: {apiPassword: glue-and-paper}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [prepare]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [python train.py]
  watcher:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [python watch.py]
secrets: {token: scissors-and-stone}
"""
)

WORKER = """\
# --- before the commands: 'prepare' (line 6) ---
echo ready
login <% $secrets.token %> ***

# --- the commands of 'worker' (line 18) ---
python train.py

# --- after the commands, when they failed: 'prepare' (line 6) ---
echo failed
"""
WATCHER = """\
# --- the commands of 'watcher' (line 23) ---
python watch.py
"""


async def result(client: Client, command: str, *arguments: Any) -> Any:
    return await client.ask("workspace/executeCommand", command=f"pai-lsp.{command}", arguments=list(arguments))


async def test_a_preview_shows_what_a_role_runs() -> None:
    async with connected() as client:
        client.open(JOB)
        preview = await result(client, "preview", URI, "worker")
        assert preview.pop("places")
        assert preview == {"text": WORKER, "languageId": "shellscript"}


@pytest.mark.parametrize("role", [None, "worker"])
async def test_the_lines_of_a_preview_lead_to_their_commands(role: str | None) -> None:
    commands = "[export A=1, '# <% $secrets.token %>', python train.py]"
    text = JOB.replace("[python train.py]", f"{commands}\n    taskRetryCount: 0").replace(
        "[python watch.py]", "\n    - ls"
    )
    async with connected() as client:
        client.open(text)
        preview = await result(client, "preview", URI, role)
        lines = preview["text"].split("\n")
        written = text.split("\n")
        leads = {}
        for number, location in preview["places"].items():
            start, end = location["range"]["start"], location["range"]["end"]
            leads[lines[int(number)]] = written[start["line"]][start["character"] : end["character"]]
        assert leads["echo ready"] == "echo ready"
        assert leads["export A=1"] == "export A=1"
        assert leads["python train.py"] == "python train.py"
        assert leads["# --- after the commands, when they failed: 'prepare' (line 6) ---"] == "echo failed"
        assert role is not None or leads["ls"] == "ls"


async def test_nothing_that_an_editor_shows_of_a_place_tells_a_secret() -> None:
    document = Document(JOB)
    shown = [found.markdown for offset in range(len(JOB)) if (found := hover(document, offset)) is not None]
    assert any("its value is not shown" in text for text in shown)
    assert "scissors" not in "".join(shown)
    assert "scissors" not in str(complete(document, JOB.index("$secrets.token") + len("$secrets.")))


async def test_a_preview_without_a_role_shows_all() -> None:
    async with connected() as client:
        client.open(JOB)
        expected = f"# === each task of 'worker' ===\n\n{WORKER}\n# === each task of 'watcher' ===\n\n{WATCHER}"
        for arguments in ([URI], [URI, None]):
            assert (await result(client, "preview", *arguments))["text"] == expected
        error = await client.ask_in_vain(
            "workspace/executeCommand", command="pai-lsp.preview", arguments=[URI, {"role": "worker"}]
        )
        assert error["code"] == -32602


async def test_the_script_of_a_role_can_be_copied() -> None:
    async with connected() as client:
        client.open(JOB)
        (script,) = await result(client, "script", URI, "worker")
        assert script["role"] == "worker"
        header, _, commands = script["text"].partition("\n\n")
        assert header == "#!/bin/bash\nset -o errexit\nset -o nounset\nset -o pipefail"
        assert commands.strip() in WORKER
        assert "scissors" not in script["text"]
        assert [one["role"] for one in await result(client, "script", URI)] == ["worker", "watcher"]
        assert await result(client, "script", URI, "nobody") == []


async def test_a_preview_follows_edits_and_says_what_is_wrong() -> None:
    async with connected() as client:
        client.open(JOB)
        client.change({"text": JOB.replace("[prepare]", "[prepare, nothing]")}, version=2)
        text = (await result(client, "preview", URI, "worker"))["text"]
        assert text == f"# line 16: no prerequisite is named 'nothing'\n{WORKER}"
        client.change({"text": JOB.replace("{token: ", "{token: 'x' ")}, version=3)
        text = (await result(client, "preview", URI, "worker"))["text"]
        assert text.startswith("# line 24: ")
        assert "stone" not in text
        client.change({"text": JOB}, version=4)
        assert (await result(client, "preview", URI, "nobody"))["text"] == "# no task role is named 'nobody'\n"


async def test_the_graph_for_graphviz_and_for_mermaid() -> None:
    async with connected() as client:
        client.open(JOB)
        graph = await result(client, "graph", URI)
        assert graph["dot"].startswith("digraph ")
        lines = JOB.split("\n")
        names = []
        for node in ("n0", "n1", "n2", "n3"):
            assert graph["places"][node]["uri"] == URI
            start, end = graph["places"][node]["range"]["start"], graph["places"][node]["range"]["end"]
            names.append((start["line"], lines[start["line"]][start["character"] : end["character"]]))
        assert names == [(12, "worker"), (18, "watcher"), (4, "image"), (5, "prepare")]
        assert graph["mermaid"].startswith("flowchart LR\n")
        for text in (graph["dot"], graph["mermaid"]):
            assert "prepare" in text
            assert "paper" not in text
            assert "stone" not in text


async def test_an_expanded_job_can_be_submitted() -> None:
    async with connected() as client:
        client.open(JOB)
        answer = await result(client, "expand", URI)
        text = answer["text"]
        assert [one["code"] for one in answer["findings"]] == ["secret-in-clear"]
        assert "pai_lsp_at_end 'taskFails of " in text
        assert "event: taskFails" not in text
        found = Document(text).diagnostics
        assert [one.code for one in found if one.severity is Severity.ERROR] == []


async def test_a_job_that_can_not_be_expanded_has_findings() -> None:
    async with connected() as client:
        client.open(JOB.replace("[prepare]", "[prepare, nothing]"))
        assert await result(client, "expand", URI) == {
            "findings": [
                {
                    "code": "unknown-prerequisite",
                    "message": "no prerequisite is named 'nothing'",
                    "range": place((15, 29), (15, 36)),
                    "severity": 1,
                }
            ]
        }
        client.change({"text": JOB.replace("{token: ", "{token: 'x' ")}, version=2)
        answer = await result(client, "expand", URI)
        assert answer["findings"]
        assert "stone" not in str(answer)


async def test_the_findings_of_an_expanded_job_are_at_their_source() -> None:
    async with connected() as client:
        client.open(JOB.replace("dockerImage: image", "dockerImage: imge"))
        answer = await result(client, "expand", URI)
        assert answer["text"]
        errors = [one for one in answer["findings"] if one["severity"] == 1]
        assert [one["code"] for one in errors] == ["unknown-docker-image"] * 2
        lines = [JOB.split("\n")[one["range"]["start"]["line"]] for one in errors]
        assert lines == ["    dockerImage: image"] * 2


async def test_templates_are_jobs_without_a_mistake() -> None:
    async with connected() as client:
        offered = await result(client, "templates")
        assert {*offered[0]} == {"name", "description", "text"}
        for one in offered:
            assert Document(one["text"]).is_job
            assert [str(found) for found in Document(one["text"]).diagnostics] == []


@pytest.mark.parametrize("command", ["preview", "graph", "expand"])
async def test_what_is_no_open_job_has_no_answer(command: str) -> None:
    async with connected() as client:
        client.open("services: {web: {image: nginx}}\n", uri="file:///jobs/compose.yaml")
        assert await result(client, command, "file:///jobs/compose.yaml") is None
        assert await result(client, command, "file:///jobs/never-opened.pai.yaml") is None
        assert await result(client, command) is None


async def test_definitions_have_a_graph_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "marketplace"
    folder.mkdir()
    (folder / "tool.yaml").write_text("- {name: tool, type: script, plugin: cmd}\n", encoding="utf-8")
    text = '- {name: digits, type: data, plugin: cmd, require: ["marketplace://name/tool"]}\n'
    (folder / "digits.yaml").write_text(text, encoding="utf-8")
    async with connected(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "team"}]) as client:
        uri = (folder / "digits.yaml").as_uri()
        client.open(text, uri=uri)
        await client.published(uri)
        graph = await result(client, "graph", uri)
        assert "marketplace/tool.yaml" in graph["mermaid"]
        assert await result(client, "preview", uri) is None
        assert await result(client, "expand", uri) is None


async def test_how_a_job_is_checked() -> None:
    async with connected() as client:
        client.open(JOB)
        assert await result(client, "status", URI) == {"platform": "OpenPAI", "cluster": None}
        client.open(f"# pai-lsp: platform=ltp/1.3\n{JOB}", uri="file:///jobs/ltp.pai.yaml")
        assert await result(client, "status", "file:///jobs/ltp.pai.yaml") == {"platform": "LTP 1.3", "cluster": None}
        client.open("services: {web: {image: nginx}}\n", uri="file:///jobs/compose.yaml")
        assert await result(client, "status", "file:///jobs/compose.yaml") is None


async def test_the_cluster_of_the_settings_sets_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    profile = tmp_path / "pai-lsp" / "clusters" / "lab.json"
    profile.parent.mkdir(parents=True)
    profile.write_text('{"profileVersion": 1, "name": "lab", "platform": "ltp", "scheduler": "default"}')
    async with connected(initializationOptions={"openpai": {"cluster": "lab"}}) as client:
        client.open(JOB)
        assert await result(client, "status", URI) == {"platform": "LTP", "cluster": "lab"}


async def test_a_failure_is_explained_with_its_line() -> None:
    log = "/usr/local/pai/runtime.d/user.sh: line 25: python: command not found"
    async with connected() as client:
        client.open(JOB)
        found = await result(client, "why", log, URI)
        assert found["text"].startswith("The image does not have this command.\n")
        assert found["place"]["range"]["start"]["line"] == JOB[: JOB.index("python train.py")].count("\n")
        assert (await result(client, "why", "137", None))["text"].startswith("137 ContainerSigKillReceived")
        assert (await result(client, "why", log, None))["place"] is None


async def test_an_assistant_is_answered_about_the_files_of_the_workspace(tmp_path: Path) -> None:
    """What is open counts instead of what is on the disk; without trust there is no answer."""
    for name in ("jobs/open.pai.yaml", "jobs/closed.pai.yaml", "outside.pai.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(JOB, encoding="utf-8")
    folder = tmp_path / "jobs"
    wrong = JOB.replace("dockerImage: image", "dockerImage: imge", 1)
    asking: dict[str, Any] = {"workspaceFolders": [{"uri": folder.as_uri(), "name": "jobs"}]}
    async with connected(**asking) as client:
        client.open(wrong, uri=(folder / "open.pai.yaml").as_uri())
        codes = []
        for name in ("open.pai.yaml", "closed.pai.yaml"):
            (found,) = await result(client, "assistant", "check", {"path": name})
            codes.append([one["rule"] for one in json.loads(found)["findings"] if one["severity"] == "error"])
        assert codes == [["unknown-docker-image"], []]
        rest, text = await result(client, "assistant", "what_runs", {"text": JOB, "role": "worker"})
        assert json.loads(rest) == {"more": 0}
        assert text == WORKER
        for arguments, message in (
            (["check", {"path": "../outside.pai.yaml"}], "is not below"),
            (["chek", {}], "did you mean 'check'?"),
            (["check"], "expects the name of a tool and an object"),
        ):
            command = {"command": "pai-lsp.assistant", "arguments": arguments}
            assert message in (await client.ask_in_vain("workspace/executeCommand", **command))["message"]
    settings = {"openpai": {"rules": {"unknown-docker-image": "off"}}}
    async with connected(**asking, initializationOptions=settings) as client:
        for given in ({"text": wrong}, {"path": "open.pai.yaml", "text": wrong}):
            (found,) = await result(client, "assistant", "check", given)
            assert "unknown-docker-image" not in found
    async with connected(**asking, initializationOptions={"trusted": False}) as client:
        command = {"command": "pai-lsp.assistant", "arguments": ["check", {"text": JOB}]}
        assert "not trusted" in (await client.ask_in_vain("workspace/executeCommand", **command))["message"]
