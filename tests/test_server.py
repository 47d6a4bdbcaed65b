"""The server's ordinary work, message by message: diagnostics, texts, what it leaves alone, what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from job_text import HEAD
from server_client import CAPABILITIES, URI, Client, codes, connected, place

from pai_lsp.lsp import answers, checks, features

pytestmark = pytest.mark.asyncio

JOB = (
    HEAD
    + """\
  - {name: justecho, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [justecho]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hello]
"""
)
LINE = 10
NAME = (len("    prerequisites: ["), len("    prerequisites: [justecho"))
WRONG = JOB.replace("[justecho]", "[justecho_wrong]")


def of(code: str, diagnostics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [diagnostic for diagnostic in diagnostics if diagnostic["code"] == code]


async def test_its_capabilities() -> None:
    client = Client()
    result = await client.ask("initialize", processId=None, rootUri=None, capabilities=CAPABILITIES)
    assert result["serverInfo"]["name"] == "pai-lsp"
    capabilities = result["capabilities"]
    sync = capabilities["textDocumentSync"]
    assert (sync["openClose"], sync["change"], sync["save"]) == (True, 2, True)
    assert capabilities["positionEncoding"] == "utf-16"
    kinds = ["quickfix", "source.fixAll.pai-lsp", "refactor.extract", "refactor.inline", "refactor.rewrite"]
    assert capabilities["codeActionProvider"] == {"codeActionKinds": kinds, "resolveProvider": True}
    assert capabilities["executeCommandProvider"]["commands"] == [one.value for one in answers.COMMANDS]
    assert "diagnosticProvider" not in capabilities


async def test_it_asks_for_reports_of_changed_settings() -> None:
    async with connected() as client:
        message = await client.next(lambda message: message.get("method") == "client/registerCapability")
        assert {one["method"]: one["registerOptions"] for one in message["params"]["registrations"]} == {
            "workspace/didChangeConfiguration": {"section": "openpai"},
            "workspace/didChangeWatchedFiles": {"watchers": [{"globPattern": "**/.pai-lsp.yaml"}]},
        }


async def test_a_mistake_is_shown_fixed_and_cleared() -> None:
    async with connected() as client:
        client.open(WRONG)
        (found,) = of("unknown-prerequisite", await client.published(version=1))
        assert found == {
            "range": place((LINE, NAME[0]), (LINE, NAME[1] + len("_wrong"))),
            "severity": 1,
            "code": "unknown-prerequisite",
            "source": "pai-lsp",
            "message": "no prerequisite is named 'justecho_wrong'; did you mean 'justecho'?",
        }
        client.change({"range": place((LINE, NAME[1]), (LINE, NAME[1] + 6)), "text": ""}, version=2)
        assert "unknown-prerequisite" not in codes(await client.published(version=2))
        client.change({"range": place((0, 0)), "text": "'"}, version=3)
        assert "yaml-syntax" in codes(await client.published(version=3))
        client.send(client.notification("textDocument/didClose", textDocument={"uri": URI}))
        assert await client.published() == []


async def test_several_changes_at_once_publish_only_the_last_text() -> None:
    async with connected() as client:
        client.open(JOB)
        await client.published(version=1)
        changes = [
            client.changed({"range": place((LINE, NAME[1]), (LINE, NAME[1] + len(old))), "text": new}, version=number)
            for number, old, new in [(2, "", "_"), (3, "_", "_wro"), (4, "_wro", ""), (5, "", "_wrong")]
        ]
        client.send(*changes)
        assert "unknown-prerequisite" in codes(await client.published(version=5))
        await client.settle()
        assert [one for one in client.received if one.get("method") == "textDocument/publishDiagnostics"] == []


@pytest.mark.parametrize("order", [(2, 3, 4, 5), (3, 2, 5, 4), (3, 4, 5, 2), (2, 4, 5, 3)])
async def test_changes_that_overtook_each_other_are_put_in_order(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "PAUSE", 0)
    typed = {2: (0, "_"), 3: (1, "w"), 4: (2, "r"), 5: (3, "o")}
    async with connected() as client:
        client.open(JOB)
        for version in order:
            after, text = typed[version]
            client.change({"range": place((LINE, NAME[1] + after)), "text": text}, version=version)
        await client.published(version=5)  # without what touches the word that is typed
        (found,) = of("unknown-prerequisite", await client.published(version=5))
        assert "'justecho_wro'" in found["message"]


async def test_related_places_and_tags() -> None:
    async with connected() as client:
        client.open(JOB + "name: again # pai-lsp: ignore[unknown-prerequisite]\n")
        found = await client.published(version=1)
        (duplicate,) = of("duplicate-key", found)
        assert duplicate["relatedInformation"][0]["location"] == {"uri": URI, "range": place((1, 0), (1, 4))}
        (unused,) = of("unused-ignore", found)
        assert unused["tags"] == [1]


async def test_a_client_that_knows_little_gets_little() -> None:
    async with connected(capabilities={}) as client:
        client.open(JOB + "name: again # pai-lsp: ignore[unknown-prerequisite]\n")
        for one in await client.published(version=1):
            assert {"codeDescription", "relatedInformation", "tags"}.isdisjoint(one)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_changes_among_wide_characters(encoding: str, line_end: str) -> None:
    """Columns count in the client's unit, in changes as in diagnostics; U+2028 and form feeds end no line."""
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": ["utf-7", encoding, "utf-16"]}}
    text = WRONG.replace("[justecho_wrong]", '["漢字😀", justecho_wrong]')
    text = text.replace("name: train", 'name: "a\u2028b\x0c"').replace("\n", line_end)
    width = {"utf-8": 10, "utf-16": 4, "utf-32": 3}[encoding]
    column = NAME[0] + len('"", ') + width
    client = Client()
    result = await client.ask("initialize", processId=None, rootUri=None, capabilities=capabilities)
    assert result["capabilities"]["positionEncoding"] == encoding
    client.send(client.notification("initialized"))
    client.open(text)
    found = of("unknown-prerequisite", await client.published(version=1))
    assert [one["range"] for one in found] == [
        place((LINE, NAME[0] + 1), (LINE, NAME[0] + 1 + width)),
        place((LINE, column), (LINE, column + len("justecho_wrong"))),
    ]
    client.change({"range": place((LINE, column + len("justecho")), (LINE, column + 14)), "text": ""}, version=2)
    found = of("unknown-prerequisite", await client.published(version=2))
    assert [one["range"]["start"]["character"] for one in found] == [NAME[0] + 1]
    start, end = (LINE, NAME[0] + 1), (LINE, NAME[0] + 1 + width)
    client.change({"range": place(start, end), "text": f"justecho{line_end}"}, version=3)
    await client.published(version=3)
    assert client.server.protocol.session.documents[URI].text == text.replace(
        '"漢字😀", justecho_wrong', f'"justecho{line_end}", justecho'
    )


