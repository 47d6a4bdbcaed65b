"""Every feature through the server as a process, in the client's units: emoji, CJK and CRLF come before each place."""

# ruff: noqa: E501 - a table reads best in long lines

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from server_client import CAPABILITIES, SERVER_COMMAND, framed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
TIMEOUT = 60
URI = "file:///work/漢字/job.yaml"
CANCELLED = -32800

JOB = """\
# 漢字😀
protocolVersion: 2
name: 训练😀
prerequisites:
  - {漢😀: 1, name: prepare, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}
  - {漢😀: 1, name: mnist, type: data, require: [prepare], uri: [https://example.com/漢.zip]}
parameters: {漢😀: 1, rate: 0.1}
taskRoles:
  master:
    commands:
      - echo "語😀 <% $parameters.rate %>"
    taskRetryCount: 1
    prerequisites: [漢😀, prepare]
""".replace("\n", "\r\n")

WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Text:
    """A text as a client sees it that counts in one unit."""

    def __init__(self, text: str, unit: str) -> None:
        self.text = text
        self.lines = text.split("\r\n")
        self.encoding, self.width = WIDTHS[unit]

    def position(self, offset: int) -> dict[str, int]:
        line = self.text.count("\r\n", 0, offset)
        start = self.text.rfind("\r\n", 0, offset) + 2 if line else 0
        return {"line": line, "character": len(self.text[start:offset].encode(self.encoding)) // self.width}

    def at(self, word: str) -> dict[str, int]:
        """The place in the middle of a word."""
        return self.position(self.text.index(word) + len(word) // 2)

    def offset(self, position: dict[str, int]) -> int:
        line = self.lines[position["line"]].encode(self.encoding)
        start = sum(len(one) + 2 for one in self.lines[: position["line"]])
        return start + len(line[: position["character"] * self.width].decode(self.encoding))

    def word(self, range_: dict[str, Any]) -> str:
        return self.text[self.offset(range_["start"]) : self.offset(range_["end"])]

    def tokens(self, data: list[int]) -> Iterator[str]:
        line = column = 0
        for number in range(0, len(data), 5):
            down, right, length = data[number : number + 3]
            line, column = line + down, right + (column if not down else 0)
            place = {"line": line, "character": column}
            yield self.word({"start": place, "end": {"line": line, "character": column + length}})


class Server:
    """The process, asked as an editor asks: in messages over its standard input and output."""

    def __init__(self, unit: str, **capabilities: Any) -> None:
        self.process = subprocess.Popen(SERVER_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
        self.number = 0
        supported = {**CAPABILITIES, "general": {"positionEncodings": [unit]}, **capabilities}
        parameters = {"processId": None, "rootUri": None, "capabilities": supported}
        result = self.ask("initialize", **parameters)
        assert result["capabilities"]["positionEncoding"] == unit
        self.send({"method": "initialized", "params": {}})

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(framed(*messages))
        self.process.stdin.flush()

    def question(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        return {"id": self.number, "method": method, "params": parameters}

    def ask(self, method: str, **parameters: Any) -> Any:
        question = self.question(method, parameters)
        self.send(question)
        answer = self.answer(question)
        assert "error" not in answer, answer
        return answer["result"]

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == question["id"]:
                return message
            if "method" in message and "id" in message:
                items = message["params"].get("items") if message["method"] == "workspace/configuration" else None
                self.send({"id": message["id"], "result": items and [None] * len(items)})

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        head = self.process.stdout.readline()
        assert head.startswith(b"Content-Length: "), head
        assert self.process.stdout.readline() == b"\r\n"
        message = json.loads(self.process.stdout.read(int(head.split()[1])))
        assert isinstance(message, dict)
        return message

    def open(self, text: str, uri: str = URI) -> None:
        item = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})

    def end(self) -> None:
        self.ask("shutdown")
        self.send({"method": "exit"})
        assert self.process.wait(TIMEOUT) == 0
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture(scope="module", params=["utf-8", "utf-16", "utf-32"])
def asked(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Text]]:
    server = Server(request.param)
    server.open(JOB)
    yield server, Text(JOB, request.param)
    server.end()


def ask_at(server: Server, text: Text, method: str, word: str, **parameters: Any) -> Any:
    return server.ask(method, textDocument={"uri": URI}, position=text.at(word), **parameters)


def everything(text: Text) -> dict[str, Any]:
    return {"start": {"line": 0, "character": 0}, "end": text.position(len(text.text))}


def in_job(places: list[dict[str, Any]], text: Text) -> list[str]:
    assert {place["uri"] for place in places} == {URI}
    return [text.word(place["range"]) for place in places]


def completion(server: Server, text: Text) -> Any:
    found = ask_at(server, text, "textDocument/completion", "$parameters.rate")
    return [(one["label"], text.word(one["textEdit"]["range"])) for one in found["items"]]


def resolved(server: Server, text: Text) -> Any:
    found = ask_at(server, text, "textDocument/completion", "😀, prepare]")["items"]
    item = next(one for one in found if one["label"] == "prepare")
    return server.ask("completionItem/resolve", **item)["label"], text.word(item["textEdit"]["range"])


def hover(server: Server, text: Text) -> Any:
    return text.word(ask_at(server, text, "textDocument/hover", "$parameters.rate")["range"])


def definition(server: Server, text: Text) -> Any:
    return in_job(ask_at(server, text, "textDocument/definition", "😀, prepare]"), text)


def references(server: Server, text: Text) -> Any:
    context = {"includeDeclaration": True}
    return in_job(ask_at(server, text, "textDocument/references", "rate: 0.1", context=context), text)


def highlights(server: Server, text: Text) -> Any:
    found = ask_at(server, text, "textDocument/documentHighlight", "rate: 0.1")
    return [(text.word(one["range"]), one["kind"]) for one in found]


def prepared_rename(server: Server, text: Text) -> Any:
    found = ask_at(server, text, "textDocument/prepareRename", "ers.rate %>")
    return text.word(found["range"]), found["placeholder"]


def rename(server: Server, text: Text) -> Any:
    found = ask_at(server, text, "textDocument/rename", "ers.rate %>", newName="速度")
    (change,) = found["documentChanges"]
    assert change["textDocument"] == {"uri": URI, "version": 1}
    return [(text.word(edit["range"]), edit["newText"]) for edit in change["edits"]]


def symbols(server: Server, text: Text) -> Any:
    found = server.ask("textDocument/documentSymbol", textDocument={"uri": URI})
    return [(one["name"], text.word(one["location"]["range"])[:8]) for one in found if one["kind"] == 4]


def all_symbols(server: Server, text: Text) -> Any:
    found = server.ask("workspace/symbol", query="mnst")
    return [(one["name"], *in_job([one["location"]], text)) for one in found]


def hints(server: Server, text: Text) -> Any:
    found = server.ask("textDocument/inlayHint", textDocument={"uri": URI}, range=everything(text))
    return [(text.text[: text.offset(one["position"])][-4:], one["label"]) for one in found]


def tokens(server: Server, text: Text) -> Any:
    found = server.ask("textDocument/semanticTokens/full", textDocument={"uri": URI})["data"]
    some = server.ask("textDocument/semanticTokens/range", textDocument={"uri": URI}, range=everything(text))["data"]
    assert some == found
    return list(text.tokens(found))


def code_lenses(server: Server, text: Text) -> Any:
    found = server.ask("textDocument/codeLens", textDocument={"uri": URI})
    return [(text.word(one["range"]), one["command"]["title"]) for one in found]


def links(server: Server, text: Text) -> Any:
    found = server.ask("textDocument/documentLink", textDocument={"uri": URI})
    return [(text.word(one["range"]), one["target"]) for one in found]


def folds(server: Server, text: Text) -> Any:
    found = server.ask("textDocument/foldingRange", textDocument={"uri": URI})
    return [
        text.word({side: {"line": one[f"{side}Line"], "character": one[f"{side}Character"]} for side in ("start", "end")})
        for one in found
    ]  # fmt: skip


def selections(server: Server, text: Text) -> Any:
    (found,) = server.ask("textDocument/selectionRange", textDocument={"uri": URI}, positions=[text.at("ers.rate %>")])
    words = []
    while found:
        words.append(text.word(found["range"]))
        found = found.get("parent")
    return words[:4]


def hierarchy(server: Server, text: Text) -> Any:
    (item,) = ask_at(server, text, "textDocument/prepareCallHierarchy", "[prepare]")
    calls = server.ask("callHierarchy/incomingCalls", item=item)
    below = server.ask("callHierarchy/outgoingCalls", item=calls[-1]["from"])
    return (
        text.word(item["selectionRange"]),
        [(call["from"]["name"], *map(text.word, call["fromRanges"])) for call in calls],
        [(call["to"]["name"], *map(text.word, call["fromRanges"])) for call in below],
    )


RATE = "$parameters.rate"
PREPARE = "{漢😀: 1, name: prepare, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}"

FEATURES: list[tuple[Callable[[Server, Text], Any], Any]] = [
    (completion, [("$parameters.漢😀", RATE), (RATE, RATE), ("$secrets", RATE)]),
    (resolved, ("prepare", "prepare")),
    (hover, f"<% {RATE} %>"),
    (definition, ["prepare"]),
    (references, ["rate", "rate"]),
    (highlights, [("rate", 3), ("rate", 2)]),
    (prepared_rename, ("rate", "rate")),
    (rename, [("rate", "速度"), ("rate", "速度")]),
    (symbols, [("prepare", "{漢😀: 1, "), ("mnist", "{漢😀: 1, ")]),
    (all_symbols, [("mnist", "mnist")]),
    (hints, [("e %>", "= 0.1")]),
    (tokens, ["prepare", "mnist", "prepare", "漢😀", "rate", "master", "<%", "$parameters", "rate", "%>", "漢😀", "prepare"]),
    (code_lenses, [("漢😀", "2 references"), ("漢😀", "runs on 1 task"), ("漢😀", "0 references")]),
    (links, [("https://example.com/漢.zip", "https://example.com/漢.zip")]),
    (folds, [JOB[JOB.index("\r\n  - {") : JOB.index("\r\nparameters")], JOB[JOB.index("\r\n  master") : -2],
             JOB[JOB.index("\r\n    commands") : -2], JOB[JOB.index("\r\n      - echo") : JOB.index("\r\n    taskRetry")]]),
    (selections, ["rate", RATE, f"<% {RATE} %>", f'echo "語😀 <% {RATE} %>"']),
    (hierarchy, ("prepare", [("master", "prepare"), ("mnist", "prepare")], [("prepare", "prepare")])),
]  # fmt: skip


@pytest.mark.parametrize(("feature", "expected"), FEATURES, ids=[feature.__name__ for feature, _ in FEATURES])
def test_places_are_in_the_units_of_the_client(
    asked: tuple[Server, Text], feature: Callable[[Server, Text], Any], expected: Any
) -> None:
    assert feature(*asked) == expected


METHODS: dict[str, dict[str, Any]] = {
    "textDocument/completion": {"position": {"line": 7, "character": 0}},
    "textDocument/hover": {"position": {"line": 7, "character": 2}},
    "textDocument/definition": {"position": {"line": 7, "character": 2}},
    "textDocument/references": {"position": {"line": 7, "character": 2}, "context": {"includeDeclaration": True}},
    "textDocument/documentHighlight": {"position": {"line": 7, "character": 2}},
    "textDocument/prepareRename": {"position": {"line": 7, "character": 2}},
    "textDocument/rename": {"position": {"line": 7, "character": 2}, "newName": "x"},
    "textDocument/documentSymbol": {},
    "textDocument/inlayHint": {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}},
    "textDocument/semanticTokens/full": {},
    "textDocument/semanticTokens/range": {
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    },
    "textDocument/codeLens": {},
    "textDocument/documentLink": {},
    "textDocument/foldingRange": {},
    "textDocument/selectionRange": {"positions": [{"line": 7, "character": 2}]},
    "textDocument/prepareCallHierarchy": {"position": {"line": 7, "character": 2}},
}

