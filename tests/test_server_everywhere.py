"""What two clients get for every request about one job: one that can do everything, and one that states nothing.

The answers are in tests/everywhere, one file a client; positions are written as their line and character from 0.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from server_client import CAPABILITIES, URI, Client, connected, place

from pai_lsp.lsp.features import DOCUMENT_FEATURES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FOLDER = Path(__file__).parent / "everywhere"
TEXT = (FOLDER / "job.pai.yaml").read_text(encoding="utf-8")
LINK, MARKDOWN = {"linkSupport": True}, ["markdown", "plaintext"]
ITEM = {
    "snippetSupport": True,
    "insertReplaceSupport": True,
    "documentationFormat": MARKDOWN,
    "insertTextModeSupport": {"valueSet": [1, 2]},
    "tagSupport": {"valueSet": [1]},
    "deprecatedSupport": True,
}
EVERYTHING: dict[str, Any] = {
    **CAPABILITIES,
    "textDocument": {
        **CAPABILITIES["textDocument"],
        "completion": {"completionItem": ITEM, "completionItemKind": {"valueSet": [*range(1, 26)]}},
        "codeAction": {
            **CAPABILITIES["textDocument"]["codeAction"],
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "hover": {"contentFormat": MARKDOWN},
        "definition": LINK,
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "documentLink": {"tooltipSupport": True},
        "semanticTokens": {
            "requests": {"full": True},
            "tokenTypes": [],
            "tokenModifiers": [],
            "formats": ["relative"],
            "multilineTokenSupport": True,
        },
    },
}
COMMANDS = ["openpai.preview", "openpai.copyScript", "openpai.showReferences", "openpai.expand", "openpai.convert"]
CLIENTS: dict[str, dict[str, Any]] = {
    "able": {"capabilities": EVERYTHING, "initializationOptions": {"commands": COMMANDS}},
    "plain": {"capabilities": {}},
}
# Where a request asks that is not about the whole document: the name of a prerequisite in a role's list, 31:22.
NAME = {"line": 30, "character": 22}
MORE: dict[str, dict[str, Any]] = {
    "textDocument/codeAction": {"range": place((25, 0), (38, 20)), "context": {"diagnostics": []}},
    "textDocument/references": {"context": {"includeDeclaration": True}},
    "textDocument/rename": {"newName": "load"},
    "textDocument/formatting": {"options": {"tabSize": 4, "insertSpaces": True}},
    "textDocument/onTypeFormatting": {"ch": ":", "options": {"tabSize": 2, "insertSpaces": True}},
    "textDocument/inlayHint": {"range": place((25, 0), (38, 20))},
    "textDocument/semanticTokens/range": {"range": place((35, 0), (37, 0))},
    "textDocument/selectionRange": {"positions": [NAME, {"line": 36, "character": 9}]},
}


# Other places of completion: a key, a callback, a field of a role, a variable, a template, a role without keys.
COMPLETED = ((3, 0), (14, 4), (27, 4), (33, 37), (33, 78), (36, 20), (38, 10))
COMMANDS_OF_THE_SERVER: tuple[tuple[str, list[Any]], ...] = (
    ("preview", [URI, "master"]),
    ("preview", [URI, "none"]),
    ("script", [URI, "master"]),
    ("script", [URI, None]),
    ("graph", [URI]),
    ("expand", [URI]),
    ("status", [URI]),
    ("convert", [URI, "mpijob"]),
    ("convert", [URI]),
    ("why", ["137", None]),
    ("why", ["train.py: line 1: torchrun: command not found\nexit code 127", URI]),
    ("explain", ["launch-rank"]),
    ("explain", ["SC2086"]),
    ("marketplace.list", [URI]),
    ("marketplace.locked", [URI]),
    ("marketplace.text", ["https://example.com/x.yaml"]),
    ("assistant", ["check", {"text": "name: a\n"}]),
)
WRONG_COMMANDS: tuple[tuple[str, list[Any]], ...] = (
    ("preview", [URI, 5]),
    ("script", [URI, {}]),
    ("convert", [URI, "docker"]),
    ("why", [5]),
    ("why", []),
    ("explain", ["launch-rang"]),
    ("assistant", ["check"]),
    ("assistant", [None, {}]),
    ("assistant", ["chek", {}]),
    ("assistant", ["check", {"txt": ""}]),
    ("checkFolder", [5, None]),
    ("checkFolder", [None, []]),
    ("checkFolder", ["file:///nowhere/at/all", None]),
    ("marketplace.insert", [URI, {"line": 0, "character": 0}]),
    ("marketplace.insert", [URI, {"line": 0, "character": 0}, "marketplace://name/x", 5]),
    ("marketplace.insert", [URI, {"line": "x"}, "marketplace://name/x", {}]),
    ("marketplace.insert", [URI, {"line": 0, "character": 0}, "marketplace://name/x", None]),
)


async def answers_of_commands() -> str:
    """What the server can do, the results of commands, and what is wrong with others."""
    offered = await Client().ask("initialize", processId=None, rootUri=None, capabilities={})
    run, found = "workspace/executeCommand", [f"initialize: {json.dumps(offered['capabilities'])}"]
    async with connected(**CLIENTS["able"]) as client:
        client.open(TEXT)
        for name, given in COMMANDS_OF_THE_SERVER:
            result = await client.ask(run, command=f"pai-lsp.{name}", arguments=given)
            found.append(f"{name} {json.dumps(given)}: {json.dumps(short(result), ensure_ascii=False)}")
        for name, given in WRONG_COMMANDS:
            error = await client.ask_in_vain(run, command=f"pai-lsp.{name}", arguments=given)
            found.append(f"{name} {json.dumps(given)}: {error['code']} {error['message']}")
    return "".join(f"{line}\n" for line in found)


LITERALS: dict[str, Any] = {"codeActionKind": {"valueSet": []}}
SIMPLE = {"textDocument": {"codeAction": {"codeActionLiteralSupport": LITERALS}}}


async def actions_of_a_simple_client() -> str:
    """The actions of each line for a client that takes them, and knows nothing else about them."""
    found: dict[str, None] = {}
    async with connected(capabilities=SIMPLE) as client:
        client.open(TEXT)
        for number, line in enumerate(TEXT.splitlines()):
            here = place((number, len(line) - len(line.lstrip(" -"))), (number, len(line)))
            context: dict[str, Any] = {"diagnostics": [], "triggerKind": 2}
            for where in (here, {"start": here["start"], "end": here["start"]}):
                asked = {"textDocument": {"uri": URI}, "range": where, "context": context}
                for one in await client.ask("textDocument/codeAction", **asked) or ():
                    found[json.dumps(short(one), ensure_ascii=False)] = None
    return "".join(f"{one}\n" for one in found)


@pytest.mark.asyncio
async def test_what_a_simple_client_can_do() -> None:
    assert await actions_of_a_simple_client() == (FOLDER / "simple_client.txt").read_text(encoding="utf-8")


@pytest.mark.asyncio
async def test_what_the_commands_give() -> None:
    assert await answers_of_commands() == (FOLDER / "commands.txt").read_text(encoding="utf-8")


WHOLE = {"range": place((0, 0), (2, 0)), "context": {"diagnostics": [], "only": ["refactor"]}}


async def questions(client: Client) -> AsyncIterator[tuple[str, Any]]:
    """Each method that is about a place, and its result; what is called is what was prepared."""
    client.open(TEXT)
    yield "textDocument/publishDiagnostics", await client.published()
    prepared: list[Any] = []
    for feature in DOCUMENT_FEATURES:
        if feature.method.startswith("callHierarchy/"):
            yield feature.method, await client.ask(feature.method, item=prepared[0])
        elif feature.method.startswith("textDocument/") and feature.method != "textDocument/diagnostic":
            more = MORE.get(feature.method, {})
            found = await client.ask(feature.method, textDocument={"uri": URI}, position=NAME, **more)
            prepared = found if feature.method.endswith("prepareCallHierarchy") else prepared
            yield feature.method, found
    for action in await client.ask("textDocument/codeAction", textDocument={"uri": URI}, **WHOLE) or ():
        if "data" in action:
            yield "codeAction/resolve", await client.ask("codeAction/resolve", **action)
    for line, character in COMPLETED:
        at = {"line": line, "character": character}
        yield (
            "textDocument/completion",
            await client.ask("textDocument/completion", textDocument={"uri": URI}, position=at),
        )


def short(value: Any) -> Any:
    """The value with positions and ranges as texts."""
    if isinstance(value, list):
        return [short(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"line", "character"}:
        return f"{value['line']}:{value['character']}"
    if value.keys() == {"start", "end"}:
        return f"{short(value['start'])} to {short(value['end'])}"
    texts = {key: short(one) for key, one in value.items()}
    if "diagnostics" in value:  # of an action; all about them is published
        texts["diagnostics"] = [f"{one['code']} at {one['range']}" for one in texts["diagnostics"]]
    return texts


def lines(method: str, result: Any) -> Iterator[str]:
    found = result["items"][:6] if method == "textDocument/completion" else result
    for one in found if isinstance(found, list) else [found]:
        yield f"{method.partition('/')[2]}: {json.dumps(short(one), ensure_ascii=False)}"


async def answers(name: str) -> str:
    async with connected(**CLIENTS[name]) as client:
        return "".join([f"{line}\n" async for question in questions(client) for line in lines(*question)])


@pytest.mark.asyncio
@pytest.mark.parametrize("name", CLIENTS)
async def test_what_a_client_gets(name: str) -> None:
    assert await answers(name) == (FOLDER / f"{name}_client.txt").read_text(encoding="utf-8")


if __name__ == "__main__":  # writes the answers anew, to be read before they are kept
    for named in CLIENTS:
        (FOLDER / f"{named}_client.txt").write_text(asyncio.run(answers(named)), encoding="utf-8")
    (FOLDER / "simple_client.txt").write_text(asyncio.run(actions_of_a_simple_client()), encoding="utf-8")
    (FOLDER / "commands.txt").write_text(asyncio.run(answers_of_commands()), encoding="utf-8")
