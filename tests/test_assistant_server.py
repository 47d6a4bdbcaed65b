"""`pai-lsp mcp` over standard input and output, asked by the official client of the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from job_text import SMALL
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from pai_lsp.assistant.allowed_files import AllowedFiles
from pai_lsp.assistant.assistant_tools import answer, tools
from pai_lsp.assistant.mcp_server import assistant_server
from pai_lsp.cli.main import main
from pai_lsp.version import __version__

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

EXAMPLES = Path(__file__).parent.parent / "examples"
JOB = f"{SMALL}    instances: 1\n"


def asked(
    questions: Callable[[Client], Awaitable[Any]],
    *arguments: str,
    roots: Sequence[Path] | None = None,
    mode: Any = "auto",
) -> Any:
    """What `questions` returns, which gets the client of a server that is started with these arguments."""

    async def list_roots(context: Any) -> types.ListRootsResult:
        del context
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": one.as_uri()}) for one in roots or ()])

    async def run() -> Any:
        command = StdioServerParameters(command=sys.executable, args=["-m", "pai_lsp", "mcp", *arguments])
        callback = None if roots is None else list_roots
        async with Client(command, mode=mode, list_roots_callback=callback) as client:
            return await questions(client)

    return anyio.run(run)


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))


def test_a_job_is_checked_over_stdio() -> None:
    async def questions(client: Client) -> Any:
        listed = await client.list_tools()
        bad = await client.call_tool("check", {"text": JOB.replace("type: job", "type: jobb")})
        return client.server_info, listed.tools, bad

    server, listed, bad = asked(questions)
    assert (server.name, server.version) == ("pai-lsp", __version__)
    assert {one.name: (one.description, one.input_schema, one.output_schema) for one in listed} == {
        name: (one["description"], one["input"], one["output"]) for name, one in tools().items()
    }
    hints = [one.annotations.model_dump(exclude_none=True) for one in listed if one.annotations is not None]
    assert hints == [{"read_only_hint": True, "idempotent_hint": True, "open_world_hint": False}] * len(listed)
    assert not bad.is_error
    assert bad.structured_content == json.loads(text_of(bad))
    assert [one["rule"] for one in bad.structured_content["findings"]] == ["invalid-enum"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_all_tools_with_the_roots_of_the_client(mode: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("check", {"path": "typo.pai.yaml"}),
        ("fix", {"path": "typo.pai.yaml", "full": True}),
        ("expand", {"path": str(EXAMPLES / "marketplace-job.pai.yaml")}),
        ("what_runs", {"path": "marketplace-job.pai.yaml"}),
        ("explain", {"name": "jobRetryCount"}),
        ("complete", {"path": "good.pai.yaml", "line": 2}),
        ("why", {"text": "CUDA out of memory", "job_path": "good.pai.yaml"}),
        ("new_job", {"template": "job"}),
        ("check", {"path": "../README.md"}),
        ("check", {"path": "../tests/hidden/clear.pai.yaml"}),
        ("check", {"txt": "x"}),
        ("nothing", {}),
    ]

    async def questions(client: Client) -> list[types.CallToolResult]:
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    found = asked(questions, roots=[EXAMPLES], mode=mode)
    assert [one.is_error for one in found] == [False] * 8 + [True] * 4
    files = AllowedFiles((str(EXAMPLES.resolve()),))
    for (name, arguments), result in list(zip(calls, found, strict=True))[:8]:
        assert result.structured_content == answer(name, arguments, files)
        assert result.structured_content.get("text", "") in text_of(result)
    assert "is not below" in text_of(found[8])
    assert "is not below" in text_of(found[9])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("folders", "roots", "tool", "arguments", "is_answered", "asks"),
    [
        ((), [EXAMPLES], "check", {"path": "good.pai.yaml"}, True, True),
        ((), [EXAMPLES], "why", {"text": "Killed", "job_path": "good.pai.yaml"}, True, True),
        ((), [EXAMPLES], "new_job", {"template": "job"}, True, True),
        ((), [EXAMPLES], "check", {"text": JOB}, True, False),
        ((), [], "check", {"path": "good.pai.yaml"}, False, True),
        ((), None, "check", {"path": "good.pai.yaml"}, False, False),
        ((), None, "new_job", {"template": "job"}, True, False),
        ((str(EXAMPLES),), [EXAMPLES.parent], "check", {"path": "good.pai.yaml"}, True, False),
        ((str(EXAMPLES),), [EXAMPLES.parent], "check", {"path": "../README.md"}, False, False),
    ],
)
def test_when_the_client_is_asked_for_its_roots(
    mode: Any,
    folders: tuple[str, ...],
    roots: Sequence[Path] | None,
    tool: str,
    arguments: dict[str, Any],
    *,
    is_answered: bool,
    asks: bool,
) -> None:
    times: list[object] = []

    async def list_roots(context: Any) -> types.ListRootsResult:
        times.append(context)
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": one.as_uri()}) for one in roots or ()])

    async def run() -> bool:
        server = assistant_server(AllowedFiles(folders))
        async with Client(server, mode=mode, list_roots_callback=None if roots is None else list_roots) as client:
            return not (await client.call_tool(tool, arguments)).is_error

    assert (anyio.run(run), bool(times)) == (is_answered, asks)


@pytest.mark.slow
def test_the_folders_of_the_command_line(tmp_path: Path) -> None:
    """They count instead of the client's; without any, only texts are answered."""
    (tmp_path / "a.pai.yaml").write_text(JOB, encoding="utf-8")

    async def questions(client: Client) -> list[bool]:
        paths = ("a.pai.yaml", str(EXAMPLES / "good.pai.yaml"))
        return [(await client.call_tool("check", {"path": path})).is_error for path in paths]

    assert asked(questions, "--root", str(tmp_path), roots=[EXAMPLES]) == [False, True]
    assert asked(questions) == [True, True]


