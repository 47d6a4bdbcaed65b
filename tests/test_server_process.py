"""The server as a real process: driven by a real client over stdio, over TCP, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator  # noqa: TC003 - pytest-lsp evaluates the annotations
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient
from server_client import SERVER_COMMAND, framed

pytestmark = pytest.mark.slow
TIMEOUT = 60
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
URI = "file:///jobs/job.pai.yaml"
JOB = """\
protocolVersion: 2
type: job
name: "漢字😀"
prerequisites: [{name: justecho, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd}]
taskRoles: {worker: {prerequisites: [justecho_wrong]}}
"""
PASSWORD = "hunter2"  # noqa: S105 - not a real one

INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}
OPEN = {
    "method": "textDocument/didOpen",
    "params": {
        "textDocument": {
            "uri": URI,
            "languageId": "yaml",
            "version": 1,
            "text": f"{JOB}secrets: {{password: {PASSWORD}}}\n",
        }
    },
}
SHUTDOWN = {"id": 2, "method": "shutdown", "params": None}
EXIT = {"method": "exit", "params": None}


def editor() -> LanguageClient:
    """A client that takes registrations, as every real one does that announces so."""
    client = pytest_lsp.make_test_lsp_client()
    for method in (lsp.CLIENT_REGISTER_CAPABILITY, lsp.WORKSPACE_CODE_LENS_REFRESH):
        client.feature(method)(lambda *_: None)
    return client


@pytest_lsp.fixture(config=ClientServerConfig(SERVER_COMMAND, client_factory=editor, server_env=ENVIRONMENT))  # type: ignore[untyped-decorator]  # it has no types
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    capabilities = pytest_lsp.client_capabilities("visual-studio-code")
    await lsp_client.initialize_session(lsp.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


async def published(client: LanguageClient) -> lsp.PublishDiagnosticsParams:
    message = client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    found = await asyncio.wait_for(message, TIMEOUT)
    assert isinstance(found, lsp.PublishDiagnosticsParams)
    return found


@pytest.mark.asyncio
async def test_an_editor_reports_fixes_and_clears(client: LanguageClient) -> None:
    document = lsp.TextDocumentItem(URI, "yaml", 1, JOB)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
    found = await published(client)
    assert (found.uri, found.version) == (URI, 1)
    wrong = next(one for one in found.diagnostics if one.code == "unknown-prerequisite")
    assert wrong.range.start == lsp.Position(4, JOB.splitlines()[4].index("justecho_wrong"))

    context = lsp.CodeActionContext([wrong])
    parameters = lsp.CodeActionParams(lsp.TextDocumentIdentifier(URI), wrong.range, context)
    actions = await asyncio.wait_for(client.text_document_code_action_async(parameters), TIMEOUT)
    fix = next(one for one in actions or [] if isinstance(one, lsp.CodeAction) and one.is_preferred)
    assert fix.edit is not None
    assert fix.edit.document_changes is not None
    (change,) = fix.edit.document_changes
    assert isinstance(change, lsp.TextDocumentEdit)
    (edit,) = change.edits
    assert isinstance(edit, lsp.TextEdit)

    changes: list[lsp.TextDocumentContentChangeEvent] = [
        lsp.TextDocumentContentChangePartial(edit.range, edit.new_text)
    ]
    identifier = lsp.VersionedTextDocumentIdentifier(2, URI)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, changes))
    found = await published(client)
    assert found.version == 2
    assert "unknown-prerequisite" not in {one.code for one in found.diagnostics}

    closed = lsp.TextDocumentIdentifier(URI)
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(closed))
    assert not (await published(client)).diagnostics


@pytest.mark.asyncio
async def test_a_job_is_checked_with_what_is_written_in_a_definition_file(
    client: LanguageClient, tmp_path: Path
) -> None:
    file = tmp_path / "marketplace" / "all.yaml"
    file.parent.mkdir()
    definitions = "- {name: first, type: data}\n- {name: second, type: data}\n"
    file.write_text(definitions, encoding="utf-8")
    text = JOB.replace("[justecho_wrong]", '["marketplace://name/second"]')
    job = (tmp_path / "job.pai.yaml").as_uri()

    async def until(*, is_known: bool) -> None:
        """Until the job's diagnostics are there, with or without the accusation."""
        while job not in client.diagnostics or is_known is any(
            one.code == "unknown-marketplace-item" for one in client.diagnostics[job]
        ):
            await published(client)

    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(job, "yaml", 1, text)))
    await until(is_known=True)
    item = lsp.TextDocumentItem(file.as_uri(), "yaml", 1, definitions)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    typed: lsp.TextDocumentContentChangeEvent = lsp.TextDocumentContentChangePartial(
        lsp.Range(lsp.Position(1, 9), lsp.Position(1, 15)), "third"
    )
    identifier = lsp.VersionedTextDocumentIdentifier(2, file.as_uri())
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [typed]))
    await until(is_known=False)
    assert file.read_text(encoding="utf-8") == definitions