async def test_a_client_without_encodings_counts_utf_16() -> None:
    client = Client()
    capabilities = {"general": {"positionEncodings": ["utf-7"]}}
    result = await client.ask("initialize", processId=None, rootUri=None, capabilities=capabilities)
    assert result["capabilities"]["positionEncoding"] == "utf-16"


async def test_a_whole_new_text() -> None:
    async with connected() as client:
        client.open(JOB)
        await client.published(version=1)
        client.change({"text": WRONG}, version=2)
        assert "unknown-prerequisite" in codes(await client.published(version=2))


@pytest.mark.parametrize(
    ("uri", "language", "text"),
    [
        ("file:///jobs/values.yaml", "yaml", "protocolVersion: 2\nreplicas: [\n"),
        ("file:///jobs/README.md", "markdown", "# protocolVersion: 2"),
        ("untitled:Untitled-1", "yaml", ""),
    ],
)
async def test_other_files_are_left_alone(uri: str, language: str, text: str) -> None:
    async with connected() as client:
        client.open(text, uri=uri, language=language)
        parameters = {"textDocument": {"uri": uri}, "range": place((0, 0)), "context": {"diagnostics": []}}
        assert await client.ask("textDocument/codeAction", **parameters) is None
        client.send(client.notification("textDocument/didClose", textDocument={"uri": uri}))
        await client.settle()
        assert [one for one in client.received if one.get("method") == "textDocument/publishDiagnostics"] == []


