"""Clients of the server: one in the same process, which writes bytes as an editor does; the command of a process."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pai_lsp.lsp.language_server import Server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

# A warning is an error, but for the one that pygls 2.1 causes on Python 3.14 (see filterwarnings in pyproject.toml).
SERVER_COMMAND = [sys.executable, "-W", "error"]
SERVER_COMMAND += ["-W", "ignore:'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning"]
SERVER_COMMAND += ["-m", "pai_lsp", "server"]
# A guard against waiting for ever, no limit of how long a busy machine may take.
TIMEOUT = 100
URI = "file:///jobs/job.pai.yaml"

# What common editors say of themselves.
CAPABILITIES: dict[str, Any] = {
    "workspace": {
        "configuration": True,
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source.fixAll"]}},
            "isPreferredSupport": True,
            "disabledSupport": True,
        },
    },
    "window": {"showDocument": {"support": True}},
}


def framed(*messages: dict[str, Any]) -> bytes:
    """Messages as one run of bytes."""
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


class Client:
    """One connection; `answers` has the answers to the server's own requests."""

    def __init__(self) -> None:
        self.server = Server()
        self.reader = asyncio.StreamReader()
        self.received: list[dict[str, Any]] = []
        self.answers: dict[str, Callable[[Any], Any]] = {
            "client/registerCapability": lambda _: None,
            "workspace/configuration": lambda parameters: [None for _ in parameters["items"]],
            "window/showDocument": lambda _: {"success": True},
            "workspace/applyEdit": lambda _: {"applied": True},
        }
        self._arrived = asyncio.Event()
        self._number = 0
        self.server.protocol.set_writer(self)
        self.serving = asyncio.ensure_future(self.server.protocol.serve(self.reader, ends_with_parent=False))

    def write(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        assert head == b"Content-Length: %d" % len(body)
        message = json.loads(body)
        self.received.append(message)
        self._arrived.set()
        if "id" in message and "method" in message and message["method"] in self.answers:
            result = self.answers[message["method"]](message.get("params"))
            self.send({"id": message["id"], "result": result})

    def close(self) -> None:
        pass

    def send(self, *messages: dict[str, Any]) -> None:
        """Write messages all at once."""
        self.reader.feed_data(framed(*messages))

    def notification(self, method: str, **parameters: Any) -> dict[str, Any]:
        return {"method": method, "params": parameters}

    def question(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        return {"id": self._number, "method": method, "params": parameters}

    async def next(self, matches: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that matches; it is taken away."""

        async def wait() -> dict[str, Any]:
            while True:
                for number, message in enumerate(self.received):
                    if matches(message):
                        return self.received.pop(number)
                self._arrived.clear()
                await self._arrived.wait()

        return await asyncio.wait_for(wait(), TIMEOUT)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        return await self.next(lambda message: "method" not in message and message.get("id") == question["id"])

    async def ask(self, method: str, **parameters: Any) -> Any:
        """The result of a request."""
        question = self.question(method, **parameters)
        self.send(question)
        answer = await self.answer(question)
        assert "error" not in answer, answer
        return answer["result"]

    async def ask_in_vain(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The error of a request."""
        question = self.question(method, **parameters)
        self.send(question)
        error = (await self.answer(question))["error"]
        assert isinstance(error, dict)
        return error

    def open(self, text: str, uri: str = URI, version: int = 1, language: str = "yaml") -> None:
        item = {"uri": uri, "version": version, "languageId": language, "text": text}
        self.send(self.notification("textDocument/didOpen", textDocument=item))

    def changed(self, *changes: dict[str, Any], version: int, uri: str = URI) -> dict[str, Any]:
        document = {"uri": uri, "version": version}
        return self.notification("textDocument/didChange", textDocument=document, contentChanges=list(changes))

    def change(self, *changes: dict[str, Any], version: int, uri: str = URI) -> None:
        self.send(self.changed(*changes, version=version, uri=uri))

    async def published(self, uri: str = URI, version: int | None = None) -> list[dict[str, Any]]:
        """The next diagnostics of a document, or those of one version of it."""
        message = await self.next(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["uri"] == uri
                and (version is None or message["params"].get("version") == version)
            )
        )
        diagnostics = message["params"]["diagnostics"]
        assert isinstance(diagnostics, list)
        return diagnostics

    async def settle(self) -> None:
        """Wait until everything that was sent has been worked on: checks come after requests."""
        probe = "file:///probe.pai.yaml"
        self.open("type: job\n", uri=probe)
        await self.published(probe)
        self.send(self.notification("textDocument/didClose", textDocument={"uri": probe}))
        await self.published(probe)


@asynccontextmanager
async def connected(
    *,
    capabilities: dict[str, Any] | None = None,
    answers: dict[str, Callable[[Any], Any]] | None = None,
    **parameters: Any,
) -> AsyncIterator[Client]:
    """A client with an initialized server; `parameters` are further ones of `initialize`."""
    client = Client()
    client.answers |= answers or {}
    await client.ask(
        "initialize",
        **{"processId": None, "rootUri": None, **parameters},
        capabilities=CAPABILITIES if capabilities is None else capabilities,
    )
    client.send(client.notification("initialized"))
    try:
        yield client
    finally:
        await client.ask("shutdown")
        client.send({"method": "exit"})
        assert await asyncio.wait_for(client.serving, TIMEOUT) == 0


def codes(diagnostics: list[dict[str, Any]]) -> set[str]:
    return {diagnostic["code"] for diagnostic in diagnostics}


def place(start: tuple[int, int], end: tuple[int, int] | None = None) -> dict[str, Any]:
    """A range; without an end an empty one."""
    first, last = ({"line": line, "character": column} for line, column in (start, end or start))
    return {"start": first, "end": last}