def run(*messages: dict[str, Any], data: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    """The server, given all its input at once."""
    return subprocess.run(
        SERVER_COMMAND,
        input=framed(*messages) + data,
        capture_output=True,
        env=ENVIRONMENT,
        timeout=TIMEOUT,
        check=False,
        **options,
    )


def bodies(output: bytes) -> list[dict[str, Any]]:
    """The messages in what a server wrote; nothing else may be there."""
    found: list[dict[str, Any]] = []
    while output:
        match = re.match(rb"Content-Length: (\d+)\r\n\r\n", output)
        assert match, output[:100]
        end = match.end() + int(match[1])
        found.append(json.loads(output[match.end() : end]))
        output = output[end:]
    return found


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ((INITIALIZE, SHUTDOWN, EXIT), 0),
        ((INITIALIZE, EXIT), 1),
        ((INITIALIZE, OPEN), 1),
    ],
    ids=["shutdown and exit", "exit", "end of input"],
)
def test_exit_status(messages: tuple[dict[str, Any], ...], status: int) -> None:
    ended = run(*messages)
    assert ended.returncode == status
    assert ended.stderr == b""
    assert [one["id"] for one in bodies(ended.stdout)] == [one["id"] for one in messages if "id" in one]


def test_the_end_of_the_clients_process() -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    parameters = {**INITIALIZE["params"], "processId": int(gone.stdout)}  # type: ignore[dict-item]  # a mapping it is
    with subprocess.Popen(SERVER_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as server:
        assert server.stdin is not None
        server.stdin.write(framed({**INITIALIZE, "params": parameters}))
        server.stdin.flush()
        assert server.wait(TIMEOUT) == 1


def test_work_that_never_ends_and_prints_does_not_keep_the_server() -> None:
    """Whatever happens in the analysis: nothing gets among the messages, no text is logged, and `exit` is the end."""
    code = (
        "import sys, threading; from pai_lsp.lsp import checks, language_server\n"
        "def endless(document):\n"
        "    print('stray', flush=True)\n"
        "    try: raise ValueError(document.text)\n"
        "    except ValueError: checks._log.exception('broken')\n"
        "    begun.set(); threading.Event().wait()\n"
        "begun = threading.Event(); checks.diagnostics_of = endless\n"
        "sys.exit(language_server.main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as server:
        assert server.stdin is not None
        assert server.stderr is not None
        server.stdin.write(framed(INITIALIZE, OPEN))
        server.stdin.flush()
        logged = b""
        while b"ValueError" not in logged.splitlines():
            logged += server.stderr.readline()
        output, rest = server.communicate(framed(SHUTDOWN, EXIT), TIMEOUT)
    assert server.returncode == 0
    assert b"stray" in logged
    assert PASSWORD.encode() not in logged + rest
    assert [one["id"] for one in bodies(output)] == [1, 2]


def test_a_client_that_reads_no_messages_of_the_log() -> None:
    """A pipe holds 64 kB; then a write to it would wait for ever."""
    unreadable = [{"method": "textDocument/didOpen", "params": number} for number in range(3_000)]
    with subprocess.Popen(
        SERVER_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(framed(INITIALIZE, *unreadable, SHUTDOWN, EXIT))
        server.stdin.flush()
        output = server.stdout.read()
        assert server.wait(TIMEOUT) == 0
    assert [one["id"] for one in bodies(output)] == [1, 2]


@pytest.mark.parametrize("length", [70_000, 1_000_000])
def test_a_header_line_of_any_length(length: int) -> None:
    initialize = framed(INITIALIZE)
    long = b"X-Long: " + b"x" * length + b"\r\n" + initialize
    ended = subprocess.run(
        SERVER_COMMAND,
        input=long + framed(SHUTDOWN, EXIT),
        capture_output=True,
        env=ENVIRONMENT,
        timeout=TIMEOUT,
        check=False,
    )
    assert ended.returncode == 0
    assert [one["id"] for one in bodies(ended.stdout)] == [1, 2]


def test_tcp() -> None:
    command = [*SERVER_COMMAND, "--tcp", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=ENVIRONMENT) as server:
        assert server.stderr is not None
        port = int(server.stderr.readline().rsplit(b":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
            connection.sendall(framed(INITIALIZE, OPEN))
            received = b""
            while b"unknown-prerequisite" not in received:
                part = connection.recv(1 << 16)
                assert part
                received += part
            connection.sendall(framed(SHUTDOWN, EXIT))
            assert server.wait(TIMEOUT) == 0


def test_an_address_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = subprocess.run(
            [*SERVER_COMMAND, "--tcp", address],
            capture_output=True,
            env=ENVIRONMENT,
            timeout=TIMEOUT,
            check=False,
            text=True,
        )
    assert ended.returncode == 3
    assert ended.stderr.startswith(f"pai-lsp server: cannot listen at {address}: ")