# Much of a job, and none.
COMPOSE = """\
version: "3.8"
prerequisites: [{type: script, name: prepare}]
parameters: {rate: 0.1}
taskRoles:
  master:
    prerequisites: [prepare]
    commands: ["git clone https://example.com/<% $parameters.rate %>"]
master: $PAI_HOST_IP_master_0
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("utf-16")
    server.open(JOB)
    server.open(COMPOSE, "file:///work/compose.yaml")
    yield server
    server.end()


@pytest.mark.parametrize("method", METHODS)
def test_other_yaml_is_left_alone(server: Server, method: str) -> None:
    document = {"uri": "file:///work/compose.yaml"}
    assert server.ask(method, textDocument=document, **METHODS[method]) is None


def test_other_yaml_has_no_names_in_the_workspace(server: Server) -> None:
    assert {one["location"]["uri"] for one in server.ask("workspace/symbol", query="")} == {URI}


@pytest.mark.parametrize("method", METHODS)
def test_a_request_cancelled_in_the_same_write_has_no_answer(server: Server, method: str) -> None:
    question = server.question(method, {"textDocument": {"uri": URI}, **METHODS[method]})
    server.send(question, {"method": "$/cancelRequest", "params": {"id": question["id"]}})
    assert server.answer(question)["error"]["code"] == CANCELLED


@pytest.mark.parametrize("method", METHODS)
def test_of_a_file_that_is_not_open_nothing_is_known(server: Server, method: str) -> None:
    assert server.ask(method, textDocument={"uri": "file:///work/other.yaml"}, **METHODS[method]) is None


def test_a_request_sees_the_change_before_it_and_does_not_wait_for_its_diagnostics(server: Server) -> None:
    uri = "file:///work/changed.pai.yaml"
    server.open("parameters: {old: 1}\ntaskRoles: {}\n", uri)
    change = {"range": {"start": {"line": 0, "character": 13}, "end": {"line": 0, "character": 16}}, "text": "new"}
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    position = {"line": 0, "character": 14}
    question = server.question("textDocument/prepareRename", {"textDocument": {"uri": uri}, "position": position})
    server.send({"method": "textDocument/didChange", "params": changed}, question)
    while (message := server.receive()).get("id") != question["id"]:
        assert message.get("params", {}).get("version") != 2
    assert message["result"]["placeholder"] == "new"