def test_the_resources_are_read() -> None:
    async def questions() -> Any:
        async with Client(assistant_server(AllowedFiles())) as client:
            listed = await client.list_resources()
            texts = [(await client.read_resource(str(one.uri))).contents[0] for one in listed.resources]
            rule = await client.read_resource("pai-lsp://rules/unknown-key")
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource("file:///etc/passwd")
            return listed.resources, [*texts, rule.contents[0]]

    listed, contents = anyio.run(questions)
    assert [str(one.uri) for one in listed] == [
        f"pai-lsp://{name}" for name in ("summary", "protocol", "schema", "rules")
    ]
    assert all(len(one.text) > 500 for one in contents)


def test_texts_that_utf8_cannot_write_and_calls_at_once() -> None:
    job = JOB.replace("[echo hi]", r'["echo \ud800", "echo \u2028"]')

    async def questions(client: Client) -> list[types.CallToolResult]:
        found: list[types.CallToolResult] = []

        async def call(tool: str) -> None:
            found.append(await client.call_tool(tool, {"text": job}))

        async with anyio.create_task_group() as group:
            for tool in ("check", "fix", "what_runs", "expand", "check"):
                group.start_soon(call, tool)
        return found

    assert [one.is_error for one in asked(questions)] == [False] * 5


def run(*arguments: str, before: str = "pass") -> subprocess.CompletedProcess[str]:
    code = f"import sys; {before}; from pai_lsp.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "mcp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.slow
def test_without_the_extra_one_sentence_says_what_to_install() -> None:
    found = run(before="sys.modules['mcp'] = None")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "pai-lsp mcp: the package 'mcp' is missing; install it: pip install 'pai-lsp[mcp]'\n"


def test_a_root_that_is_not_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--root", "/no/such/folder"]) == 2
    assert capsys.readouterr().err == "pai-lsp mcp: --root: '/no/such/folder' is not a folder\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("> /dev/full", "no space left on device"),
        (">&-", "standard output is closed"),
        ("<&-", "standard input is closed"),
    ],
)
def test_a_broken_output_is_reported(change: str, message: str) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}) + "\n"
    command = ["bash", "-c", f'"{sys.executable}" -m pai_lsp mcp {change}']
    found = subprocess.run(command, input=asked, capture_output=True, text=True, check=False, timeout=60)
    assert (found.returncode, found.stderr) == (3, f"pai-lsp: {message}\n")


@pytest.mark.slow
def test_it_ends_with_its_input() -> None:
    found = run()
    assert (found.returncode, found.stdout) == (0, "")