@pytest.mark.parametrize(
    ("uri", "language"),
    [
        ("file:///jobs/job.yaml", "openpai-job"),
        ("file:///jobs/a.PAI.yml", "yaml"),
        ("untitled:Untitled-1", "openpai-job"),
        ("vscode-vfs://host/a%20b.pai.yaml", "yaml"),
    ],
)
async def test_jobs_are_known_by_language_or_name(uri: str, language: str) -> None:
    async with connected() as client:
        client.open("name: [\n", uri=uri, language=language)
        assert "yaml-syntax" in codes(await client.published(uri))


@pytest.mark.parametrize("text", ["", "\n", "  \n\n"])
async def test_a_new_file_has_no_mistakes_yet(text: str) -> None:
    async with connected() as client:
        client.open(text)
        assert await client.published() == []


async def test_a_file_that_stops_being_a_job_is_cleared() -> None:
    uri = "file:///jobs/job.yaml"
    async with connected() as client:
        client.open(WRONG, uri=uri)
        assert "unknown-prerequisite" in codes(await client.published(uri, version=1))
        client.change({"range": place((0, 17), (0, 18)), "text": "1"}, version=2, uri=uri)
        assert await client.published(uri, version=2) == []
        client.change({"range": place((0, 17), (0, 18)), "text": "2"}, version=3, uri=uri)
        assert "unknown-prerequisite" in codes(await client.published(uri, version=3))


async def test_an_open_configuration_is_checked() -> None:
    uri = "file:///jobs/.pai-lsp.yaml"
    async with connected() as client:
        client.open("rules: {unknown-prerequisite: eror}\n", uri=uri)
        (found,) = await client.published(uri)
        assert found["code"] == "invalid-configuration"
        parameters = {"textDocument": {"uri": uri}, "range": found["range"], "context": {"diagnostics": []}}
        actions = await client.ask("textDocument/codeAction", **parameters)
        assert [action["title"] for action in actions][:1] == ["Change to 'error'"]


async def test_no_message_contains_a_secret() -> None:
    async with connected() as client:
        client.open(JOB + "secrets:\n  a: b\n  a hunter2hunter2\n")
        found = await client.published(version=1)
        assert [one["message"] for one in of("yaml-syntax", found)] == ["expected ':' after '***'"]
        assert "hunter2" not in json.dumps(found)
        parameters = {"textDocument": {"uri": URI}, "range": place((0, 0), (99, 0)), "context": {"diagnostics": []}}
        actions = await client.ask("textDocument/codeAction", **parameters)
        assert "hunter2" not in json.dumps([(one["title"], one.get("diagnostics")) for one in actions])


async def test_saving_is_harmless() -> None:
    async with connected() as client:
        client.open(JOB)
        await client.published(version=1)
        client.send(
            client.notification("textDocument/willSave", textDocument={"uri": URI}, reason=1),
            client.notification("textDocument/didSave", textDocument={"uri": URI}),
            client.notification("textDocument/didSave", textDocument={"uri": "file:///not/open"}),
            client.notification("$/unheardOf", a=1),
        )
        await client.settle()
        assert client.server.protocol.session.documents[URI].text == JOB


async def test_unknown_documents() -> None:
    async with connected() as client:
        client.change({"text": JOB}, version=2)
        client.send(client.notification("textDocument/didClose", textDocument={"uri": URI}))
        parameters = {"textDocument": {"uri": URI}, "range": place((0, 0)), "context": {"diagnostics": []}}
        assert await client.ask("textDocument/codeAction", **parameters) is None


