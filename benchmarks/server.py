"""Latencies of a language server over stdio, ours and yaml-language-server, on the same edits of the same file."""

from __future__ import annotations

import itertools
import json
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.jobs import job
from benchmarks.memory import kilobytes

if TYPE_CHECKING:
    from collections.abc import Sequence

BIN = Path(sys.executable).parent
EDITS = 40
# Lines of a usual job, of the longest real one known, and of one just below the cluster's limit of 102,400 bytes.
LENGTHS = (50, 171, 3850)
STARTS = 7
BARE_SERVER = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"
COLUMNS = (
    "server",
    "lines",
    "start",
    "open → diagnostics",
    "edit → diagnostics",
    "completion",
    "hover",
    "definition",
    "half-typed: completion",
    "half-typed: hover",
    "MiB",
)
WAIT = 20.0
DOCUMENT = "file:///bench/job.pai.yaml"
SCHEMA = Path(".venvs/yaml-language-server/job.schema.json").absolute()
# The settings of the peer: it checks jobs by our schema, as a user without pai-lsp would do it.
SETTINGS = {"yaml": {"schemas": {SCHEMA.as_uri(): ["*.pai.yaml"]}, "validate": True, "hover": True, "completion": True}}


@dataclass
class Client:
    """The little of an editor that a measurement needs: requests, notifications, and what the server publishes.

    sent, arrived: when the last message of the measurement was written, and when the one that was last waited for had
        arrived, in seconds. What this client takes to write and read JSON lies outside of them.
    """

    command: Sequence[str]
    messages: queue.Queue[tuple[float, dict[str, Any]]] = field(default_factory=queue.Queue)
    sent: float = 0.0
    arrived: float = 0.0

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.numbers = itertools.count(1)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                return
            body = stream.read(length)
            self.messages.put((time.perf_counter(), json.loads(body)))

    def write(self, *messages: dict[str, Any]) -> None:
        """Send messages as they are, in one write."""
        stream = self.process.stdin
        assert stream is not None
        bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
        data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
        self.sent = time.perf_counter()
        stream.write(data)
        stream.flush()

    def notify(self, method: str, params: Any) -> None:
        """Send what needs no answer."""
        self.write({"method": method, "params": params})

    def request(self, method: str, params: Any, before: Sequence[dict[str, Any]] = ()) -> Any:
        """Send a request, after other messages in the same write, and wait for its answer."""
        number = next(self.numbers)
        self.write(*before, {"id": number, "method": method, "params": params})
        answer = self.wait(lambda message: message.get("id") == number and "method" not in message)
        return answer.get("result")

    def wait(self, wanted: Any) -> dict[str, Any]:
        """The next message that `wanted` accepts; requests of the server are answered with null on the way."""
        end, sent = time.monotonic() + WAIT, self.sent
        while True:
            self.arrived, message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
            if "id" in message and "method" in message:
                items = message["params"]["items"] if message["method"] == "workspace/configuration" else None
                result = [SETTINGS.get(item.get("section")) for item in items] if items else None
                self.write({"id": message["id"], "result": result})
                self.sent = sent
            if wanted(message):
                return message


def measure() -> list[str]:
    """The table's lines, in Markdown: median / p95 in milliseconds."""
    peer = _yaml_language_server()
    servers = {"pai-lsp": [str(BIN / "pai-lsp"), "server"]}
    if peer:
        servers["yaml-language-server"] = peer
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for length in LENGTHS:
        for name, command in servers.items():
            figures = _measure_one(command, job(length))
            lines.append(f"| {name} | {length} | " + " | ".join(figures) + " |")
    ours, bare = _starts(servers["pai-lsp"], [sys.executable, "-c", BARE_SERVER])
    lines += [
        "",
        f"Start, median of {STARTS}: {ours:.0f} ms; a bare pygls server: {bare:.0f} ms; ratio {ours / bare:.2f}.",
    ]
    return lines


