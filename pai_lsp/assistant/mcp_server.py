"""The server of the Model Context Protocol: its messages, to the tools and resources and back.

Source of the protocol: modelcontextprotocol.io, specification. Since its version 2026-07-28, a server asks for roots
in the result of the call that needs them, before that with a request of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pai_lsp.assistant.allowed_files import AllowedFiles, AnswerError, folders_of
from pai_lsp.assistant.assistant_tools import PATHS, answer, answer_parts, tools, writable
from pai_lsp.assistant.resources import resource_text, resources
from pai_lsp.platform.tables import table
from pai_lsp.source.failures import PLEASE_REPORT, kind_and_place
from pai_lsp.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

_ROOTS = "roots"


def serve(folders: tuple[str, ...], cluster: str) -> int:
    """Serve one client over standard input and output, until it closes them; returns the exit status.

    folders: the real paths of the folders below which files may be read; empty for those that the client names.
    cluster: the name of the chosen cluster, or an empty text.
    """
    try:
        anyio.run(_serve, AllowedFiles(folders, cluster))
    except Exception as error:  # noqa: BLE001 - a group of them, of which the command line reports the first
        raise _first(error) from None
    return 0


def _first(error: BaseException) -> BaseException:
    """The first exception in a group, which only Python 3.11 has a class for."""
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    return error


async def _serve(files: AllowedFiles) -> None:
    server = assistant_server(files)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


def assistant_server(files: AllowedFiles) -> Server[Any]:
    """The server; without folders, it asks the client for its roots when a path is given."""
    one_at_a_time = anyio.CapacityLimiter(1)

    async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
        """Work beside the event loop, which answers pings meanwhile."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=one_at_a_time)

    async def list_tools(_context: ServerRequestContext[Any], _asked: Any) -> types.ListToolsResult:
        hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        found = [
            types.Tool(
                name=name,
                title=tool["title"],
                description=tool["description"],
                input_schema=tool["input"],
                output_schema=tool["output"],
                annotations=hints,
            )
            for name, tool in tools().items()
        ]
        return types.ListToolsResult(tools=found)

    async def call_tool(
        context: ServerRequestContext[Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = asked.arguments or {}
        allowed = files
        if not files.folders and (PATHS & arguments.keys() or asked.name == "new_job") and _names_roots(context):
            roots = await _roots(context, asked)
            if isinstance(roots, types.InputRequiredResult):
                return roots
            allowed = AllowedFiles(folders_of(str(root.uri) for root in roots.roots), files.cluster)
        try:
            found = await in_thread(answer, asked.name, arguments, allowed)
        except AnswerError as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - the next question is answered
            return _failed(f"pai-lsp failed: {kind_and_place(error)}; {PLEASE_REPORT}")
        return _result(found)

    async def list_resources(_context: ServerRequestContext[Any], _asked: Any) -> types.ListResourcesResult:
        found = [
            types.Resource(uri=uri, name=one["name"], description=one["description"], mime_type=one["mimeType"])
            for uri, one in resources(files).items()
        ]
        return types.ListResourcesResult(resources=found)

    async def list_templates(_context: ServerRequestContext[Any], _asked: Any) -> types.ListResourceTemplatesResult:
        page = types.ResourceTemplate(
            uri_template="pai-lsp://rules/{code}", name="rule", description="A rule.", mime_type="text/markdown"
        )
        return types.ListResourceTemplatesResult(resource_templates=[page])

    async def read_resource(
        _context: ServerRequestContext[Any], asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(asked.uri)
        try:
            text, kind = await in_thread(resource_text, uri, files)
        except AnswerError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])

    return Server(
        "pai-lsp",
        version=__version__,
        title="OpenPAI jobs",
        instructions=table("assistant_tools.json")["instructions"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _names_roots(context: ServerRequestContext[Any]) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


async def _roots(
    context: ServerRequestContext[Any], asked: types.CallToolRequestParams
) -> types.ListRootsResult | types.InputRequiredResult:
    """The roots of the client, or the answer that asks for them."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
    found = (asked.input_responses or {}).get(_ROOTS)
    if isinstance(found, types.ListRootsResult):
        return found
    return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})


def _result(found: dict[str, Any]) -> types.CallToolResult:
    """An answer twice: as a value, and to read."""
    content: list[types.ContentBlock] = [types.TextContent(text=part) for part in answer_parts(found)]
    return types.CallToolResult(content=content, structured_content=found)


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=writable(message))], is_error=True)