async def test_pulled_diagnostics_replace_pushed_ones() -> None:
    pulling = {"textDocument": {"diagnostic": {"relatedDocumentSupport": False, "codeDescriptionSupport": True}}}
    client = Client()
    result = await client.ask("initialize", processId=None, rootUri=None, capabilities=pulling)
    assert result["capabilities"]["diagnosticProvider"] == {
        "identifier": "pai-lsp",
        "interFileDependencies": False,
        "workspaceDiagnostics": False,
    }
    client.send(client.notification("initialized"))
    client.open(WRONG)
    report = await client.ask("textDocument/diagnostic", textDocument={"uri": URI})
    assert report["kind"] == "full"
    assert "unknown-prerequisite" in codes(report["items"])
    assert "codeDescription" not in report["items"][0], "the pages of the rules do not exist yet"
    nothing = await client.ask("textDocument/diagnostic", textDocument={"uri": "file:///unknown.yaml"})
    assert nothing == {"kind": "full", "items": []}
    assert [one for one in client.received if one.get("method") == "textDocument/publishDiagnostics"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"id": 7, "method": 7}', -32600),
        (b'{"id": 7, "method": "textDocument/codeAction", "params": {"range": 1}}', -32602),
        (b'{"id": 7, "method": "textDocument/codeAction"}', -32602),
        (b'{"id": 7, "method": "unheard/of", "params": {"a": {"b": 1}}}', -32601),
        (b'{"id": 7, "method": "initialize", "params": {}}', -32600),
        (b'{"id": 7, "method": "workspace/executeCommand", "params": {"command": "rm"}}', -32602),
    ],
)
async def test_messages_that_make_no_sense_get_an_error(body: bytes, code: int) -> None:
    async with connected() as client:
        client.reader.feed_data(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        answer = await client.next(lambda message: "error" in message)
        assert answer["error"]["code"] == code
        assert answer.get("id") == (json.loads(body)["id"] if body.startswith(b"{") and len(body) > 1 else None)
        client.open(JOB)
        assert "unknown-prerequisite" not in codes(await client.published(version=1))


async def test_odd_headers() -> None:
    async with connected() as client:
        body = json.dumps(client.notification("textDocument/didOpen")).encode()
        client.reader.feed_data(b"content-length:%d\nContent-Type: x; charset=utf8\n\n%b" % (len(body), body))
        client.reader.feed_data(b"No: length\r\n\r\n")
        client.open(WRONG)
        assert "unknown-prerequisite" in codes(await client.published(version=1))


async def test_nothing_before_initialize_and_nothing_after_shutdown() -> None:
    client = Client()
    client.open(WRONG)
    early = await client.ask_in_vain("textDocument/codeAction", textDocument={"uri": URI})
    assert early["code"] == -32002
    await client.ask("initialize", processId=None, rootUri=None, capabilities={})
    await client.ask("shutdown")
    late = await client.ask_in_vain("textDocument/codeAction", textDocument={"uri": URI})
    assert late["code"] == -32600
    assert not client.server.protocol.session.documents
    client.send({"method": "exit"})
    assert await client.serving == 0


async def test_the_end_without_shutdown() -> None:
    client = Client()
    client.send({"method": "exit"})
    assert await client.serving == 1
    client = Client()
    await client.ask("initialize", processId=None, rootUri=None, capabilities={})
    client.reader.feed_data(b"Content-Length: 100\r\n\r\n{")
    client.reader.feed_eof()
    assert await client.serving == 1


async def test_every_feature_has_its_answer() -> None:
    assert [*answers.DOCUMENT_ANSWERS] == [feature.method for feature in features.DOCUMENT_FEATURES]
    assert [*answers.COMMANDS] == [*features.CommandName]