def _starts(*commands: Sequence[str]) -> list[float]:
    """The milliseconds from the start of each server to its answer to `initialize`: medians of alternating starts."""
    found: list[list[float]] = [[] for _ in commands]
    for _ in range(STARTS):
        for command, times in zip(commands, found, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                client = Client(command)
                client.request("initialize", _capabilities(folder))
                times.append((time.perf_counter() - began) * 1e3)
                client.request("shutdown", None)
                client.notify("exit", None)
                client.process.wait(timeout=WAIT)
    return [statistics.median(times) for times in found]


def _yaml_language_server() -> list[str] | None:
    """The peer from npm, installed once; None where that is not possible."""
    folder = Path(".venvs/yaml-language-server").absolute()
    script = folder / "node_modules/yaml-language-server/bin/yaml-language-server"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = [
            "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(folder),
            "yaml-language-server",
        ]
        try:
            subprocess.run(install, check=True, capture_output=True, timeout=300)
        except (OSError, subprocess.SubprocessError):
            return None
    SCHEMA.write_bytes(subprocess.run([BIN / "pai-lsp", "schema"], capture_output=True, check=True).stdout)
    return ["node", str(script), "--stdio"]


def _measure_one(command: Sequence[str], text: str) -> list[str]:
    start = time.perf_counter()
    client = Client(command)
    with tempfile.TemporaryDirectory() as folder:
        client.request("initialize", _capabilities(folder))
        started = time.perf_counter() - start
        client.notify("initialized", {})
        client.notify("workspace/didChangeConfiguration", {"settings": SETTINGS})
        try:
            return [f"{started * 1e3:.0f}", *_measure_document(client, text)]
        finally:
            client.request("shutdown", None)
            client.notify("exit", None)
            client.process.wait(timeout=WAIT)


def _capabilities(folder: str) -> dict[str, Any]:
    return {
        "processId": None,
        "rootUri": Path(folder).as_uri(),
        "workspaceFolders": [{"uri": Path(folder).as_uri(), "name": "bench"}],
        "capabilities": {
            "textDocument": {
                "synchronization": {},
                "completion": {"completionItem": {"snippetSupport": True}},
                "publishDiagnostics": {"versionSupport": True},
            },
            "workspace": {"workspaceFolders": True, "configuration": True},
        },
    }


def _measure_document(client: Client, text: str) -> list[str]:
    line = next(number for number, content in enumerate(text.split("\n")) if content.startswith("    dockerImage: "))
    version = 1

    def published(message: dict[str, Any]) -> bool:
        return message.get("method") == "textDocument/publishDiagnostics"

    def change(new_line: str) -> dict[str, Any]:
        nonlocal version
        version += 1
        place = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
        return {
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": DOCUMENT, "version": version},
                "contentChanges": [{"range": place, "text": new_line + "\n"}],
            },
        }

    def on_edited_line(message: dict[str, Any], *, wrong: bool) -> bool:
        found = (
            [d for d in message["params"]["diagnostics"] if d["range"]["start"]["line"] == line]
            if published(message)
            else []
        )
        return published(message) and bool(found) == wrong

    start = time.perf_counter()
    item = {"uri": DOCUMENT, "languageId": "yaml", "version": version, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})
    client.wait(published)
    opened = time.perf_counter() - start

    # A key that does not exist is what both servers must notice, and notice again when it is gone.
    edits: list[float] = []
    for number in range(EDITS):
        wrong = number % 2 == 0
        message = change("    dockerImagee: image" if wrong else "    dockerImage: image")
        client.write(message)
        client.wait(lambda answer, wrong=wrong: on_edited_line(answer, wrong=wrong))
        edits.append(client.arrived - client.sent)

    figures = [f"{opened * 1e3:.0f}", _median_and_p95(edits)]
    # Each request comes right after a keystroke: in a correct line, or in one that is not YAML yet.
    sound, half_typed = ("    dockerImage: image", "    dockerImage: image "), ("    dockerIma", "    dockerImag")
    for method, character, typed in (
        ("completion", 17, sound),
        ("hover", 6, sound),
        ("definition", 19, sound),
        ("completion", 13, half_typed),
        ("hover", 6, half_typed),
    ):
        taken: list[float] = []
        for number in range(EDITS):
            message = change(typed[number % 2])
            params = {"textDocument": {"uri": DOCUMENT}, "position": {"line": line, "character": character}}
            client.request(f"textDocument/{method}", params, before=[message])
            taken.append(client.arrived - client.sent)
        figures.append(_median_and_p95(taken))
    return [*figures, _memory(client.process.pid)]


def _median_and_p95(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e3:.1f} / {ordered[int(len(ordered) * 0.95)] * 1e3:.1f}"


def _memory(process: int) -> str:
    try:
        return str(kilobytes("VmHWM", process) // 1024)
    except OSError:
        return "?"
