"""Clients that break the protocol: the server answers with an error or not at all, and works on as if nothing had been.

docs/reliability.md has the sum of it. Broken JSON and unknown methods are in test_server.py, cancellations in
test_server_requests.py, the end of the client in test_server_process.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from server_client import CAPABILITIES, URI, Client, codes, connected, framed, place
from test_server import JOB, WRONG

pytestmark = pytest.mark.asyncio

OPENED = {"textDocument": {"uri": URI, "version": 1, "languageId": "yaml", "text": JOB}}
HERE = {"textDocument": {"uri": URI}, "position": {"line": 3, "character": 4}}
BODY = json.dumps({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}}).encode()
FAR = 2**31 - 1


def notice(method: str, parameters: object) -> bytes:
    return framed({"method": method, "params": parameters})


def asked(method: str, parameters: object, number: object = 900) -> bytes:
    return framed({"id": number, "method": method, "params": parameters})


def changed(*changes: object, version: object = 2, uri: str = URI) -> bytes:
    return notice(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
    )


# What is sent to a server with an open document that it has to keep as it is, and the codes of errors that come back.
ABUSE: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "a header without a colon": (b"Content-Length 5\r\n\r\n" + framed({"method": "$/a"}), ()),
    "a negative length": (b"Content-Length: -5\r\n\r\n", ()),
    "a length in words": (b"Content-Length: five\r\n\r\n", ()),
    "a length of 30 digits": (b"Content-Length: 1" + b"0" * 29 + b"\r\n\r\n", ()),
    "a length that no memory has": (b"Content-Length: 999999999999\r\n\r\n", ()),
    "two lengths": (b"Content-Length: 1\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY), ()),
    "line feeds alone": (b"Content-Length: %d\n\n%b" % (len(BODY), BODY), ()),
    "blank lines in front": (b"\r\n\r\n\n" + framed({"method": "$/a"}), ()),
    "zero bytes in a header": (b"X\0Y: \0\r\n" + framed({"method": "$/a"}), ()),
    "a header in Latin-1": (b"X-Name: \xe9\r\n" + framed({"method": "$/a"}), ()),
    "an empty body": (b"Content-Length: 0\r\n\r\n", (-32700,)),
    "a byte order mark": (b"Content-Length: %d\r\n\r\n\xef\xbb\xbf%b" % (len(BODY) + 3, BODY), ()),
    "a body that is too short": (b"Content-Length: 10\r\n\r\n" + BODY[:10] + b"\r\n", (-32700,)),
    "a body with a zero byte": (b'Content-Length: 3\r\n\r\n{"\0', (-32700,)),
    "a batch": (b"Content-Length: %d\r\n\r\n[%b]" % (len(BODY) + 2, BODY), (-32600,)),
    "null": (b"Content-Length: 4\r\n\r\nnull", (-32600,)),
    "a text": (b'Content-Length: 3\r\n\r\n"a"', (-32600,)),
    "infinity": (notice("textDocument/didSave", float("inf")), ()),
    "no method and no result": (framed({"id": 900}), ()),
    "another version of JSON-RPC": (framed({"jsonrpc": "1.0", "id": 900, "method": "$/a"}), (-32602,)),
    "an id that is a list": (asked("textDocument/hover", HERE, [1]), (-32600,)),
    "an id that is a mapping": (asked("textDocument/hover", HERE, {}), (-32600,)),
    "parameters in a list": (asked("textDocument/hover", [1, 2]), (-32602,)),
    "parameters that are a text": (asked("textDocument/hover", "a"), (-32602,)),
    "no parameters": (framed({"id": 900, "method": "textDocument/hover"}), (-32602,)),
    "an unknown notification": (notice("textDocument/unheardOf", {"a": [{}]}), ()),
    "an unknown optional request": (asked("$/unheardOf", {}), (-32601,)),
    "an answer to nothing": (framed({"id": 4711, "result": {"a": 1}}), ()),
    "an error for nothing": (framed({"id": "x", "error": {"code": 1, "message": "no"}}), ()),
    "an error without a code": (framed({"id": 1, "error": "no"}), ()),
    "a cancellation of nothing": (notice("$/cancelRequest", {"id": 4711}), ()),
    "a cancellation of a text": (notice("$/cancelRequest", {"id": "nothing"}), ()),
    "a cancellation without an id": (notice("$/cancelRequest", {}), ()),
    "a cancellation of a list": (notice("$/cancelRequest", {"id": [1]}), ()),
    "a position before the text": (
        asked("textDocument/hover", {**HERE, "position": {"line": -1, "character": -1}}),
        (-32602,),
    ),
    "a position far outside": (asked("textDocument/hover", {**HERE, "position": {"line": FAR, "character": FAR}}), ()),
    "a position in a text": (
        asked("textDocument/hover", {**HERE, "position": {"line": "x", "character": 0}}),
        (-32602,),
    ),
    "a position of 400 digits": (
        asked("textDocument/hover", {**HERE, "position": {"line": 10**400, "character": 0}}),
        (-32602,),
    ),
    "a range that ends before it begins": (
        asked("textDocument/codeAction", {**HERE, "range": place((9, 9), (1, 1)), "context": {"diagnostics": []}}),
        (),
    ),
    "a range for hints far outside": (asked("textDocument/inlayHint", {**HERE, "range": place((FAR, 0))}), ()),
    "tokens of a range turned around": (
        asked("textDocument/semanticTokens/range", {**HERE, "range": place((9, 0), (0, 0))}),
        (),
    ),
    "a thousand positions": (
        asked("textDocument/selectionRange", {**HERE, "positions": [HERE["position"]] * 1_000}),
        (),
    ),
    "a rename to nothing": (asked("textDocument/rename", {**HERE, "newName": ""}), (-32803,)),
    "a rename to zero bytes": (asked("textDocument/rename", {**HERE, "newName": "\0" * 9}), (-32803,)),
    "an action of somebody else": (asked("codeAction/resolve", {"title": "a", "data": {"version": "x", "uri": 5}}), ()),
    "a proposal of somebody else": (asked("completionItem/resolve", {"label": "a", "data": [1, {"uri": None}]}), ()),
    "a command with wrong arguments": (
        asked("workspace/executeCommand", {"command": "pai-lsp.explain", "arguments": [{}, 5]}),
        (-32602,),
    ),
    "a change of what is not open": (changed({"text": "a"}, uri="file:///not/open.pai.yaml"), ()),
    "the end of what is not open": (notice("textDocument/didClose", {"textDocument": {"uri": "file:///no"}}), ()),
    "a change without a version": (changed({"text": "a"}, version=None), ()),
    "a change with a text as version": (changed({"text": "a"}, version="two"), ()),
    "changes that are no list": (
        notice("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": 5}),
        (),
    ),
    "a document without a text": (notice("textDocument/didOpen", {"textDocument": {"uri": "file:///a.yaml"}}), ()),
    "an invalid address": (asked("textDocument/hover", {**HERE, "textDocument": {"uri": "no address"}}), ()),
    "an empty address": (asked("textDocument/hover", {**HERE, "textDocument": {"uri": ""}}), ()),
    "an address with zero bytes": (asked("textDocument/hover", {**HERE, "textDocument": {"uri": "file:///a%00b"}}), ()),
    "an address with bad escapes": (
        asked("textDocument/hover", {**HERE, "textDocument": {"uri": "file:///%zz%ff"}}),
        (),
    ),
    "an address of a web page": (asked("textDocument/hover", {**HERE, "textDocument": {"uri": "http://[::1"}}), ()),
    "an address that is a number": (asked("textDocument/hover", {**HERE, "textDocument": {"uri": 5}}), ()),
    "an address of 100,000 characters": (
        asked("textDocument/hover", {**HERE, "textDocument": {"uri": f"file:///{'a' * 100_000}"}}),
        (),
    ),
    "settings that are a number": (notice("workspace/didChangeConfiguration", {"settings": 5}), ()),
    "settings that are missing": (notice("workspace/didChangeConfiguration", {}), ()),
    "invalid watched files": (notice("workspace/didChangeWatchedFiles", {"changes": [{"uri": 5}]}), ()),
    "a watched file of an unknown kind": (
        notice("workspace/didChangeWatchedFiles", {"changes": [{"uri": "file:///a", "type": 99}]}),
        (),
    ),
    "invalid folders": (notice("workspace/didChangeWorkspaceFolders", {"event": {"added": [{}]}}), ()),
    "a trace of an unknown kind": (notice("$/setTrace", {"value": 7}), ()),
    "a second initialize": (asked("initialize", {"processId": None, "rootUri": None, "capabilities": {}}), (-32600,)),
    "a second initialized": (notice("initialized", {}), ()),
}


async def test_the_document_stays_and_the_next_question_is_answered() -> None:
    async with connected() as client:
        client.open(JOB)
        assert "unknown-prerequisite" not in codes(await client.published(version=1))
        for kind, (sent, errors) in ABUSE.items():
            client.received.clear()
            client.reader.feed_data(sent)
            await client.settle()
            assert client.server.protocol.session.documents[URI].text == JOB, kind
            found = [one["error"]["code"] for one in client.received if "error" in one]
            assert tuple(found) == errors, kind
        client.change({"text": WRONG}, version=50)
        assert "unknown-prerequisite" in codes(await client.published(version=50))


@pytest.mark.parametrize(
    "text",
    ["\ud800", f"{JOB}# \udfff\n", f"{JOB}\0", f"{JOB}\x1b[2J\x07", "\ufeff" * 3 + JOB, "\r" * 5_000, "\u2028" + JOB],
    ids=[
        "half a surrogate pair",
        "the other half",
        "zero byte",
        "terminal",
        "byte order marks",
        "returns",
        "separator",
    ],
)
async def test_any_text_is_checked(text: str) -> None:
    async with connected() as client:
        client.open(text)
        await client.published(version=1)
        end = {"line": text.count("\n") + 9, "character": FAR}
        client.change({"range": {"start": end, "end": end}, "text": "\ud83d"}, version=2)
        client.change({"range": place((FAR, 0), (0, 0)), "text": "\n"}, version=3)
        await client.published(version=3)
        client.change({"text": WRONG}, version=4)
        assert "unknown-prerequisite" in codes(await client.published(version=4))


async def test_the_same_id_twice_has_two_answers() -> None:
    async with connected() as client:
        client.open(JOB)
        client.reader.feed_data(asked("textDocument/hover", HERE, "same") * 2)
        for _ in range(2):
            assert "error" not in await client.next(lambda message: message.get("id") == "same")


async def test_versions_that_go_backwards_and_documents_opened_twice() -> None:
    async with connected() as client:
        client.open(JOB, version=7)
        await client.published(version=7)
        client.open(WRONG, version=3)
        assert "unknown-prerequisite" in codes(await client.published(version=3))
        client.change({"text": JOB}, version=2)
        client.change({"text": JOB}, version=2)
        client.send(client.notification("textDocument/didClose", textDocument={"uri": URI}))
        client.send(client.notification("textDocument/didClose", textDocument={"uri": URI}))
        await client.settle()
        assert URI not in client.server.protocol.session.documents


@pytest.mark.parametrize(
    "parameters",
    [
        {"processId": "no", "rootUri": None, "capabilities": {}},
        {"processId": None, "rootUri": None, "capabilities": 5},
        {"processId": None, "rootUri": None},
        {"processId": None, "rootUri": None, "capabilities": {}, "workspaceFolders": [{"uri": 5}]},
    ],
    ids=["processId", "capabilities", "nothing", "workspaceFolders"],
)
async def test_an_initialize_of_wrong_types_is_refused_and_the_next_one_counts(parameters: dict[str, Any]) -> None:
    client = Client()
    assert (await client.ask_in_vain("initialize", **parameters))["code"] == -32602
    await client.ask("initialize", processId=None, rootUri=None, capabilities=CAPABILITIES)
    client.send(client.notification("initialized"))
    client.open(WRONG)
    assert "unknown-prerequisite" in codes(await client.published(version=1))
    await client.ask("shutdown")
    client.send({"method": "exit"})
    assert await client.serving == 0


@pytest.mark.parametrize("root", ["", "no address", "file:///does/not/exist", "http://example.com/", "file:///a%00b"])
async def test_a_workspace_that_is_nowhere(root: str) -> None:
    folders = [{"uri": root, "name": "a"}] * 2
    async with connected(rootUri=root, workspaceFolders=folders) as client:
        client.open(WRONG)
        assert "unknown-prerequisite" in codes(await client.published(version=1))
